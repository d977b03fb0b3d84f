package trust

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// world is a home folder with a project in it.
type world struct {
	t          testing.TB
	home, cwd  string
	own, below string // agent directories
}

// newWorld makes home/repo/project; files are relative to home, "dir/" is an empty
// folder.
func newWorld(t testing.TB, files ...string) *world {
	t.Helper()
	home := realPath(t.TempDir())
	w := &world{t: t, home: home, cwd: filepath.Join(home, "repo", "project"), own: filepath.Join(home, ".isotope", "agent"), below: filepath.Join(home, ".pi", "agent")}
	if err := os.MkdirAll(w.cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		w.write(f, "x")
	}
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, filepath.FromSlash(name))
	dir := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		dir = path
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if strings.HasSuffix(name, "/") {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) options() Options {
	return Options{
		Dirs: []string{w.own, w.below}, Cwd: w.cwd, Home: w.home,
		ProjectDirs: []string{filepath.Join(w.cwd, ".isotope"), filepath.Join(w.cwd, ".atomic"), filepath.Join(w.cwd, ".pi")},
	}
}

// decisions writes a trust.json; paths are relative to home.
func (w *world) decisions(file string, entries map[string]string) {
	w.t.Helper()
	var parts []string
	for path, value := range entries {
		parts = append(parts, string(jsonx.String(filepath.Join(w.home, filepath.FromSlash(path))))+":"+value)
	}
	w.write(file, "{"+strings.Join(parts, ",")+"}")
}

func names(resources []Resource) []string {
	var out []string
	for _, r := range resources {
		out = append(out, filepath.ToSlash(r.Name))
	}
	return out
}

func TestResources(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  []string
	}{
		{"nothing", nil, nil},
		{"a bare folder", []string{"repo/project/.pi/"}, nil},
		{
			"all",
			[]string{
				"repo/project/.pi/settings.json", "repo/project/.pi/extensions/a.ts", "repo/project/.pi/skills/s/SKILL.md", "repo/project/.pi/prompts/p.md",
				"repo/project/.pi/SYSTEM.md", "repo/project/.pi/APPEND_SYSTEM.md",
			},
			[]string{".pi/settings.json", ".pi/extensions", ".pi/skills", ".pi/prompts", ".pi/SYSTEM.md", ".pi/APPEND_SYSTEM.md"},
		},
		{
			"all directories, the strongest first",
			[]string{"repo/project/.pi/settings.json", "repo/project/.isotope/settings.json", "repo/project/.atomic/SYSTEM.md"},
			[]string{".isotope/settings.json", ".atomic/SYSTEM.md", ".pi/settings.json"},
		},
		{"empty folders", []string{"repo/project/.pi/extensions/", "repo/project/.pi/skills/", "repo/project/.agents/skills/"}, nil},
		{"what is nothing here", []string{"repo/project/.pi/themes/x.json", "repo/project/.pi/mcp.json", "repo/project/.pi/notes.md"}, nil},
		{"context files", []string{"repo/project/AGENTS.md", "repo/CLAUDE.md", "repo/project/.pi/AGENTS.md"}, nil},
		{"shared skills", []string{"repo/project/.agents/skills/s/SKILL.md"}, []string{".agents/skills"}},
		{"the user's own skills", []string{".agents/skills/s/SKILL.md"}, nil},
		{"a folder above the project", []string{"repo/.pi/settings.json"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.files...)
			d := Decide(t.Context(), w.options())
			if diff := cmp.Diff(tt.want, names(d.LeftOut())); diff != "" {
				t.Error(diff)
			}
			if d.Trusted != (len(tt.want) == 0) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// Shared skills count up to the top of the repository, as where they are read.
func TestSharedSkillsAboveTheProject(t *testing.T) {
	w := newWorld(t, "repo/.agents/skills/s/SKILL.md", "repo/project/.agents/skills/s/SKILL.md")
	above := filepath.Join(w.home, "repo", ".agents", "skills")
	if diff := cmp.Diff([]string{".agents/skills", filepath.ToSlash(above)}, names(find(w.options()))); diff != "" {
		t.Error(diff)
	}
	w.write("repo/project/.git/HEAD", "x")
	if diff := cmp.Diff([]string{".agents/skills"}, names(find(w.options()))); diff != "" {
		t.Errorf("beyond the repository: %s", diff)
	}
}

func TestHomeAsTheProject(t *testing.T) {
	w := newWorld(t, ".agents/skills/s/SKILL.md", ".pi/settings.json")
	o := w.options()
	o.Cwd, o.ProjectDirs = w.home, []string{filepath.Join(w.home, ".pi")}
	if diff := cmp.Diff([]string{".pi/settings.json"}, names(find(o))); diff != "" {
		t.Error(diff)
	}
}

func TestShapeForClients(t *testing.T) {
	r := Resource{Path: "/p/.pi/settings.json", Kind: KindSettings, Flag: FlagApprove, Name: ".pi/settings.json"}
	b, err := jsonx.Marshal([]Resource{r})
	if want := `[{"path":"/p/.pi/settings.json","kind":"settings","flag":"--approve"}]`; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

func TestOrderOfDecisions(t *testing.T) {
	yes, no := &Answer{Decided: true, Trusted: true}, &Answer{Decided: true}
	tests := []struct {
		name      string
		flag      Choice
		extension *Answer
		stored    string // for the project
		def       string
		bare      bool // nothing needs trust
		trusted   bool
		by        Reason
	}{
		{"nothing said", Undecided, nil, "", "", false, false, BySetting},
		{"ask, and nobody to ask", Undecided, nil, "", Ask, false, false, BySetting},
		{"never", Undecided, nil, "", Never, false, false, BySetting},
		{"always", Undecided, nil, "", Always, false, true, BySetting},
		{"an unknown word", Undecided, nil, "", "sometimes", false, false, BySetting},
		{"stored over the setting", Undecided, nil, "false", Always, false, false, ByFile},
		{"stored", Undecided, nil, "true", Never, false, true, ByFile},
		{"null is no decision", Undecided, nil, "null", Always, false, true, BySetting},
		{"an extension over what is stored", Undecided, yes, "false", Never, false, true, ByExtension},
		{"an extension against", Undecided, no, "true", Always, false, false, ByExtension},
		{"an extension that does not know", Undecided, &Answer{Trusted: true}, "false", Always, false, false, ByFile},
		{"the flag over all", Approve, no, "false", Never, false, true, ByFlag},
		{"the flag against all", Refuse, yes, "true", Always, false, false, ByFlag},
		{"nothing needs trust", Undecided, no, "", Never, true, true, ByNothing},
		{"nothing needs trust, but none is given", Undecided, nil, "false", Always, true, false, ByFile},
		{"nothing needs trust and the flag", Refuse, nil, "", Always, true, false, ByFlag},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if !tt.bare {
				w.write("repo/project/.pi/settings.json", "{}")
			}
			if tt.stored != "" {
				w.decisions(".isotope/agent/trust.json", map[string]string{"repo/project": tt.stored})
			}
			o := w.options()
			o.Flag, o.Default = tt.flag, tt.def
			if tt.extension != nil {
				o.Extension = func(_ context.Context, cwd string) Answer {
					if cwd != w.cwd {
						t.Errorf("asked for %s", cwd)
					}
					return *tt.extension
				}
			}
			d := Decide(t.Context(), o)
			if d.Trusted != tt.trusted || d.By != tt.by || len(d.Warnings) != 0 {
				t.Errorf("%+v, want %v by %s", d, tt.trusted, tt.by)
			}
			if len(d.LeftOut()) != 0 == (tt.trusted || tt.bare) {
				t.Errorf("left out: %v", d.LeftOut())
			}
		})
	}
}

func TestNearestFolderDecides(t *testing.T) {
	tests := []struct {
		name       string
		own, below map[string]string
		trusted    bool
		path       string
	}{
		{"the folder above", map[string]string{"repo": "true"}, nil, true, "repo"},
		{"far above", map[string]string{"": "true"}, nil, true, ""},
		{"the nearest", map[string]string{"repo": "true", "repo/project": "false"}, nil, false, "repo/project"},
		{"null is passed over", map[string]string{"repo": "true", "repo/project": "null"}, nil, true, "repo"},
		{"not a folder beside", map[string]string{"repo/proj": "true", "repo/project/sub": "true"}, nil, false, "-"},
		{"the other program's", nil, map[string]string{"repo": "true"}, true, "repo"},
		{"ours first", map[string]string{"repo": "false"}, map[string]string{"repo": "true"}, false, "repo"},
		{"the nearest of both", map[string]string{"repo": "false"}, map[string]string{"repo/project": "true"}, true, "repo/project"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "repo/project/.pi/settings.json")
			w.decisions(".isotope/agent/trust.json", tt.own)
			w.decisions(".pi/agent/trust.json", tt.below)
			d := Decide(t.Context(), w.options())
			want := filepath.Join(w.home, filepath.FromSlash(tt.path))
			if tt.path == "-" {
				want = ""
			}
			if d.Trusted != tt.trusted || d.Path != want {
				t.Errorf("%+v", d)
			}
		})
	}
}

// A link to a folder is that folder.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	w := newWorld(t, "repo/project/.pi/settings.json")
	link := filepath.Join(w.home, "link")
	if err := os.Symlink(w.cwd, link); err != nil {
		t.Fatal(err)
	}
	s := NewStore([]string{w.own})
	if err := s.Set(t.Context(), link, true); err != nil {
		t.Fatal(err)
	}
	if f := s.Lookup(w.cwd); !f.Trusted || f.Path != w.cwd {
		t.Errorf("%+v", f)
	}
	if f := s.Lookup(link); !f.Trusted {
		t.Errorf("%+v", f)
	}
}

// --approve holds for one program: nothing is written.
func TestFlagsAreNotWritten(t *testing.T) {
	for _, flag := range []Choice{Approve, Refuse} {
		w := newWorld(t, "repo/project/.pi/settings.json")
		o := w.options()
		o.Flag = flag
		Decide(t.Context(), o)
		if _, err := os.Stat(w.own); !os.IsNotExist(err) {
			t.Errorf("%v: %v", flag, err)
		}
	}
}

func TestAnExtensionsAnswerIsRemembered(t *testing.T) {
	w := newWorld(t, "repo/project/.pi/settings.json")
	o := w.options()
	o.Extension = func(context.Context, string) Answer { return Answer{Decided: true, Trusted: true, Remember: true} }
	Decide(t.Context(), o)
	o.Extension = nil
	if d := Decide(t.Context(), o); !d.Trusted || d.By != ByFile || d.Path != w.cwd {
		t.Errorf("%+v", d)
	}
	w.write(".isotope/agent/trust.json", "[")
	o.Extension = func(context.Context, string) Answer { return Answer{Decided: true, Trusted: true, Remember: true} }
	if d := Decide(t.Context(), o); !d.Trusted || len(d.Warnings) != 1 {
		t.Errorf("that it could not be stored: %+v", d)
	}
}

func TestBrokenFiles(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"cut off", `{"/x": tr`, `:1:8: decisions of trust are not known: unexpected word`},
		{"no object", `[true]`, ": decisions of trust are not known: the file must hold an object, not an array"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, "repo/project/.pi/settings.json")
			w.write(".isotope/agent/trust.json", tt.text)
			o := w.options()
			o.Default = Always // the file may hold the word against this project
			d := Decide(t.Context(), o)
			if d.Trusted || d.By != ByFault || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], tt.want) {
				t.Errorf("%+v", d)
			}
			o.Flag = Approve
			if d := Decide(t.Context(), o); !d.Trusted {
				t.Error("--approve does not help")
			}
			s := NewStore(o.Dirs)
			if err := s.Set(t.Context(), w.cwd, true); !errors.Is(err, ErrBroken) {
				t.Errorf("Set: %v", err)
			}
			if err := s.Forget(t.Context(), w.cwd); !errors.Is(err, ErrBroken) {
				t.Errorf("Forget: %v", err)
			}
			if data, _ := os.ReadFile(filepath.Join(w.own, "trust.json")); string(data) != tt.text {
				t.Errorf("changed to %s", data)
			}
		})
	}
}

// A decision that is none is said, and the others count.
func TestBadValues(t *testing.T) {
	w := newWorld(t, "repo/project/.pi/settings.json")
	w.decisions(".isotope/agent/trust.json", map[string]string{"repo/project": `"yes"`})
	w.decisions(".pi/agent/trust.json", map[string]string{"repo": "true"})
	d := Decide(t.Context(), w.options())
	if !d.Trusted || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "is ignored: it must be true, false or null, not a string") {
		t.Errorf("%+v", d)
	}
}

func TestNotice(t *testing.T) {
	w := newWorld(t, "repo/project/.pi/settings.json", "repo/project/.pi/extensions/100%s.ts", "repo/project/.agents/skills/s/SKILL.md")
	o := w.options()
	sep := string(filepath.Separator)
	list := strings.ReplaceAll(".pi/settings.json, .pi/extensions, .agents/skills", "/", sep)
	want := "this project's own resources are left out, as it is not trusted: " + list + ". Use --approve (-a) to use them."
	if got := Decide(t.Context(), o).Notice(); got != want {
		t.Error(got)
	}
	o.Flag = Refuse
	if d := Decide(t.Context(), o); d.Notice() != "" || len(d.LeftOut()) != 3 {
		t.Errorf("%q, %v", d.Notice(), d.LeftOut())
	}
	o.Flag = Approve
	if d := Decide(t.Context(), o); d.Notice() != "" || len(d.LeftOut()) != 0 {
		t.Errorf("%q, %v", d.Notice(), d.LeftOut())
	}
	o.Flag = Undecided
	w.decisions(".isotope/agent/trust.json", map[string]string{"repo": "false"})
	want = "this project's own resources are left out, as trust.json does not trust " + filepath.Join(w.home, "repo") + ": " + list + ". Use --approve (-a) to use them."
	if got := Decide(t.Context(), o).Notice(); got != want {
		t.Error(got)
	}
	if got := fill("a %s b %s c", "%s", "x"); got != "a %s b x c" {
		t.Error(got)
	}
}
