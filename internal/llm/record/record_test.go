package record_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/record"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

// answer is what a provider sends: events, then an error when it is not nil.
type answer struct {
	events []llm.Event
	err    error
}

// fake is a provider that sends its answers one after the other.
type fake struct{ answers []answer }

func (f *fake) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	a := f.answers[0]
	f.answers = f.answers[1:]
	return func(yield func(llm.Event, error) bool) {
		for _, e := range a.events {
			if !yield(e, nil) {
				return
			}
		}
		if a.err != nil {
			yield(llm.Event{}, a.err)
		}
	}
}

// take ranges over a stream.
func take(p llm.Provider, ctx context.Context, req *llm.Request) answer {
	var a answer
	for e, err := range p.Stream(ctx, req) {
		if err != nil {
			a.err = err
			continue
		}
		a.events = append(a.events, e)
	}
	return a
}

func request(msgs ...llm.Message) *llm.Request {
	return &llm.Request{Model: &llm.Model{ID: "m"}, Messages: msgs, SessionID: "s"}
}

func user(text string) llm.Message { return &llm.UserMessage{Content: llm.Content{llm.NewText(text)}} }

func said(text string) llm.Message {
	return &llm.AssistantMessage{StopReason: llm.StopEnd, Content: llm.Content{llm.NewText(text)}}
}

// saying is an answer of one text.
func saying(text string) answer {
	return answer{events: []llm.Event{
		{Kind: llm.EventMeta},
		{Kind: llm.EventTextStart},
		{Kind: llm.EventTextDelta, Delta: text},
		{Kind: llm.EventTextEnd},
		{Kind: llm.EventDone, StopReason: llm.StopEnd},
	}}
}

func failing(kind llm.ErrorKind, text string) answer {
	return answer{err: &llm.Error{Kind: kind, Status: 529, Code: "c", Message: text, Body: "{}", RetryAfter: time.Second}}
}

// replay plays the recording of the requests again and compares; ok reports it.
func replay(t interface{ Fatalf(string, ...any) }, ctx context.Context, answers []answer, reqs []*llm.Request) string {
	var file bytes.Buffer
	r := record.New(&fake{answers: answers}, &file)
	for i, req := range reqs {
		if diff := cmp.Diff(answers[i], take(r, ctx, req), compare); diff != "" {
			t.Fatalf("the recorder changed answer %d (-sent +passed on):\n%s", i, diff)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatalf("closing: %v", err)
	}
	s, err := scripted.Parse(file.Bytes())
	if err != nil {
		t.Fatalf("%v in the recording\n%s", err, &file)
	}
	p := scripted.NewScript(s)
	for i, req := range reqs {
		if diff := cmp.Diff(answers[i], take(p, ctx, req), compare); diff != "" {
			t.Fatalf("answer %d (-recorded +played):\n%s\n%s", i, diff, &file)
		}
	}
	return file.String()
}

var compare = cmp.Options{
	cmp.AllowUnexported(answer{}),
	cmp.Comparer(func(a, b error) bool {
		var x, y *llm.Error
		if errors.As(a, &x) && errors.As(b, &y) {
			return cmp.Equal(*x, *y)
		}
		return errors.Is(a, b) && errors.Is(b, a)
	}),
}

func ptr[T any](v T) *T { return &v }

func TestRoundTrip(t *testing.T) {
	usage := &llm.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, CacheWrite1h: ptr(int64(5)), Reasoning: ptr(int64(6)), TotalTokens: 10, Cost: llm.Cost{Total: 0.25, TotalFromProvider: ptr(true)}}
	events := []llm.Event{
		{Kind: llm.EventMeta, ResponseID: "r", ResponseModel: "m2", Usage: &llm.Usage{}},
		{Kind: llm.EventThinkingStart, Signature: "reasoning"},
		{Kind: llm.EventThinkingDelta, Delta: "hm "},
		{Kind: llm.EventThinkingDelta, Delta: "{{user}}"},
		{Kind: llm.EventTextStart, Index: 1},
		{Kind: llm.EventTextDelta, Index: 1, Delta: "one"},
		{Kind: llm.EventThinkingDelta, Delta: " more"},
		{Kind: llm.EventThinkingEnd, Signature: "sig", Replace: ptr("all")},
		{Kind: llm.EventToolCallStart, Index: 2, ID: "a", Name: "read"},
		{Kind: llm.EventToolCallStart, Index: 3, ID: "b"},
		{Kind: llm.EventToolCallDelta, Index: 2, Delta: `{"p`},
		{Kind: llm.EventToolCallDelta, Index: 3, Delta: `{oops`},
		{Kind: llm.EventToolCallDelta, Index: 2, Delta: `":1}`},
		{Kind: llm.EventTextEnd, Index: 1},
		{Kind: llm.EventToolCallEnd, Index: 2},
		{Kind: llm.EventToolCallEnd, Index: 3, Name: "late"},
		{Kind: llm.EventThinkingStart, Index: 4, Redacted: true},
		{Kind: llm.EventThinkingEnd, Index: 4, Signature: "blob"},
		{Kind: llm.EventToolCallStart, Index: 5, ID: "c", Name: "ls"},
		{Kind: llm.EventToolCallDelta, Index: 5, Delta: `{"path":"{{cwd"}`},
		{Kind: llm.EventToolCallEnd, Index: 5, Signature: "thought"},
		{Kind: llm.EventMeta, Usage: usage},
		{Kind: llm.EventDone, StopReason: llm.StopToolUse, RawStopReason: "tool_use", EndTurn: ptr(false), ResponseID: "r2", ProviderLevel: "deep", Usage: usage},
	}
	file := replay(t, t.Context(), []answer{{events: events}}, []*llm.Request{request(user("x"))})
	if !strings.Contains(file, `"arguments":{"path":"{{cwd"}`) {
		t.Errorf("arguments that came whole are not readable:\n%s", file)
	}
}

// Answers in a row, a failure in mid-stream and its retry, a length stop asked again,
// a failure for good, a summary, and the conversation after it.
func TestConversation(t *testing.T) {
	half := failing(llm.ErrTransport, "dropped")
	half.events = saying("half").events[:3]
	closed := append(half.events[:3:3], llm.Event{Kind: llm.EventTextEnd})
	half.events = closed
	short := saying("short")
	short.events[4].StopReason = llm.StopLength
	one := []llm.Message{user("first")}
	two := append(one, said("whole"), user("second"))
	three := append(two, &llm.AssistantMessage{StopReason: llm.StopError, ErrorMessage: "bad"}, user("third"))
	kept := []llm.Message{user("The summary of it all"), user("fourth")}
	replay(t, t.Context(), []answer{
		half, half, saying("whole"),
		failing(llm.ErrBadRequest, "bad"),
		short, saying("long"),
		saying("a summary"),
		saying("after it"), failing(llm.ErrTransient, "again"), saying("and on"),
	}, []*llm.Request{
		request(one...), request(one...), request(one...),
		request(two...),
		request(three...), request(three...),
		request(user("Summarise this: " + strings.Repeat("long text ", 100))),
		request(kept...), request(append(kept, said("after it"), user("fifth"))...), request(append(kept, said("after it"), user("fifth"))...),
	})
}

// A call that was cancelled hangs when it is played.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var file bytes.Buffer
	r := record.New(&fake{answers: []answer{{events: saying("cut").events[:3], err: context.Canceled}, {events: saying("next").events}}}, &file)
	for e, err := range r.Stream(ctx, request(user("x"))) {
		if e.Kind == llm.EventTextDelta {
			cancel()
		}
		_ = err
	}
	take(r, t.Context(), request(user("x"), &llm.AssistantMessage{StopReason: llm.StopAborted, ErrorMessage: "Request was aborted"}, user("y")))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Turns); n != 2 {
		t.Fatalf("%d turns", n)
	}
	if steps := s.Turns[0].Steps; !steps[len(steps)-1].Hang {
		t.Errorf("the cancelled turn does not hang:\n%s", &file)
	}
}

// A recording in a file is complete after each turn, whatever becomes of the program.
func TestCompleteAfterEachTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := record.New(&fake{answers: []answer{saying("a"), saying("b"), saying("c")}}, file)
	msgs := []llm.Message{user("x")}
	check := func(turns int) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scripted.Parse(text)
		if err != nil || len(s.Turns) != turns {
			t.Errorf("want %d turns: %v\n%s", turns, err, text)
		}
	}
	for n := range 3 {
		take(r, t.Context(), request(msgs...))
		check(n + 1)
		msgs = append(msgs, said("y"), user("z"))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	check(3)
}

func TestPipe(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := record.New(&fake{answers: []answer{saying("a"), saying("b")}}, out)
	take(r, t.Context(), request(user("x")))
	take(r, t.Context(), request(user("x"), said("a"), user("y")))
	if err := errors.Join(r.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := scripted.Parse(text); err != nil || len(s.Turns) != 2 {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestNothingRecorded(t *testing.T) {
	var file bytes.Buffer
	if err := record.NewScript(&file).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.Parse(file.Bytes()); err != nil {
		t.Errorf("%v\n%s", err, &file)
	}
}

// full is a disk that is full after some bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	if *f -= full(len(p)); *f < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// A recording that fails does not disturb the run; Close tells.
func TestWriteError(t *testing.T) {
	disk := full(100)
	r := record.New(&fake{answers: []answer{saying("a"), saying("b"), saying("c")}}, &disk)
	for _, want := range []string{"a", "b", "c"} {
		if got := take(r, t.Context(), request(user("x"))); got.err != nil || got.events[2].Delta != want {
			t.Errorf("got %+v", got)
		}
	}
	if err := r.Close(); err == nil || err.Error() != "recording: disk full" {
		t.Errorf("Close: %v", err)
	}
}

// Two recorders may write one script at once.
func TestConcurrent(t *testing.T) {
	var file bytes.Buffer
	s := record.NewScript(&file)
	done := make(chan bool)
	for i := range 8 {
		go func() {
			take(s.Record(&fake{answers: []answer{saying(fmt.Sprint(i))}}), t.Context(), request(user(fmt.Sprint("prompt ", i))))
			done <- true
		}()
	}
	for range 8 {
		<-done
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := scripted.Parse(file.Bytes())
	if err != nil || len(got.Turns) != 8 {
		t.Errorf("%v\n%s", err, &file)
	}
}

// Whatever a provider sends within its contract is played as it was recorded.
func TestAnyAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var answers []answer
		var reqs []*llm.Request
		var msgs []llm.Message
		for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
			msgs = append(msgs, user(fmt.Sprint("prompt ", i)))
			answers = append(answers, anyAnswer(t))
			reqs = append(reqs, request(msgs[:len(msgs):len(msgs)]...))
			msgs = append(msgs, said("x"))
		}
		replay(t, context.Background(), answers, reqs)
	})
}

// anyAnswer draws a sequence of events that keeps the contract of llm.Event.
func anyAnswer(t *rapid.T) answer {
	text := rapid.StringMatching(`[a-z{}"\\é]{1,5}`)
	maybe := rapid.SampledFrom([]string{"", "", "s"})
	a := answer{events: []llm.Event{{Kind: llm.EventMeta, ResponseID: maybe.Draw(t, "id")}}}
	kinds := []llm.EventKind{llm.EventTextStart, llm.EventThinkingStart, llm.EventToolCallStart}
	var open []llm.Event
	n := 0
	for range rapid.IntRange(0, 12).Draw(t, "events") {
		switch what := rapid.IntRange(0, 4).Draw(t, "what"); {
		case what == 0 || len(open) == 0:
			e := llm.Event{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Index: n, Signature: maybe.Draw(t, "start")}
			if e.Kind == llm.EventToolCallStart {
				e.ID, e.Name = fmt.Sprint("id", n), text.Draw(t, "name")
			}
			n++
			open = append(open, e)
			a.events = append(a.events, e)
		case what < 4:
			b := rapid.SampledFrom(open).Draw(t, "block")
			a.events = append(a.events, llm.Event{Kind: b.Kind + 1, Index: b.Index, Delta: text.Draw(t, "delta")})
		default:
			i := rapid.IntRange(0, len(open)-1).Draw(t, "ends")
			a.events = append(a.events, end(t, open[i]))
			open = append(open[:i], open[i+1:]...)
		}
	}
	for _, b := range open {
		a.events = append(a.events, end(t, b))
	}
	if rapid.Bool().Draw(t, "fails") {
		a.err = &llm.Error{Kind: llm.ErrTransport, Message: text.Draw(t, "error")}
		return a
	}
	a.events = append(a.events, llm.Event{Kind: llm.EventDone, StopReason: llm.StopEnd, RawStopReason: maybe.Draw(t, "raw")})
	return a
}

func end(t *rapid.T, b llm.Event) llm.Event {
	e := llm.Event{Kind: b.Kind + 2, Index: b.Index, Signature: rapid.SampledFrom([]string{"", "sig"}).Draw(t, "signature")}
	if rapid.Bool().Draw(t, "final") {
		e.Replace = ptr("whole")
	}
	if b.Kind == llm.EventToolCallStart && rapid.Bool().Draw(t, "named") {
		e.Name = "late"
	}
	if b.Kind == llm.EventThinkingStart {
		e.Redacted = rapid.Bool().Draw(t, "redacted")
	}
	return e
}
