package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFolderFor(t *testing.T) {
	for cwd, want := range map[string]string{
		"/home/me/proj": "--home-me-proj--", `C:\Users\me`: "--C--Users-me--", "/": "----", "/a:b/c d": "--a-b-c d--", `\\host\x`: "---host-x--",
	} {
		if got := filepath.Base(FolderFor("root", cwd)); got != want {
			t.Errorf("%s: %s", cwd, got)
		}
	}
	if got := FileName("2026-11-30T22:00:39.043Z", "id"); got != "2026-11-30T22-00-39-043Z_id.jsonl" {
		t.Error(got)
	}
}

// put writes a session file and gives it an age.
func put(t *testing.T, dir, name, content string, age time.Duration) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

func header(id, cwd string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"2024-01-01T00:00:00.000Z","cwd":"%s"}`+"\n", id, cwd)
}

func TestLatestAndFind(t *testing.T) {
	root := t.TempDir()
	a := filepath.Join(root, "--a--")
	b := filepath.Join(root, "--b--")
	one := put(t, a, "t_one.jsonl", header("one", "/a"), 3*time.Hour)
	two := put(t, a, "t_two.jsonl", header("two", "/b"), 2*time.Hour)
	three := put(t, b, "renamed.jsonl", "\n"+header("three", "/b"), time.Hour)
	put(t, b, "t_junk.jsonl", "junk\n", 0)
	put(t, b, "t_flow.jsonl", `{"type":"session","id":"flow","cwd":"/b","internal":true,"workflow":{"runId":"r","stageId":"s","stageName":"n"}}`+"\n", 0)
	put(t, b, "t_one.jsonl.torn", header("torn", "/b"), 0)
	os.Mkdir(filepath.Join(b, "dir.jsonl"), 0o700)

	for _, tt := range []struct {
		folders []Folder
		want    string
	}{
		{[]Folder{{Path: a}}, two},
		{[]Folder{{a, "/a"}}, one},
		{[]Folder{{a, "/a/"}}, one},
		{[]Folder{{Path: a}, {Path: b}}, three},
		{[]Folder{{Path: b, Cwd: "/a"}}, ""},
		{[]Folder{{Path: filepath.Join(root, "missing")}}, ""},
		{nil, ""},
	} {
		if got := Latest(tt.folders...); got != tt.want {
			t.Errorf("%v: %s", tt.folders, got)
		}
	}
	all := Folders(root)
	for id, want := range map[string]string{"one": one, "three": three, "thr": three, "o": one, "tw": two} {
		if got, err := Find(id, all...); got != want || err != nil {
			t.Errorf("%s: %s %v", id, got, err)
		}
	}
	for id, want := range map[string]string{"t": "'t' matches 2 sessions: three, two", "x": "No session found matching 'x'", "": "No session found matching ''", "flow": "No session found matching 'flow'"} {
		var m *MatchError
		if _, err := Find(id, all...); !errors.As(err, &m) || err.Error() != want {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// Field report 85: folders that are links are looked into.
func TestFoldersFollowsLinks(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	path := put(t, elsewhere, "t_x.jsonl", header("x", "/"), 0)
	if err := os.Symlink(elsewhere, filepath.Join(root, "--link--")); err != nil {
		t.Skip(err)
	}
	put(t, root, "loose.jsonl", header("loose", "/"), 0)
	got := Latest(Folders(root)...)
	if got != filepath.Join(root, "--link--", filepath.Base(path)) {
		t.Fatal(got)
	}
	if Folders(filepath.Join(root, "none")) != nil {
		t.Fatal("a root that is not there")
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	small := mustCreate(t, testConfig(dir))
	add(t, small, SessionInfo{"old name"})
	add(t, small, user("  hello there "))
	add(t, small, assistant("hi"))
	add(t, small, SessionInfo{"new name"})

	cfg := testConfig(dir)
	cfg.ID, cfg.ParentSession = "big", "/parent.jsonl"
	big := mustCreate(t, cfg)
	add(t, big, RawBody{Type: "noise"})
	add(t, big, user("first of many"))
	for range 40 {
		add(t, big, assistant(strings.Repeat("long ", 3000)))
	}
	add(t, big, SessionInfo{"big name"})
	put(t, dir, "t_empty.jsonl", header("empty", "/e"), 0)
	put(t, dir, "t_junk.jsonl", "junk\n", 0)

	got := map[string]Info{}
	for _, info := range List(Folder{Path: dir}) {
		got[info.ID] = info
	}
	if len(got) != 3 {
		t.Fatal(got)
	}
	at := time.UnixMilli
	want := map[string]Info{
		small.ID(): {Path: small.Path(), ID: small.ID(), Cwd: "/proj", Name: "new name", Created: at(1700000001000), Modified: at(2), FirstMessage: "  hello there ", MessageCount: 2},
		"big":      {Path: big.Path(), ID: "big", Cwd: "/proj", Name: "big name", ParentSession: "/parent.jsonl", Created: at(1700000001000), Modified: at(2), FirstMessage: "first of many", MessageCount: -1},
		"empty":    {Path: filepath.Join(dir, "t_empty.jsonl"), ID: "empty", Cwd: "/e", Created: at(1704067200000), Modified: at(1704067200000), FirstMessage: NoMessages},
	}
	for id, info := range got {
		info.Size = 0
		if diff := cmp.Diff(want[id], info); diff != "" {
			t.Error(id, diff)
		}
	}
	exact, err := Describe(big.Path())
	if err != nil || exact.MessageCount != 41 || exact.Name != "big name" {
		t.Fatal(exact, err)
	}
	if _, err := Describe(filepath.Join(dir, "t_junk.jsonl")); err == nil {
		t.Fatal("junk was described")
	}
	if list := List(Folder{Path: dir, Cwd: "/e"}); len(list) != 1 || list[0].ID != "empty" {
		t.Fatal(list)
	}
}

func TestReadHeaderReadsOnlyTheBeginning(t *testing.T) {
	h, err := ReadHeader(put(t, t.TempDir(), "a.jsonl", header("long", "/"+strings.Repeat("d", 200_000))+"rest\n", 0))
	if err != nil || h.ID != "long" || len(h.Cwd) != 200_001 {
		t.Fatal(h.ID, err)
	}
	if _, err := ReadHeader(put(t, t.TempDir(), "a.jsonl", strings.Repeat("noise\n", 300_000)+header("late", "/"), 0)); err == nil {
		t.Fatal("the whole file was read")
	}
	if _, err := ReadHeader(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}
