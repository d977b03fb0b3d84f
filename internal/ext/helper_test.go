package ext

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/ext/child"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// testCache is shared by the tests of one run: compiling the host modules takes most of
// their time.
var testCache = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "isotope-ext-")
	if err != nil {
		panic(err)
	}
	return dir
})

// TestMain is the extension host's process when the tests start this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == child.Argument {
		if err := child.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// isolated runs the extensions of a test in a process of their own; with
// ISOTOPE_TEST_ISOLATION=process those of all tests.
func isolated(c *Config, b *bed) {
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	c.Process = func() *child.Process { return &child.Process{Path: exe, Args: []string{exe, child.Argument}} }
}

// bed is extensions with a host that writes down what is asked of it.
type bed struct {
	t   testing.TB
	x   *Extensions
	dir string
	h   Host

	mu      sync.Mutex
	calls   []string
	events  []event.Event
	reports []string
	st      State
	answers func(r event.ExtensionUIRequest) string // of dialogs; "" for none
}

type bedOption func(*Config, *bed)

func withMode(mode string) bedOption   { return func(c *Config, _ *bed) { c.Mode = mode } }
func withLimits(l js.Limits) bedOption { return func(c *Config, _ *bed) { c.Limits = l } }
func withHost(f func(*Host)) bedOption { return func(_ *Config, b *bed) { f(&b.h) } }
func withAnswers(f func(event.ExtensionUIRequest) string) bedOption {
	return func(_ *Config, b *bed) { b.answers = f }
}

// newBed loads one extension, source, and binds it.
func newBed(t testing.TB, source string, opts ...bedOption) *bed {
	t.Helper()
	b := newBedFiles(t, map[string]string{"ext.ts": source}, opts...)
	return b
}

// newBedFiles loads every .ts file at the top of files, in order of their names.
func newBedFiles(t testing.TB, files map[string]string, opts ...bedOption) *bed {
	t.Helper()
	b, errs := tryBed(t, files, opts...)
	for _, err := range errs {
		t.Fatal(err)
	}
	return b
}

func tryBed(t testing.TB, files map[string]string, opts ...bedOption) (*bed, []*LoadError) {
	t.Helper()
	b := &bed{t: t, dir: t.TempDir(), st: State{Idle: true, Trusted: true, Thinking: "medium", Model: &llm.Model{ID: "m1", Provider: "p1", API: "scripted", Input: []string{"text"}}}}
	for name, text := range files {
		p := filepath.Join(b.dir, "extensions", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.h = b.host()
	cfg := Config{
		Paths: Discover(Places{AgentDirs: []string{b.dir}, Cwd: b.dir}), Cwd: b.dir, AgentDir: b.dir, Home: b.dir, CacheDir: testCache(), Mode: "rpc",
		Name: "isotope", Version: "0", ConfigDir: ".isotope", Report: func(s string) { b.mu.Lock(); b.reports = append(b.reports, s); b.mu.Unlock() },
		Now: func() time.Time { return time.UnixMilli(1000) },
	}
	if os.Getenv("ISOTOPE_TEST_ISOLATION") == "process" {
		isolated(&cfg, b)
	}
	for _, o := range opts {
		o(&cfg, b)
	}
	b.x = New(cfg)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.x.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	errs := b.x.Load(context.Background())
	b.x.Bind(b.h)
	return b, errs
}

// note writes a call down.
func (b *bed) note(call string) {
	b.mu.Lock()
	b.calls = append(b.calls, call)
	b.mu.Unlock()
}

func (b *bed) log() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.calls, "\n")
}

func text(v any) string {
	s, err := jsonx.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(s)
}

// checkRecord checks what a client would get against the schema.
func (b *bed) checkRecord(ev event.Event) {
	d, _ := dialect.Named(dialect.Isotope)
	var line bytes.Buffer
	if err := event.Append(&line, ev); err != nil {
		b.t.Error(err)
	}
	if err := schematest.Of(b.t, d).Check(line.String()); err != nil {
		b.t.Errorf("against the schema: %v\n%s", err, line.String())
	}
}

func (b *bed) host() Host {
	return Host{
		Emit: func(ev event.Event) {
			b.mu.Lock()
			b.events = append(b.events, ev)
			b.mu.Unlock()
			b.checkRecord(ev)
			r, ok := ev.(event.ExtensionUIRequest)
			if !ok {
				b.note("event " + ev.Kind() + " " + text(ev))
				return
			}
			b.note("ui " + r.Method + " " + string(r.Fields))
			if b.answers != nil {
				if a := b.answers(r); a != "" {
					go b.x.DialogAnswer(r.ID, jsonx.Raw(a))
				}
			}
		},
		State: func() State { return b.st }, SystemPrompt: func() string { return "SYSTEM" },
		SendMessage: func(m llm.CustomMessage, o SendOptions) error {
			b.note("message " + text(&m) + " " + text(o))
			return nil
		},
		SendUser:    func(s string, _ []*llm.Image, o SendOptions) error { b.note("user " + s + " " + text(o)); return nil },
		AppendEntry: func(e session.Body) error { b.note("entry " + e.EntryType() + " " + text(e)); return nil },
		SetModel:    func(p, id string) (bool, error) { b.note("model " + p + "/" + id); return id != "nokey", nil },
		SetThinking: func(l llm.ThinkingLevel) error { b.note("thinking " + string(l)); return nil },
		Tools: func() ([]tool.Tool, []string) {
			return b.x.Tools(), []string{"read", "bash"}
		},
		SetTools:     func(n []string) error { b.note("tools " + strings.Join(n, ",")); return nil },
		ToolsChanged: func() { b.note("tools changed") },
		Abort:        func() { b.note("abort") },
		Shutdown:     func() { b.note("shutdown") },
		Compact: func(_ context.Context, in string) (any, error) {
			b.note("compact " + in)
			return map[string]string{"summary": "s"}, nil
		},
		WaitIdle:   func(context.Context) error { b.note("wait"); return nil },
		NewSession: func(_ context.Context, p string) (bool, error) { b.note("new " + p); return false, nil },
		Fork: func(_ context.Context, id, pos string) (bool, error) {
			b.note("fork " + id + " " + pos)
			return false, nil
		},
		Switch: func(_ context.Context, p string) (bool, error) { b.note("switch " + p); return true, nil },
		NavigateTree: func(_ context.Context, id string, _ jsonx.Raw) (any, error) {
			b.note("navigate " + id)
			return map[string]bool{"cancelled": false}, nil
		},
		Reload:    func(context.Context) error { b.note("reload"); return nil },
		Models:    func() []*llm.Model { return []*llm.Model{b.st.Model} },
		Available: func() []*llm.Model { return []*llm.Model{b.st.Model} },
		RegisterProvider: func(name string, c jsonx.Raw, s llm.Provider) error {
			b.note("provider " + name + " " + string(c))
			return nil
		},
	}
}

// run runs a command as a prompt would.
func (b *bed) run(prompt string) {
	b.t.Helper()
	run, _, ok := b.x.Command(prompt)
	if !ok {
		b.t.Fatalf("%s is no command", prompt)
	}
	run(context.Background())
}

// errors returns the extension errors that were told.
func (b *bed) errors() []event.ExtensionError {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []event.ExtensionError
	for _, ev := range b.events {
		if e, ok := ev.(event.ExtensionError); ok {
			out = append(out, e)
		}
	}
	return out
}
