package rpc_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
)

var update = flag.Bool("update", false, "rewrite the expected sections of testdata/**/*.txtar")

// TestConversations runs every testdata/**/*.txtar: a client's lines against a whole
// engine in this process, on the clock of a synctest bubble.
//
// Sections of a file (all but stdin and stdout are optional):
//
//	-- settings.json --     the user's settings
//	-- models.json --       custom models (their providers are scripted all the same)
//	-- provider --          the script of the model, in the format of docs/scripted.md
//	-- files/NAME --        a file in the working folder
//	-- open.jsonl --        a session to open instead of a new one
//	-- session.jsonl --     the session file afterwards
//	-- args --              dialect and other switches, one a line: see testbed.apply
//	-- stdin --             the client's lines, and directives:
//	    # wait TYPE [SUBSTRING]   until such a record has come, from the last wait on
//	    # sleep DURATION
//	    # eof
//	-- stdout --            what the client gets
//
// In what is compared the working folder reads $WORK. Ids count up from 00000001 and
// the clock starts in 2000, so nothing else has to be replaced.
func TestConversations(t *testing.T) {
	var files []string
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".txtar") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no conversations found")
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "testdata"+string(filepath.Separator)), ".txtar")
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			work := t.TempDir()
			synctest.Test(t, func(t *testing.T) { converse(t, archive, file, work) })
		})
	}
}

// converse plays one conversation and compares what it left behind.
func converse(t *testing.T, archive *txtar.Archive, file, work string) {
	bed := newTestbed(t, archive, work)
	var out transcript
	server := bed.start(&out)
	in, feed := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(t.Context(), in, server.config()) }()
	play(t, bed.section("stdin"), feed, &out)
	feed.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	server.stop(t)
	bed.compare("stdout", bed.arrange(out.String()))
	if path := server.sessionFile(); path != "" {
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		bed.compare("session.jsonl", string(data))
	}
	for _, l := range bed.reports {
		t.Logf("stderr: %s", l)
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// play sends the client's lines and follows the directives between them.
func play(t *testing.T, script string, feed io.Writer, out *transcript) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSuffix(script, "\n"), "\n") {
		word, rest, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
		if !strings.HasPrefix(line, "# ") {
			if unquoted, ok := strings.CutPrefix(line, "#q "); ok { // bytes that a text file cannot hold
				s, err := strconv.Unquote(unquoted)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				line = s
			}
			if _, err := io.WriteString(feed, line+"\n"); err != nil {
				t.Fatalf("writing %q: %v", line, err)
			}
			continue
		}
		switch word {
		case "wait":
			kind, sub, _ := strings.Cut(rest, " ")
			out.await(t, kind, sub)
		case "sleep":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
			synctest.Wait()
		case "eof":
			return
		default:
			t.Fatalf("unknown directive %q", line)
		}
	}
}

// transcript collects stdout and lets the client wait for records.
type transcript struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	seen int // bytes that waits have looked at
}

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await returns when a record of that type that contains sub has come.
func (o *transcript) await(t *testing.T, kind, sub string) {
	t.Helper()
	limit := time.Now().Add(time.Hour)
	for {
		synctest.Wait()
		o.mu.Lock()
		rest := o.buf.Bytes()[o.seen:]
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			o.seen += len(line) + 1
			rest = after
			if bytes.Contains(line, []byte(`"type":"`+kind+`"`)) && bytes.Contains(line, []byte(sub)) {
				o.mu.Unlock()
				return
			}
		}
		o.mu.Unlock()
		if time.Now().After(limit) {
			t.Fatalf("no %s record with %q came; the output is:\n%s", kind, sub, o.String())
		}
		time.Sleep(time.Millisecond)
	}
}

// section returns the text of a section, "" when the file has none.
func (b *testbed) section(name string) string {
	for _, f := range b.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// compare checks a section against what there is, or rewrites it.
func (b *testbed) compare(name, got string) {
	b.t.Helper()
	got = strings.ReplaceAll(got, string(jsonx.String(b.work)[1:len(jsonx.String(b.work))-1]), "$WORK")
	want := b.section(name)
	if *update {
		b.rewrite(name, got)
		return
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// arrange puts the responses in front when the conversation asks for it: with lines
// that are sent together, their order among the events of a run is not fixed, while
// either kind keeps its own order.
func (b *testbed) arrange(out string) string {
	if !b.responsesApart {
		return out
	}
	var responses, events strings.Builder
	for line := range strings.Lines(out) {
		if strings.Contains(line, `"type":"response"`) {
			responses.WriteString(line)
		} else {
			events.WriteString(line)
		}
	}
	return responses.String() + events.String()
}

func (b *testbed) rewrite(name, got string) {
	for i, f := range b.archive.Files {
		if f.Name == name {
			b.archive.Files[i].Data = []byte(got)
			return
		}
	}
	if got != "" {
		b.archive.Files = append(b.archive.Files, txtar.File{Name: name, Data: []byte(got)})
	}
}
