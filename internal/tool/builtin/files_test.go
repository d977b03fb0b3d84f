package builtin

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// folder is a working directory for a test.
type folder struct {
	testing.TB
	dir string
	cfg Config
}

func newFolder(tb testing.TB) *folder {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	work := filepath.Join(dir, "work")
	for _, d := range []string{home, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	return &folder{tb, work, Config{Cwd: work, Home: home, Files: new(tool.Queue)}}
}

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *folder) write(name, text string) {
	f.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
}

func (f *folder) read(name string) string {
	f.Helper()
	b, err := os.ReadFile(f.path(name))
	if err != nil {
		f.Fatal(err)
	}
	return string(b)
}

func (f *folder) tool(name string) tool.Tool {
	switch name {
	case "read":
		return NewRead(f.cfg)
	case "edit":
		return NewEdit(f.cfg)
	case "write":
		return NewWrite(f.cfg)
	case "grep":
		return NewGrep(f.cfg)
	case "find":
		return NewFind(f.cfg)
	}
	return NewLs(f.cfg)
}

// call checks the arguments and runs a tool as the loop does. $PWD in the arguments is
// the working directory.
func (f *folder) call(name, args string) (tool.Result, error) {
	f.Helper()
	t := f.tool(name)
	args = strings.ReplaceAll(args, "$PWD", filepath.ToSlash(f.dir))
	checked, err := tool.Prepare(t.Spec(), &llm.ToolCall{Name: name, Arguments: jsonx.Raw(args)})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Start(f.Context(), t, tool.Call{ID: "c", Args: checked})(func(tool.Result) {})
}

// want runs a tool and compares the JSON of its result, without structuredContent.
func (f *folder) want(name, args, text, details string) {
	f.Helper()
	res, err := f.call(name, args)
	if err != nil {
		f.Errorf("%s %s: %v", name, args, err)
		return
	}
	text = strings.ReplaceAll(text, "$PWD", filepath.ToSlash(f.dir))
	if diff := cmp.Diff(text, res.Content.PlainText("|")); diff != "" {
		f.Errorf("%s %s: %s", name, args, diff)
	}
	got := ""
	if res.Details != nil {
		b, err := jsonx.Marshal(res.Details)
		if err != nil {
			f.Fatal(err)
		}
		got = string(b)
	}
	if diff := cmp.Diff(details, got); diff != "" {
		f.Errorf("%s %s: details: %s", name, args, diff)
	}
}

// fails runs a tool that is to fail with a text.
func (f *folder) fails(name, args, text string) {
	f.Helper()
	res, err := f.call(name, args)
	if err == nil {
		f.Errorf("%s %s: no error but %v", name, args, res)
		return
	}
	if diff := cmp.Diff(strings.ReplaceAll(text, "$PWD", f.dir), err.Error()); diff != "" {
		f.Errorf("%s %s: %s", name, args, diff)
	}
}

// allocated returns how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func notOnWindows(tb testing.TB) {
	tb.Helper()
	if runtime.GOOS == "windows" {
		tb.Skip("not there")
	}
}

func TestToolsDescribeThemselves(t *testing.T) {
	f := newFolder(t)
	for _, b := range Names() {
		if b.Name == "bash" {
			continue
		}
		tl := f.tool(b.Name)
		spec := tl.Spec()
		if spec.Name != b.Name || len(spec.Description) < 50 || !jsonx.Valid(spec.Parameters) {
			t.Errorf("spec of %s: %+v", b.Name, spec)
		}
		p, ok := tl.(tool.Prompted)
		if !ok || p.Snippet() == "" {
			t.Errorf("%s says nothing in the system prompt", b.Name)
		}
		if _, ok := tl.(tool.Ordered); ok != (b.Name == "edit" || b.Name == "write") {
			t.Errorf("%s: ordered %v", b.Name, ok)
		}
	}
}

// The shapes of the arguments are those of the reference: names, types, order, what is
// required (pi-facts.md section 5).
func TestSchemas(t *testing.T) {
	f := newFolder(t)
	for name, want := range map[string]string{
		"read":  `{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"offset":{"type":"number"},"limit":{"type":"number"}}}`,
		"edit":  `{"type":"object","required":["path","edits"],"properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","required":["oldText","newText"],"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}}}}}}`,
		"write": `{"type":"object","required":["path","content"],"properties":{"path":{"type":"string"},"content":{"type":"string"}}}`,
		"grep":  `{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string"},"ignoreCase":{"type":"boolean"},"literal":{"type":"boolean"},"context":{"type":"number"},"limit":{"type":"number"}}}`,
		"find":  `{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string"},"path":{"type":"string"},"limit":{"type":"number"}}}`,
		"ls":    `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}}}`,
	} {
		got := string(f.tool(name).Spec().Parameters)
		for {
			i := strings.Index(got, `,"description":"`)
			if i < 0 {
				break
			}
			end := strings.Index(got[i+16:], `"`)
			got = got[:i] + got[i+17+end:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
