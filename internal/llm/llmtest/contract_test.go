package llmtest

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

// recorder keeps what a check complains of.
type recorder struct {
	testing.TB
	errs []string
}

func (r *recorder) Helper() {}

func (r *recorder) Error(args ...any) { r.errs = append(r.errs, fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, args...))
}

// The suite is worth nothing if it does not see a breach.
func TestContract(t *testing.T) {
	meta := llm.Event{Kind: llm.EventMeta}
	text := llm.Event{Kind: llm.EventTextStart}
	end := llm.Event{Kind: llm.EventTextEnd}
	done := llm.Event{Kind: llm.EventDone, StopReason: llm.StopEnd}
	failure := &llm.Error{Kind: llm.ErrTransport, Message: "x"}
	for name, c := range map[string]struct {
		events []llm.Event
		err    error
		want   string // "" for none
	}{
		"good":             {[]llm.Event{meta, text, {Kind: llm.EventTextDelta, Delta: "a"}, end, done}, nil, ""},
		"good, failed":     {[]llm.Event{meta, text}, failure, ""},
		"good, at once":    {nil, failure, ""},
		"no meta":          {[]llm.Event{text, end, done}, nil, "the first event"},
		"no end":           {[]llm.Event{meta}, nil, "neither"},
		"open block":       {[]llm.Event{meta, text, done}, nil, "is open"},
		"index left out":   {[]llm.Event{meta, {Kind: llm.EventTextStart, Index: 1}, done}, nil, "starts after"},
		"index twice":      {[]llm.Event{meta, text, end, text, done}, nil, "starts after"},
		"delta after end":  {[]llm.Event{meta, text, end, {Kind: llm.EventTextDelta}, done}, nil, "without an open block"},
		"delta of a kind":  {[]llm.Event{meta, text, {Kind: llm.EventThinkingDelta}, end, done}, nil, "without an open block"},
		"text with start":  {[]llm.Event{meta, {Kind: llm.EventTextStart, Delta: "a"}, end, done}, nil, "with text"},
		"stop reason":      {[]llm.Event{meta, {Kind: llm.EventDone, StopReason: llm.StopError}}, nil, "stop reason"},
		"after done":       {[]llm.Event{meta, done, meta}, nil, "after the end"},
		"error after done": {[]llm.Event{meta, done}, failure, "after the end"},
		"foreign error":    {nil, io.ErrUnexpectedEOF, "no *llm.Error"},
		"nil error":        {nil, (*llm.Error)(nil), "nil *llm.Error"},
		"wordless error":   {nil, &llm.Error{Kind: llm.ErrQuota}, "without message"},
		"error with a key": {nil, &llm.Error{Kind: llm.ErrAuth, Message: "bad " + apiKey}, "the key shows"},
		"unknown event":    {[]llm.Event{meta, {Kind: 99}, done}, nil, "unknown event"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			k := contract{t: r}
			for _, e := range c.events {
				k.event(e)
			}
			if c.err != nil {
				k.failed(c.err)
			}
			k.end()
			if c.want == "" && len(r.errs) > 0 || c.want != "" && !strings.Contains(strings.Join(r.errs, "\n"), c.want) {
				t.Errorf("got %q, want %q", r.errs, c.want)
			}
		})
	}
}

func TestAnswerReadsAsToldAndMustBeClosed(t *testing.T) {
	fault := errors.New("reset")
	b := &body{a: &Answer{Err: fault}, pieces: [][]byte{[]byte("abc"), {}, []byte("d")}}
	b.r = httptest.NewRequest("POST", "/", nil)
	var got []string
	for {
		p := make([]byte, 2)
		n, err := b.Read(p)
		if err != nil {
			if !errors.Is(err, fault) {
				t.Errorf("ended with %v", err)
			}
			break
		}
		got = append(got, string(p[:n]))
	}
	if want := []string{"ab", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	r := &recorder{TB: t}
	b.a.asked.Store(1)
	b.a.mustBeClosed(r)
	if len(r.errs) != 1 {
		t.Errorf("an open body: %q", r.errs)
	}
	b.Close()
	if b.a.mustBeClosed(r); len(r.errs) != 1 {
		t.Errorf("a closed body: %q", r.errs)
	}
}

func TestIsPart(t *testing.T) {
	text := func(s string) llm.Content { return llm.Content{llm.NewText(s)} }
	if !isPart(text("ab"), text("abc")) || isPart(text("ac"), text("abc")) || isPart(text("a"), nil) || !isPart(nil, text("a")) {
		t.Error("isPart is wrong")
	}
}

func TestEvents(t *testing.T) {
	got := events([]byte("data: a\r\n\r\nevent: x\ndata: b\n\n"))
	if want := []string{"data: a\n\n", "event: x\ndata: b\n\n"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
