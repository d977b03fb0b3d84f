package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/proc"
)

// With stdout blocked for good, RPC mode leaves all the same, says so, and has another
// exit code than one that delivered everything.
func TestBlockedStdoutDoesNotHoldTheProgram(t *testing.T) {
	world(t)
	lim := quick()
	lim.leave = 100 * time.Millisecond
	stuck := &gate{open: make(chan struct{})}
	stuck.w = io.Discard
	defer close(stuck.open)
	in := strings.NewReader(`{"type":"get_state"}` + "\n")
	got := callWith(t, stdio{in: in, out: stuck}, lim, "--mode", "rpc", "--model", "scripted/demo", "--no-session")
	if got.code != exitClientGone || !strings.Contains(got.stderr, "standard output is blocked") {
		t.Errorf("got %+v", got)
	}
}

// trickle takes a little at a time.
type trickle struct {
	pause time.Duration
	buf   bytes.Buffer
}

func (s *trickle) Write(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.buf.Write(p)
}

// A reader that is slow but takes something is waited for after the end of input, for
// longer in all than one that takes nothing.
func TestSlowReaderGetsEverything(t *testing.T) {
	home, dir := world(t)
	file := filepath.Join(home, "s.jsonl")
	var lines strings.Builder
	lines.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":""}` + "\n")
	for range 40 {
		lines.WriteString(`{"type":"custom","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x","data":"` +
			strings.Repeat("d", 20_000) + `"}` + "\n")
	}
	write(t, file, lines.String())
	lim := quick()
	lim.leave = 3 * time.Second                    // a loaded machine may stand still for a while
	out := &trickle{pause: 250 * time.Millisecond} // 800 KB are 13 pieces: 3.25 s in all
	in := strings.NewReader(`{"type":"get_entries"}` + "\n")
	got := callWith(t, stdio{in: in, out: out}, lim, "--mode", "rpc", "--model", "scripted/demo", "--session", file)
	if got.code != 0 || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
	checkRecords(t, out.buf.String())
	if text := out.buf.String(); !strings.HasSuffix(text, "}\n") || len(text) < 800_000 {
		t.Errorf("%d bytes of %s", len(text), dir)
	}
}

// JSON mode waits for its reader as any program does that was not told to end, and no
// longer than limits.leave once it was.
func TestJSONModeWaitsForItsReader(t *testing.T) {
	world(t)
	lim := quick()
	lim.leave = 50 * time.Millisecond
	model := script(t, `{"steps":[{"text":"ok"}]}`)
	var out buffer
	slow := &gate{open: make(chan struct{}), w: &out}
	time.AfterFunc(300*time.Millisecond, func() { close(slow.open) })
	got := callWith(t, stdio{out: slow}, lim, "--mode", "json", "--no-session", "--model", model, "hi")
	if got.code != 0 || !strings.HasSuffix(out.String(), `{"type":"agent_settled","aborted":false}`+"\n") {
		t.Errorf("got %+v, output:\n%s", got, out.String())
	}

	checkRecords(t, out.String())
	stuck := &gate{open: make(chan struct{}), w: io.Discard}
	defer close(stuck.open)
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(200*time.Millisecond, func() { cancel(signalled{143}) })
	code := run(ctx, []string{"isotope", "--mode", "json", "--no-session", "--model", model, "hi"},
		stdio{in: strings.NewReader(""), out: stuck, err: io.Discard}, lim)
	if code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
}

// A large record goes out in pieces, each of which counts as a sign of life.
func TestPulse(t *testing.T) {
	var out bytes.Buffer
	p := &pulse{w: &out}
	big := bytes.Repeat([]byte("x"), 200_000)
	for _, b := range [][]byte{big, nil, []byte("y")} {
		if n, err := p.Write(b); n != len(b) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	if p.count() != 200_001 || out.Len() != 200_001 {
		t.Errorf("%d counted, %d written", p.count(), out.Len())
	}
	broken := &pulse{w: brokenWriter{}}
	if n, err := broken.Write(big); n != 0 || err == nil {
		t.Errorf("Write = %d, %v", n, err)
	}
}

// Old spilled output is removed some time after the start, not before.
func TestSweep(t *testing.T) {
	world(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	old := filepath.Join(proc.NewSpill("isotope", "").Root(), "old-session")
	past := time.Now().Add(-40 * 24 * time.Hour)
	write(t, filepath.Join(old, "isotope-bash-1.log"), "x")
	for _, path := range []string{filepath.Join(old, "isotope-bash-1.log"), old} {
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	if got := call(t, "--mode", "rpc", "--model", "scripted/demo"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("swept too early: %v", err)
	}
	lim := quick()
	lim.sweep = time.Millisecond
	in, w := io.Pipe()
	defer w.Close()
	go func() {
		for range 500 {
			if _, err := os.Stat(old); err != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		w.Close()
	}()
	callWith(t, stdio{in: in}, lim, "--mode", "rpc", "--model", "scripted/demo")
	if _, err := os.Stat(old); err == nil {
		t.Error("not swept")
	}
}
