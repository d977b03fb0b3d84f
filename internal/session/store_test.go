package session

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

func TestFileComesWithTheFirstMessage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions", "--proj--")
	cfg := testConfig(dir)
	cfg.ID, cfg.Name, cfg.ParentSession = "my.id", "first\nname ", "/old.jsonl"
	s := mustCreate(t, cfg)
	add(t, s, ModelChange{"prov", "mod"})
	add(t, s, ThinkingLevelChange{"off"})
	if s.Saved() || s.Name() != "first name" {
		t.Fatal(s.Saved(), s.Name())
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("something was written before the first message")
	}
	add(t, s, user("hi"))
	add(t, s, assistant("ho"))
	want := []string{
		`{"type":"session","version":3,"id":"my.id","timestamp":"2023-11-14T22:13:21.000Z","cwd":"/proj","parentSession":"/old.jsonl"}`,
		`{"type":"session_info","id":"00000001","parentId":null,"timestamp":"2023-11-14T22:13:22.000Z","name":"first name"}`,
		`{"type":"model_change","id":"00000002","parentId":"00000001","timestamp":"2023-11-14T22:13:23.000Z","provider":"prov","modelId":"mod"}`,
		`{"type":"thinking_level_change","id":"00000003","parentId":"00000002","timestamp":"2023-11-14T22:13:24.000Z","thinkingLevel":"off"}`,
		`{"type":"message","id":"00000004","parentId":"00000003","timestamp":"2023-11-14T22:13:25.000Z","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1}}`,
	}
	lines := fileLines(t, s.Path())
	if diff := cmp.Diff(want, lines[:5]); diff != "" {
		t.Fatal(diff)
	}
	if s.Path() != filepath.Join(dir, "2023-11-14T22-13-21-000Z_my.id.jsonl") {
		t.Fatal(s.Path())
	}
	if diff := cmp.Diff(lines[1:], rawEntries(t, s.View())); diff != "" {
		t.Fatal(diff)
	}
	if runtime.GOOS != "windows" {
		for path, mode := range map[string]os.FileMode{s.Path(): 0o600, dir: 0o700, filepath.Dir(dir): 0o700} {
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
				t.Errorf("%s has mode %v, %v", path, st.Mode(), err)
			}
		}
	}
	if s.LeafID() != "00000005" || s.Len() != 5 {
		t.Fatal(s.LeafID(), s.Len())
	}
}

func TestSessionIDs(t *testing.T) {
	for id, ok := range map[string]bool{"a": true, "a.b-c_d": true, "-a": false, "a-": false, "a/b": false, "ä": false, "..": false} {
		cfg := testConfig(t.TempDir())
		cfg.ID = id
		if _, err := Create(cfg); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		} else if err != nil && !errors.Is(err, ErrInvalidID) {
			t.Errorf("%q: %v", id, err)
		}
	}
	s := mustCreate(t, testConfig(t.TempDir()))
	if id := s.ID(); len(id) != 36 || id[14] != '7' {
		t.Errorf("%q is no version 7 UUID", id)
	}
	if got := ErrInvalidID.Error(); got != "Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and end with an alphanumeric character" {
		t.Error(got)
	}
}

func TestEveryBodyIsWrittenAndReadBack(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	yes := true
	u := add(t, s, user("hi"))
	bodies := []Body{
		ModelChange{"p", "m"},
		ThinkingLevelChange{"high"},
		SessionInfo{"name"},
		Label{TargetID: u, Label: "mark"},
		Label{TargetID: u},
		Custom{CustomType: "c", Data: jsonx.Raw(`{"z":1,"a":2}`)},
		CustomMessage{CustomType: "c", Content: jsonx.Raw(`"text"`), Display: true},
		BranchSummary{FromID: "root", Summary: "sum", FromHook: &yes},
		Compaction{Summary: "sum", FirstKeptEntryID: &u, TokensBefore: 7},
		Compaction{Summary: "sum"},
		Compaction{Summary: "text", Details: jsonx.Raw(`{"strategy":"verbatim-lines"}`)},
		ContextWindowChange{1000},
		ContextEdit{TargetID: u},
		Usage{Kind: "k", Provider: "p", Model: "m"},
		RawBody{Type: "novel", Fields: jsonx.Raw(`{"x" : [1, 2]}`)},
		RawBody{Type: "empty"},
	}
	for _, b := range bodies {
		id := add(t, s, b)
		line := rawEntries(t, s.View())[s.Len()-1]
		if !strings.HasPrefix(line, `{"type":"`+b.EntryType()+`","id":"`+id+`","parentId":"`) || !jsonx.Valid([]byte(line)) {
			t.Errorf("%s", line)
		}
	}
	tail := map[int]string{
		4: `"targetId":"00000001","label":"mark"}`, 5: `"targetId":"00000001"}`,
		9: `"firstKeptEntryId":"00000001","tokensBefore":7}`, 10: `"firstKeptEntryId":"0000000b","tokensBefore":0}`,
		11: `"firstKeptEntryId":null,"tokensBefore":0,"details":{"strategy":"verbatim-lines"}}`,
		13: `"replacement":null}`, 15: `"x":[1,2]}`, 16: `00.000Z"}`,
	}
	before := rawEntries(t, s.View())
	for i, want := range tail {
		if i != 16 && !strings.HasSuffix(before[i], want) {
			t.Errorf("entry %d is %s", i, before[i])
		}
	}
	s.Close()
	again := mustOpen(t, s.Path(), testConfig(""))
	if diff := cmp.Diff(before, rawEntries(t, again.View())); diff != "" {
		t.Fatal(diff)
	}
	if again.Name() != "name" || again.LeafID() != s.LeafID() {
		t.Fatal(again.Name(), again.LeafID())
	}
}

func TestAppendRefusesWhatCannotBeRight(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, user("hi"))
	before := readFile(t, s.Path())
	missing := "nope"
	for _, tt := range []struct {
		b    Body
		want string
	}{
		{Message{}, "without a message"},
		{Label{TargetID: missing, Label: "x"}, "Entry nope not found"},
		{ContextEdit{TargetID: missing}, "Entry nope not found"},
		{Compaction{FirstKeptEntryID: &missing}, "Entry nope not found"},
		{RawBody{Type: ""}, `"" is no type`},
		{RawBody{Type: "session"}, `"session" is no type`},
		{RawBody{Type: "x", Fields: jsonx.Raw(`[]`)}, "must be an object"},
		{RawBody{Type: "x", Fields: jsonx.Raw(`{"id":"x"}`)}, `must not hold "id"`},
		{RawBody{Type: "x", Fields: jsonx.Raw(`{bad`)}, "encoding a x entry"},
		{Custom{Data: jsonx.Raw(`{bad`)}, "encoding a custom entry"},
	} {
		if _, err := s.Append(tt.b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: %v", tt.b, err)
		}
	}
	if s.Len() != 1 || readFile(t, s.Path()) != before {
		t.Fatal("something was stored")
	}
}

func TestBranchesAndLeaf(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	a := add(t, s, user("a"))
	b := add(t, s, assistant("b"))
	if err := s.SetLeaf(a); err != nil {
		t.Fatal(err)
	}
	c := add(t, s, assistant("c"))
	if err := s.SetLeaf(""); err != nil {
		t.Fatal(err)
	}
	d := add(t, s, user("d"))
	if err := s.SetLeaf("nope"); err == nil || err.Error() != "Entry nope not found" {
		t.Fatal(err)
	}
	v := mustOpen(t, s.Path(), Config{ReadOnly: true}).View()
	var got [][2]string
	for i := range v.Len() {
		got = append(got, [2]string{v.Entry(i).ID, v.Entry(i).ParentID})
	}
	if diff := cmp.Diff([][2]string{{a, ""}, {b, a}, {c, a}, {d, ""}}, got); diff != "" {
		t.Fatal(diff)
	}
	if v.LeafID() != d {
		t.Fatal("leaf is not the last entry:", v.LeafID())
	}
}

func TestMemoryOnlyInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Create(Config{MemoryOnly: true, Cwd: "/proj"})
		if err != nil {
			t.Fatal(err)
		}
		u := add(t, s, user("hi"))
		add(t, s, assistant("ho"))
		if s.Path() != "" || s.Saved() || s.Persistent() {
			t.Fatal("a session in memory has a file")
		}
		if got := s.View().Entry(0).Timestamp; got != "2000-01-01T00:00:00.000Z" {
			t.Fatal("time does not come from the bubble:", got)
		}
		_, forked, err := s.Fork(u)
		if err != nil || forked.Len() != 0 || forked.ID() == s.ID() {
			t.Fatal(forked, err)
		}
		c, err := s.Clone()
		if err != nil || c.Len() != 2 || c.Persistent() {
			t.Fatal(c, err)
		}
		if err := errors.Join(s.Sync(), s.Close(), c.Close(), forked.Close()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFileInABubble(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := Create(Config{Dir: dir, Cwd: "/proj"})
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, user("hi"))
		if _, err := Open(s.Path(), Config{}); err == nil || !strings.Contains(err.Error(), "in use by process") {
			t.Fatal(err)
		}
		s.Close()
		s2, err := Open(s.Path(), Config{})
		if err != nil {
			t.Fatal(err)
		}
		add(t, s2, assistant("ho"))
		s2.Close()
	})
}

func TestViewsAreSnapshots(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, ModelChange{"p", "m"})
	early := s.View()
	first := add(t, s, user("one"))
	v := s.View()
	want := rawEntries(t, v)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if diff := cmp.Diff(want, rawEntries(t, v)); diff != "" {
					t.Error(diff)
				}
				if _, err := v.Stats(); err != nil {
					t.Error(err)
				}
				if n, err := v.MessageCount(); n != 1 || err != nil {
					t.Error(n, err)
				}
			}
		})
	}
	for i := range 200 {
		add(t, s, assistant(strings.Repeat("x", i)))
		if i%50 == 0 {
			s.SetLeaf(first)
		}
	}
	wg.Wait()
	if early.Len() != 1 || !strings.Contains(rawEntries(t, early)[0], "model_change") {
		t.Fatal("a view from before the file does not show what it showed")
	}
	s.Close()
	if diff := cmp.Diff(want, rawEntries(t, v)); diff != "" {
		t.Fatal("after Close:", diff)
	}
	os.Remove(s.Path())
	if _, err := v.Raw(0); err == nil {
		t.Fatal("a view of a removed file was read")
	}
}

func TestRegistrySharesStores(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.Registry = NewRegistry()
	s := mustCreate(t, cfg)
	add(t, s, user("hi"))
	link := filepath.Join(t.TempDir(), "link.jsonl")
	path := s.Path()
	if err := os.Symlink(s.Path(), link); err == nil {
		path = link
	}
	again, err := Open(path, cfg)
	if err != nil || again != s {
		t.Fatal(again, err)
	}
	bash := s.Retain()
	s.Close()
	again.Close()
	add(t, bash, assistant("still writable"))
	if _, err := Open(path, Config{LockWait: 1}); err == nil {
		t.Fatal("the lock went before the last owner")
	}
	bash.Close()
	if _, err := bash.Append(user("x")); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	other, err := Open(path, cfg)
	if err != nil || other == s || other.Len() != 2 {
		t.Fatal(other, err)
	}
	other.Close()
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path()), "*")); len(names) != 1 {
		t.Fatal("side files stay:", names)
	}
}

func TestReadOnlyChangesNothing(t *testing.T) {
	content := `{"type":"session","version":3,"id":"s","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/"}` + "\n" + `{"type":"x","id":"a","parentId":null}` + "\n" + `{"type":"torn`
	path := writeTestFile(t, content)
	holder := mustOpen(t, path, testConfig(""))
	s := mustOpen(t, path, Config{ReadOnly: true})
	if _, err := s.Append(user("x")); !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
	if s.Len() != 1 || readFile(t, path) != content {
		t.Fatal("changed")
	}
	holder.Close()
	empty := writeTestFile(t, "")
	if s := mustOpen(t, empty, Config{ReadOnly: true}); s.Len() != 0 || readFile(t, empty) != "" {
		t.Fatal("an empty file was filled")
	}
}

func TestUndecodableMessageStaysInTheContext(t *testing.T) {
	path := writeTestFile(t, `{"type":"session","version":3,"id":"s"}`+"\n"+`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":5}}`+"\n")
	c, err := mustOpen(t, path, Config{ReadOnly: true}).View().Context()
	if err != nil || len(c.Messages) != 1 {
		t.Fatal(c, err)
	}
	if _, ok := c.Messages[0].(*llm.UnknownMessage); !ok {
		t.Fatalf("%T", c.Messages[0])
	}
}
