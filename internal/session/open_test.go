package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMigrations opens a file of each version and compares it with its golden file.
func TestMigrations(t *testing.T) {
	for version, name := range []string{1: "v1", 2: "v2", 3: "v3"} {
		if name == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			content := readFile(t, "testdata/migrate/"+name+".jsonl")
			golden := readFile(t, "testdata/migrate/"+name+".golden.jsonl")
			path := writeTestFile(t, content)
			look := mustOpen(t, path, func() Config { c := testConfig(""); c.ReadOnly = true; return c }())
			if readFile(t, path) != content {
				t.Fatal("a look changed the file")
			}
			s := mustOpen(t, path, testConfig(""))
			if diff := cmp.Diff(golden, readFile(t, path)); diff != "" {
				t.Fatal(diff)
			}
			want := strings.Split(strings.TrimSuffix(golden, "\n"), "\n")[1:]
			if diff := cmp.Diff(want, rawEntries(t, s.View())); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(want, rawEntries(t, look.View())); diff != "" {
				t.Fatal("read-only:", diff)
			}
			if s.Header().Version != 3 || look.Header().Version != 3 {
				t.Fatal(s.Header().Version)
			}
			backup, err := os.ReadFile(path + "." + name + ".bak")
			if version < 3 && (err != nil || string(backup) != content) {
				t.Fatalf("the original is not kept: %q %v", backup, err)
			}
			if version == 3 && err == nil {
				t.Fatal("a backup without a migration")
			}
			add(t, s, user("goes on"))
			s.Close()
			if n := mustOpen(t, path, testConfig("")).Len(); n != len(want)+1 {
				t.Fatal(n)
			}
		})
	}
}

func TestMigratedContext(t *testing.T) {
	path := writeTestFile(t, readFile(t, "testdata/migrate/v1.jsonl"))
	s := mustOpen(t, path, testConfig(""))
	s.SetLeaf("00000004")
	wantShown(t, s, "compactionSummary: They asked.", "assistant: Two files.", "custom: remember")
}

func TestFailedMigrationLeavesTheOriginal(t *testing.T) {
	content := readFile(t, "testdata/migrate/v1.jsonl")
	path := writeTestFile(t, content)
	for i := range 100 { // no name is left for the backup
		name := path + ".v1.bak"
		if i > 0 {
			name += string(rune('0'+i/10)) + string(rune('0'+i%10))
			name = strings.Replace(name, ".bak0", ".bak", 1)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(path, testConfig("")); err == nil || !strings.Contains(err.Error(), "from version 1") {
		t.Fatal(err)
	}
	if readFile(t, path) != content {
		t.Fatal("changed")
	}
	if _, err := os.Stat(path + ".lock"); err == nil {
		t.Fatal("the lock stays")
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "s.jsonl")
	if _, err := Open(missing, testConfig("")); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), missing) {
		t.Fatal(err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Fatal("something was created:", list)
	}
	if _, err := Open(dir, testConfig("")); err == nil || err.Error() != "EISDIR: illegal operation on a directory, read" {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"text":             "just notes\nof mine\n",
		"other JSON":       `{"type":"message","id":"x"}` + "\n" + testHeader + "\n",
		"no id":            `{"type":"session"}` + "\n",
		"id is a number":   `{"type":"session","id":5}` + "\n",
		"one torn line":    `{"name":"package","vers`,
		"blank":            "\n\n  \n",
		"a whole document": "{\n  \"type\": \"session\"\n}\n",
	} {
		path := writeTestFile(t, content)
		_, err := Open(path, testConfig(""))
		if err == nil || err.Error() != "Session file is not a valid pi session: "+path {
			t.Errorf("%s: %v", name, err)
		}
		if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 1 || readFile(t, path) != content {
			t.Errorf("%s: touched", name)
		}
	}
}

func TestOpenAcceptsOddFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		id      string
		n       int
	}{
		"lines before":    {"\nnoise\n" + testHeader + "\n" + entryLine("a", "") + "\n", "s", 1},
		"windows ends":    {testHeader + "\r\n" + entryLine("a", "") + "\r\n", "s", 1},
		"later version":   {`{"type":"session","version":4,"id":"v4"}` + "\n" + entryLine("a", "") + "\n", "v4", 1},
		"header only":     {testHeader, "s", 0},
		"broken between":  {testHeader + "\n" + entryLine("a", "") + "\n{\"type\":\"message\",\"id\":\"b\n" + entryLine("c", "a") + "\n", "s", 2},
		"glued lines":     {testHeader + "\n" + entryLine("a", "") + entryLine("b", "a") + "\n" + entryLine("c", "") + "\n", "s", 1},
		"second header":   {testHeader + "\n" + testHeader + "\n" + entryLine("a", "") + "\n", "s", 1},
		"long line":       {testHeader + "\n" + entryLine("a", strings.Repeat("x", 3*loadWindow)) + "\n" + entryLine("c", "") + "\n", "s", 2},
		"arrays, numbers": {testHeader + "\n[1]\n5\nnull\n" + entryLine("c", "") + "\n", "s", 1},
	} {
		path := writeTestFile(t, tt.content)
		s := mustOpen(t, path, testConfig(""))
		if s.ID() != tt.id || s.Len() != tt.n || len(rawEntries(t, s.View())) != tt.n {
			t.Errorf("%s: %s %d", name, s.ID(), s.Len())
		}
		if readFile(t, path) != tt.content {
			t.Errorf("%s: changed by opening", name)
		}
		add(t, s, user("more"))
		s.Close()
		if again := mustOpen(t, path, testConfig("")); again.Len() != tt.n+1 {
			t.Errorf("%s: reopened with %d", name, again.Len())
		}
	}
}

func TestEmptyFileGetsItsHeader(t *testing.T) {
	path := writeTestFile(t, "")
	cfg := testConfig("")
	s := mustOpen(t, path, cfg)
	if lines := fileLines(t, path); len(lines) != 1 || s.ID() != "abc" { // from the file's name
		t.Fatal(lines, s.ID())
	}
	add(t, s, ModelChange{"p", "m"})
	if lines := fileLines(t, path); len(lines) != 2 {
		t.Fatal(lines)
	}
}

func TestCreateAtAPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "mine.jsonl")
	cfg := testConfig("")
	cfg.Path = path
	s := mustCreate(t, cfg)
	add(t, s, user("x"))
	if s.Path() != path || s.Dir() != filepath.Dir(path) || len(fileLines(t, path)) != 2 {
		t.Fatal(s.Path(), s.Dir())
	}
	other, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	before := readFile(t, path)
	if _, err := other.Append(user("y")); err == nil || readFile(t, path) != before {
		t.Fatal("another session was overwritten:", err)
	}
	if _, err := Create(Config{}); err == nil {
		t.Fatal("no folder, no error")
	}
}

func TestRawIsCleanedOnItsWayOut(t *testing.T) {
	path := writeTestFile(t, testHeader+"\n"+"{\"type\":\"x\",\r\"id\":\"a\",\"parentId\":null,\"v\":\"\xff\xc3\", \"w\":1}\n"+`{"type":"x","id":"b","parentId":"a",  "v":"\ud800"}`+"\n")
	v := mustOpen(t, path, Config{ReadOnly: true}).View()
	want := []string{"{\"type\":\"x\",\"id\":\"a\",\"parentId\":null,\"v\":\"\uFFFD\uFFFD\",\"w\":1}", `{"type":"x","id":"b","parentId":"a",  "v":"\ud800"}`}
	if diff := cmp.Diff(want, rawEntries(t, v)); diff != "" {
		t.Fatal(diff)
	}
	if raw, err := v.Raw(1); string(raw) != want[1] || err != nil {
		t.Fatal(string(raw), err)
	}
}
