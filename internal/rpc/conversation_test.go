package rpc_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	"github.com/isotope-agent/isotope/internal/schema/schematest"
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
//	-- agent/NAME --        a file in the user's agent directory
//	-- open.jsonl --        a session to open instead of a new one
//	-- session.jsonl --     the session file afterwards; session2.jsonl is that of the next session
//	-- args --              dialect and other switches, one a line: see testbed.apply
//	-- stdin --             the client's lines, and directives:
//	    # wait TYPE [SUBSTRING]   until such a record has come, from the last wait on
//	    #q "TEXT"                 these bytes, in Go's escapes, without a line feed
//	    # sleep DURATION
//	    # put NAME TEXT             a file gets another text, see files/NAME and agent/NAME
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
	talk := bed.talk()
	talk.play(strings.ReplaceAll(bed.section("stdin"), "$WORK", filepath.ToSlash(work)))
	out := talk.end()
	checkStream(t, out)
	bed.compare("stdout", bed.arrange(out))
	for i, store := range bed.stores {
		name := "session.jsonl"
		if i > 0 {
			name = fmt.Sprintf("session%d.jsonl", i+1)
		}
		if store.Path() != "" {
			bed.compare(name, bed.shortEntries(bed.read(store.Path())))
		}
	}
	if bed.also["settings.json"] {
		bed.compare("settings.json.after", bed.read(filepath.Join(work, "agent", "settings.json")))
	}
	if bed.also["stderr"] {
		bed.compare("stderr.after", strings.Join(bed.reports, "\n")+"\n")
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

// read returns a file, "" when there is none.
func (b *testbed) read(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(data)
}

// talk is a conversation under way.
type talk struct {
	t      testing.TB
	bed    *testbed
	server *testServer
	out    *transcript
	feed   *io.PipeWriter
	served chan error
	ended  bool
}

// talk starts a server and connects a client to it.
func (b *testbed) talk() *talk {
	in, feed := io.Pipe()
	c := &talk{t: b.t, bed: b, out: &transcript{}, feed: feed, served: make(chan error, 1)}
	c.server = b.start(c.out)
	ctx := b.t.Context()
	go func() { c.served <- rpc.Serve(ctx, in, c.server.config()) }()
	b.t.Cleanup(func() {
		if !c.ended { // leave no goroutine behind that hides what went wrong
			feed.Close()
			c.server.stop(b.t)
		}
	})
	return c
}

// end closes stdin, waits for the end of the server and returns all that it wrote.
func (c *talk) end() string {
	c.t.Helper()
	c.ended = true
	c.feed.Close()
	if err := <-c.served; err != nil {
		c.t.Errorf("Serve: %v", err)
	}
	c.server.stop(c.t)
	out := c.out.String()
	schematest.Lines(c.t, c.bed.dialect, out)
	return out
}

// send writes lines in one piece.
func (c *talk) send(lines ...string) {
	c.t.Helper()
	if _, err := io.WriteString(c.feed, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatalf("writing %q: %v", lines, err)
	}
}

func (c *talk) await(kind, sub string) {
	c.t.Helper()
	c.out.await(c.t, kind, sub)
}

// play sends the client's lines and follows the directives between them.
func (c *talk) play(script string) {
	c.t.Helper()
	for _, line := range strings.Split(strings.TrimSuffix(script, "\n"), "\n") {
		word, rest, _ := strings.Cut(strings.TrimPrefix(line, "# "), " ")
		switch {
		case !strings.HasPrefix(line, "#"):
			c.send(line)
		case word == "#q": // bytes that a text file cannot hold, without a line feed
			s, err := strconv.Unquote(rest)
			if err != nil {
				c.t.Fatalf("%s: %v", line, err)
			}
			if _, err := io.WriteString(c.feed, s); err != nil {
				c.t.Fatalf("writing %q: %v", line, err)
			}
		case word == "wait":
			kind, sub, _ := strings.Cut(rest, " ")
			c.await(kind, sub)
		case word == "sleep":
			d, err := time.ParseDuration(rest)
			if err != nil {
				c.t.Fatal(err)
			}
			time.Sleep(d)
			synctest.Wait()
		case word == "put":
			name, text, _ := strings.Cut(rest, " ")
			c.bed.write(strings.Replace(name, "files/", "proj/", 1), text)
		case word == "eof":
			return
		default:
			c.t.Fatalf("unknown directive %q", line)
		}
	}
}

// transcript collects stdout and lets the client wait for records.
type transcript struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	seen int           // bytes that waits have looked at
	gate chan struct{} // while it is open and not nil, nothing is read
}

func (o *transcript) Write(b []byte) (int, error) {
	o.mu.Lock()
	gate := o.gate
	o.mu.Unlock()
	if gate != nil {
		<-gate
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

// stopReading makes the client one that does not read, until it goes on reading.
func (o *transcript) stopReading() (goOn func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	gate := make(chan struct{})
	o.gate = gate
	return func() {
		o.mu.Lock()
		o.gate = nil
		o.mu.Unlock()
		close(gate)
	}
}

func (o *transcript) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await returns when a record of that type that contains sub has come.
func (o *transcript) await(t testing.TB, kind, sub string) {
	t.Helper()
	limit := time.Now().Add(5 * time.Minute)
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
	got = fileSize.ReplaceAllString(drawn.ReplaceAllStringFunc(got, b.uuid), `"size":1000`)
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n" // as the archive has it
	}
	want := b.section(name)
	if *update {
		b.rewrite(name, got)
		return
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// arrange shortens the records when the conversation asks for it, and puts the
// responses in front: with lines that are sent together, their order among the events
// of a run is not fixed, while either kind keeps its own order.
func (b *testbed) arrange(out string) string {
	var responses, events strings.Builder
	for line := range strings.Lines(out) {
		to := &events
		if b.responsesApart && strings.Contains(line, `"type":"response"`) {
			to = &responses
		}
		to.WriteString(b.short(line))
	}
	return responses.String() + events.String()
}

// drawn are ids that the program draws at random.
var drawn = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// fileSize depends on the name of the working folder.
var fileSize = regexp.MustCompile(`"size":[0-9]+`)

// uuid replaces such an id by its number: $UUID1 for the first.
func (b *testbed) uuid(id string) string {
	if b.uuids[id] == "" {
		b.uuids[id] = fmt.Sprint("$UUID", len(b.uuids)+1)
	}
	return b.uuids[id]
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
