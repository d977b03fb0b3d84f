package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// A model with a window of 30,000 tokens that answers at length and calls tools.
const soakScript = `
-- settings.json --
{"defaultProvider":"fake","defaultModel":"one","streamDeadlineMs":60000,"retry":{"baseDelayMs":50,"maxRetries":2},
 "fallbackModels":["fake/two"],"compaction":{"keepRecentTokens":4000,"reserveTokens":6000%s}}
-- models.json --
{"providers":{"fake":{"baseUrl":"http://fake.test","api":"openai-completions","apiKey":"k","models":[
 {"id":"one","contextWindow":30000,"maxTokens":4000},{"id":"two","contextWindow":30000,"maxTokens":4000}]}}}
-- provider --
{"onEnd":"repeat","usage":"estimate","turns":[
 {"match":"numbered-transcript","steps":[{"delayMs":30},{"text":"2,40\n45,60\n70,90\n"}]},
 {"match":"/<conversation>|# Conversation/","steps":[{"delayMs":30},{"text":"a summary"}]},
 {"match":"tools","turn":"0-3","steps":[{"delayMs":5},{"text":"calling"},{"toolCall":{"name":"bash","arguments":{"command":"sleep 0.01; echo %s"}}},{"toolCall":{"name":"ls","arguments":{"path":"."}}}]},
 {"steps":[{"delayMs":5},{"text":"%s","chunkSize":200,"delayMs":1}]}]}
-- args --
dialect %s
`

// unreliable is a provider with faults of every kind at random.
type unreliable struct {
	llm.Provider
	mu  sync.Mutex
	rnd *rand.Rand
}

func (u *unreliable) pick(n int) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.rnd.IntN(n)
}

func (u *unreliable) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	inner := u.Provider.Stream(ctx, req)
	fail := func(after int, err *llm.Error) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if after > 0 {
				for ev, err := range inner {
					if after--; after < 0 || err != nil || !yield(ev, nil) {
						break
					}
				}
			}
			yield(llm.Event{}, err)
		}
	}
	switch u.pick(24) {
	case 0:
		return fail(0, &llm.Error{Kind: llm.ErrTransient, Status: 529, Message: "Overloaded"})
	case 1:
		return fail(0, &llm.Error{Kind: llm.ErrRateLimit, Status: 429, Message: "slow down", RetryAfter: 200 * time.Millisecond})
	case 2:
		return fail(0, &llm.Error{Kind: llm.ErrQuota, Status: 402, Message: "out of credits"})
	case 3:
		return fail(3, &llm.Error{Kind: llm.ErrTransport, Message: "connection reset"})
	case 4:
		return fail(0, &llm.Error{Kind: llm.ErrOverflow, Status: 400, Message: "prompt is too long"})
	case 5:
		return fail(0, &llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "bad request"})
	case 6:
		return func(yield func(llm.Event, error) bool) { // silence
			<-ctx.Done()
			yield(llm.Event{}, ctx.Err())
		}
	case 7:
		return altered(inner, func(ev *llm.Event) { ev.StopReason = llm.StopLength })
	case 8:
		return func(yield func(llm.Event, error) bool) {
			_ = yield(llm.Event{Kind: llm.EventMeta}, nil) && yield(llm.Event{Kind: llm.EventDone, StopReason: llm.StopEnd}, nil)
		}
	case 9:
		return altered(inner, func(ev *llm.Event) { ev.Usage = &llm.Usage{Input: 45000, Output: 3} })
	}
	return inner
}

// altered changes the end of a stream.
func altered(in iter.Seq2[llm.Event, error], change func(*llm.Event)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for ev, err := range in {
			if ev.Kind == llm.EventDone {
				change(&ev)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// soakTurns is how many prompts the soak test sends: a few, or as many as the variable
// ISOTOPE_SOAK says.
func soakTurns() int {
	if n, err := strconv.Atoi(os.Getenv("ISOTOPE_SOAK")); err == nil && n > 0 {
		return n
	}
	if raceEnabled {
		return 15
	}
	return 40
}

// A long session on a small window, with faults of every kind, steering, aborts and
// compactions: every prompt settles, every request is valid, the file can be opened, and
// what is held in memory does not grow.
func TestSoak(t *testing.T) {
	for _, dialect := range []string{"pi", "atomic"} {
		t.Run(dialect, func(t *testing.T) { soak(t, dialect, soakTurns()) })
	}
}

func soak(t *testing.T, dialect string, turns int) {
	script := fmt.Sprintf(soakScript, "", strings.Repeat("output ", 300), strings.Repeat("word by word\\n", 120), dialect)
	rnd := rand.New(rand.NewPCG(7, uint64(len(dialect))))
	var early, late uint64
	inBubble(t, script, func(b *testbed) {
		b.provider = func(p llm.Provider) llm.Provider {
			return &unreliable{Provider: p, rnd: rand.New(rand.NewPCG(11, 0))}
		}
		b.requests = func(r *llm.Request) {
			if err := paired(r.Messages); err != nil {
				t.Error(err)
			}
		}
	}, func(c *talk) {
		for i := range turns {
			c.soakTurn(rnd, i)
			if n := i + 1; n == turns/5 || n == turns {
				early, late = late, memory(c)
			}
			if t.Failed() {
				return
			}
		}
		for _, kind := range []string{"auto_retry_start", "compaction_start", "compaction_end", "model_fallback_end"} {
			if turns >= 40 && !strings.Contains(c.out.String(), `"type":"`+kind+`"`) {
				t.Errorf("there was no %s", kind)
			}
		}
		path := c.bed.stores[0].Path()
		c.end()
		store, err := session.Open(path, session.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if _, err := store.View().Context(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("held in memory: %d kB after a fifth, %d kB at the end", early>>10, late>>10)
	if turns >= 500 && late > early*6/5+4<<20 {
		t.Errorf("memory grew from %d to %d bytes", early, late)
	}
}

// memory is what is held beside the records that the test itself collects.
func memory(c *talk) uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return m.HeapAlloc - uint64(c.out.buf.Cap())
}

// soakTurn sends one prompt and disturbs it. It returns when the session is idle.
func (c *talk) soakTurn(rnd *rand.Rand, i int) {
	c.t.Helper()
	text := []string{"tools", "talk", "talk"}[rnd.IntN(3)] + strings.Repeat(" more", rnd.IntN(400))
	id := fmt.Sprintf(`"p%d"`, i)
	c.send(fmt.Sprintf(`{"id":%s,"type":"prompt","message":%q}`, id, text))
	c.await("response", id)
	for range rnd.IntN(3) {
		time.Sleep(time.Duration(rnd.IntN(80)) * time.Millisecond)
		switch rnd.IntN(8) {
		case 0:
			c.send(`{"type":"abort"}`)
		case 1:
			c.send(`{"type":"compact"}`)
		case 2:
			c.send(`{"type":"abort_compaction"}`)
		case 3:
			c.send(`{"type":"abort_retry"}`)
		case 4:
			c.send(`{"type":"follow_up","message":"and then"}`)
		default:
			c.send(`{"type":"steer","message":"look here"}`)
		}
	}
	for n := 0; ; n++ {
		state := fmt.Sprintf("s%d-%d", i, n)
		c.send(fmt.Sprintf(`{"id":%q,"type":"get_state"}`, state))
		c.await("response", `"`+state+`"`)
		answer := c.lastLine(`"` + state + `"`)
		if strings.Contains(answer, `"isStreaming":false`) && strings.Contains(answer, `"isCompacting":false`) {
			return
		}
		if n > 3000 {
			c.t.Fatalf("turn %d does not settle: %s", i, answer)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// lastLine returns the newest record that contains sub.
func (c *talk) lastLine(sub string) string {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	out := c.out.buf.Bytes()
	i := bytes.LastIndex(out, []byte(sub))
	if i < 0 {
		return ""
	}
	line, _, _ := bytes.Cut(out[bytes.LastIndexByte(out[:i], '\n')+1:], []byte("\n"))
	return string(line)
}
