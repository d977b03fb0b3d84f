package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What is no host is told as what it is, and is not waited for.
func TestStrangeProcesses(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	for name, c := range map[string]struct{ script, want string }{
		"ends at once":       {"exit 3", "the extension host has crashed: its process has ended (exit status 3)"},
		"says why":           {"echo >&2; echo no room >&2; exit 1", "the extension host has crashed: its process has ended (exit status 1): no room"},
		"speaks otherwise":   {"echo hello; cat >/dev/null", "the extension host has crashed: its process has ended (signal: killed)"},
		"says it half":       {`printf '{"t":"reply","i":1,"s":9}\nabc'`, "the extension host has crashed: its process has ended"},
		"says it negatively": {`printf '{"t":"reply","i":1,"s":-9}\nabc'; cat >/dev/null`, "the extension host has crashed: its process has ended (signal: killed)"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Start(js.Config{}, Process{Path: "/bin/sh", Args: []string{"sh", "-c", c.script}})
			if err == nil {
				r.Close()
				t.Fatal("it was taken for a host")
			}
			if !errors.Is(err, js.ErrDead) || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if _, err := Start(js.Config{}, Process{Path: "/nonexistent/isotope"}); err == nil {
		t.Error("a program that is not there was started")
	}
}

// Errors keep their kind, their members and what they are on the way.
func TestFailures(t *testing.T) {
	for _, err := range []error{
		&js.Error{Name: "TypeError", Message: "m", Code: "C", Stack: "at x"},
		&js.Interrupted{After: 3 * time.Second},
		&js.Stuck{After: time.Minute},
		&js.OpError{Message: "m", Name: "N", Code: "ENOENT", Errno: -2, Syscall: "open", Path: "p", Dest: "d"},
		fmt.Errorf("%w: oh", js.ErrDead),
		js.ErrClosed,
		context.Canceled,
		errors.New("plain"),
	} {
		raw, merr := jsonx.Marshal(failureOf(err))
		var f failure
		if merr == nil {
			merr = jsonx.Unmarshal(raw, &f)
		}
		if merr != nil {
			t.Fatal(merr)
		}
		got := f.err()
		if got.Error() != err.Error() || fmt.Sprintf("%T", got) != fmt.Sprintf("%T", err) && !errors.Is(got, js.ErrDead) || errors.Is(err, js.ErrDead) != errors.Is(got, js.ErrDead) {
			t.Errorf("%T %v became %T %v", err, err, got, got)
		}
	}
	if (*failure)(nil).err() != nil || failureOf(nil) != nil {
		t.Error("no error became one")
	}
}

// Bodies are carried as they are, of any size.
func TestMessages(t *testing.T) {
	var wire bytes.Buffer
	c := newConn(&wire, &wire)
	for _, size := range []int{0, 1, 70 << 10} {
		body := jsonx.Raw(bytes.Repeat([]byte("\n"), size))
		c.send(message{head{Type: msgCall, ID: 7, Owner: "o", Name: "n\n", Key: "k"}, body})
		m, err := c.receive()
		if err != nil || m.Type != msgCall || m.ID != 7 || m.Owner != "o" || m.Name != "n\n" || m.Key != "k" || !bytes.Equal(m.body, body) {
			t.Errorf("%d: %+v, %v", size, m.head, err)
		}
	}
}

// A host that hangs is ended, and operations that run here are waited for.
func TestClose(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	began, ended := make(chan struct{}), make(chan struct{})
	modules := map[string]string{"test/main.js": `import "../node/main.js"; import { answer, dispatchers, start } from "../node/bridge.js"; dispatchers.go = (id) => answer(id, () => start("slow", {}));`}
	r, err := Start(js.Config{
		Modules: modules, Entry: "test/main.js", Cwd: t.TempDir(),
		Async: map[string]js.AsyncOp{"slow": func(ctx context.Context, _ string, _ jsonx.Raw, _ func(any)) (any, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return nil, ctx.Err()
		}},
	}, Process{Path: exe, Args: []string{exe, Argument}})
	if err != nil {
		t.Fatal(err)
	}
	call := make(chan error, 1)
	go func() { _, err := r.Call(context.Background(), "x", "go", nil); call <- err }()
	<-began
	r.Close()
	select {
	case <-ended:
	default:
		t.Error("the operation was not waited for")
	}
	if err := <-call; !errors.Is(err, js.ErrClosed) {
		t.Errorf("the call: %v", err)
	}
	if _, err := r.Call(context.Background(), "x", "go", nil); !errors.Is(err, js.ErrClosed) {
		t.Errorf("a later call: %v", err)
	}
}
