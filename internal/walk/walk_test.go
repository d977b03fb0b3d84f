package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes the files in a new directory; a name that ends in a slash is a directory.
func tree(tb testing.TB, files map[string]string) string {
	tb.Helper()
	root := tb.TempDir()
	for name, text := range files {
		full := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(full, 0o755); err != nil {
				tb.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return root
}

func paths(tb testing.TB, root string, opt Options) []string {
	tb.Helper()
	var got []string
	err := Walk(context.Background(), root, opt, func(e Entry) bool {
		name := e.Path
		if e.Dir {
			name += "/"
		}
		if e.Full != root+"/"+e.Path {
			tb.Errorf("Full = %q for %q", e.Full, e.Path)
		}
		got = append(got, name)
		return true
	})
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

func TestWalk(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		opt   Options
		under string
		want  string
	}{
		{name: "order", files: map[string]string{"b": "", "a/x": "", "a-b": "", "a.txt": "", "B": "", "Z/q": "", ".h/f": "", "ä": ""}, want: ".h/ .h/f B Z/ Z/q a/ a/x a-b a.txt b ä"},
		{name: "empty directories", files: map[string]string{"a/b/": ""}, want: "a/ a/b/"},
		{name: "gitignore only in a repository", files: map[string]string{".gitignore": "x\n", "x": "", "y": ""}, want: ".gitignore x y"},
		{name: "gitignore anywhere", files: map[string]string{".gitignore": "x\n", "x": "", "y": ""}, opt: Options{GitAnywhere: true}, want: ".gitignore y"},
		{name: "repository", files: map[string]string{".git/HEAD": "", ".git/info/exclude": "*.tmp\n", ".gitignore": "out/\n/top\n", "out/a": "", "top": "", "d/top": "", "d/out": "", "z.tmp": ""}, want: ".gitignore d/ d/out d/top"},
		{name: "worktree", files: map[string]string{".git": "gitdir: elsewhere", ".gitignore": "x", "x": ""}, want: ".gitignore"},
		{name: "ignore wins over gitignore", files: map[string]string{".git/HEAD": "", ".gitignore": "*.log\n!keep.log\n", ".ignore": "!a.log\nkeep.log\n", "a.log": "", "b.log": "", "keep.log": ""}, want: ".gitignore .ignore a.log"},
		{name: "deeper wins", files: map[string]string{".git/HEAD": "", ".gitignore": "*.log\n", "d/.gitignore": "!a.log\n", "a.log": "", "d/a.log": "", "d/b.log": ""}, want: ".gitignore d/ d/.gitignore d/a.log"},
		{name: "nothing comes back below an excluded directory", files: map[string]string{".git/HEAD": "", ".gitignore": "d/\n!d/a\n", "d/a": ""}, want: ".gitignore"},
		{name: "a nested repository starts anew", files: map[string]string{".git/HEAD": "", ".gitignore": "x\n", "sub/.git/HEAD": "", "sub/x": "", "x": ""}, want: ".gitignore sub/ sub/x"},
		{name: "rules above the root", files: map[string]string{".git/HEAD": "", ".gitignore": "a/b/x\ny\n/z\n", "a/b/x": "", "a/b/y": "", "a/b/z": "", "a/b/c/x": ""}, under: "a/b", want: "c/ c/x z"},
		{name: "the root itself may be ignored", files: map[string]string{".git/HEAD": "", ".gitignore": "a/\n", "a/x": ""}, under: "a", want: "x"},
		{name: "ignore above a repository", files: map[string]string{".ignore": "x\n", ".gitignore": "y\n", "r/.git/HEAD": "", "r/x": "", "r/y": ""}, under: "r", want: "y"},
		{name: "rooted and middle slashes", files: map[string]string{".ignore": "/a\nd/e\n**/f\ng/**\n", "a": "", "d/a": "", "d/e": "", "c/d/e": "", "x/y/f": "", "g/h/i": ""}, want: ".ignore c/ c/d/ c/d/e d/ d/a g/ x/ x/y/"},
		{name: "filter", files: map[string]string{".ignore": "*.log\n", "a.log": "", "b.txt": "", "d/c.log": "", "n/x": ""}, opt: Options{Filter: func(_, name string, dir bool) Verdict {
			switch {
			case name == "n":
				return Exclude
			case name == "a.log":
				return Include
			}
			return Undecided
		}}, want: ".ignore a.log b.txt d/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.files)
			if tt.under != "" {
				root += "/" + tt.under
			}
			if diff := cmp.Diff(strings.Fields(tt.want), paths(t, root, tt.opt)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWalkUsesTheGlobalIgnoreFileInRepositories(t *testing.T) {
	global := filepath.Join(t.TempDir(), "ignore")
	if err := os.WriteFile(global, []byte("*.swp\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"a.swp": "", "b": ""}
	if got := paths(t, tree(t, files), Options{GlobalIgnore: global}); !slices.Equal(got, []string{"a.swp", "b"}) {
		t.Errorf("outside: %v", got)
	}
	files[".git/HEAD"] = ""
	if got := paths(t, tree(t, files), Options{GlobalIgnore: global}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("inside: %v", got)
	}
}

func TestWalkDoesNotFollowLinks(t *testing.T) {
	root := tree(t, map[string]string{"d/f": ""})
	if err := os.Symlink("..", filepath.Join(root, "d", "up")); err != nil {
		t.Skip(err)
	}
	var link Entry
	if err := Walk(t.Context(), root, Options{}, func(e Entry) bool {
		if e.Path == "d/up" {
			link = e
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if link.Dir || link.Type&fs.ModeSymlink == 0 {
		t.Errorf("link = %+v", link)
	}
	if err := os.Symlink(root, root+"-link"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"d/", "d/f", "d/up"}, paths(t, root+"-link", Options{})); diff != "" {
		t.Errorf("through a link as root: %s", diff)
	}
}

func TestWalkEndsEarly(t *testing.T) {
	root := tree(t, map[string]string{"a/1": "", "a/2": "", "b": ""})
	n := 0
	if err := Walk(t.Context(), root, Options{}, func(Entry) bool { n++; return n < 2 }); err != nil || n != 2 {
		t.Errorf("n = %d, err = %v", n, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	if err := Walk(ctx, root, Options{}, func(Entry) bool { cancel(cause); return true }); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	if err := Walk(t.Context(), root+"/none", Options{}, func(Entry) bool { return true }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing root: %v", err)
	}
}

func TestWalkPassesOverUnreadableDirectories(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("permissions do not bind")
	}
	root := tree(t, map[string]string{"a/x": "", "b": ""})
	if err := os.Chmod(root+"/a", 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(root+"/a", 0o755)
	if diff := cmp.Diff([]string{"a/", "b"}, paths(t, root, Options{})); diff != "" {
		t.Error(diff)
	}
}

// TestRulesAgainstGit makes random ignore files and asks git about every path.
func TestRulesAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git")
	}
	names := []string{"a", "b", "ab", "a.c", "b.c", ".a", "abc", "a b"}
	pieces := []string{"a", "b", "c", "*", "**", "?", ".", "/", "[ab]", "[!a]", "[a-c]", `\a`, ".c", "[[:alpha:]]", "a*", "/**/", "**/", "/**", " ", `\ `}
	for round := range 12 {
		r := rand.New(rand.NewPCG(1, uint64(round)))
		files := map[string]string{}
		for _, x := range names {
			for _, y := range names {
				files[x+"d/"+y+"d/"+names[r.IntN(len(names))]] = ""
				files[x+"d/"+y] = ""
			}
			files[x] = ""
		}
		for _, dir := range []string{"", "ad/", "abd/"} {
			var text strings.Builder
			for range 1 + r.IntN(4) {
				if r.IntN(4) == 0 {
					text.WriteByte('!')
				}
				for range 1 + r.IntN(4) {
					text.WriteString(pieces[r.IntN(len(pieces))])
				}
				text.WriteByte('\n')
			}
			files[dir+".gitignore"] = text.String()
		}
		root := tree(t, files)
		compareWithGit(t, git, root, files)
	}
}

func compareWithGit(t *testing.T, git, root string, files map[string]string) {
	t.Helper()
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(git, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+root, "XDG_CONFIG_HOME="+root)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() > 1) {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	run("", "init", "-q")
	var all []string
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	ignored := map[string]bool{}
	for _, name := range strings.Split(run(strings.Join(all, "\x00"), "check-ignore", "-z", "--no-index", "--stdin"), "\x00") {
		ignored[name] = true
	}
	seen := map[string]bool{}
	for _, p := range paths(t, root, Options{}) {
		seen[p] = true
	}
	for _, name := range all {
		if seen[name] == ignored[name] {
			var rules strings.Builder
			for _, dir := range []string{"", "ad/", "abd/"} {
				fmt.Fprintf(&rules, "%s.gitignore: %q\n", dir, files[dir+".gitignore"])
			}
			t.Errorf("%s: visited %v, ignored by git %v\n%s", name, seen[name], ignored[name], rules.String())
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	files := map[string]string{".git/HEAD": "", ".gitignore": "*.o\n/build/\nnode_modules/\n*.tmp\n.cache\n"}
	for i := range 5000 {
		files[fmt.Sprintf("d%02d/e%02d/f%d.go", i/1000, i/100%10, i)] = ""
	}
	root := tree(b, files)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := Walk(b.Context(), root, Options{}, func(Entry) bool { n++; return true }); err != nil || n < 5000 {
			b.Fatal(n, err)
		}
	}
}
