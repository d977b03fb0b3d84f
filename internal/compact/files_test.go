package compact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

func TestTouchedFiles(t *testing.T) {
	calls := func(c ...llm.Block) []llm.Message {
		return []llm.Message{&llm.AssistantMessage{Content: c}}
	}
	previous := func(details string, hook bool) *session.SpanEntry {
		return &session.SpanEntry{Details: []byte(details), FromHook: hook}
	}
	for _, test := range []struct {
		name     string
		previous *session.SpanEntry
		msgs     []llm.Message
		want     Files
		section  string
	}{
		{"none", nil, nil, Files{}, ""},
		{
			"sorted, modified wins", nil, calls(call("", "read", `{"path":"z"}`), call("", "read", `{"path":"a"}`), call("", "edit", `{"path":"z"}`), call("", "write", `{"content":"x","path":"b"}`), call("", "read", `{"path":"a"}`)),
			Files{[]string{"a"}, []string{"b", "z"}},
			"\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nb\nz\n</modified-files>",
		},
		{"only modified", nil, calls(call("", "write", `{"path":"b"}`)), Files{nil, []string{"b"}}, "\n\n<modified-files>\nb\n</modified-files>"},
		{"other tools and bad paths", nil, calls(call("", "ls", `{"path":"x"}`), call("", "read", `{}`), call("", "read", `{"path":3}`), call("", "read", `{"path":""}`), call("", "read", ``), llm.NewText("read")), Files{}, ""},
		{
			"carried over", previous(`{"readFiles":["r","w"],"modifiedFiles":["m"]}`, false), calls(call("", "write", `{"path":"w"}`)),
			Files{[]string{"r"}, []string{"m", "w"}},
			"\n\n<read-files>\nr\n</read-files>\n\n<modified-files>\nm\nw\n</modified-files>",
		},
		{"not from an extension", previous(`{"readFiles":["r"]}`, true), nil, Files{}, ""},
		{"of a wrong form", previous(`{"readFiles":"r","modifiedFiles":["m"]}`, false), nil, Files{nil, []string{"m"}}, "\n\n<modified-files>\nm\n</modified-files>"},
		{"no details", previous(``, false), nil, Files{}, ""},
	} {
		got := touchedFiles(test.previous, test.msgs)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if got := got.section(); got != test.section {
			t.Errorf("%s: %q", test.name, got)
		}
	}
	if got := encode(t, Files{}); got != `{"readFiles":[],"modifiedFiles":[]}` {
		t.Error(got)
	}
}
