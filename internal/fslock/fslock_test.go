package fslock

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func acquire(t *testing.T, path string, wait time.Duration) *Lock {
	t.Helper()
	l, err := Acquire(t.Context(), path, wait)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestSecondOwnerIsToldWhoHoldsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l := acquire(t, path, 0)
	_, err := Acquire(t.Context(), path, 60*time.Millisecond)
	var held *HeldError
	if !errors.As(err, &held) || !IsHeld(err) || held.PID != os.Getpid() {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "held by process") {
		t.Fatalf("text %q", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Fatal("second release:", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the lock file stays behind")
	}
	acquire(t, path, 0).Release()
}

func TestWaitersGetTheLockOneByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	var in, most int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 5 {
				l, err := Acquire(t.Context(), path, 30*time.Second)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				in++
				most = max(most, in)
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				in--
				mu.Unlock()
				l.Release()
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Fatalf("%d owners at once", most)
	}
}

func TestAcquireStopsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.lock")
	l := acquire(t, path, 0)
	defer l.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Acquire(ctx, path, time.Hour); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestAcquireWhereNoLockCanBe(t *testing.T) {
	_, err := Acquire(t.Context(), filepath.Join(t.TempDir(), "missing", "a.lock"), 0)
	if err == nil || IsHeld(err) {
		t.Fatalf("got %v", err)
	}
}

// TestLockOfKilledProcess runs this test binary as the holder and kills it.
func TestLockOfKilledProcess(t *testing.T) {
	if path := os.Getenv("FSLOCK_HOLD"); path != "" {
		acquire(t, path, 0)
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Minute)
		return
	}
	path := filepath.Join(t.TempDir(), "a.lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockOfKilledProcess$")
	cmd.Env = append(os.Environ(), "FSLOCK_HOLD="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatal(line, err)
	}
	var held *HeldError
	if _, err := Acquire(t.Context(), path, 0); !errors.As(err, &held) || held.PID != cmd.Process.Pid {
		t.Fatalf("got %v, want process %d", err, cmd.Process.Pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	acquire(t, path, 5*time.Second).Release()
}

func TestDirLock(t *testing.T) {
	target := filepath.Join(t.TempDir(), "settings.json")
	l, err := AcquireDir(t.Context(), target, DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(target + ".lock"); err != nil || !st.IsDir() {
		t.Fatal("no lock directory where the other programs look for it", err)
	}
	if _, err := AcquireDir(t.Context(), target, DirOptions{Wait: 30 * time.Millisecond}); !IsHeld(err) {
		t.Fatalf("got %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(target + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the lock directory stays behind")
	}
}

func TestDirLockThatIsNotStaleIsLeftAlone(t *testing.T) {
	target := staleDirLock(t)
	if _, err := AcquireDir(t.Context(), target, DirOptions{Stale: 30 * time.Second}); !IsHeld(err) {
		t.Fatalf("a fresh lock was taken over: %v", err)
	}
}

// TestStaleDirLockIsTakenOverByOne repeats the race of many who see one stale lock:
// one that comes late must not remove what the first has made since.
func TestStaleDirLockIsTakenOverByOne(t *testing.T) {
	for range 100 {
		target := staleDirLock(t)
		var mu sync.Mutex
		var owners []*DirLock
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if l, err := AcquireDir(t.Context(), target, DirOptions{}); err == nil {
					mu.Lock()
					owners = append(owners, l)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(owners) != 1 {
			t.Fatalf("%d owners", len(owners))
		}
		owners[0].Release()
		if left, _ := filepath.Glob(target + "*"); len(left) != 0 {
			t.Fatalf("%v stay behind", left)
		}
	}
}

// staleDirLock returns a target whose lock was left behind eleven seconds ago.
func staleDirLock(t *testing.T) string {
	t.Helper()
	target := filepath.Join(t.TempDir(), "auth.json")
	if err := os.Mkdir(target+".lock", 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-11 * time.Second)
	if err := os.Chtimes(target+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	return target
}

func TestDirLockIsKeptFreshAndNoticesLoss(t *testing.T) {
	target := filepath.Join(t.TempDir(), "auth.json")
	now := time.Now()
	l, err := AcquireDir(t.Context(), target, DirOptions{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(7 * time.Second)
	if !l.touch() {
		t.Fatal("lost without a reason")
	}
	if st, _ := os.Stat(target + ".lock"); now.Sub(st.ModTime()) > 2*time.Second {
		t.Fatal("the time was not refreshed")
	}
	other := now.Add(time.Hour)
	if err := os.Chtimes(target+".lock", other, other); err != nil {
		t.Fatal(err)
	}
	if l.touch() || !l.Lost() {
		t.Fatal("the loss was not noticed")
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(target + ".lock"); err != nil {
		t.Fatal("the other owner's lock was removed")
	}
}
