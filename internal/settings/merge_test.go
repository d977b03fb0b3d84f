package settings

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// plain returns a document's value as Go data: objects as maps, the rest as text.
func plain(v *jsonc.Value) any {
	if v.Kind != jsonc.Object {
		return v
	}
	out := map[string]any{}
	for _, m := range v.Members {
		out[m.Key] = plain(m.Value)
	}
	return out
}

// layered merges in the plainest way.
func layered(below, above any) any {
	b, ok1 := below.(map[string]any)
	a, ok2 := above.(map[string]any)
	if !ok2 {
		return above
	}
	out := map[string]any{}
	if ok1 {
		maps.Copy(out, b)
	}
	for name, v := range a {
		out[name] = layered(out[name], v)
	}
	return out
}

// same reports whether a merged tree is the plain one.
func same(n *node, want any) bool {
	w, isMap := want.(map[string]any)
	if !isMap {
		return n.value == want
	}
	if n.value.Kind != jsonc.Object || len(n.members) != len(w) {
		return false
	}
	for name, v := range w {
		if n.members[name] == nil || !same(n.members[name], v) {
			return false
		}
	}
	return true
}

func TestMerge(t *testing.T) {
	tests := []struct{ name, project, user, below, path, want string }{
		{"only below", ``, ``, `{"a":{"b":1}}`, "a.b", "1"},
		{"user over below", ``, `{"a":{"b":2}}`, `{"a":{"b":1}}`, "a.b", "2"},
		{"project over all", `{"a":{"b":3}}`, `{"a":{"b":2}}`, `{"a":{"b":1}}`, "a.b", "3"},
		{"members beside each other", `{"a":{"x":3}}`, `{"a":{"y":2}}`, `{"a":{"z":1}}`, "a.z", "1"},
		{"a list is replaced", `{"a":[3]}`, `{"a":[1,2]}`, ``, "a", "[3]"},
		{"a value over an object", `{"a":5}`, `{"a":{"b":2}}`, ``, "a.b", ""},
		{"an object over a value", `{"a":{"b":2}}`, `{"a":5}`, ``, "a.b", "2"},
		{"an object over a value over an object", `{"a":{"x":1}}`, `{"a":5}`, `{"a":{"b":2}}`, "a.b", ""},
		{"null hides what is below", `{"a":null}`, `{"a":5}`, ``, "a", ""},
		{"the last of duplicates", ``, `{"a":1,"a":2}`, ``, "a", "2"},
		{"a broken file counts for nothing", `{"a":`, `{"a":5}`, ``, "a", "5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(tt.project, tt.user, tt.below)
			n := s.find(false, strings.Split(tt.path, "."))
			got := ""
			if n != nil {
				got = string(n.from.doc.Raw(n.value))
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Field by field, merged layers are what the plainest merge gives; the user's part has
// nothing of the project.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":{"b":1,"c":[1]}}`, `{"a":{"b":{"d":2}},"e":null}`, `{"a":5}`)
	f.Add(`{"retry":{"enabled":true}}`, `// nothing`, `{"retry":{"enabled":1,"x":{}},"retry":{}}`)
	f.Add(`[1]`, `{`, `{"":{"":{"":0}}}`)
	f.Fuzz(func(t *testing.T, project, user, below string) {
		s := open(project, user, below)
		s.find(false, nil)
		var all, own any = nil, nil
		for _, l := range slices.Backward(s.layers) { // the weakest first
			if l.doc == nil {
				continue
			}
			all = layered(all, plain(l.doc.Root))
			if !l.project {
				own = layered(own, plain(l.doc.Root))
			}
		}
		for what, pair := range map[string]struct {
			n    *node
			want any
		}{"all": {s.merged, all}, "the user's": {s.user, own}} {
			if (pair.n == nil) != (pair.want == nil) || pair.n != nil && !same(pair.n, pair.want) {
				t.Errorf("%s: %q over %q over %q", what, project, user, below)
			}
		}
		s.Warnings()
	})
}

// paths of FuzzWriteBack, by a number.
func fuzzPath(n uint8) []string {
	names := []string{"retry", "enabled", "a", "defaultModel", "ä\"\\", ""}
	out := []string{names[int(n)%len(names)]}
	if n%3 > 0 {
		out = append(out, names[int(n/7)%len(names)])
	}
	return out
}

// Whatever is in the file, a value that is written back is there afterwards, all other
// values are what they were, comments are kept; what is no settings file is left alone.
func FuzzWriteBack(f *testing.F) {
	f.Add("{\n  // c\n  \"retry\": {\"enabled\": true}, /* d */\n}\n", uint8(1), `false`, false)
	f.Add(`{"a":1,"a":{"enabled":2}}`, uint8(2), `{"x":[1,2]}`, false)
	f.Add("\ufeff{}", uint8(4), `"text"`, true)
	f.Add(``, uint8(0), `null`, false)
	f.Add(`[1]`, uint8(0), `1`, false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string, at uint8, value string, remove bool) {
		raw, err := jsonx.Compact([]byte(value))
		if err != nil {
			t.Skip()
		}
		file := filepath.Join(dir, "settings.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		path := fuzzPath(at)
		s := Open(Options{User: []string{file}})
		if remove {
			err = s.editLocked(file, func(src []byte) ([]byte, error) { return jsonc.Delete(src, path...) })
		} else {
			err = s.editLocked(file, func(src []byte) ([]byte, error) { return jsonc.Set(src, raw, path...) })
		}
		after, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		before, parseErr := jsonc.Parse([]byte(text))
		if parseErr != nil || before.Root.Kind != jsonc.Object {
			if err == nil || string(after) != text {
				t.Errorf("%q is no settings file: %v, now %q", text, err, after)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q at %q: %v", text, path, err)
		}
		now, err := jsonc.Parse(after)
		if err != nil {
			t.Fatalf("%q: %v", after, err)
		}
		checkOthers(t, before, now, path)
		got := now.Root
		for _, name := range path {
			got = got.Get(name)
		}
		if remove && got != nil || !remove && got == nil {
			t.Errorf("%q at %q: %q", text, path, after)
		}
		for _, c := range []string{"// c", "/* d */"} {
			if strings.Contains(text, "\n  "+c+"\n") && !strings.Contains(string(after), c) {
				t.Errorf("the comment %s is gone: %q", c, after)
			}
		}
	})
}

// checkOthers compares the members that were not meant.
func checkOthers(t *testing.T, before, now *jsonc.Doc, path []string) {
	t.Helper()
	for _, m := range before.Root.Members {
		if m.Key == path[0] {
			continue
		}
		was, is := before.Root.Get(m.Key), now.Root.Get(m.Key)
		if is == nil || string(before.Raw(was)) != string(now.Raw(is)) {
			t.Errorf("%q changed", m.Key)
		}
	}
}

// Set fails in ways that say what to do, and changes nothing then.
func TestSetFails(t *testing.T) {
	if err := Open(Options{}).Set(t.Context(), 1, "a"); err == nil || err.Error() != "saving settings: no settings file" {
		t.Error(err)
	}
	s, path := files(t, `{}`)
	if err := s.Set(t.Context(), func() {}, "a"); err == nil || !strings.HasPrefix(err.Error(), "saving a: ") {
		t.Error(err)
	}
	if err := s.Set(t.Context(), 1); err == nil {
		t.Error("a value without a name")
	}
	if content(t, path) != `{}` {
		t.Error(content(t, path))
	}
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s = Open(Options{User: []string{filepath.Join(blocked, "settings.json")}})
	if err := s.Set(t.Context(), 1, "a"); err == nil || !strings.HasPrefix(err.Error(), "saving settings: ") {
		t.Error(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "settings.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Open(Options{User: []string{filepath.Join(dir, "settings.json")}}).Delete(t.Context(), "a"); err == nil {
		t.Error("a folder was written")
	}
}

// A value that is the same already is not written again.
func TestSetOfTheSame(t *testing.T) {
	s, path := files(t, "{ \"a\" : 1 }")
	old := time.Unix(1000, 0)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(t.Context(), 1, "a"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("written again: %v", err)
	}
}

// Settings go to the user's first file, never to the one below or to a project's.
func TestSetGoesToTheFirstFile(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s, "settings.json") }
	for _, d := range []string{"project", "below"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name(d), []byte(`{"steeringMode":"all"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := Open(Options{Project: []string{name("project")}, User: []string{name("own"), name("below")}, Trusted: true})
	if err := s.Set(context.Background(), ModeOneByOne, "steeringMode"); err != nil {
		t.Fatal(err)
	}
	if content(t, name("below")) != `{"steeringMode":"all"}` || content(t, name("project")) != `{"steeringMode":"all"}` {
		t.Error("another file was changed")
	}
	if s.SteeringMode() != ModeAll {
		t.Error("the project's value must go on to count")
	}
	s.SetProject([]string{name("project")}, false)
	if s.SteeringMode() != ModeOneByOne {
		t.Error("the user's value must count without the project")
	}
}

// Resources of several files add up, old forms included, and faults are said once.
func TestResourcesOfFaultyLists(t *testing.T) {
	s := open(`{"skills":{"customDirectories":["a"]},"prompts":null}`, `{"skills":"x","prompts":["p",5],"packages":[{"no":1},"npm:y"]}`, `{"skills":{}}`)
	if diff := cmp.Diff([]Resource{{[]string{"a"}, "p", true}}, s.Resources(Skills)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Resource{{[]string{"p"}, "u", false}}, s.Resources(Prompts)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Resource{{[]string{"npm:y"}, "u", false}}, s.Resources(Packages)); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"u/settings.json:1:11: skills must be an array of strings, not a string; using none",
		"u/settings.json:1:30: prompts[1] must be a string, not a number; using the rest",
		"u/settings.json:1:45: packages[0] must be a string, not an object; using the rest",
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Error(diff)
	}
}

// The values of maps are checked before a model asks for them.
func TestMapsAreChecked(t *testing.T) {
	s := open("", "{\n\"modelThinkingLevels\":{\"p/a\":\"high\",\"p/b\":\"huge\"},\n\"defaultContextWindows\":{\"p/a\":-1},\n\"compaction\":{\"modelOverrides\":{\"p/a\":5,\"p/b\":{\"reserveTokens\":\"x\"}}}}", "")
	want := []string{
		`u/settings.json:2:43: modelThinkingLevels.p/b must be "off", "minimal", "low", "medium", "high", "xhigh" or "max", not "huge"; using none`,
		`u/settings.json:3:32: defaultContextWindows.p/a must be a whole number of 0 or more; using the default`,
		`u/settings.json:4:39: compaction.modelOverrides.p/a must be an object, not a number; using none`,
		`u/settings.json:4:64: compaction.modelOverrides.p/b.reserveTokens must be a whole number of 0 or more; using the default`,
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Error(diff)
	}
	if c := s.Compaction("p", "b"); c.ReserveTokens != 16384 {
		t.Errorf("%+v", c)
	}
	if w := s.Warnings(); len(w) != 4 {
		t.Errorf("said again: %v", w)
	}
}

func TestProjectIsReadWithTrust(t *testing.T) {
	reads := map[string]int{}
	s := Open(Options{User: []string{"u"}, ReadFile: func(path string) ([]byte, error) { reads[path]++; return nil, fs.ErrNotExist }})
	s.DefaultModel()
	s.SetProject([]string{"p"}, false)
	s.DefaultModel()
	if reads["p"] != 0 || reads["u"] != 1 {
		t.Errorf("%v", reads)
	}
	s.SetProject([]string{"p"}, true)
	s.DefaultModel()
	if reads["p"] != 1 || reads["u"] != 2 {
		t.Errorf("%v", reads)
	}
}

// A file that is broken when it is read again counts as it was last, whatever happens
// to the project meanwhile; one that is gone does not.
func TestLastGoodStateCounts(t *testing.T) {
	files := map[string]string{"u": `{"defaultModel":"u1"}`, "p": `{"defaultProvider":"p1"}`}
	s := Open(Options{User: []string{"u"}, ReadFile: func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}})
	s.SetProject([]string{"p"}, true)
	check := func(model, provider string, faults int) {
		t.Helper()
		if m, p, w := s.DefaultModel(), s.DefaultProvider(), s.Warnings(); m != model || p != provider || len(w) != faults {
			t.Errorf("%q %q %q", m, p, w)
		}
	}
	check("u1", "p1", 0)
	files["u"], files["p"] = `{"defaultModel":`, `[`
	s.Reload()
	check("u1", "p1", 2)
	s.SetProject([]string{"p"}, false)
	check("u1", "", 1)
	s.SetProject([]string{"p"}, true)
	check("u1", "p1", 2)
	delete(files, "u")
	s.Reload()
	check("", "p1", 1)
	files["u"] = `{`
	s.Reload()
	check("", "p1", 2)
}

func BenchmarkGetters(b *testing.B) {
	s := open(`{"retry":{"maxRetries":1}}`, `{"compaction":{"reserveTokens":5,"modelOverrides":{"p/m":{"keepRecentTokens":7}}}}`, ``)
	b.ReportAllocs()
	for b.Loop() {
		s.Retry()
		s.Compaction("p", "m")
	}
}
