package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/settings"
)

// The engine as clients see it is tested by the conversations of package rpc. Here are
// the parts whose timing a client cannot bring about.

func message(text string) llm.Message {
	return &llm.UserMessage{Content: llm.Content{llm.NewText(text)}}
}

func shown(msgs []llm.Message) (list []string) {
	for _, m := range msgs {
		list = append(list, m.(*llm.UserMessage).Content.PlainText(""))
	}
	return list
}

// A message that arrives while the context is read is in the context, whether what was
// read has it or not.
func TestMessageWhileTheContextIsRead(t *testing.T) {
	var c conversation
	c.reset(false)
	gen := c.gen
	file := []llm.Message{message("old")}
	read := file[:1:1]
	c.append(message("meanwhile")) // a bash command was recorded: read is stale
	c.loadedFrom(gen, read)
	if c.loaded {
		t.Fatal("a stale context was taken")
	}
	c.loadedFrom(c.gen, append(read, message("meanwhile")))
	c.append(message("later"))
	if diff := cmp.Diff([]string{"old", "meanwhile", "later"}, shown(c.msgs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.loadedFrom(c.gen, read)
	if len(c.msgs) != 3 {
		t.Error("a loaded context was replaced")
	}
}

// A context of another session is never taken for the one that replaced it.
func TestReplacementWhileTheContextIsRead(t *testing.T) {
	var c conversation
	c.reset(false)
	gen := c.gen
	c.reset(false)
	c.loadedFrom(gen, []llm.Message{message("old session")})
	if c.loaded {
		t.Error("the context of the old session was taken")
	}
	c.reset(true)
	c.append(message("new"))
	c.loadedFrom(c.gen, nil)
	if diff := cmp.Diff([]string{"new"}, shown(c.msgs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Only the failed attempt itself leaves the context, and what others hold of it stays
// as it was.
func TestDropFailed(t *testing.T) {
	failed := &llm.AssistantMessage{StopReason: llm.StopError}
	c := conversation{loaded: true, msgs: []llm.Message{message("q"), failed}}
	held := c.msgs[:2:2]
	c.dropFailed(&llm.AssistantMessage{})
	if len(c.msgs) != 2 {
		t.Error("another message was dropped")
	}
	c.dropFailed(failed)
	c.append(message("next"))
	if len(c.msgs) != 2 || held[1] != llm.Message(failed) {
		t.Errorf("context of %d messages, held %v", len(c.msgs), held[1])
	}
}

func TestRetryDelay(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name    string
		policy  settings.Retry
		attempt int
		asked   time.Duration
		want    time.Duration
	}{
		{"the first", settings.Retry{BaseDelay: 2 * second}, 1, 0, 2 * second},
		{"doubles", settings.Retry{BaseDelay: 2 * second}, 3, 0, 8 * second},
		{"is capped", settings.Retry{BaseDelay: 2 * second, MaxAgentDelay: 5 * second}, 3, 0, 5 * second},
		{"never overflows", settings.Retry{BaseDelay: 2 * second, MaxAgentDelay: 60 * second}, 200, 0, 60 * second},
		{"what the server asked for counts when it is longer", settings.Retry{BaseDelay: 2 * second}, 1, 7 * second, 7 * second},
		{"and not when it is shorter", settings.Retry{BaseDelay: 2 * second}, 2, second, 4 * second},
		{"up to its own cap", settings.Retry{BaseDelay: 2 * second, MaxAgentDelay: 3 * second, MaxRetryDelay: 10 * second}, 1, 50 * second, 10 * second},
	} {
		if got := retryDelay(tt.policy, tt.attempt, tt.asked); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRetryable(t *testing.T) {
	for kind, want := range map[llm.ErrorKind]bool{
		llm.ErrTransient: true, llm.ErrRateLimit: true, llm.ErrTransport: true,
		llm.ErrQuota: false, llm.ErrAuth: false, llm.ErrOverflow: false, llm.ErrBadRequest: false,
		llm.ErrRefusal: false, llm.ErrAborted: false, llm.ErrUnknown: false,
	} {
		if got := retryable(&llm.Error{Kind: kind}); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
	if retryable(nil) {
		t.Error("no error is retried")
	}
}

// What was polled and not delivered is polled again, in its order.
func TestTakeAndUntake(t *testing.T) {
	q := queues{steering: []*queued{{text: "a"}, {text: "b"}, {text: "c"}}}
	poll := func(mode QueueMode) []string { return texts(take(q.steering, mode)) }
	if diff := cmp.Diff([]string{"a"}, poll(QueueOne)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b", "c"}, poll(QueueAll)); diff != "" {
		t.Error(diff)
	}
	if got := poll(QueueAll); len(got) != 0 {
		t.Errorf("taken twice: %v", got)
	}
	q.untake()
	if diff := cmp.Diff([]string{"a", "b", "c"}, poll(QueueAll)); diff != "" {
		t.Error(diff)
	}
}

func TestLaneTakesInOrder(t *testing.T) {
	var l lane
	ws := []*waiter{{input: &incoming{}}, {}, {input: &incoming{}}}
	l.waiting = ws
	taken := l.take(func(w *waiter) bool { return w.input != nil })
	if len(taken) != 2 || taken[0] != ws[0] || taken[1] != ws[2] || len(l.waiting) != 1 || l.waiting[0] != ws[1] {
		t.Errorf("taken %v, left %v", taken, l.waiting)
	}
}

func TestRecovered(t *testing.T) {
	var report string
	err := recovered(func(s string) { report = s }, "input hook", func() error { panic("boom") })
	if err == nil || err.Error() != "input hook: boom" || !strings.Contains(report, "engine_test.go") {
		t.Errorf("%v, report %q", err, report)
	}
	if err := recovered(nil, "", func() error { return errAborted }); !errors.Is(err, errAborted) {
		t.Error(err)
	}
}
