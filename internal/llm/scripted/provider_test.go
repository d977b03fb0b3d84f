package scripted_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

func TestEvents(t *testing.T) {
	for _, tt := range []struct{ name, turn, want string }{
		{"text", `{"steps":[{"text":"Hello"}]}`, `meta; text< 0; text 0 "Hello"; text> 0; done "stop" usage=0/0/0/0`},
		{"nothing", `{"steps":[]}`, `meta; done "stop" usage=0/0/0/0`},
		{"empty text", `{"steps":[{"text":""}]}`, `meta; text< 0; text> 0; done "stop" usage=0/0/0/0`},
		{"chunks keep characters", `{"steps":[{"text":"añ🙂b","chunkSize":2}]}`, `meta; text< 0; text 0 "añ"; text 0 "🙂b"; text> 0; done "stop" usage=0/0/0/0`},
		{"pieces", `{"steps":[{"thinking":["a","b"],"signature":"S","startSignature":"s"}]}`, `meta; think< 0 sig="s"; think 0 "a"; think 0 "b"; think> 0 sig="S"; done "stop" usage=0/0/0/0`},
		{"redacted", `{"steps":[{"thinking":"","redacted":true,"signature":"x"}]}`, `meta; think< 0 redacted; think> 0 sig="x" redacted; done "stop" usage=0/0/0/0`},
		{"call", `{"steps":[{"toolCall":{"name":"read","arguments":{ "path":
 "a" }}}]}`, `meta; call< 0 id="call_1" name="read"; call 0 "{\"path\":\"a\"}"; call> 0; done "toolUse" usage=0/0/0/0`},
		{"calls", `{"steps":[{"text":"x"},{"toolCall":{"name":"a","id":"z"}},{"toolCall":{"name":"b","rawArguments":"{oops"}}]}`, `meta; text< 0; text 0 "x"; text> 0; call< 1 id="z" name="a"; call> 1; call< 2 id="call_1" name="b"; call 2 "{oops"; call> 2; done "toolUse" usage=0/0/0/0`},
		{"optional call", `{"steps":[{"toolCall":{"name":"grep","optional":true},"open":true},{"toolCall":{"rawArguments":"{}"},"block":0,"open":true},{"end":0},{"text":"no"}]}`, `meta; text< 0; text 0 "no"; text> 0; done "stop" usage=0/0/0/0`},
		{"length", `{"steps":[{"text":"x"}],"stopReason":"length","rawStopReason":"max","endTurn":false,"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}`, `meta; text< 0; text 0 "x"; text> 0; done "length" raw="max" endTurn=false usage=1/2/3/4`},
		{"meta", `{"steps":[{"meta":{"responseId":"r","responseModel":"m","usage":{"input":5}}},{"text":"x"}]}`, `meta resp="r" model="m" usage=5/0/0/0; text< 0; text 0 "x"; text> 0; done "stop" usage=0/0/0/0`},
		{"interleaved", `{"steps":[{"text":"a","open":true},{"thinking":"b","open":true},{"text":"c","block":0,"open":true},{"end":1},{"end":0,"final":"ac"}]}`, `meta; text< 0; text 0 "a"; think< 1; think 1 "b"; text 0 "c"; think> 1; text> 0 final="ac"; done "stop" usage=0/0/0/0`},
		{"left open", `{"steps":[{"text":"a","open":true},{"thinking":"b","open":true}]}`, `meta; text< 0; text 0 "a"; think< 1; think 1 "b"; text> 0; think> 1; done "stop" usage=0/0/0/0`},
		{"error first", `{"steps":[{"error":{"status":529,"message":"Overloaded","body":"{}","code":"c","retryAfterMs":1500}}]}`, `error transient 529 c "Overloaded" "{}" 1.5s`},
		{"error mid-stream", `{"steps":[{"text":"half"},{"error":{}}]}`, `meta; text< 0; text 0 "half"; text> 0; error transport 0  "Scripted failure" "" 0s`},
		{"error kind", `{"steps":[{"error":{"kind":"quota","message":"m"}}]}`, `error quota 0  "m" "" 0s`},
		{"repeat", `{"steps":[{"repeat":{"count":2,"bytes":30}},{"repeat":{"count":1,"text":"é","thinking":true}}]}`, `meta; text< 0; text 0 "abcdefghijklmnopqrstuvwxy abcd"; text 0 "abcdefghijklmnopqrstuvwxy abcd"; text> 0; think< 1; think 1 "é"; think> 1; done "stop" usage=0/0/0/0`},
		{"verbatim", `{"verbatim":true,"steps":[{"text":"{{user}}"},{"toolCall":{"name":"x","arguments":{"a":"{{nope"}}}]}`, `meta; text< 0; text 0 "{{user}}"; text> 0; call< 1 name="x"; call 1 "{\"a\":\"{{nope\"}"; call> 1; done "toolUse"`},
		{"templates", `{"steps":[{"text":"You said {{user}}."},{"toolCall":{"name":"x","arguments":{"a":["{{user}}\"{{turn}}"],"b":1}}}]}`, `meta; text< 0; text 0 "You said \"hi\"."; text> 0; call< 1 id="call_1" name="x"; call 1 "{\"a\":[\"\\\"hi\\\"\\\"0\"],\"b\":1}"; call> 1; done "toolUse" usage=0/0/0/0`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChat(t, `{"turns":[`+tt.turn+`]}`, "read").user(`"hi"`)
			c.call() // keeps the contract
			got := events(newChat(t, `{"turns":[`+tt.turn+`]}`).provider, t.Context(), c.req)
			if diff := cmp.Diff(strings.Split(tt.want, "; "), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScriptDefaults(t *testing.T) {
	c := newChat(t, `{"chunkSize":2,"usage":{"input":7},"turns":[{"steps":[{"text":"abc"}]}]}`).user("x")
	want := []string{"meta", "text< 0", `text 0 "ab"`, `text 0 "c"`, "text> 0", `done "stop" usage=7/0/0/0`}
	if diff := cmp.Diff(want, events(c.provider, t.Context(), c.req)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUsageEstimate(t *testing.T) {
	c := newChat(t, `{"usage":"estimate","turns":[{"steps":[{"text":"four lettered words"}]}]}`).user(strings.Repeat("x", 3500))
	u := c.say().Usage
	if u.Input < 1000 || u.Output != 5 || u.TotalTokens != u.Input+u.Output {
		t.Errorf("usage %+v: want at least 1000 in, 5 out", u)
	}
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newChat(t, `{"turns":[{"steps":[{"delayMs":1000},{"text":"abcd","chunkSize":1,"delayMs":10},{"repeat":{"count":5,"text":"x"},"delayMs":100},{"text":["a","b"],"delayMs":1}]}]}`).user("x")
		start := time.Now()
		c.call()
		if d, want := time.Since(start), 1542*time.Millisecond; d != want {
			t.Errorf("the turn took %v, want %v", d, want)
		}
	})
}

// A cancelled stream ends with the context's error, at once, wherever it was.
func TestCancel(t *testing.T) {
	for name, steps := range map[string]string{
		"hang":   `{"text":"a"},{"hang":true}`,
		"pause":  `{"text":"a"},{"delayMs":3600000}`,
		"chunks": `{"text":"abc","chunkSize":1,"delayMs":3600000}`,
		"before": `{"hang":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newChat(t, `{"turns":[{"steps":[`+steps+`]}]}`).user("x")
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				start := time.Now()
				got := events(c.provider, ctx, c.req)
				if d := time.Since(start); d != time.Second {
					t.Errorf("ended after %v", d)
				}
				if last := got[len(got)-1]; last != "error context canceled" {
					t.Errorf("ended with %q", last)
				}
			})
		})
	}
}

func TestCancelledBefore(t *testing.T) {
	c := newChat(t, `{"turns":[{"steps":[{"text":"a"}]}]}`).user("x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := events(c.provider, ctx, c.req); !slices.Equal(got, []string{"error context canceled"}) {
		t.Errorf("got %q", got)
	}
}

// Breaking the loop ends the turn wherever it is.
func TestBreak(t *testing.T) {
	c := newChat(t, `{"turns":[{"steps":[{"thinking":"t","chunkSize":1},{"text":["a","b"],"open":true},{"toolCall":{"name":"x","arguments":{}}},{"end":1},{"repeat":{"count":3,"text":"r"}},{"meta":{}}]}]}`).user("x")
	all := len(events(c.provider, t.Context(), c.req))
	for n := 1; n < all; n++ {
		seen := 0
		for range c.provider.Stream(t.Context(), c.req) {
			if seen++; seen == n {
				break
			}
		}
		if seen != n {
			t.Errorf("broke after %d of %d events, saw %d", n, all, seen)
		}
	}
}

func TestScriptFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.json", "\ufeff// how it begins\n{\"turns\":[{\"steps\":[{\"text\":\"from a\"},]}],}\n")
	write("bad.json", `{"turns":[{"steps":[{"txt":"x"}]}]}`)
	write("broken.json", "{\n  oops}")
	p := scripted.New(dir)
	for id, want := range map[string]string{
		"a.json":                     "from a",
		filepath.Join(dir, "a.json"): "from a",
		"bad.json":                   `!Script bad.json: turns[0]: steps[0]: unknown member "txt"`,
		"broken.json":                "!Script broken.json: ",
		"none.json":                  "!Script none.json: open ",
	} {
		c := chatWith(t, p).user("x")
		c.req.Model.ID = id
		r := c.call()
		got := r.Message.Content.PlainText("")
		if r.Err != nil {
			got = "!" + r.Err.Message
			if r.Err.Kind != llm.ErrBadRequest {
				t.Errorf("%s: kind %s, which may be retried", id, r.Err.Kind)
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func TestModel(t *testing.T) {
	m, err := scripted.New("").Model(scripted.Demo)
	if err != nil || m.Ref() != "scripted/demo" || m.Name != "Scripted demo" || m.ContextWindow != 200_000 || !m.Reasoning || !m.AcceptsImages() {
		t.Errorf("demo: %+v, %v", m, err)
	}
	s, err := scripted.Parse([]byte(`{"model":{"name":"N","contextWindow":1000,"maxTokens":10,"reasoning":false,"images":false},"turns":[{"steps":[]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err = scripted.NewScript(s).Model("x")
	if err != nil || m.Name != "N" || m.ContextWindow != 1000 || m.MaxTokens != 10 || m.Reasoning || m.AcceptsImages() {
		t.Errorf("own: %+v, %v", m, err)
	}
	if _, err := scripted.New(t.TempDir()).Model("missing.json"); err == nil {
		t.Error("a missing script has a model")
	}
}

func BenchmarkRepeat(b *testing.B) {
	c := newChat(b, `{"turns":[{"turn":0,"steps":[{"repeat":{"count":20000,"bytes":20}}]}]}`).user("x")
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range c.provider.Stream(b.Context(), c.req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
