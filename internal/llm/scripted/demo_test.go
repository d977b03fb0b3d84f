package scripted_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

// folder stands for a folder that the demo runs in: file names with their content,
// those of folders with a slash. git is what the log says.
type folder struct {
	files map[string]string
	git   string
}

// run answers a tool call as the built-in tools do.
func (f folder) run(t *testing.T, call *llm.ToolCall) (text string, failed bool) {
	var args struct {
		Path    string `json:"path"`
		Command string `json:"command"`
	}
	if err := jsonx.Unmarshal(call.Arguments, &args); err != nil {
		t.Fatalf("%s: %v", call.Arguments, err)
	}
	var names []string
	for name := range f.files {
		names = append(names, name)
	}
	slices.Sort(names)
	list := strings.Join(names, "\n")
	switch {
	case call.Name == "ls" && args.Path == ".":
		if list == "" {
			list = "(empty directory)"
		}
		return list, false
	case call.Name == "bash" && strings.HasPrefix(args.Command, "ls -1Ap"):
		if list == "" {
			list = "(no output)"
		}
		return list + "\n", false
	case call.Name == "bash" && strings.HasPrefix(args.Command, "git log"):
		if f.git == "" {
			return "(no output)", false
		}
		return f.git, false
	case call.Name == "read":
		if text, ok := f.files[args.Path]; ok && !strings.HasSuffix(args.Path, "/") {
			return text, false
		}
		return "no such file: " + args.Path, true
	}
	t.Errorf("the demo calls %s %s", call.Name, call.Arguments)
	return "Tool not found", true
}

// demo plays the embedded script in a folder and returns the answer and the calls.
func demo(t *testing.T, f folder, tools ...string) (answer string, calls []string) {
	t.Helper()
	c := chatWith(t, scripted.New(""), tools...).user("What does this project do?")
	for range 5 {
		m := c.say()
		if m.ErrorMessage != "" {
			t.Fatalf("the demo failed: %s", m.ErrorMessage)
		}
		if m.Usage.Input == 0 || m.Usage.Output == 0 {
			t.Errorf("usage %+v", m.Usage)
		}
		if m.StopReason == llm.StopEnd {
			return m.Content.PlainText("\n"), calls
		}
		for _, tc := range m.Content.ToolCalls() {
			if !slices.Contains(tools, tc.Name) {
				t.Errorf("the demo calls %s, which is not offered", tc.Name)
			}
			calls = append(calls, tc.Name+string(tc.Arguments))
			text, failed := f.run(t, tc)
			c.req.Messages = append(c.req.Messages, &llm.ToolResultMessage{
				ToolCallID: tc.ID, ToolName: tc.Name, Content: llm.Content{llm.NewText(text)}, IsError: failed,
			})
		}
	}
	t.Fatal("the demo does not come to an end")
	return "", nil
}

func TestDemo(t *testing.T) {
	project := folder{files: map[string]string{
		"README.md": "[![ci](x)](y)\n\n# Lathe\n\nA lathe for small pieces.\n", "lathe.go": "package lathe\n", "docs/": "", "LICENSE": "MIT",
	}, git: "turn faster\nfirst chip\n"}
	code := folder{files: map[string]string{"main.py": "#!/usr/bin/env python3\nprint('hello')\n", "data.bin": "\x00"}}
	blobs := folder{files: map[string]string{"a.bin": "", "img/": ""}}
	empty := folder{}
	all := []string{"read", "bash", "edit", "write", "ls"}
	usual := []string{"read", "bash", "edit", "write"}
	for _, tt := range []struct {
		name   string
		folder folder
		tools  []string
		calls  int
		want   []string
	}{
		{"project", project, usual, 3, []string{"**Lathe**", "`lathe`", "> A lathe for small pieces.", "LICENSE, README.md, docs/, lathe.go", "turn faster, first chip"}},
		{"project with ls", project, all, 3, []string{"**Lathe**", "> A lathe for small pieces.", "LICENSE, README.md, docs/, lathe.go", "turn faster"}},
		{"project without bash", project, []string{"ls", "read"}, 2, []string{"**Lathe**", "LICENSE, README.md"}},
		{"project with read only", project, []string{"read"}, 1, []string{"**Lathe**", "> A lathe for small pieces."}},
		{"project with ls only", project, []string{"ls"}, 1, []string{"LICENSE, README.md, docs/, lathe.go"}},
		{"code", code, usual, 3, []string{"lathe has no README", "#!/usr/bin/env python3\nprint('hello')", "data.bin, main.py"}},
		{"code with read only", code, []string{"read"}, 1, []string{"could not look", "no such file: README.md"}},
		{"blobs", blobs, usual, 1, []string{"No file was read", "a.bin, img/"}},
		{"empty", empty, usual, 1, []string{"`lathe` is empty"}},
		{"empty with ls", empty, all, 1, []string{"`lathe` is empty"}},
		{"no tools", project, nil, 0, []string{"none of them is switched on"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer, calls := demo(t, tt.folder, tt.tools...)
			if len(calls) != tt.calls {
				t.Errorf("calls %q, want %d", calls, tt.calls)
			}
			for _, want := range tt.want {
				if !strings.Contains(answer, want) {
					t.Errorf("the answer lacks %q:\n%s", want, answer)
				}
			}
			if strings.Contains(answer, "{{") || strings.Contains(answer, "(no output)") {
				t.Errorf("the answer shows its works:\n%s", answer)
			}
		})
	}
}

// The demo says something to whatever comes after it, and when all tools fail.
func TestDemoGoesOn(t *testing.T) {
	c := chatWith(t, scripted.New(""), "bash", "read").user("hi")
	c.say()
	c.result("bash", "bash: not found", true)
	if got := c.text(); !strings.Contains(got, "could not look") || !strings.Contains(got, "bash: not found") {
		t.Errorf("all failed: %q", got)
	}
	c.user("and now?")
	if m := c.say(); len(m.Content.ToolCalls()) != 1 {
		t.Errorf("second prompt: %+v", m)
	}
	c.result("bash", "x.bin", false).user("wait")
	if got := c.text(); !strings.Contains(got, "x.bin") {
		t.Errorf("steered: %q", got)
	}
}
