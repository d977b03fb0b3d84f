package compact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestFitRecord(t *testing.T) {
	sections := []string{"aaaa", "bbbb", "cccc"}
	for _, test := range []struct {
		limit int
		want  string
	}{
		{16, "aaaa\n\nbbbb\n\ncccc"},
		{15, "[... 1 earlier sections left out: they do not fit]\n\nbbbb\n\ncccc"},
		{10, "[... 1 earlier sections left out: they do not fit]\n\nbbbb\n\ncccc"},
		{9, "[... 2 earlier sections left out: they do not fit]\n\ncccc"},
		{4, "[... 2 earlier sections left out: they do not fit]\n\ncccc"},
		{2, "[... 2 earlier sections left out: they do not fit]\n\nc\n[... 2 characters left out ...]\nc"},
	} {
		if got := fitRecord(sections, test.limit); got != test.want {
			t.Errorf("limit %d: %q, want %q", test.limit, got, test.want)
		}
	}
	if got := fitRecord([]string{"0123456789"}, 4); got != "01\n[... 6 characters left out ...]\n89" {
		t.Errorf("%q", got)
	}
	if got := fitRecord([]string{strings.Repeat("😀", 10)}, 5); !strings.HasPrefix(got, "😀\n[... 14 ") || !strings.HasSuffix(got, "\n😀😀") {
		t.Errorf("%q", got)
	}
	long := fitRecord([]string{"first", strings.Repeat("x", 3000), "last"}, 1000)
	if !strings.HasPrefix(long, "[... 1 earlier sections left out: they do not fit]\n\nxxx") || !strings.HasSuffix(long, "xxx\n\nlast") || len(long) > 1120 {
		t.Errorf("%d: %q", len(long), long)
	}
	if got := fitRecord(nil, 4); got != "" {
		t.Errorf("%q", got)
	}
}

// Field report 86: a record that cannot fit is not sent.
func TestRecordFitsTheWindow(t *testing.T) {
	k := newTalk(t)
	for i := range 40 {
		k.user(fmt.Sprint("request ", i, strings.Repeat(" long", 2000)))
		k.answer("ok")
	}
	k.user("last")
	k.answer("done")
	in := k.input()
	in.Window, in.Options.KeepRecentTokens = 30_000, 2
	s := answers(say("S"))
	mustRun(t, Summary{}, in, s.complete)
	text := s.requests[0].Messages[0].(*llm.UserMessage).Content.PlainText("")
	if n := textTokens(text); n > 30_000-answerRoom/2 || n < 10_000 {
		t.Errorf("the request has %d tokens", n)
	}
	if !strings.Contains(text, "earlier sections left out") || !strings.Contains(text, "request 39") || strings.Contains(text, "request 1 ") {
		t.Errorf("%.200q", text)
	}
}

// What the provider finds too long is halved until it fits, or until nothing is left.
func TestRecordShrinks(t *testing.T) {
	k := newTalk(t)
	k.user(strings.Repeat("x", 20_000))
	k.answer("ok")
	k.user("last")
	overflow := broken(llm.ErrOverflow, "prompt is too long")
	silent := say("never mind")
	silent.Usage.Input = 1_000_000
	prepare := func() *Plan {
		in := k.input()
		in.Options.KeepRecentTokens = 1
		p, err := Summary{}.Prepare(in)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	s := answers(overflow, silent, say("S"))
	o, err := prepare().Run(t.Context(), s.complete)
	if err != nil || o.Entry.Summary != "S" {
		t.Fatal(o, err)
	}
	var sizes []int
	for _, r := range s.requests {
		sizes = append(sizes, Chars(r.Messages[0].(*llm.UserMessage).Content.PlainText("")))
	}
	if sizes[1] > sizes[0]*2/3 || sizes[2] > sizes[1]*4/5 {
		t.Errorf("sizes %v", sizes)
	}
	s = answers(overflow, overflow, overflow, overflow, overflow, overflow)
	if _, err := prepare().Run(t.Context(), s.complete); err == nil || err.Error() != "Summarization failed: prompt is too long" {
		t.Error(err)
	}
	if len(s.requests) != 5 {
		t.Errorf("%d requests", len(s.requests))
	}
}
