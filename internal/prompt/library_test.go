package prompt

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestParseArgs(t *testing.T) {
	tests := []struct {
		in   string
		want []string
	}{
		{"", []string{}},
		{"  ", []string{}},
		{"a b\tc\nd", []string{"a", "b", "c", "d"}},
		{`"a b" 'c d'`, []string{"a b", "c d"}},
		{`it's don't`, []string{"it's", "don't"}},
		{`"" ''`, []string{"", ""}},
		{`"say \"hi\"" 'it\'s'`, []string{`say "hi"`, "it's"}},
		{`"a\b"`, []string{`a\b`}},
		{`"open and more`, []string{`"open`, "and", "more"}},
		{`'tis "a b"`, []string{"'tis", "a b"}},
		{`"a"b c"d e"`, []string{"ab", `c"d`, `e"`}},
		{`a\ b`, []string{`a\`, "b"}},
		{`"`, []string{`"`}},
		{`ä "ö ü"`, []string{"ä", "ö ü"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, ParseArgs(tt.in)); diff != "" {
			t.Errorf("%q: %s", tt.in, diff)
		}
	}
}

func TestSubstitute(t *testing.T) {
	args := []string{"one", "two", "", "four"}
	tests := []struct{ in, want string }{
		{"$1-$2-$3-$4-$5", "one-two--four-"},
		{"$0", ""},
		{"$@|$ARGUMENTS", "one two  four|one two  four"},
		{"${1:-d}|${3:-d}|${9:-d e}|${9:-}", "one|d|d e|"},
		{"${@:-none}|${ARGUMENTS:-none}", "one two  four|one two  four"},
		{"${@:2}", "two  four"},
		{"${@:2:1}|${@:0:2}|${@:9}|${@:1:99}|${@:1:0}", "two|one two||one two  four|"},
		{"$ARGUMENTSx $12", "one two  fourx "},
		{"${1}|$x|$|$$1|${@}", "${1}|$x|$|$one|${@}"},
		{"$99999999999999999999|${@:99999999999999999999}", "|"},
		{"plain", "plain"},
	}
	for _, tt := range tests {
		if got := Substitute(tt.in, args); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := Substitute("$1 ${2:-$1}", []string{"$2"}); got != "$2 $1" {
		t.Errorf("what was put in was looked at again: %q", got)
	}
	if got := Substitute("${@:-none}", nil); got != "none" {
		t.Errorf("%q", got)
	}
}

// library writes a user's and a project's files.
func library(t testing.TB, files map[string]string, change func(*LibraryOptions)) (*Library, string) {
	t.Helper()
	dir := tree(t, files)
	opt := LibraryOptions{
		AgentDirs: []string{filepath.Join(dir, "agent"), filepath.Join(dir, "below")}, Home: filepath.Join(dir, "home"),
		ProjectDirs: []string{filepath.Join(dir, "repo", "sub", ".pi")}, Cwd: filepath.Join(dir, "repo", "sub"), Trusted: true,
	}
	if change != nil {
		change(&opt)
	}
	return NewLibrary(opt), dir
}

const aSkill = "---\nname: %\ndescription: does %\n---\n\n# Steps\n\nDo %.\n"

func skill(name string) string { return strings.ReplaceAll(aSkill, "%", name) }

var files = map[string]string{
	"agent/prompts/greet.md":               "---\ndescription: Greets somebody\n---\nHello $1, and all: $@\n",
	"agent/prompts/both.md":                "user's",
	"agent/prompts/deep/no.md":             "not looked at",
	"agent/prompts/broken.md":              "---\na: [\n---\nx",
	"below/prompts/low.md":                 "\n\n" + strings.Repeat("long ", 20) + "\n",
	"repo/sub/.pi/prompts/both.md":         "project's $1",
	"agent/skills/demo/SKILL.md":           skill("demo"),
	"agent/skills/demo/inner/SKILL.md":     skill("inner"),
	"agent/skills/single.md":               skill("single"),
	"agent/skills/readme.md":               "no skill",
	"agent/skills/ignored/SKILL.md":        skill("ignored"),
	"agent/skills/.ignore":                 "ignored/\n",
	"agent/skills/.hidden/SKILL.md":        skill("hidden"),
	"agent/skills/node_modules/SKILL.md":   skill("modules"),
	"agent/skills/twice/SKILL.md":          skill("twice"),
	"agent/skills/no-description/SKILL.md": "---\nname: x\n---\n",
	"agent/skills/Odd_Name/SKILL.md":       "---\ndescription: odd\ndisable-model-invocation: true\n---\nBody",
	"repo/sub/.pi/skills/twice/SKILL.md":   skill("twice"),
	"repo/.agents/skills/up/SKILL.md":      skill("up"),
	"repo/.agents/skills/loose.md":         skill("loose"),
	"repo/.git/HEAD":                       "",
	".agents/skills/above/SKILL.md":        skill("above"),
	"home/.agents/skills/home/SKILL.md":    skill("home"),
	"extra/cli.md":                         "from the command line $1",
	"extra/skill/SKILL.md":                 skill("cli-skill"),
}

func commandNames(l *Library) []string {
	var out []string
	for _, c := range l.Commands() {
		out = append(out, c.Name+" ("+c.Location+")")
	}
	return out
}

func TestCommands(t *testing.T) {
	l, dir := library(t, files, func(o *LibraryOptions) {
		root := filepath.Dir(filepath.Dir(o.Cwd))
		o.TemplatePaths = []string{filepath.Join(root, "extra", "cli.md"), "missing.md"}
		o.SkillPaths = []string{"../../extra/skill", "gone"}
	})
	want := []string{
		"both (project)", "greet (user)", "low (user)", "cli (path)",
		"skill:twice (project)", "skill:twice@project (project)", "skill:twice@user (user)", "skill:up (project)",
		"skill:Odd_Name (user)", "skill:demo (user)", "skill:single (user)", "skill:home (user)", "skill:cli-skill (path)",
	}
	if diff := cmp.Diff(want, commandNames(l)); diff != "" {
		t.Error(diff)
	}
	var greet, cli Command
	for _, c := range l.Commands() {
		switch c.Name {
		case "greet":
			greet = c
		case "cli":
			cli = c
		case "low":
			if want := strings.Repeat("long ", 12) + "..."; c.Description != want {
				t.Errorf("description %q", c.Description)
			}
		}
	}
	agent := filepath.Join(dir, "agent")
	path := filepath.Join(agent, "prompts", "greet.md")
	wantGreet := Command{"greet", "Greets somebody", "prompt", "user", path, SourceInfo{path, "auto", "user", "top-level", agent}}
	if diff := cmp.Diff(wantGreet, greet); diff != "" {
		t.Error(diff)
	}
	path = filepath.Join(dir, "extra", "cli.md")
	wantCLI := Command{"cli", "from the command line $1", "prompt", "path", path, SourceInfo{path, "local", "temporary", "top-level", filepath.Join(dir, "extra")}}
	if diff := cmp.Diff(wantCLI, cli); diff != "" {
		t.Error(diff)
	}
	problems := strings.ReplaceAll(strings.Join(l.Diagnostics(), "\n"), dir+string(filepath.Separator), "")
	problems = filepath.ToSlash(problems)
	for _, part := range []string{
		"agent/prompts/broken.md: front matter: yaml: ",
		`prompt template "both" of agent/prompts/both.md is hidden by that of repo/sub/.pi/prompts/both.md`,
		"Prompt template path does not exist: repo/sub/missing.md",
		"Skill path does not exist: repo/sub/gone",
		"agent/skills/no-description/SKILL.md: description is required",
		"agent/skills/Odd_Name/SKILL.md: name contains invalid characters (must be lowercase a-z, 0-9, hyphens only)",
		`skill "twice" of agent/skills/twice/SKILL.md is hidden by that of repo/sub/.pi/skills/twice/SKILL.md`,
	} {
		if !strings.Contains(problems, part) {
			t.Errorf("missing: %s\nin:\n%s", part, problems)
		}
	}
	if n := len(l.Diagnostics()); n != 7 {
		t.Errorf("%d diagnostics:\n%s", n, problems)
	}
}

// What the settings list is "local" and has no folder that it was found in, as in the
// reference; the patterns beside it count for what was found, too.
func TestListedInSettings(t *testing.T) {
	l, dir := library(t, files, func(o *LibraryOptions) {
		agent := filepath.Join(filepath.Dir(filepath.Dir(o.Cwd)), "agent")
		o.AgentDirs, o.Trusted = []string{agent}, false
		o.Skills = []Listed{{Entries: []string{"../extra/skill", "!*"}, BaseDir: agent}}
		o.Templates = []Listed{{Entries: []string{"../extra/cli.md", "!prompts/*"}, BaseDir: agent}}
	})
	template := filepath.Join(dir, "extra", "cli.md")
	var got []Command
	for _, c := range l.Commands() {
		if c.SourceInfo.Source == "local" {
			got = append(got, c)
		}
	}
	want := []Command{{"cli", "from the command line $1", "prompt", "user", template, SourceInfo{template, "local", "user", "top-level", ""}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommandKeys(t *testing.T) {
	got, err := jsonx.Marshal(command("n", "", SourceSkill, SourceInfo{Path: "/p", Source: "auto", Scope: "user", Origin: "top-level"}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"n","source":"skill","location":"user","path":"/p","sourceInfo":{"path":"/p","source":"auto","scope":"user","origin":"top-level"}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTrustAndSwitches(t *testing.T) {
	tests := []struct {
		name   string
		change func(*LibraryOptions)
		want   []string
	}{
		{"untrusted", func(o *LibraryOptions) { o.Trusted = false }, []string{"both (user)", "greet (user)", "low (user)", "skill:Odd_Name (user)", "skill:demo (user)", "skill:single (user)", "skill:twice (user)", "skill:home (user)"}},
		{"no skills", func(o *LibraryOptions) {
			o.NoSkills, o.NoTemplates = true, true
			o.SkillPaths = []string{"../../extra/skill"}
		}, []string{"skill:cli-skill (path)"}},
		{"no skill commands", func(o *LibraryOptions) { o.NoSkillCommands, o.Trusted = true, false }, []string{"both (user)", "greet (user)", "low (user)"}},
		{"settings", func(o *LibraryOptions) {
			root := filepath.Dir(filepath.Dir(o.Cwd))
			o.Trusted = false
			o.Skills = []Listed{{Entries: []string{"../extra", "!demo", "-skills/single.md"}, BaseDir: filepath.Join(root, "agent")}, {Entries: []string{"x"}, BaseDir: root, Project: true}}
			o.Templates = []Listed{{Entries: []string{"!prompts/*", "+prompts/greet.md", "~/none"}, BaseDir: filepath.Join(root, "agent")}}
		}, []string{"greet (user)", "low (user)", "skill:cli-skill (user)", "skill:Odd_Name (user)", "skill:twice (user)", "skill:home (user)"}},
	}
	for _, tt := range tests {
		l, _ := library(t, files, tt.change)
		if diff := cmp.Diff(tt.want, commandNames(l)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestExpand(t *testing.T) {
	l, dir := library(t, files, nil)
	demo := filepath.Join(dir, "agent", "skills", "demo")
	block := func(name, folder string) string {
		return `<skill name="` + name + `" location="` + filepath.Join(folder, "SKILL.md") + "\">\nReferences are relative to " + folder + ".\n\n# Steps\n\nDo " + strings.Split(name, "@")[0] + ".\n</skill>"
	}
	tests := []struct{ in, want string }{
		{"hello", "hello"},
		{"/greet Bob \"and Eve\"", "Hello Bob, and all: Bob and Eve"},
		{"/greet\nBob", "Hello Bob, and all: Bob"},
		{"/greet", "Hello , and all: "},
		{"/both x", "project's x"},
		{"/nosuch x", "/nosuch x"},
		{" /greet x", " /greet x"},
		{"/", "/"},
		{"/ greet", "/ greet"},
		{"/skill:demo", block("demo", demo)},
		{"/skill:demo  extra args \n", block("demo", demo) + "\n\nextra args"},
		{"/skill:twice@user", block("twice@user", filepath.Join(dir, "agent", "skills", "twice"))},
		{"/skill:unknown x", "/skill:unknown x"},
		{"/skill:", "/skill:"},
	}
	for _, tt := range tests {
		got, err := l.Expand(tt.in)
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.in, diff)
		}
	}
	if err := os.Remove(filepath.Join(demo, "SKILL.md")); err != nil {
		t.Fatal(err)
	}
	if got, err := l.Expand("/skill:demo"); got != "/skill:demo" || err == nil || !strings.HasPrefix(err.Error(), "reading skill ") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestLibraryIsLazyAndReloads(t *testing.T) {
	l, dir := library(t, files, nil)
	if _, err := l.Expand("plain text"); err != nil || l.once != nil {
		t.Error("a text that is no command made the library look for some")
	}
	before := len(l.Commands())
	if err := os.WriteFile(filepath.Join(dir, "agent", "prompts", "new.md"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if len(l.Commands()) != before {
		t.Error("looked again without Reload")
	}
	l.Reload()
	if len(l.Commands()) != before+1 {
		t.Error("Reload did not find the new template")
	}
}

func TestEmptyLibrary(t *testing.T) {
	l := NewLibrary(LibraryOptions{})
	if c := l.Commands(); c == nil || len(c) != 0 {
		t.Errorf("%v", c)
	}
}

func TestLinksInSkills(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := tree(t, map[string]string{"agent/skills/a/SKILL.md": skill("a"), "elsewhere/b/SKILL.md": skill("b")})
	for name, target := range map[string]string{"loop": "agent/skills", "linked": "elsewhere/b", "again": "agent/skills/a"} {
		if err := os.Symlink(filepath.Join(dir, target), filepath.Join(dir, "agent", "skills", name)); err != nil {
			t.Fatal(err)
		}
	}
	l := NewLibrary(LibraryOptions{AgentDirs: []string{filepath.Join(dir, "agent")}})
	got := commandNames(l)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"skill:a (user)", "skill:b (user)"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzTemplates(f *testing.F) {
	f.Add("$1 ${@:2:3} ${1:-x}", `a "b c" 'd`)
	f.Add("${@:-$1}$$ARGUMENTS", "\\\" \"\\\" '")
	f.Fuzz(func(t *testing.T, body, text string) {
		args := ParseArgs(text)
		if len(args) > len(text) {
			t.Fatalf("%d arguments out of %d bytes", len(args), len(text))
		}
		n := 0
		for _, a := range args {
			n += len(a)
		}
		if n > len(text) {
			t.Fatal("arguments are longer than the text")
		}
		out := Substitute(body, args)
		if !strings.Contains(body, "$") && out != body {
			t.Fatalf("%q became %q", body, out)
		}
		plain := Substitute(body, nil)
		if len(plain) > len(body) {
			t.Fatalf("without arguments %q grew to %q", body, plain)
		}
	})
}
