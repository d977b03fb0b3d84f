package prompt

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// fake is a tool that says something about itself; plain is one that does not.
type plain struct{ name string }

func (p plain) Spec() llm.ToolSpec { return llm.ToolSpec{Name: p.name} }
func (plain) Run(context.Context, tool.Call, func(tool.Result)) (tool.Result, error) {
	return tool.Result{}, nil
}

type fake struct {
	plain
	snippet    string
	guidelines []string
}

func (f fake) Snippet() string      { return f.snippet }
func (f fake) Guidelines() []string { return f.guidelines }

func TestBuild(t *testing.T) {
	got := Build(Options{
		Program: "isotope",
		Tools: []tool.Tool{
			fake{plain{"read"}, "Read files", []string{"Read before you edit.", "Shared rule."}},
			fake{plain{"bash"}, "Run commands", []string{"Shared rule.", " "}},
			plain{"mute"},
		},
		Append:  []string{"one", "two"},
		Context: []File{{`/a "b"/AGENTS.md`, "Be kind.\n"}},
		Skills:  []Skill{{Name: "s", Description: "a <b> & c", Path: "/s/SKILL.md"}, {Name: "hidden", Manual: true}},
		Cwd:     `C:\work`,
	})
	want := `You are a coding agent, run by isotope in the user's working folder. You read and search files, run commands and change code until the user's request is done, and then you say what you found or did.

<tools>
- read: Read files
- bash: Run commands

There may be more tools than these.
</tools>

<rules>
- No tool for listing or searching is active: use bash (ls, find, grep) for that.
- Read before you edit.
- Shared rule.
- Answer briefly and to the point.
- Name the files you speak of by their paths.
</rules>

<docs>
About isotope itself: isotope --help tells of its options, isotope schema --settings of its settings. Look there only when the user asks about it.
</docs>

<addendum>
one

two
</addendum>

<project_context>
What the user and the project ask of you:

<project_instructions path="/a &quot;b&quot;/AGENTS.md">
Be kind.

</project_instructions>
</project_context>

<skills>
A skill is a set of instructions for one kind of task. When a task fits a skill's description, load its file with the read tool and follow it. Paths in it are relative to the folder of that file; give tools absolute paths.

<available_skills>
  <skill>
    <name>s</name>
    <description>a &lt;b&gt; &amp; c</description>
    <location>/s/SKILL.md</location>
  </skill>
</available_skills>
</skills>

<cwd>
C:/work
</cwd>`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBuildVariants(t *testing.T) {
	skills := []Skill{{Name: "s", Description: "d", Path: "/s"}}
	tests := []struct {
		name          string
		options       Options
		has, lacks    string
		whole, prefix string
	}{
		{name: "replaced", options: Options{Custom: "Mine.", Append: []string{"More."}, Tools: []tool.Tool{fake{plain{"read"}, "x", nil}}, Cwd: "/w"}, whole: "Mine.\n\n<addendum>\nMore.\n</addendum>\n\n<cwd>\n/w\n</cwd>"},
		{name: "no tools", options: Options{Cwd: "/w"}, has: "<tools>\n(none)\n"},
		{name: "docs that nothing can read", options: Options{Tools: []tool.Tool{plain{"read"}}}, lacks: "<docs>"},
		{name: "search tools", options: Options{Tools: []tool.Tool{plain{"bash"}, plain{"grep"}}}, lacks: "use bash"},
		{name: "skills through bash", options: Options{Skills: skills, Tools: []tool.Tool{plain{"bash"}}}, has: "with the bash tool"},
		{name: "skills that nothing can read", options: Options{Skills: skills, Tools: []tool.Tool{plain{"write"}}}, lacks: "<skills>"},
	}
	for _, tt := range tests {
		got := Build(tt.options)
		if tt.whole != "" && got != tt.whole || !strings.Contains(got, tt.has) || tt.lacks != "" && strings.Contains(got, tt.lacks) {
			t.Errorf("%s:\n%s", tt.name, got)
		}
	}
}

// tree writes files below a new directory and returns it.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := realPath(t.TempDir())
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// relative makes the paths of files relative to dir, with slashes.
func relative(dir string, files []File) []string {
	var out []string
	for _, f := range files {
		rel, _ := filepath.Rel(dir, f.Path)
		out = append(out, filepath.ToSlash(rel)+": "+f.Content)
	}
	return out
}

func TestContextFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		"own/AGENTS.md": "own", "below/CLAUDE.md": "below",
		"a/AGENTS.md": "a", "a/CLAUDE.md": "not this", "a/b/CLAUDE.MD": "b", "a/b/c/AGENTS.override.md": "\ufeffc", "a/b/c/AGENTS.md": "not this",
	})
	s := Sources{
		AgentDirs: []string{filepath.Join(dir, "own"), filepath.Join(dir, "below")},
		Cwd:       filepath.Join(dir, "a", "b", "c"),
	}
	want := []string{"below/CLAUDE.md: below", "own/AGENTS.md: own", "a/AGENTS.md: a", "a/b/CLAUDE.MD: b", "a/b/c/AGENTS.override.md: c"}
	if runtime.GOOS != "linux" { // the two endings are one file there
		want[3] = "a/b/CLAUDE.md: b"
	}
	if diff := cmp.Diff(want, relative(dir, s.Load().Context)); diff != "" {
		t.Error(diff)
	}
	s.NoContext = true
	if got := s.Load().Context; len(got) != 0 {
		t.Errorf("--no-context-files: %v", got)
	}
}

// Of the names of context files that a folder has, the strongest counts; every one of
// them counts alone.
func TestContextNames(t *testing.T) {
	names := contextNames()
	for i, name := range names {
		files := map[string]string{}
		for _, weaker := range names[i:] {
			if runtime.GOOS == "linux" || !strings.EqualFold(weaker, name) || weaker == name { // elsewhere the two endings are one file
				files[weaker] = "this is " + weaker
			}
		}
		for _, all := range []map[string]string{files, {name: files[name]}} {
			dir := tree(t, all)
			got := relative(dir, Sources{Cwd: dir}.Load().Context)
			if len(got) != 1 || !strings.HasSuffix(got[0], ": this is "+name) {
				t.Errorf("of %d files, the first being %s: %q", len(all), name, got)
			}
		}
	}
	if len(names) != 5 {
		t.Errorf("%d names", len(names))
	}
	dir := tree(t, map[string]string{"AGENTS.md/x": "a folder", "CLAUDE.md": "a file"})
	if got := relative(dir, Sources{Cwd: dir}.Load().Context); len(got) != 1 || got[0] != "CLAUDE.md: a file" {
		t.Errorf("a folder of that name: %q", got)
	}
}

func TestContextFileOfTheAgentDirOnlyOnce(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "w/AGENTS.md": "w"})
	got := Sources{AgentDirs: []string{dir}, Cwd: filepath.Join(dir, "w")}.Load().Context
	if diff := cmp.Diff([]string{"AGENTS.md: x", "w/AGENTS.md: w"}, relative(dir, got)); diff != "" {
		t.Error(diff)
	}
}

func TestWorktreeInsideItsCheckout(t *testing.T) {
	dir := tree(t, map[string]string{
		"main/AGENTS.md": "main", "main/sub/CLAUDE.md": "sub", "main/.git/HEAD": "", "main/.git/worktrees/w/commondir": "../..\n",
		"main/sub/w/.git": "", "main/sub/w/AGENTS.md": "worktree",
	})
	work := filepath.Join(dir, "main", "sub", "w")
	link := "gitdir: " + filepath.Join(dir, "main", ".git", "worktrees", "w") + "\n"
	if err := os.WriteFile(filepath.Join(work, ".git"), []byte(link), 0o644); err != nil {
		t.Fatal(err)
	}
	got := relative(dir, Sources{Cwd: work}.Load().Context)
	if diff := cmp.Diff([]string{"main/sub/CLAUDE.md: sub", "main/sub/w/AGENTS.md: worktree"}, got); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(filepath.Join(work, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	got = relative(dir, Sources{Cwd: work}.Load().Context)
	if diff := cmp.Diff([]string{"main/AGENTS.md: main", "main/sub/CLAUDE.md: sub"}, got); diff != "" {
		t.Errorf("without a copy of its own: %s", diff)
	}
}

func TestSystemPromptSources(t *testing.T) {
	dir := tree(t, map[string]string{
		"own/SYSTEM.md": "own system", "own/APPEND_SYSTEM.md": "own append", "p/.pi/SYSTEM.md": "project system", "p/extra.md": "\ufefffrom a file",
	})
	agent, project, cwd := []string{filepath.Join(dir, "own")}, []string{filepath.Join(dir, "p", ".pi")}, filepath.Join(dir, "p")
	tests := []struct {
		name    string
		sources Sources
		custom  string
		append  []string
	}{
		{"files", Sources{AgentDirs: agent, ProjectDirs: project, Cwd: cwd}, "project system", []string{"own append"}},
		{"untrusted", Sources{AgentDirs: agent, Cwd: cwd}, "own system", []string{"own append"}},
		{"flags", Sources{AgentDirs: agent, Cwd: cwd, System: "as text", Append: []string{"a\nb", "extra.md", ""}}, "as text", []string{"a\nb", "from a file"}},
		{"a file", Sources{Cwd: cwd, System: filepath.Join(cwd, "extra.md")}, "from a file", nil},
		{"a directory is text", Sources{Cwd: dir, System: "own"}, "own", nil},
		{"no such file is text", Sources{Cwd: cwd, System: "nothing.md"}, "nothing.md", nil},
		{"none", Sources{Cwd: cwd}, "", nil},
		{"a very long text", Sources{Cwd: cwd, System: strings.Repeat("x", 100000)}, strings.Repeat("x", 100000), nil},
	}
	for _, tt := range tests {
		tt.sources.NoContext = true
		got := tt.sources.Load()
		if got.Custom != tt.custom || !cmp.Equal(got.Append, tt.append) || len(got.Warnings) != 0 {
			t.Errorf("%s: %.100q, %q, %v", tt.name, got.Custom, got.Append, got.Warnings)
		}
	}
}

func TestUnreadableFilesAreWarnings(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("needs modes that bind")
	}
	dir := tree(t, map[string]string{"AGENTS.md": "x"})
	if err := os.Chmod(filepath.Join(dir, "AGENTS.md"), 0); err != nil {
		t.Fatal(err)
	}
	got := Sources{Cwd: dir}.Load()
	if len(got.Context) != 0 || len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "Warning: Could not read ") {
		t.Errorf("%+v", got)
	}
}
