package session

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testHeader = `{"type":"session","version":3,"id":"s","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/proj"}`

func entryLine(id, parent string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return `{"type":"message","id":"` + id + `","parentId":` + p + `,"timestamp":"2024-01-01T00:00:01.000Z","message":{"role":"user","content":"text of ` + id + `","timestamp":1}}`
}

func TestFailedAppendIsUndone(t *testing.T) {
	noSpace := syscall.ENOSPC
	tests := map[string]struct {
		limit int
		err   error
		sync  error
	}{
		"nothing written":  {0, noSpace, nil},
		"half a line":      {40, noSpace, nil},
		"short, no error":  {40, nil, nil},
		"all but the end":  {10_000, nil, nil}, // replaced below by the length of the line minus one
		"fsync fails":      {-1, nil, errors.New("io error")},
		"first write":      {60, noSpace, nil},
		"first, nothing":   {0, noSpace, nil},
		"first sync fails": {-1, nil, errors.New("io error")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDisk()
			cfg := testConfig(t.TempDir())
			cfg.open, cfg.Durability = d.open, DurabilityEntry
			s := mustCreate(t, cfg)
			add(t, s, ModelChange{"p", "m"})
			first := strings.HasPrefix(name, "first")
			before := ""
			if !first {
				add(t, s, user("saved"))
				before = readFile(t, s.Path())
			}
			leaf, n := s.LeafID(), s.Len()
			if tt.limit == 10_000 {
				line, _ := encodeEntry("00000003", leaf, formatTime(0), user("lost"))
				tt.limit = len(line)
			}
			d.writeLimit, d.writeErr, d.syncErr = tt.limit, tt.err, tt.sync
			if _, err := s.Append(user("lost")); err == nil {
				t.Fatal("the failure was not reported")
			} else if tt.err != nil && !errors.Is(err, tt.err) {
				t.Fatal(err)
			}
			if s.LeafID() != leaf || s.Len() != n {
				t.Fatal("the store kept the entry")
			}
			if first {
				if list, _ := os.ReadDir(filepath.Dir(s.Path())); len(list) != 0 {
					t.Fatal("left behind:", list)
				}
			} else if got := readFile(t, s.Path()); got != before {
				t.Fatalf("left in the file: %q", strings.TrimPrefix(got, before))
			}
			*d = *newDisk()
			add(t, s, user("again"))
			s.Close()
			v := mustOpen(t, s.Path(), testConfig("")).View()
			parentsResolve(t, v)
			if v.Len() != n+1 {
				t.Fatal(entryIDs(v))
			}
		})
	}
}

func TestFailedAppendThatCannotBeCutOff(t *testing.T) {
	d := newDisk()
	cfg := testConfig(t.TempDir())
	cfg.open = d.open
	s := mustCreate(t, cfg)
	add(t, s, user("saved"))
	d.writeLimit, d.writeErr, d.truncErr = 30, syscall.ENOSPC, syscall.EIO
	if _, err := s.Append(user("lost")); err == nil {
		t.Fatal("not reported")
	}
	d.writeLimit = -1
	add(t, s, assistant("with the rest still there")) // truncation keeps failing
	d.truncErr = nil
	add(t, s, assistant("and afterwards"))
	s.Close()
	v := mustOpen(t, s.Path(), testConfig("")).View()
	parentsResolve(t, v)
	if v.Len() != 3 {
		t.Fatal(rawEntries(t, v))
	}
}

func TestRemovedFileIsReported(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, user("saved"))
	aside := s.Path() + ".aside"
	if err := os.Rename(s.Path(), aside); err != nil {
		t.Skip(err)
	}
	if _, err := s.Append(user("lost")); !errors.Is(err, ErrRemoved) {
		t.Fatal(err)
	}
	if _, err := s.Clone(); !errors.Is(err, ErrNotSaved) {
		t.Fatal(err)
	}
	if err := os.Rename(aside, s.Path()); err != nil {
		t.Fatal(err)
	}
	add(t, s, user("works again"))
	if n := len(fileLines(t, s.Path())); n != 3 {
		t.Fatal(n)
	}
}

func TestFileWithoutWritePermission(t *testing.T) {
	path := writeTestFile(t, testHeader+"\n"+entryLine("a", "")+"\n")
	d := newDisk()
	cfg := testConfig("")
	denied := &os.PathError{Op: "open", Path: path, Err: os.ErrPermission}
	blocked := true
	cfg.open = func(p string, flag int, perm os.FileMode) (file, error) {
		if blocked && flag&(os.O_RDWR|os.O_WRONLY) != 0 {
			return nil, denied
		}
		return d.open(p, flag, perm)
	}
	s := mustOpen(t, path, cfg)
	if s.Len() != 1 {
		t.Fatal("not readable")
	}
	if _, err := s.Append(user("x")); !errors.Is(err, os.ErrPermission) {
		t.Fatal(err)
	}
	blocked = false
	add(t, s, assistant("x"))
	if n := len(fileLines(t, path)); n != 3 {
		t.Fatal(n)
	}
}

func TestDurability(t *testing.T) {
	for dur, want := range map[Durability][2]int{DurabilityNone: {0, 0}, DurabilitySettle: {0, 1}, DurabilityEntry: {3, 4}} {
		d := newDisk()
		cfg := testConfig(t.TempDir())
		cfg.open, cfg.Durability = d.open, dur
		s := mustCreate(t, cfg)
		for i := range 3 {
			add(t, s, user(fmt.Sprint(i)))
		}
		got := [2]int{d.syncs}
		for range 3 {
			if err := s.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got[1] = d.syncs; got != want {
			t.Errorf("%s: %v syncs, want %v", dur, got, want)
		}
		if p, err := ParseDurability(string(dur)); p != dur || err != nil {
			t.Error(p, err)
		}
	}
	if _, err := ParseDurability("often"); err == nil {
		t.Error("accepted")
	}
	d := newDisk()
	cfg := testConfig(t.TempDir())
	cfg.open = d.open
	s := mustCreate(t, cfg)
	add(t, s, user("x"))
	d.syncErr = syscall.EIO
	if err := s.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	d.syncErr = nil
	if err := s.Sync(); err != nil || d.syncs != 2 {
		t.Fatal("a failed sync is not tried again:", err, d.syncs)
	}
}

// Field reports 68 and 69: a last line without its end is not glued to the next one, and
// half a line does not stay.
func TestTails(t *testing.T) {
	whole := testHeader + "\n" + entryLine("a", "") + "\n"
	for name, tt := range map[string]struct {
		tail string
		ids  []string
		torn string // content of the .torn file
	}{
		"no end":         {tail: entryLine("b", "a"), ids: []string{"a", "b", "00000001"}},
		"no end, spaces": {tail: entryLine("b", "a") + "  ", ids: []string{"a", "b", "00000001"}},
		"cut short":      {tail: entryLine("b", "a")[:50], ids: []string{"a", "00000001"}, torn: entryLine("b", "a")[:50]},
		"zeros":          {tail: "\x00\x00\x00", ids: []string{"a", "00000001"}, torn: "\x00\x00\x00"},
		"spaces":         {tail: "   ", ids: []string{"a", "00000001"}},
		"carriage":       {tail: entryLine("b", "a") + "\r", ids: []string{"a", "b", "00000001"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeTestFile(t, whole+tt.tail)
			s := mustOpen(t, path, testConfig(""))
			if readFile(t, path) != whole+tt.tail {
				t.Fatal("opening changed the file")
			}
			add(t, s, assistant("more"))
			fileLines(t, path)
			if diff := cmp.Diff(tt.ids, entryIDs(s.View())); diff != "" {
				t.Fatal(diff)
			}
			s.Close()
			v := mustOpen(t, path, testConfig("")).View()
			parentsResolve(t, v)
			if diff := cmp.Diff(tt.ids, entryIDs(v)); diff != "" {
				t.Fatal("reopened:", diff)
			}
			torn, _ := os.ReadFile(path + ".torn")
			if string(torn) != tt.torn {
				t.Fatalf("kept %q, want %q", torn, tt.torn)
			}
		})
	}
}

// TestCrash opens a file that was cut at every byte, as a crash may leave it: all
// entries before the cut are there, the session goes on, and strict readers find
// nothing but whole lines.
func TestCrash(t *testing.T) {
	cfg := testConfig(t.TempDir())
	cfg.ID = "crash"
	s := mustCreate(t, cfg)
	add(t, s, user("ä \u2028 first"))
	add(t, s, assistant("{\"not\": \"an entry\"}\n", "call"))
	add(t, s, toolResult("call", "}\n{"))
	add(t, s, Label{TargetID: s.LeafID(), Label: "here"})
	s.Close()
	content := readFile(t, s.Path())
	dir := t.TempDir()
	for cut := range len(content) + 1 {
		path := filepath.Join(dir, fmt.Sprintf("2024_crash%d.jsonl", cut))
		if err := os.WriteFile(path, []byte(content[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		whole := max(0, strings.Count(content[:cut], "\n")-1)
		if cut > 0 && content[cut-1] == '}' && (cut == len(content) || content[cut] == '\n') && strings.Contains(content[:cut], "\n") {
			whole++ // only the line end is missing
		}
		cfg := testConfig("")
		cfg.NewID, cfg.Durability = nil, DurabilityNone
		r, err := Open(path, cfg)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if r.Len() != whole {
			t.Fatalf("cut at %d: %d entries, want %d", cut, r.Len(), whole)
		}
		add(t, r, user("after"))
		r.Close()
		r, err = Open(path, Config{ReadOnly: true})
		if err != nil || r.Len() != whole+1 {
			t.Fatalf("cut at %d: reopened with %v entries, %v", cut, r, err)
		}
		parentsResolve(t, r.View())
		for _, line := range fileLines(t, path) {
			if _, ok := scanLine([]byte(line)); !ok {
				t.Fatalf("cut at %d: a broken line stays: %q", cut, line)
			}
		}
		r.Close()
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(list) != 0 {
		t.Fatal("locks stay:", list)
	}
}

// TestKilledWriter runs this test binary as a writer that names each entry once it
// is appended, and kills it.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("SESSION_WRITER"); dir != "" {
		s := mustCreate(t, Config{Dir: dir, ID: "killed"})
		for i := 0; ; i++ {
			id := add(t, s, user(strings.Repeat("text ", i%2000)))
			fmt.Println(id)
		}
	}
	for range 5 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), "SESSION_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var acked strings.Builder
		buf := make([]byte, 512)
		for acked.Len() < 2000 {
			n, err := out.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			acked.Write(buf[:n])
		}
		cmd.Process.Kill()
		cmd.Wait()
		path := Latest(Folder{Path: dir})
		s := mustOpen(t, path, Config{})
		parentsResolve(t, s.View())
		ids := strings.Split(acked.String(), "\n")
		for _, id := range ids[:len(ids)-1] {
			if !s.Has(id) {
				t.Fatal("an acknowledged entry is lost:", id)
			}
		}
		add(t, s, user("and on"))
		s.Close()
	}
}

func TestForeignAppends(t *testing.T) {
	var warnings []string
	cfg := testConfig(t.TempDir())
	cfg.Warn = func(w string) { warnings = append(warnings, w) }
	s := mustCreate(t, cfg)
	a := add(t, s, user("mine"))
	appendTo := func(text string) { t.Helper(); appendForeign(t, s.Path(), text) }
	before := s.View()
	appendTo(entryLine("foreign1", a) + "\n" + entryLine("late", "later") + "\n")
	b := add(t, s, assistant("mine"))
	appendTo(entryLine("later", "foreign1") + "\n" + `{"type":"message","id":"tor`)
	c := add(t, s, assistant("still mine"))
	appendTo(entryLine("unended", c))
	d := add(t, s, assistant("mine again"))
	v := s.View()
	var got [][2]string
	for i := range v.Len() {
		got = append(got, [2]string{v.Entry(i).ID, v.Entry(i).ParentID})
	}
	want := [][2]string{{a, ""}, {"foreign1", a}, {"late", "later"}, {b, a}, {"later", "foreign1"}, {c, b}, {"unended", c}, {d, c}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	parentsResolve(t, v)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "another program") {
		t.Fatal(warnings)
	}
	if before.Len() != 1 {
		t.Fatal("an old view grew")
	}
	s.Close()
	again := mustOpen(t, s.Path(), testConfig("")).View()
	parentsResolve(t, again)
	if diff := cmp.Diff(entryIDs(v), entryIDs(again)); diff != "" {
		t.Fatal(diff)
	}
}

func TestFileReplacedByAnotherProgram(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	a := add(t, s, user("one"))
	add(t, s, assistant("two"))
	s.SetLeaf(a)
	old := s.View()
	lines := fileLines(t, s.Path())
	rewritten := lines[0] + "\n" + lines[1] + "\n" + entryLine("theirs", a) + "\n"
	tmp := s.Path() + ".new"
	if err := os.WriteFile(tmp, []byte(rewritten), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, s.Path()); err != nil {
		t.Skip(err)
	}
	b := add(t, s, assistant("three"))
	if diff := cmp.Diff([]string{a, "theirs", b}, entryIDs(s.View())); diff != "" {
		t.Fatal(diff)
	}
	if s.View().Entry(2).ParentID != a {
		t.Fatal("the position was lost")
	}
	if got := rawEntries(t, old); len(got) != 2 || !strings.Contains(got[1], "two") {
		t.Fatal("the old view shows the new file")
	}
	if err := os.WriteFile(s.Path(), []byte("no session\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var bad *InvalidFileError
	if _, err := s.Append(user("x")); !errors.As(err, &bad) || readFile(t, s.Path()) != "no session\n" {
		t.Fatal(err)
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, user("hi"))
	_, err := Open(s.Path(), testConfig(""))
	var used *InUseError
	if !errors.As(err, &used) || used.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprintf("is in use by process %d", os.Getpid())) {
		t.Fatal(err)
	}
	s.Close()
	mustOpen(t, s.Path(), testConfig(""))
}

func TestSessionThatCannotBeLocked(t *testing.T) {
	path := writeTestFile(t, testHeader+"\n")
	if err := os.Mkdir(path+".lock", 0o700); err != nil { // nothing can be opened under this name
		t.Fatal(err)
	}
	var warnings []string
	cfg := testConfig("")
	cfg.Warn = func(w string) { warnings = append(warnings, w) }
	add(t, mustOpen(t, path, cfg), user("hi"))
	if len(warnings) != 1 || !strings.Contains(warnings[0], "cannot be locked") {
		t.Fatal(warnings)
	}
}

// appendForeign writes to a session file as another program does.
func appendForeign(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestWriteAtTheSameMoment lets another program append between our look at the file
// and our own write.
func TestWriteAtTheSameMoment(t *testing.T) {
	d := newDisk()
	cfg := testConfig(t.TempDir())
	cfg.open = d.open
	s := mustCreate(t, cfg)
	a := add(t, s, user("mine"))
	d.before = func(path string) { appendForeign(t, path, entryLine("f1", a)+"\n"+entryLine("f2", "f1")+"\n") }
	b := add(t, s, assistant("mine"))
	c := add(t, s, assistant("mine"))
	v := s.View()
	if diff := cmp.Diff([]string{a, "f1", "f2", b, c}, entryIDs(v)); diff != "" {
		t.Fatal(diff)
	}
	if v.Entry(3).ParentID != a || v.Entry(4).ParentID != b {
		t.Fatal("the position was lost")
	}
	if raws := rawEntries(t, v); raws[1] != entryLine("f1", a) || !strings.Contains(raws[3], b) {
		t.Fatal(raws)
	}
	// And the same with a write that fails: what the other program wrote is kept.
	d.before = func(path string) { appendForeign(t, path, entryLine("f3", c)+"\n") }
	d.writeLimit, d.writeErr = 25, syscall.ENOSPC
	if _, err := s.Append(user("lost")); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	d.writeLimit = -1
	e := add(t, s, assistant("mine"))
	if diff := cmp.Diff([]string{a, "f1", "f2", b, c, "f3", e}, entryIDs(s.View())); diff != "" {
		t.Fatal(diff)
	}
	s.Close()
	again := mustOpen(t, s.Path(), testConfig("")).View()
	parentsResolve(t, again)
	if again.Len() != 7 {
		t.Fatal(entryIDs(again))
	}
}

func TestTwoProcessesInTurn(t *testing.T) {
	// Two writers that ignore the lock, as pi and Atomic do: nothing is lost, and each
	// goes on from its own last entry.
	dir := t.TempDir()
	one := mustCreate(t, Config{Dir: dir})
	root := add(t, one, user("root"))
	other := mustOpen(t, one.Path(), Config{ReadOnly: true})
	other.cfg.ReadOnly = false
	other.rdonly = true
	last := map[*Store]string{one: root, other: root}
	for i := range 40 {
		s := one
		if i%3 == 0 {
			s = other
		}
		id := add(t, s, assistant(fmt.Sprint(i)))
		if got := s.View().Entry(s.Len() - 1); got.ID != id || got.ParentID != last[s] {
			t.Fatalf("%+v, want the parent %s", got, last[s])
		}
		last[s] = id
	}
	v := mustOpen(t, one.Path(), Config{ReadOnly: true}).View()
	parentsResolve(t, v)
	if v.Len() != 41 {
		t.Fatal(v.Len())
	}
}

func TestSyncFromOtherGoroutines(t *testing.T) {
	d := newDisk()
	cfg := testConfig(t.TempDir())
	cfg.open = d.open
	s := mustCreate(t, cfg)
	var wg sync.WaitGroup
	for i := range 20 {
		add(t, s, user(fmt.Sprint(i)))
		wg.Go(func() {
			if err := s.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if d.syncs == 0 || d.syncs > 20 {
		t.Fatal(d.syncs)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); err != nil {
		t.Fatal("after Close:", err)
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"EISDIR: illegal operation on a directory, read":                                             ErrDirectory,
		"Session file is not a valid atomic session: /x":                                             &InvalidFileError{"atomic", "/x"},
		"session file /x is in use by process 7; end it, or open the session with --read-only":       &InUseError{"/x", 7},
		"session file /x is in use by another process; end it, or open the session with --read-only": &InUseError{Path: "/x"},
		"Entry x not found":             &EntryNotFoundError{ID: "x"},
		"Entry not found: x":            &EntryNotFoundError{ID: "x", since: true},
		"Invalid entry ID for forking":  ErrInvalidFork,
		"No session found matching 'x'": &MatchError{ID: "x"},
		"This session has not been saved yet. Send a message before cloning or forking it.": ErrNotSaved,
		"Cannot clone session: no current entry selected":                                   ErrNothingToClone,
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
