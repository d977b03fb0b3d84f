//go:build !windows

package main

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
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
				child := pidIn(t, pid)
				p.signal(s)
				lines := p.rest()
				p.wantExit(code)
				if n := len(lines); n == 0 || lines[n-1] != `{"type":"agent_settled","aborted":true}` {
					t.Errorf("not settled:\n%s", strings.Join(lines, "\n"))
				}
				wantGone(t, child)
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
	child := pidIn(t, pid)
	p.signal(syscall.SIGINT)
	p.wantExit(130)
	wantGone(t, child)
}

// sleeper is a command whose shell has a child that writes its id to a file and sleeps
// much longer than a test takes.
func sleeper(pidFile string) string {
	return "sleep 300 & echo $! > '" + pidFile + ".new'; mv '" + pidFile + ".new' '" + pidFile + "'; wait"
}

// pidIn waits for a sleeper's id.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(file); err == nil {
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the command did not start")
	return 0
}

// wantGone checks that a process ends soon. A zombie has ended.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d has survived", pid)
}

// Field report 122: whatever ends the engine, also SIGKILL, its children end with it:
// those of tools and those of direct commands.
func TestNoSurvivors(t *testing.T) {
	needShell(t)
	ends := map[string]func(*process){
		"end of input": (*process).closeInput,
		"SIGTERM":      func(p *process) { p.signal(syscall.SIGTERM) },
		"SIGKILL":      func(p *process) { p.signal(syscall.SIGKILL) },
		"stdout closed": func(p *process) {
			p.stdout.Close()
			_, _ = p.stdin.Write([]byte(`{"type":"get_state"}` + "\n"))
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tool, direct := filepath.Join(dir, "tool"), filepath.Join(dir, "direct")
			p := launch(t, t.TempDir(), dir, "isotope", "--mode", "rpc", "--model", bashTurns(t, sleeper(tool)))
			p.send(`{"type":"prompt","message":"go"}`, `{"type":"bash","command":"`+sleeper(direct)+`"}`)
			children := []int{pidIn(t, tool), pidIn(t, direct)}
			end(p)
			p.wait()
			for _, pid := range children {
				wantGone(t, pid)
			}
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
		child := pidIn(t, pid)
		p.closeInput()
		p.signal(syscall.SIGTERM)
		lines := p.rest()
		if code := p.wait(); code != 143 && code != 0 {
			t.Errorf("exit code %d, want 143 or 0", code)
		}
		if n := len(lines); n == 0 || lines[n-1] != `{"type":"agent_settled","aborted":true}` {
			t.Errorf("not settled:\n%s", strings.Join(lines, "\n"))
		}
		wantGone(t, child)
	}
}

// A second signal ends the program at once, whatever the first is waiting for: here a
// client that does not read.
func TestSecondSignal(t *testing.T) {
	needShell(t)
	pid := filepath.Join(t.TempDir(), "pid")
	p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", "scripted/demo")
	p.send(`{"type":"bash","command":"` + sleeper(pid) + ` & yes"}`)
	child := pidIn(t, pid)
	time.Sleep(200 * time.Millisecond) // the pipe is full
	p.signal(syscall.SIGTERM)
	time.Sleep(300 * time.Millisecond)
	select {
	case <-p.exited:
		t.Fatal("the program did not wait for its reader")
	default:
	}
	second := time.Now()
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	if d := time.Since(second); d > 3*time.Second {
		t.Errorf("the second signal took %v", d)
	}
	wantGone(t, child)
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

// Field report 17: a reader that sleeps while a command prints 10 MB loses nothing.
func TestSleepingReaderLosesNothing(t *testing.T) {
	needShell(t)
	const last = 1_500_000
	p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", "scripted/demo")
	p.send(`{"id":"b","type":"bash","command":"i=0; seq 1 ` + strconv.Itoa(last) + `"}`)
	time.Sleep(2 * time.Second)
	p.follow()
	var got strings.Builder
	for _, line := range p.until(`"command":"bash"`, `"success":true`) {
		if strings.Contains(line, `"type":"bash_execution_update"`) {
			got.WriteString(member(t, line, "delta"))
		}
	}
	next := 1
	for line := range strings.Lines(got.String()) {
		if line != strconv.Itoa(next)+"\n" {
			t.Fatalf("line %d is %q", next, line)
		}
		next++
	}
	if next != last+1 {
		t.Errorf("the output ends before %d", next)
	}
	if runtime.GOOS == "linux" && !underRace {
		if peak := peakMemory(t, p.cmd.Process.Pid); peak > 48<<10 {
			t.Errorf("the engine took %d KiB", peak)
		}
	}
	p.closeInput()
	p.wantExit(0)
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
