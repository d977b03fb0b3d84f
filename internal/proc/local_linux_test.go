package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const helperVar = "PROC_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVar) != "" {
		helper()
		return
	}
	goleak.VerifyTestMain(m)
}

// helper is the process that report 122's test kills: it runs a command, says which
// processes there are, and waits.
func helper() {
	l := New()
	if os.Getenv(helperVar) == "adopt" {
		helperAdopts(l)
		return
	}
	_, _ = l.Run(context.Background(), Cmd{Command: "sleep 41.5 & echo $! $$; wait", Dir: "/"}, func(c Chunk) {
		fmt.Printf("%s %d\n", bytes.TrimSpace(c.Data), l.guard.p.Pid)
	})
}

// helperAdopts does the same with processes that it starts itself; it lets go of the
// second one.
func helperAdopts(l *Local) {
	run := func() (line string, release func()) {
		c := exec.Command("/bin/sh", "-c", "sleep 41.5 & echo $! $$; wait")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			panic(err)
		}
		release = l.Adopt(c.Process.Pid)
		line, _ = bufio.NewReader(out).ReadString('\n')
		return strings.TrimSpace(line), release
	}
	kept, _ := run()
	free, release := run()
	release()
	fmt.Printf("%s %d %s\n", kept, l.guard.p.Pid, free)
	time.Sleep(time.Hour)
}

func newLocal(t testing.TB) *Local {
	l := New()
	t.Cleanup(func() { l.Close() })
	return l
}

// do runs a command and returns its output with the channels' names before changes.
func do(t testing.TB, ctx context.Context, l *Local, command string) (string, Exit, error) {
	t.Helper()
	var out strings.Builder
	last := ""
	exit, err := l.Run(ctx, Cmd{Command: command, Dir: t.TempDir()}, func(c Chunk) {
		if ch := c.Channel.String(); ch != last {
			last = ch
			out.WriteString(ch + ":")
		}
		out.Write(c.Data)
	})
	return out.String(), exit, err
}

func TestLocal(t *testing.T) {
	l := newLocal(t)
	for _, c := range []struct {
		name, command, want string
		code                int
	}{
		{"both channels", "echo out; sleep 0.1; echo err >&2; sleep 0.1; echo out2", "stdout:out\nstderr:err\nstdout:out2\n", 0},
		{"exit code", "exit 7", "", 7},
		{"not found", "no_such_command_here 2>/dev/null", "", 127},
		{"no last line feed", "printf 'no newline'", "stdout:no newline", 0},
		{"report 120: killed by SIGKILL", "kill -9 $$", "", 137},
		{"report 120: killed by SIGSEGV", "kill -SEGV $$", "", 139},
		{"report 120: killed by SIGTERM", "kill -TERM $$", "", 143},
		{"report 125: nothing to read", "cat; read x; echo done $x", "stdout:done\n", 0},
		{"output is not in non-blocking mode", "grep flags: /proc/self/fdinfo/1 | tr -d '\t '", "stdout:flags:01\n", 0},
		{"own group, own session", `set -- $(cut -d' ' -f5,6,7 /proc/$$/stat); test $1 = $$ && echo $(($1-$2)) $3`, "stdout:0 0\n", 0}, // and no terminal
		{"not a login shell, bash", "echo ${BASH##*/} $-", "stdout:bash hBc\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, exit, err := do(t, t.Context(), l, c.command)
			if err != nil || got != c.want || exit.Code != c.code || !exit.Exited {
				t.Errorf("%q, %+v, %v; want %q, code %d", got, exit, err, c.want, c.code)
			}
		})
	}
}

func TestLocalDirectory(t *testing.T) {
	l := newLocal(t)
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, link} {
		var out strings.Builder
		if _, err := l.Run(t.Context(), Cmd{Command: "pwd; echo $PWD", Dir: d, Env: []string{"PATH=/bin:/usr/bin", "PWD=/"}}, func(c Chunk) { out.Write(c.Data) }); err != nil {
			t.Fatal(err)
		}
		if want := d + "\n" + d + "\n"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}

func TestLocalCannotStart(t *testing.T) {
	l := newLocal(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		cmd  Cmd
		want string
	}{
		{"missing shell", Cmd{Shell: Shell{Path: "/nonexistent/sh"}, Dir: dir}, "Custom shell path not found: /nonexistent/sh"},
		{"missing directory", Cmd{Dir: dir + "/gone"}, "Working directory does not exist: " + dir + "/gone\nCannot execute bash commands."},
		{"no directory", Cmd{Dir: file}, "Working directory is not a directory: " + file},
		{"shell is no program", Cmd{Shell: Shell{Path: file}, Dir: dir}, "starting " + file + ": fork/exec " + file + ": permission denied"},
		{"NUL", Cmd{Command: "echo \x00", Dir: dir}, "The command contains a NUL character, which no shell accepts."},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := openFiles(t)
			_, err := l.Run(t.Context(), c.cmd, func(Chunk) { t.Error("output") })
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if after := openFiles(t); c.name != "shell is no program" && after != before {
				t.Errorf("%d files open, were %d", after, before)
			}
		})
	}
}

func TestShellPrefixAndPath(t *testing.T) {
	l := newLocal(t)
	var out strings.Builder
	_, err := l.Run(t.Context(), Cmd{Command: "echo $0 $X", Shell: Shell{Path: "/bin/sh", Prefix: "X=1"}, Dir: "/"}, func(c Chunk) { out.Write(c.Data) })
	if err != nil || out.String() != "/bin/sh 1\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// Report 118: a background process that keeps the pipe open does not hold the call.
func TestBackgroundProcessDoesNotHoldTheCall(t *testing.T) {
	l := newLocal(t)
	for _, command := range []string{"sleep 60 & echo $!", "(sleep 60) & echo $!", "setsid sleep 60 & echo $!", "nohup sleep 60 >/dev/null 2>&1 & echo $!"} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		got, exit, err := do(t, ctx, l, command)
		cancel()
		pid, _ := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(got, "stdout:")))
		if err != nil || exit.Code != 0 || pid == 0 {
			t.Errorf("%s: %q, %+v, %v", command, got, exit, err)
			continue
		}
		if !alive(pid) {
			t.Errorf("%s: the background process is gone", command)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Report 119: what a descendant writes right after the shell has ended is kept.
func TestLateOutputIsKept(t *testing.T) {
	l := newLocal(t)
	for range 5 { // a loaded machine may be slower than the grace
		got, _, err := do(t, t.Context(), l, "(sleep 0.02; echo late; sleep 0.02; echo later >&2) & echo now")
		if err != nil {
			t.Fatal(err)
		}
		if got == "stdout:now\nlate\nstderr:later\n" {
			return
		}
		t.Logf("got %q", got)
	}
	t.Error("late output was never kept")
}

// A consumer that is slower than the grace loses nothing of what was written.
func TestSlowConsumerLosesNothing(t *testing.T) {
	l := newLocal(t)
	for range 5 { // on a loaded machine it may be the writer that is slower than the grace
		total, pid := 0, 0
		_, err := l.Run(t.Context(), Cmd{Command: "(head -c 300000 /dev/zero; exec sleep 60) & echo $! >&2; sleep 0.05", Dir: "/"}, func(c Chunk) {
			if c.Channel == Stderr {
				pid, _ = strconv.Atoi(string(bytes.TrimSpace(c.Data)))
				return
			}
			total += len(c.Data)
			time.Sleep(grace + 20*time.Millisecond)
		})
		if err != nil || pid == 0 {
			t.Fatalf("process %d, %v", pid, err)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		if total == 300000 {
			return
		}
		t.Logf("%d bytes", total)
	}
	t.Error("it always lost something")
}

// A command has the three standard descriptors and what this process inherited
// itself: neither pipes of other commands nor the guard's.
func TestNoDescriptorIsPassedOn(t *testing.T) {
	want, err := exec.Command("/bin/bash", "-c", "ls /proc/self/fd").Output()
	if err != nil {
		t.Fatal(err)
	}
	l := newLocal(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Go(func() {
		_, _ = l.Run(ctx, Cmd{Command: "echo; sleep 60", Dir: "/"}, func(Chunk) { close(started) })
	})
	<-started
	got, _, err := do(t, t.Context(), l, "ls /proc/self/fd")
	cancel()
	wg.Wait()
	if err != nil || got != "stdout:"+string(want) {
		t.Errorf("descriptors %q, want %q, %v", got, want, err)
	}
}

func TestCancelKillsTheTree(t *testing.T) {
	l := newLocal(t)
	cause := errors.New("enough")
	for _, c := range []struct{ name, command string }{
		{"child of the shell", "sleep 60 & echo $!; wait"},
		{"grandchild", "(sleep 60 & echo $!; wait); true"},
		{"report 125: TERM is trapped", "trap '' TERM INT HUP; echo $$; while :; do sleep 0.05; done"},
		{"the shell has ended", "(trap '' TERM; while :; do echo; sleep 0.02; done) & echo $!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out []byte
			var exit Exit
			var err error
			for range 5 { // on a loaded machine the loop may be silent for longer than the grace
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				out = nil
				exit, err = l.Run(ctx, Cmd{Command: c.command, Dir: "/"}, func(c Chunk) {
					out = append(out, c.Data...)
					time.AfterFunc(200*time.Millisecond, func() { cancel(cause) })
				})
				if err != nil {
					break
				}
				killFirst(out)
			}
			if !errors.Is(err, cause) {
				t.Errorf("error %v, want the cause", err)
			}
			if want := c.name == "the shell has ended"; exit.Exited != want {
				t.Errorf("exit %+v", exit)
			}
			first, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
			pid, _ := strconv.Atoi(first)
			if pid == 0 {
				t.Fatalf("output %q", out)
			}
			waitDead(t, pid)
		})
	}
}

// killFirst kills the process whose id is the first line of the output.
func killFirst(out []byte) {
	first, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
	if pid, err := strconv.Atoi(first); err == nil && pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	l := newLocal(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("never mind")
	cancel(cause)
	if _, err := l.Run(ctx, Cmd{Command: "echo x", Dir: "/"}, func(Chunk) { t.Error("output") }); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

// A child that left the group and keeps writing does not hold a cancelled call.
func TestCancelDoesNotWaitForEscapedChildren(t *testing.T) {
	l := newLocal(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pid int
	var once sync.Once
	_, err := l.Run(ctx, Cmd{Command: "setsid sh -c 'echo $$; while :; do echo x; sleep 0.01; done' & sleep 60", Dir: "/"}, func(c Chunk) {
		once.Do(func() {
			first, _, _ := strings.Cut(string(c.Data), "\n")
			pid, _ = strconv.Atoi(first)
			cancel()
		})
	})
	if !errors.Is(err, context.Canceled) || pid == 0 {
		t.Errorf("pid %d, error %v", pid, err)
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}

// Report 123: ending one context ends every command that runs under it.
func TestCancelStopsAllConcurrentCommands(t *testing.T) {
	l := newLocal(t)
	ctx, cancel := context.WithCancel(t.Context())
	var started, done sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		started.Add(1)
		done.Go(func() {
			_, errs[i] = l.Run(ctx, Cmd{Command: "echo; sleep 60", Dir: "/"}, func(Chunk) { started.Done() })
		})
	}
	started.Wait()
	cancel()
	done.Wait()
	for _, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

func TestCloseKillsAndWaits(t *testing.T) {
	l := New()
	pids := make(chan int, 1)
	errs := make(chan error, 1)
	go func() {
		_, err := l.Run(t.Context(), Cmd{Command: "echo $$; sleep 60", Dir: "/"}, func(c Chunk) {
			pid, _ := strconv.Atoi(string(bytes.TrimSpace(c.Data)))
			pids <- pid
		})
		errs <- err
	}()
	pid, guard := <-pids, l.guard.p.Pid
	l.Close()
	waitDead(t, pid)
	waitDead(t, guard)
	if err := <-errs; !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
	if _, err := l.Run(t.Context(), Cmd{Command: "true", Dir: "/"}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Report 122: a SIGKILL of this program leaves no survivors, the guard included, of
// commands as of processes that were adopted.
func TestGuardKillsAfterSIGKILL(t *testing.T) {
	for _, kind := range []string{"run", "adopt"} {
		t.Run(kind, func(t *testing.T) { killHelper(t, kind) })
	}
}

func killHelper(t *testing.T, kind string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), helperVar+"="+kind)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var sleeper, shell, guard int
	if _, err := fmt.Sscan(line, &sleeper, &shell, &guard); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for _, pid := range []int{sleeper, shell, guard} {
		if !alive(pid) {
			t.Fatalf("%d of %q does not run", pid, line)
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its whole group, as a supervisor does
	_ = cmd.Wait()
	for _, pid := range []int{sleeper, shell, guard} {
		waitDead(t, pid)
	}
	if kind == "adopt" { // what was let go of goes on
		var a, b, c, free, leader int
		if _, err := fmt.Sscan(line, &a, &b, &c, &free, &leader); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !alive(free) || !alive(leader) {
			t.Errorf("%d or %d was killed", free, leader)
		}
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
}

// A guard that was killed is replaced, and the new one knows what runs.
func TestGuardIsReplaced(t *testing.T) {
	l := newLocal(t)
	if _, _, err := do(t, t.Context(), l, "true"); err != nil {
		t.Fatal(err)
	}
	first := l.guard.p.Pid
	_ = syscall.Kill(first, syscall.SIGKILL)
	waitDead(t, first)
	if _, _, err := do(t, t.Context(), l, "true"); err != nil {
		t.Fatal(err)
	}
	if l.guard.p.Pid == first || !alive(l.guard.p.Pid) {
		t.Errorf("guard %d after %d", l.guard.p.Pid, first)
	}
}

// The guard kills exactly the groups that are still on its list.
func TestGuardList(t *testing.T) {
	var g guard
	g.ready()
	var cmds []*exec.Cmd
	for range 5 {
		cmd := exec.Command("sleep", "60")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
		g.add(cmd.Process.Pid)
	}
	spared := []int{0, 2, 4}
	for _, i := range spared {
		g.remove(cmds[i].Process.Pid)
	}
	g.close()
	for i, cmd := range cmds {
		if slices.Contains(spared, i) {
			if !alive(cmd.Process.Pid) {
				t.Errorf("%d was killed", i)
			}
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
	}
	for _, i := range []int{1, 3} {
		if ws := cmds[i].ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
			t.Errorf("%d: %v", i, cmds[i].ProcessState)
		}
	}
}

// Report 124: hundreds of truncated commands leave no descriptor behind, and each
// has its complete file.
func TestNoDescriptorLeak(t *testing.T) {
	l := newLocal(t)
	spill := testSpill(t)
	run := func() {
		res, err := Direct(t.Context(), l, Cmd{Command: "seq 1 3000", Dir: "/"}, spill, func(string, string) {})
		if err != nil || !res.Truncated || res.Path() == nil {
			t.Fatalf("%+v, %v", res.Truncated, err)
		}
		if b, err := os.ReadFile(*res.Path()); err != nil || string(b) != seq(1, 3000) {
			t.Fatalf("file of %d bytes, %v", len(b), err)
		}
	}
	run()
	before := openFiles(t)
	for range 100 {
		run()
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files open, were %d", after, before)
	}
}

// Report 124: the whole output is in the file, also when bytes are what is too much.
func TestWholeOutputByBytes(t *testing.T) {
	l := newLocal(t)
	res, err := Direct(t.Context(), l, Cmd{Command: "seq 1 200000", Dir: "/"}, testSpill(t), func(string, string) {})
	if err != nil || res.Path() == nil {
		t.Fatalf("%+v, %v", res.Truncated, err)
	}
	if b, err := os.ReadFile(*res.Path()); err != nil || string(b) != seq(1, 200000) {
		t.Errorf("file of %d bytes, %v", len(b), err)
	}
	if want := strings.TrimSuffix(seq(198001, 200000), "\n"); res.Output != want {
		t.Errorf("output of %d bytes, want %d", len(res.Output), len(want))
	}
}

// Report 127: a character written in two pieces arrives as one.
func TestCharacterWrittenInTwoPieces(t *testing.T) {
	l := newLocal(t)
	res, err := Direct(t.Context(), l, Cmd{Command: `printf '\xf0\x9f'; sleep 0.05; printf '\x98\x80'`, Dir: "/"}, Spill{}, func(string, string) {})
	if err != nil || res.Output != "\U0001F600" {
		t.Errorf("%q, %v", res.Output, err)
	}
}

// Report 128: a command sees the user's environment and what it is meant to see.
func TestEnvironmentOfACommand(t *testing.T) {
	t.Setenv("PROC_TEST_OWN", "kept")
	t.Setenv("PI_SESSION_ID", "stale")
	l := newLocal(t)
	env := Env{BinDir: "/agent/bin", Set: []string{"AI_AGENT=pi"}}.Environ(os.Environ())
	var out strings.Builder
	if _, err := l.Run(t.Context(), Cmd{Command: "env", Dir: "/", Env: env}, func(c Chunk) { out.Write(c.Data) }); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		got[name] = value
	}
	if got["PROC_TEST_OWN"] != "kept" || got["AI_AGENT"] != "pi" || !strings.HasPrefix(got["PATH"], "/agent/bin:") || got["PWD"] != "/" {
		t.Errorf("environment %q", got)
	}
	delete(got, "AI_AGENT")
	for name := range got {
		if _, inherited := os.LookupEnv(name); !inherited && name != "_" && name != "SHLVL" && name != "OLDPWD" && name != "PWD" || name == "PI_SESSION_ID" {
			t.Errorf("%s was added", name)
		}
	}
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}

func waitDead(t *testing.T, pid int) {
	t.Helper()
	for range 1000 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// BenchmarkTrue is the cost of a command that does nothing.
func BenchmarkTrue(b *testing.B) {
	l := newLocal(b)
	cmd := Cmd{Command: "true", Dir: "/"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Run(b.Context(), cmd, func(Chunk) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTwoMillionLines is a direct bash command with 14.9 MB of output.
func BenchmarkTwoMillionLines(b *testing.B) {
	l := newLocal(b)
	spill := testSpill(b)
	b.SetBytes(14888896)
	b.ReportAllocs()
	for b.Loop() {
		res, err := Direct(b.Context(), l, Cmd{Command: "seq 1 2000000", Dir: "/"}, spill, func(string, string) {})
		if err != nil || res.Path() == nil {
			b.Fatal(err)
		}
		os.Remove(*res.Path())
	}
}
