//go:build !windows

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal %v: %v", s, err)
	}
}

// Each signal ends the program in order, idle and in mid-run: the run is told as
// settled, the exit code names the signal.
func TestSignals(t *testing.T) {
	needShell(t)
	for s, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGINT: 130} {
		if s == syscall.SIGHUP && signal.Ignored(s) {
			continue // these tests were started with nohup
		}
		t.Run(s.String()+" idle", func(t *testing.T) {
			p := start(t, "--mode", "rpc", "--model", "scripted/demo")
			p.answer(`{"type":"get_state"}`)
			p.signal(s)
			p.wantExit(code)
			if rest := p.rest(); len(rest) > 0 {
				t.Errorf("more was written: %q", rest)
			}
		})
		for _, mode := range []string{"rpc", "json"} {
			t.Run(s.String()+" in mid-run, "+mode, func(t *testing.T) {
				pid := filepath.Join(t.TempDir(), "pid")
				p := start(t, "--mode", mode, "--model", bashTurns(t, sleeper(pid)))
				if mode == "json" {
					p.send("go")
					p.closeInput()
				} else {
					p.send(`{"type":"prompt","message":"go"}`)
				}
				p.until(`"tool_execution_start"`)
				children := pidsIn(t, pid)
				p.signal(s)
				lines := p.rest()
				p.wantExit(code)
				if n := len(lines); n == 0 || lines[n-1] != `{"type":"agent_settled","aborted":true}` {
					t.Errorf("not settled:\n%s", strings.Join(lines, "\n"))
				}
				wantGone(t, children)
			})
		}
	}
}

// Print mode, interrupted: no half answer, the code of the signal.
func TestInterruptedPrint(t *testing.T) {
	needShell(t)
	pid := filepath.Join(t.TempDir(), "pid")
	p := launch(t, t.TempDir(), t.TempDir(), "isotope", "-p", "--model", bashTurns(t, sleeper(pid)), "go")
	p.closeInput()
	children := pidsIn(t, pid)
	p.signal(syscall.SIGINT)
	p.wantExit(130)
	wantGone(t, children)
}

// sleeper is a command of three processes, none of which ends by itself in time: a shell,
// a child behind it and one that it waits for. Killing the shell leaves both. Their ids
// are written to a file.
func sleeper(pidFile string) string {
	return strings.NewReplacer("NEW", pidFile+".new", "FILE", pidFile).Replace(
		"sleep 300 & echo $$ $! > 'NEW'; sh -c 'echo $$ >> \"$0\" && mv \"$0\" \"$1\" && exec sleep 301' 'NEW' 'FILE'; :")
}

// pidsIn waits for a sleeper's ids.
func pidsIn(t *testing.T, file string) []int {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(file); err == nil {
			pids := make([]int, 3)
			if _, err := fmt.Sscan(string(b), &pids[0], &pids[1], &pids[2]); err != nil {
				t.Fatalf("%v: %q", err, b)
			}
			return pids
		}
	}
	t.Fatal("the command did not start")
	return nil
}

// wantGone checks that processes end soon. A zombie has ended.
func wantGone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, pid := range pids {
		for !isGone(pid) {
			if time.Now().After(deadline) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Errorf("process %d of %v has survived", pid, pids)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func isGone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// starter is an extension whose command starts children in every way there is.
func starter(t *testing.T, dir string, spawned, detached, executed string) {
	t.Helper()
	source := strings.NewReplacer("SPAWNED", jsonString(sleeper(spawned)), "DETACHED", jsonString(sleeper(detached)), "EXECUTED", jsonString(sleeper(executed))).Replace(`
import { exec, spawn } from "node:child_process";
export default (pi: any) => {
  pi.registerCommand("start", { handler: async () => {
    pi.exec("sh", ["-c", EXECUTED]);
    const other = exec(SPAWNED, () => {});
    await new Promise((r) => other.on("spawn", r));
    const free = spawn("sh", ["-c", DETACHED], { detached: true, stdio: "ignore" });
    await new Promise((r) => free.on("spawn", r));
    free.unref();
  } });
};`)
	if err := os.WriteFile(filepath.Join(dir, "starter.ts"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
}

func jsonString(s string) string { return string(jsonx.String(s)) }

// Field report 122: whatever ends the engine, also SIGKILL, its children end with it:
// those of tools, those of direct commands and those of extensions.
func TestNoSurvivors(t *testing.T) {
	needShell(t)
	ends := map[string]func(*process){
		"end of input": (*process).closeInput,
		"SIGTERM":      func(p *process) { p.signal(syscall.SIGTERM) },
		"SIGHUP":       func(p *process) { p.signal(syscall.SIGHUP) },
		"SIGINT":       func(p *process) { p.signal(syscall.SIGINT) },
		"SIGKILL":      func(p *process) { p.signal(syscall.SIGKILL) },
		"stdout closed": func(p *process) {
			p.stdout.Close()
			_, _ = p.stdin.Write([]byte(`{"type":"get_state"}` + "\n"))
		},
	}
	if signal.Ignored(syscall.SIGHUP) {
		delete(ends, "SIGHUP") // these tests were started with nohup
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			starter(t, dir, at("spawned"), at("detached"), at("executed"))
			p := launch(t, t.TempDir(), dir, "isotope", "--mode", "rpc", "--model", bashTurns(t, sleeper(at("tool"))), "-e", "starter.ts")
			p.follow()
			p.answer(`{"type":"prompt","message":"/start"}`)
			p.send(`{"type":"prompt","message":"go"}`, `{"type":"bash","command":`+jsonString(sleeper(at("direct")))+`}`)
			var children []int
			for _, name := range []string{"tool", "direct", "spawned", "detached", "executed"} {
				children = append(children, pidsIn(t, at(name))...)
			}
			end(p)
			p.wait()
			wantGone(t, children)
		})
	}
}

// Field report 16: a client that closes its end is gone: exit 141 without a word.
func TestClosedStdout(t *testing.T) {
	t.Run("rpc", func(t *testing.T) {
		p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", "scripted/demo")
		p.stdout.Close()
		p.send(`{"type":"get_state"}`)
		p.wantExit(141)
	})
	t.Run("json in mid-run", func(t *testing.T) {
		p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "json",
			"--model", script(t, `{"steps":[{"repeat":{"count":100000,"bytes":20},"delayMs":1}]}`), "go")
		p.closeInput()
		p.stdout.Close()
		p.wantExit(141)
	})
	t.Run("print", func(t *testing.T) {
		p := launch(t, t.TempDir(), t.TempDir(), "isotope", "-p", "--model", script(t, `{"steps":[{"text":"ok"}]}`), "go")
		p.stdout.Close()
		p.closeInput()
		p.wantExit(141)
	})
}

// Field report 25: a signal and the end of input at the same time are one orderly end.
func TestSignalAndEndOfInputAtOnce(t *testing.T) {
	needShell(t)
	for range 5 {
		pid := filepath.Join(t.TempDir(), "pid")
		p := start(t, "--mode", "rpc", "--model", bashTurns(t, sleeper(pid)))
		p.send(`{"type":"prompt","message":"go"}`)
		children := pidsIn(t, pid)
		p.closeInput()
		p.signal(syscall.SIGTERM)
		lines := p.rest()
		if code := p.wait(); code != 143 && code != 0 {
			t.Errorf("exit code %d, want 143 or 0", code)
		}
		if n := len(lines); n == 0 || lines[n-1] != `{"type":"agent_settled","aborted":true}` {
			t.Errorf("not settled:\n%s", strings.Join(lines, "\n"))
		}
		wantGone(t, children)
	}
}

// fill makes a pipe one that takes nothing more.
func fill(w *os.File) {
	for _, n := range []int{1 << 10, 1} {
		for err := error(nil); err == nil; {
			_ = w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			_, err = w.Write(make([]byte, n))
		}
	}
}

// A second signal ends the program at once, whatever the first is waiting for: here a
// client that does not read.
func TestSecondSignal(t *testing.T) {
	needShell(t)
	pid := filepath.Join(t.TempDir(), "pid")
	p := launchWith(t, fill, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", "scripted/demo")
	p.send(`{"type":"get_state"}`, `{"type":"bash","command":`+jsonString(sleeper(pid))+`}`)
	children := pidsIn(t, pid)
	first := time.Now()
	p.signal(syscall.SIGTERM)
	time.Sleep(300 * time.Millisecond)
	// The first signal gives everything 5 s. On a machine that stood still for as long as
	// that there is nothing to see.
	inTime := func() bool { return time.Since(first) < 4*time.Second }
	select {
	case <-p.exited:
		if inTime() {
			t.Fatal("the program did not wait for its reader")
		}
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if code := p.wait(); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	if s := p.stderr.String(); s != "" && inTime() {
		t.Errorf("it waited until its time was over: %s", s)
	}
	wantGone(t, children)
}

// A program that was started to survive its terminal does.
func TestIgnoredHangup(t *testing.T) {
	needShell(t)
	p := launch(t, t.TempDir(), t.TempDir(), "sh", "-c", `trap "" HUP; exec isotope --mode rpc --model scripted/demo`)
	p.follow()
	p.answer(`{"type":"get_state"}`)
	p.signal(syscall.SIGHUP)
	p.answer(`{"type":"get_state"}`)
	p.closeInput()
	p.wantExit(0)
}

// Field report 17: a reader that sleeps while a command prints 100 MB loses nothing: the
// command waits, the memory of the engine does not grow, and every byte comes in order.
// ISOTOPE_SLEEP_OF_READER (30s …) makes the reader sleep longer.
func TestSleepingReaderLosesNothing(t *testing.T) {
	needShell(t)
	last := 12_350_000
	if underRace || testing.Short() {
		last = 1_500_000
	}
	sleep, err := time.ParseDuration(os.Getenv("ISOTOPE_SLEEP_OF_READER"))
	if err != nil {
		sleep = time.Second
	}
	p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", "scripted/demo")
	p.send(`{"id":"b","type":"bash","command":"seq 1 ` + strconv.Itoa(last) + `"}`)
	time.Sleep(sleep)
	total := p.readSequence(last)
	if runtime.GOOS == "linux" && !underRace {
		peak := peakMemory(t, p.cmd.Process.Pid)
		t.Logf("%d bytes, the engine took %d KiB", total, peak)
		if peak > 100_000_000>>10 {
			t.Errorf("the engine took %d KiB", peak)
		}
	}
	p.follow()
	p.closeInput()
	p.wantExit(0)
}

// readSequence reads stdout up to the response of the one bash command, whose output must
// be the numbers up to last. It returns the bytes of that.
func (p *process) readSequence(last int) (total int) {
	p.t.Helper()
	if f, ok := p.stdout.(*os.File); ok {
		_ = f.SetReadDeadline(time.Now().Add(4 * patience)) // a safety net only
	}
	r := bufio.NewReaderSize(p.stdout, 1<<20)
	var want []byte // of what is still to come
	next := 1
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			p.t.Fatalf("stdout ended: %v", err)
		}
		var rec struct {
			Type    string `json:"type"`
			Delta   string `json:"delta"`
			Success bool   `json:"success"`
		}
		if err := jsonx.Unmarshal(line, &rec); err != nil {
			p.t.Fatalf("%v: %.200s", err, line)
		}
		for len(want) < len(rec.Delta) && next <= last {
			want = append(strconv.AppendInt(want, int64(next), 10), '\n')
			next++
		}
		if rec.Type == "response" {
			if !rec.Success || next != last+1 || len(want) > 0 {
				p.t.Errorf("the output ends before %d: %.300s", next, line)
			}
			return total
		}
		if rec.Type != "bash_execution_update" || !bytes.HasPrefix(want, []byte(rec.Delta)) {
			p.t.Fatalf("after %d bytes: %.200s\nwant %.200q", total, line, want)
		}
		want = want[len(rec.Delta):]
		total += len(rec.Delta)
	}
}

// peakMemory returns the highest resident size of a process in KiB.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// Field reports 18 and 19: nothing but records is on stdout, whatever a child does with
// the descriptors it has, and whatever else is wrong at the start.
func TestNothingButRecordsOnStdout(t *testing.T) {
	needShell(t)
	t.Setenv("NODE_OPTIONS", "--trace-warnings")
	const noise = `printf '\033]0;title\007'; echo on stdout; echo on stderr >&2; for fd in 3 4 5 6 7 8 9; do echo "to $fd" >&$fd; done 2>/dev/null; sh -c 'echo grandchild; echo x >/dev/tty' 2>/dev/null; true`
	loud := filepath.Join(t.TempDir(), "loud.ts")
	if err := os.WriteFile(loud, []byte(`console.log("loud"); process.stdout.write("raw\n"); export default function () {}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--mode", "rpc", "-e", loud, "--model", bashTurns(t, noise))
	p.send(`{"type":"prompt","message":"go"}`)
	lines := p.until(`"type":"agent_settled"`) // follow checks that each line is JSON
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "grandchild") || strings.Contains(all, "to 3") {
		t.Errorf("the output of the tool:\n%s", all)
	}
	p.send(`{"type":"bash","command":"echo direct; echo more >&2"}`)
	p.until(`"command":"bash"`, `"success":true`)
	p.closeInput()
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if s := p.stderr.String(); !strings.Contains(s, "loud\n") || !strings.Contains(s, "raw\n") || strings.Count(s, "\n") != 2 {
		t.Errorf("stderr: %s", s)
	}
}

// Direct commands as a client sees them. What the commands themselves do is tested in
// package proc; here the whole way is.
func TestDirectCommands(t *testing.T) {
	needShell(t)
	p := start(t, "--mode", "rpc", "--model", "scripted/demo")
	for _, tt := range []struct {
		name, command, want string
	}{
		// Field report 118: a daemon that inherits stdout does not keep the command open.
		{"daemon", `sleep 300 & echo $! > daemon; echo started`, `"output":"started\n","exitCode":0`},
		// Field report 119: what comes right behind the shell's end is not cut off.
		{"late output", `(sleep 0.05; echo late) & echo now`, `"output":"now\nlate\n"`},
		// Field report 120: a signal is no success.
		{"killed", `kill -SEGV $$`, `"exitCode":139`},
		// Field report 125: there is no input to wait for.
		{"input", `cat; echo done`, `"output":"done\n","exitCode":0`},
		// Field report 127: a character in two writes is one character.
		{"halves", `printf '\360\237'; sleep 0.2; printf '\230\200'`, `"output":"😀"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			command := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(tt.command)
			p.t = t
			if got := p.answer(`{"type":"bash","command":"` + command + `"}`); !strings.Contains(got, tt.want) {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
	p.t = t
	if b, err := os.ReadFile(filepath.Join(p.dir, "daemon")); err == nil {
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	}

	// Field report 123: abort_bash stops all of them.
	p.send(`{"id":"a","type":"bash","command":"sleep 300"}`, `{"id":"b","type":"bash","command":"sleep 301"}`, `{"type":"abort_bash"}`)
	answered := 0
	for answered < 2 {
		lines := p.until(`"command":"bash"`)
		if !strings.Contains(lines[len(lines)-1], `"cancelled":true`) {
			t.Errorf("not cancelled: %s", lines[len(lines)-1])
		}
		answered++
	}

	// Field report 124: what is cut from an answer is whole in a file.
	res := p.answer(`{"type":"bash","command":"seq 1 200000"}`)
	full, err := os.ReadFile(member(t, res, "data", "fullOutputPath"))
	if err != nil || !strings.HasPrefix(string(full), "1\n2\n") || !strings.HasSuffix(string(full), "\n200000\n") {
		t.Errorf("the whole output: %v, %d bytes", err, len(full))
	}
	p.closeInput()
	p.wantExit(0)
}
