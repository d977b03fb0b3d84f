package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
)

// patience is how long a test waits for what must come. It is a safety net only.
const patience = 90 * time.Second

// process is the program as a client runs it: a child behind three pipes.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	home   string
	dir    string
	stdin  io.WriteCloser
	stdout io.ReadCloser
	lines  chan string // of stdout, closed at its end; nil until follow
	stderr lockedBuffer
	exited chan struct{}
	torn   bool // stdout may end with half a line: the program will be killed
}

// lockedBuffer is a bytes.Buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// launch starts a program with a home and a folder of its own, without reading its
// stdout yet. args[0] is the program.
func launch(t *testing.T, home, dir string, args ...string) *process {
	t.Helper()
	return launchWith(t, func(*os.File) {}, home, dir, args...)
}

// launchWith is launch with a function that gets the pipe of stdout before the program.
func launchWith(t *testing.T, prepare func(w *os.File), home, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, home: home, dir: dir, exited: make(chan struct{})}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), homeEnv(home)...)
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	// A pipe of our own: exec's would be closed by Wait, under its reader.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout, p.cmd.Stdout = r, w
	prepare(w)
	err = p.cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		r.Close()
		if t.Failed() && p.stderr.String() != "" {
			t.Logf("stderr of %s:\n%s", strings.Join(args, " "), p.stderr.String())
		}
	})
	go func() { _ = p.cmd.Wait(); close(p.exited) }()
	return p
}

// start launches isotope and follows its stdout.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, t.TempDir(), t.TempDir(), append([]string{"isotope"}, args...)...)
	p.follow()
	return p
}

// follow reads stdout from now on. What is no record of the protocol fails the test
// (field reports 18 and 19).
func (p *process) follow() {
	d, err := dialect.Choose("", "", p.cmd.Args[0])
	if err != nil {
		p.t.Fatal(err)
	}
	p.readLines(schematest.Of(p.t, d).Check)
}

// readLines reads stdout from now on and checks each line.
func (p *process) readLines(check func(line string) error) {
	p.lines = make(chan string, 1<<16)
	go func() {
		defer close(p.lines)
		r := bufio.NewReader(p.stdout)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				if !strings.HasSuffix(line, "\n") {
					if p.torn {
						return
					}
					p.t.Errorf("no whole line on stdout: %.200q", line)
				} else if err := check(line); err != nil {
					p.t.Errorf("no record on stdout: %v: %.200q", err, line)
				}
				p.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
}

func (p *process) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Errorf("writing to stdin: %v", err)
	}
}

// closeInput is the end of input.
func (p *process) closeInput() { _ = p.stdin.Close() }

// until returns the lines up to the first one with all of the parts.
func (p *process) until(parts ...string) []string {
	p.t.Helper()
	timeout := time.After(patience)
	var seen []string
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("stdout ended without %q; the last lines:\n%s", parts, strings.Join(seen[max(0, len(seen)-5):], "\n"))
			}
			seen = append(seen, line)
			if hasAll(line, parts) {
				return seen
			}
		case <-timeout:
			p.t.Fatalf("no line with %q; the last lines:\n%s", parts, strings.Join(seen[max(0, len(seen)-5):], "\n"))
		}
	}
}

func hasAll(line string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(line, part) {
			return false
		}
	}
	return true
}

// answer sends a command and returns its response.
func (p *process) answer(command string) string {
	p.t.Helper()
	p.send(command)
	lines := p.until(`"type":"response"`, `"command":"`+member(p.t, command, "type")+`"`)
	return lines[len(lines)-1]
}

// rest returns the lines that are left.
func (p *process) rest() []string {
	p.t.Helper()
	var out []string
	timeout := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return out
			}
			out = append(out, line)
		case <-timeout:
			p.t.Fatal("stdout does not end")
		}
	}
}

// wait returns the exit code: -1 when a signal killed the program.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatal("the program does not exit")
		return 0
	}
}

// wantExit checks the exit code and that nothing was said on stderr.
func (p *process) wantExit(code int) {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Errorf("exit code %d, want %d", got, code)
	}
	if s := p.stderr.String(); s != "" {
		p.t.Errorf("stderr: %s", s)
	}
}

// member returns a member of a JSON text, by path.
func member(t *testing.T, text string, path ...string) string {
	t.Helper()
	raw := jsonx.Raw(text)
	for _, name := range path {
		var m map[string]jsonx.Raw
		if err := jsonx.Unmarshal(raw, &m); err != nil {
			t.Fatalf("%s in %.300s: %v", name, text, err)
		}
		raw = m[name]
	}
	var s string
	if jsonx.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// script writes a script for the scripted provider and returns the flag's value.
func script(t *testing.T, turns string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, []byte(`{"onEnd":"repeat","turns":[`+turns+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return "scripted/" + path
}

// bashTurns is a script that calls the bash tool once and then says "finished".
func bashTurns(t *testing.T, command string) string {
	t.Helper()
	args, err := jsonx.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return script(t, `{"turn":0,"steps":[{"toolCall":{"name":"bash","arguments":`+string(args)+`}}]},{"steps":[{"text":"finished"}]}`)
}

func needShell(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
}

// Field report 14: a client that writes with the first breath is answered; there is no
// sign of readiness to wait for.
func TestCommandWithTheSpawn(t *testing.T) {
	p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", "scripted/demo", "--no-session")
	p.send(`{"id":"first","type":"get_state"}`)
	p.follow()
	p.until(`"id":"first"`, `"success":true`)
	p.closeInput()
	p.wantExit(0)
}

// The end of input in mid-run: the run is aborted and told as settled, what was read
// before is answered, the session is kept (field report 15).
func TestEndOfInputInMidRun(t *testing.T) {
	p := start(t, "--mode", "rpc", "--model", script(t, `{"steps":[{"text":"so far"},{"hang":true}]}`))
	p.send(`{"id":"s","type":"get_state"}`)
	file := member(t, p.until(`"id":"s"`)[0], "data", "sessionFile")
	p.send(`{"id":"p","type":"prompt","message":"go"}`)
	p.until(`"text_delta"`)
	p.send(`{"id":"last","type":"get_session_stats"}`)
	p.closeInput()
	lines := p.rest()
	p.wantExit(0)
	all := strings.Join(lines, "\n")
	for _, want := range []string{`"id":"last"`, `"type":"agent_end"`, `"stopReason":"aborted"`, `{"type":"agent_settled","aborted":true}`} {
		if strings.Count(all, want) == 0 {
			t.Errorf("no %s after the end of input:\n%s", want, all)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(kept), `"so far"`) || !strings.Contains(string(kept), `"aborted"`) {
		t.Errorf("the session does not hold the aborted answer: %v\n%s", err, kept)
	}
}

// Prompt and end of input in one write: one answer, terminal records, exit 0.
func TestPromptAndEndOfInputAtOnce(t *testing.T) {
	p := start(t, "--mode", "rpc", "--model", "scripted/demo", "--no-session")
	p.send(`{"id":"p","type":"prompt","message":"go"}`)
	p.closeInput()
	all := strings.Join(p.rest(), "\n")
	p.wantExit(0)
	if strings.Count(all, `"id":"p"`) != 1 || strings.Count(all, `"type":"agent_settled"`) != 1 {
		t.Errorf("want one answer and one agent_settled:\n%s", all)
	}
}

// Field report 71: a session has one writer; a second program is told who that is.
func TestSessionHasOneWriter(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	args := []string{"isotope", "--mode", "rpc", "--model", "scripted/demo", "--session-id", "mine"}
	first := launch(t, home, dir, args...)
	first.follow()
	first.send(`{"type":"prompt","message":"from A"}`)
	first.until(`"type":"agent_settled"`)
	second := launch(t, home, dir, args...)
	if code := second.wait(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if s := second.stderr.String(); !strings.HasPrefix(s, "Error: session file ") || !strings.Contains(s, "in use by process "+strconv.Itoa(first.cmd.Process.Pid)) {
		t.Errorf("stderr: %s", s)
	}
	if got := first.answer(`{"type":"get_last_assistant_text"}`); !strings.Contains(got, "built-in") {
		t.Errorf("the first program is disturbed: %s", got)
	}
	first.closeInput()
	first.rest()
	if code := first.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Field report 72: a program that is killed before the answer has kept the question.
func TestKilledBeforeTheAnswer(t *testing.T) {
	p := start(t, "--mode", "rpc", "--model", script(t, `{"steps":[{"hang":true}]}`))
	file := member(t, p.answer(`{"type":"get_state"}`), "data", "sessionFile")
	p.send(`{"type":"prompt","message":"remember me"}`)
	p.until(`"type":"message_end"`, `"remember me"`)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.wait()
	kept, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(kept), "remember me") || !strings.HasSuffix(string(kept), "\n") {
		t.Errorf("the session: %v\n%s", err, kept)
	}
}

// Field report 20: the last records reach a reader that is slow to begin.
func TestLastRecordsReachASlowReader(t *testing.T) {
	p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "json", "--no-session",
		"--model", script(t, `{"steps":[{"repeat":{"count":3000,"bytes":100}}]}`), "go")
	p.closeInput()
	time.Sleep(time.Second) // far more is written by now than a pipe holds
	p.follow()
	lines := p.rest()
	p.wantExit(0)
	if n := len(lines); n < 3000 || lines[n-1] != `{"type":"agent_settled","aborted":false}` {
		t.Errorf("%d lines, the last one %s", n, lines[max(0, n-1)])
	}
}

// Field report 135: many engines start on one directory at once, and write settings
// too; all are ready and none complains.
func TestManyEnginesOnOneDirectory(t *testing.T) {
	const engines = 16
	home, dir := t.TempDir(), t.TempDir()
	var list []*process
	for range engines {
		p := launch(t, home, dir, "isotope", "--mode", "rpc", "--model", "scripted/demo")
		p.send(`{"type":"get_state"}`, `{"type":"set_steering_mode","mode":"all"}`, `{"type":"prompt","message":"hi"}`)
		p.follow()
		list = append(list, p)
	}
	ids := map[string]bool{}
	for _, p := range list {
		state := p.until(`"command":"get_state"`)
		ids[member(t, state[len(state)-1], "data", "sessionId")] = true
		seen := append(state, p.until(`"type":"agent_settled"`)...)
		p.closeInput()
		all := strings.Join(append(seen, p.rest()...), "\n")
		if strings.Contains(all, `"success":false`) || !strings.Contains(all, `"set_steering_mode","success":true`) {
			t.Errorf("a command failed:\n%s", all)
		}
		p.wantExit(0)
	}
	if len(ids) != engines {
		t.Errorf("%d different sessions, want %d", len(ids), engines)
	}
	kept, err := os.ReadFile(filepath.Join(home, ".isotope", "agent", "settings.json"))
	if err != nil || jsonx.SyntaxError(kept) != nil || !strings.Contains(string(kept), `"steeringMode"`) {
		t.Errorf("settings.json: %v\n%s", err, kept)
	}
}

// new_session stays in the folder of a session that was opened by its path, and leaves
// the directory of another program.
func TestWhereNewSessionsGo(t *testing.T) {
	home := t.TempDir()
	outside := filepath.Join(t.TempDir(), "kept", "one.jsonl")
	layer := filepath.Join(home, ".pi", "agent", "sessions", "--x--", "2026-01-01T00-00-00-000Z_theirs.jsonl")
	for _, path := range []string{outside, layer} {
		head := `{"type":"session","version":3,"id":"theirs","timestamp":"2026-01-01T00:00:00.000Z","cwd":""}` + "\n"
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(head), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for opened, want := range map[string]string{
		outside: filepath.Dir(outside),
		layer:   filepath.Join(home, ".isotope", "agent", "sessions"),
	} {
		p := launch(t, home, t.TempDir(), "isotope", "--mode", "rpc", "--model", "scripted/demo", "--session", opened)
		p.follow()
		if got := member(t, p.answer(`{"type":"get_state"}`), "data", "sessionFile"); got != opened {
			t.Errorf("opened %s, want %s", got, opened)
		}
		p.answer(`{"type":"new_session"}`)
		if got := member(t, p.answer(`{"type":"get_state"}`), "data", "sessionFile"); !strings.HasPrefix(got, want) {
			t.Errorf("the new session is %s, want it in %s", got, want)
		}
		p.closeInput()
		p.wantExit(0)
	}
}
