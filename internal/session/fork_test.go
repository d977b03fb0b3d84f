package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// forkable is a session with labels inside its branch and a compaction that keeps
// from a label on.
func forkable(t *testing.T, cfg Config) (s *Store, ids map[string]string) {
	t.Helper()
	s = mustCreate(t, cfg)
	ids = map[string]string{}
	ids["model"] = add(t, s, ModelChange{"p", "m"})
	ids["u1"] = add(t, s, user("first"))
	ids["a1"] = add(t, s, assistant("answer"))
	ids["label"] = add(t, s, Label{TargetID: ids["u1"], Label: "start"})
	ids["gone"] = add(t, s, Label{TargetID: ids["a1"], Label: "x"})
	add(t, s, Label{TargetID: ids["a1"]})
	ids["u2"] = add(t, s, user("second"))
	label := ids["label"]
	ids["compaction"] = add(t, s, Compaction{Summary: "sum", FirstKeptEntryID: &label, TokensBefore: 9})
	ids["u3"] = add(t, s, user("third"))
	ids["a3"] = add(t, s, assistant("end"))
	return s, ids
}

// Field report 75: the labels that a fork leaves out of its path break no chain of parents.
func TestForkAndClone(t *testing.T) {
	for name, memory := range map[string]bool{"file": false, "memory": true} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t.TempDir())
			cfg.MemoryOnly = memory
			s, ids := forkable(t, cfg)
			text, f, err := s.Fork(ids["u3"])
			if err != nil || text != "third" {
				t.Fatal(text, err)
			}
			defer f.Close()
			v := f.View()
			parentsResolve(t, v)
			if v.Len() != 6 || f.LeafID() != v.Entry(5).ID || v.Entry(5).Type != TypeLabel {
				t.Fatal(entryIDs(v))
			}
			want := []string{ids["model"], ids["u1"], ids["a1"], ids["u2"], ids["compaction"]}
			if diff := cmp.Diff(want, entryIDs(v)[:5]); diff != "" {
				t.Fatal(diff)
			}
			for i := 1; i < v.Len(); i++ {
				if v.Entry(i).ParentID != v.Entry(i-1).ID {
					t.Errorf("entry %d has the parent %s", i, v.Entry(i).ParentID)
				}
			}
			raws := rawEntries(t, v)
			if !strings.Contains(raws[4], `"firstKeptEntryId":"`+ids["u2"]+`"`) {
				t.Error("the boundary points to what is gone:", raws[4])
			}
			mark := s.View().Entry(3)
			if !strings.Contains(raws[5], `"timestamp":"`+mark.Timestamp+`","targetId":"`+ids["u1"]+`","label":"start"}`) {
				t.Error(raws[5])
			}
			if got := f.Header(); got.ID == s.ID() || got.ParentSession != s.Path() || got.Cwd != "/proj" {
				t.Errorf("%+v", got)
			}
			clone, err := s.Clone()
			if err != nil || clone.Len() != s.Len()-3+1 {
				t.Fatal(err)
			}
			defer clone.Close()
			add(t, f, user("goes on"))
			add(t, clone, user("goes on"))
			if s.Len() != 10 {
				t.Fatal("the source changed")
			}
			if memory {
				return
			}
			for _, st := range []*Store{f, clone} {
				before := rawEntries(t, st.View())
				if st.Close(); !st.Saved() || st.Path() == s.Path() {
					t.Fatal("no file of its own")
				}
				again := mustOpen(t, st.Path(), testConfig(""))
				if diff := cmp.Diff(before, rawEntries(t, again.View())); diff != "" {
					t.Fatal(diff)
				}
				parentsResolve(t, again.View())
			}
		})
	}
}

// Field report 74: a fork before any message has one header.
func TestForkBeforeTheFirstMessageHasNoFileYet(t *testing.T) {
	s, ids := forkable(t, testConfig(t.TempDir()))
	text, f, err := s.Fork(ids["u1"])
	if err != nil || text != "first" || f.Len() != 1 || f.Saved() {
		t.Fatal(text, f, err)
	}
	defer f.Close()
	if _, err := os.Stat(f.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("written too early")
	}
	add(t, f, user("other start"))
	lines := fileLines(t, f.Path())
	if n := strings.Count(readFile(t, f.Path()), `"type":"session"`); n != 1 || len(lines) != 3 {
		t.Fatalf("%d headers in %d lines", n, len(lines))
	}
}

func TestForkErrors(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	if _, err := s.Clone(); !errors.Is(err, ErrNothingToClone) {
		t.Fatal(err)
	}
	add(t, s, ModelChange{"p", "m"})
	if _, err := s.Clone(); err == nil || err.Error() != "This session has not been saved yet. Send a message before cloning or forking it." {
		t.Fatal(err)
	}
	u := add(t, s, user("x"))
	a := add(t, s, assistant("y"))
	for _, id := range []string{"", "nope", a} {
		if _, _, err := s.Fork(id); err == nil || err.Error() != "Invalid entry ID for forking" {
			t.Fatal(id, err)
		}
	}
	s.cfg.beforeCopy = func([]byte) error { return syscall.ENOSPC }
	if _, err := s.Clone(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if list, _ := os.ReadDir(filepath.Dir(s.Path())); len(list) != 2 { // the session and its lock
		t.Fatal("left behind:", list)
	}
	s.cfg.beforeCopy = nil
	_, f, err := s.Fork(u)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestForkLinksOrphansAndKeepsOddLines(t *testing.T) {
	path := writeTestFile(t, testHeader+"\n"+
		`{"type":"novel","z":{"b":1,"a":[]},"id":"orphan","parentId":"missing","timestamp":"some day"}`+"\n"+
		entryLine("u", "orphan")+"\n"+
		"{\"type\":\"message\",\"id\":\"bad\",\"parentId\":\"u\",\"timestamp\":\"2024-01-01T00:00:01.000Z\",\"message\":{\"role\":\"user\",\"content\":\"\xff\xfe\"}}\n")
	s := mustOpen(t, path, testConfig(""))
	c, err := s.Clone()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raws := rawEntries(t, c.View())
	if raws[0] != `{"type":"novel","z":{"b":1,"a":[]},"id":"orphan","parentId":null,"timestamp":"some day"}` || raws[1] != entryLine("u", "orphan") {
		t.Fatal(raws)
	}
	if !strings.Contains(raws[2], "\"\uFFFD\uFFFD\"") {
		t.Fatal(raws[2])
	}
	if e := c.View().Entry(0); e.ParentID != "" || e.Timestamp != "some day" {
		t.Fatalf("%+v", e)
	}
}

func TestForkFileTakesEverything(t *testing.T) {
	s, _ := forkable(t, testConfig(t.TempDir()))
	s.SetLeaf("")
	add(t, s, user("another root"))
	want := rawEntries(t, s.View())
	cfg := testConfig(t.TempDir())
	cfg.Cwd = "/elsewhere"
	f, err := ForkFile(s.Path(), cfg) // while it is open for writing
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff(want, rawEntries(t, f.View())); diff != "" {
		t.Fatal(diff)
	}
	h := f.Header()
	if h.Cwd != "/elsewhere" || h.ParentSession != s.Path() || filepath.Dir(f.Path()) != cfg.Dir {
		t.Fatalf("%+v %s", h, f.Path())
	}
	add(t, f, user("goes on"))
	if _, err := ForkFile(writeTestFile(t, "junk\n"), cfg); err == nil || !strings.Contains(err.Error(), "not a valid pi session") {
		t.Fatal(err)
	}
}

func TestForkKeepsTheVerbatimBoundary(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, user("one"))
	kept := add(t, s, assistant("two"))
	add(t, s, Compaction{Summary: "text", FirstKeptEntryID: &kept, Details: jsonx.Raw(`{"strategy":"verbatim-lines"}`)})
	add(t, s, assistant("three"))
	c, err := s.Clone()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if diff := cmp.Diff(rawMessages(t, s.View()), rawMessages(t, c.View())); diff != "" {
		t.Fatal(diff)
	}
}

// Field report 76: an import overwrites nothing and leaves nothing behind when it fails.
func TestImportNeverOverwrites(t *testing.T) {
	src := writeTestFile(t, testHeader+"\n"+entryLine("a", "")+"\n")
	cfg := testConfig(filepath.Join(t.TempDir(), "new"))
	var paths []string
	for range 2 {
		s, err := Import(src, cfg)
		if err != nil || s.Len() != 1 {
			t.Fatal(err)
		}
		add(t, s, user("own"))
		paths = append(paths, filepath.Base(s.Path()))
		s.Close()
	}
	base := strings.TrimSuffix(filepath.Base(src), ".jsonl")
	if diff := cmp.Diff([]string{base + ".jsonl", base + "-2.jsonl"}, paths); diff != "" {
		t.Fatal(diff)
	}
	if len(fileLines(t, src)) != 2 {
		t.Fatal("the source was changed")
	}
	there, err := Import(filepath.Join(cfg.Dir, paths[1]), cfg)
	if err != nil || filepath.Base(there.Path()) != paths[1] {
		t.Fatal(err)
	}
	there.Close()
	if _, err := Import(writeTestFile(t, "junk\n"), cfg); err == nil {
		t.Fatal("junk was imported")
	}
	if list, _ := os.ReadDir(cfg.Dir); len(list) != 2 {
		t.Fatal("left behind:", list)
	}
}
