package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/export"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/output"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/rpc"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/tool"
	"github.com/isotope-agent/isotope/internal/tool/builtin"
)

// defaultModels is used when a conversation brings no models.json.
const defaultModels = `{"providers":{"fake":{"baseUrl":"http://fake.test","api":"openai-completions","apiKey":"k","models":[
 {"id":"one","reasoning":true,"input":["text","image"],"cost":{"input":1,"output":2,"cacheRead":0.1,"cacheWrite":1.25},"contextWindow":100000,"maxTokens":8000},
 {"id":"two","contextWindow":50000,"maxTokens":4000}]}}}`

const defaultSettings = `{"defaultProvider":"fake","defaultModel":"one","retry":{"baseDelayMs":1000}}`

// testbed is the surroundings of one conversation.
type testbed struct {
	t       testing.TB
	archive *txtar.Archive
	work    string // the agent directory's parent; "proj" is the working folder
	dialect dialect.Dialect
	hooks   engine.Hooks
	// requests sees what the provider is asked; nil for nobody.
	requests func(*llm.Request)
	// provider stands between the engine and the script; nil for nothing.
	provider func(llm.Provider) llm.Provider
	tools    []tool.Tool // beside the built-in ones
	memory   bool
	// snapshots: message updates come in their older form.
	snapshots bool
	// noSessions: no new session can be made.
	noSessions bool
	scope      []string // --models
	// responsesApart: see arrange.
	responsesApart bool
	// brief: events and entries are compared in a short form.
	brief bool
	// also are further sections to compare.
	also map[string]bool

	registry *session.Registry
	uuids    map[string]string // how those that were drawn are shown
	mu       sync.Mutex
	reports  []string
	stores   []*session.Store // in the order in which they were made
}

func newTestbed(t testing.TB, archive *txtar.Archive, work string) *testbed {
	t.Helper()
	b := &testbed{t: t, archive: archive, work: work, also: map[string]bool{}, registry: session.NewRegistry(), uuids: map[string]string{}}
	b.dialect, _ = dialect.Named(dialect.Pi)
	b.write("proj/.keep", "")
	b.write("agent/settings.json", b.sectionOr("settings.json", defaultSettings))
	b.write("agent/models.json", b.sectionOr("models.json", defaultModels))
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "files/"); ok {
			b.write("proj/"+name, string(f.Data))
		} else if strings.HasPrefix(f.Name, "agent/") {
			b.write(f.Name, string(f.Data))
		}
	}
	for line := range strings.Lines(b.section("args")) {
		b.apply(strings.Fields(line))
	}
	return b
}

// apply understands one line of the section args:
//
//	dialect NAME       pi when it is missing
//	no-session         nothing is written
//	snapshots          message updates come in their older form
//	models PATTERN...  the models to cycle through
//	brief              events and entries are compared in a short form
//	responses-apart    see arrange
//	compare NAME       compare the section NAME.after ("settings.json", "stderr") too
func (b *testbed) apply(words []string) {
	b.t.Helper()
	switch {
	case len(words) == 2 && words[0] == "dialect":
		var ok bool
		if b.dialect, ok = dialect.Named(words[1]); !ok {
			b.t.Fatalf("unknown dialect %q", words[1])
		}
	case len(words) == 1 && words[0] == "no-session":
		b.memory = true
	case len(words) == 1 && words[0] == "snapshots":
		b.snapshots = true
	case len(words) == 1 && words[0] == "responses-apart":
		b.responsesApart = true
	case len(words) == 1 && words[0] == "brief":
		b.brief = true
	case len(words) == 2 && words[0] == "compare": // "settings.json" or "stderr"
		b.also[words[1]] = true
	case len(words) > 1 && words[0] == "models":
		b.scope = words[1:]
	default:
		b.t.Fatalf("args: unknown line %q", words)
	}
}

func (b *testbed) sectionOr(name, def string) string {
	if s := b.section(name); s != "" {
		return s
	}
	return def
}

func (b *testbed) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.work, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testbed) report(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reports = append(b.reports, text)
}

// testServer is a running engine and its output.
type testServer struct {
	bed      *testbed
	eng      *engine.Engine
	out      *output.Writer
	commands func() []prompt.Command
}

// start builds the engine, on the script of the section provider.
func (b *testbed) start(stdout io.Writer) *testServer {
	b.t.Helper()
	script, err := scripted.Parse([]byte(b.sectionOr("provider", `{"turns":[{"steps":[{"text":"ok"}]}]}`)))
	if err != nil {
		b.t.Fatalf("provider: %v", err)
	}
	provider := llm.Provider(scripted.NewScript(script))
	if b.provider != nil {
		provider = b.provider(provider)
	}
	agent, cwd := filepath.Join(b.work, "agent"), filepath.Join(b.work, "proj")
	set := settings.Open(settings.Options{User: []string{filepath.Join(agent, "settings.json")}})
	var keys *auth.Keys
	models := model.New(model.Options{
		Files:  []string{filepath.Join(agent, "models.json")},
		HasKey: func(p string) bool { return keys.Has(p) },
	})
	keys = auth.New(auth.Options{
		Files: []string{filepath.Join(agent, "auth.json")}, Known: models.Known,
		Env: func(string) (string, bool) { return "", false }, Config: models.RequestConfig,
	})
	srv := &testServer{bed: b, out: output.New(stdout)}
	b.stores = append(b.stores, b.open(b.sessionConfig("")))
	library := prompt.NewLibrary(prompt.LibraryOptions{AgentDirs: []string{agent}, Cwd: cwd})
	srv.commands = library.Commands
	scope, warnings := models.Scope(b.scope)
	for _, w := range warnings {
		b.report(w)
	}
	runner := proc.RunnerFunc(fakeShell)
	direct := func(command string) proc.Cmd { return proc.Cmd{Command: command, Dir: cwd, Env: []string{}} }
	files := &tool.Queue{}
	srv.eng = engine.New(engine.Config{
		Output: srv.out, Hooks: b.hooks, Models: models, Keys: keys, Settings: set,
		Provider: func(string) (llm.Provider, error) { return watched{provider, b.requests}, nil },
		Choose: func(had session.Selection) model.Initial {
			start := model.Start{
				HasMessages: had.HasMessages, SessionThinking: had.Thinking,
				Saved: engine.SavedModel(set), Scope: scope,
			}
			if had.Model != nil {
				start.SessionProvider, start.SessionModel = had.Model.Provider, had.Model.ID
			}
			first, err := models.Initial(start)
			if err != nil {
				b.t.Errorf("choosing a model: %v", err)
			}
			return first
		},
		Tools: func(env engine.ToolEnv) *tool.Set {
			cfg := builtin.Config{Cwd: cwd, Files: files, Model: env.Model}
			bash := builtin.NewBash(builtin.BashConfig{Cwd: cwd, Runner: runner, Env: env.Vars, Now: time.Now})
			return tool.NewSet(append([]tool.Tool{builtin.NewRead(cfg), bash, builtin.NewEdit(cfg), builtin.NewWrite(cfg), builtin.NewLs(cfg)}, b.tools...)...)
		},
		Scope: func() []model.Scoped { return scope }, Expand: library.Expand,
		SystemPrompt: func(*tool.Set) string { return "You are under test." },
		Reload: func() error {
			set.Reload()
			models.Reload()
			library.Reload()
			return nil
		},
		NewStore: b.newStore, OpenStore: b.openStore, ImportStore: b.importStore, Sessions: b.list,
		Bash: engine.BashConfig{
			Runner: runner, Command: direct, Spill: func(string) proc.Spill { return proc.Spill{} },
		},
		Strategy: b.dialect.DefaultCompaction, NullCompactionResult: b.dialect.NullCompactionResult,
		Cwd: cwd, Report: b.report, Snapshots: b.snapshots,
	}, b.stores[0])
	return srv
}

// newStore makes the session of new_session.
func (b *testbed) newStore(parent string) (*session.Store, error) {
	if b.noSessions {
		return nil, errors.New("no sessions today")
	}
	store, err := session.Create(b.sessionConfig(parent))
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.stores = append(b.stores, store)
	}
	return store, err
}

// sessionConfig gives sessions ids that count up, so that conversations can be
// compared byte by byte.
func (b *testbed) sessionConfig(parent string) session.Config {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids, id := 0, "test"
	if n := len(b.stores); n > 0 {
		id = fmt.Sprintf("test%d", n+1)
	}
	return session.Config{
		Dir: filepath.Join(b.work, "sessions"), Cwd: filepath.Join(b.work, "proj"), ID: id, ParentSession: parent,
		AppName: b.dialect.SessionWord(), MemoryOnly: b.memory, Warn: b.report, Registry: b.registry,
		NewID: func() string { ids++; return fmt.Sprintf("%08x", ids) },
	}
}

// open makes a new session, or opens the one of the section open.jsonl.
func (b *testbed) open(cfg session.Config) *session.Store {
	b.t.Helper()
	text := b.section("open.jsonl")
	if text == "" {
		store, err := session.Create(cfg)
		if err != nil {
			b.t.Fatal(err)
		}
		return store
	}
	b.write("sessions/given.jsonl", strings.ReplaceAll(text, "$WORK", filepath.ToSlash(b.work)))
	n := 0
	cfg.NewID = func() string { n++; return fmt.Sprintf("f%07x", n) }
	store, err := session.Open(filepath.Join(b.work, "sessions", "given.jsonl"), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return store
}

// openStore opens the session of switch_session.
func (b *testbed) openStore(path string) (*session.Store, error) {
	return session.Open(path, b.configOfOthers())
}

// importStore copies the session of import_session.
func (b *testbed) importStore(path string) (*session.Store, error) {
	cfg := b.configOfOthers()
	cfg.Dir = filepath.Join(b.work, "sessions")
	return session.Import(path, cfg)
}

// configOfOthers is for files that the conversation brings.
func (b *testbed) configOfOthers() session.Config {
	cfg, n := b.sessionConfig(""), 0
	cfg.ID, cfg.Dir = "", ""
	cfg.NewID = func() string { n++; return fmt.Sprintf("e%07x", n) }
	return cfg
}

func (b *testbed) list(bool) []session.Info {
	return session.List(session.Folder{Path: filepath.Join(b.work, "sessions")})
}

// export writes the page of export_html.
func (b *testbed) export(v *session.View, path string) (string, error) {
	if err := export.Exportable(v); err != nil {
		return "", err
	}
	if path == "" {
		path = export.DefaultName(b.dialect.Name, v.Path())
	}
	return path, export.File(filepath.Join(b.work, filepath.Base(path)), v, export.Options{})
}

func (s *testServer) config() rpc.Config {
	return rpc.Config{
		Engine: s.eng, Output: s.out, Dialect: s.bed.dialect, Commands: s.commands, Snapshots: s.bed.snapshots, Version: "1.2.3", Export: s.bed.export,
	}
}

// stop ends engine and output, as the end of stdin does.
func (s *testServer) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.eng.Close(ctx); err != nil {
		t.Errorf("closing the engine: %v", err)
	}
	if err := s.out.Close(ctx); err != nil {
		t.Errorf("closing the output: %v", err)
	}
}

// fakeShell runs commands made of "echo TEXT", "err TEXT", "sleep SECONDS" and
// "exit CODE", joined by ";", on the clock of the bubble.
func fakeShell(ctx context.Context, c proc.Cmd, out func(proc.Chunk)) (proc.Exit, error) {
	start := time.Now()
	for part := range strings.SplitSeq(c.Command, ";") {
		word, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		switch word {
		case "echo":
			out(proc.Chunk{Channel: proc.Stdout, Data: []byte(rest + "\n")})
		case "err":
			out(proc.Chunk{Channel: proc.Stderr, Data: []byte(rest + "\n")})
		case "sleep":
			d, err := time.ParseDuration(rest + "s")
			if err != nil {
				return proc.Exit{}, err
			}
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return proc.Exit{After: time.Since(start)}, context.Cause(ctx)
			}
		case "exit":
			code := 0
			if _, err := fmt.Sscan(rest, &code); err != nil {
				return proc.Exit{}, err
			}
			return proc.Exit{Code: code, Exited: true, After: time.Since(start)}, nil
		default:
			out(proc.Chunk{Channel: proc.Stderr, Data: []byte(word + ": command not found\n")})
			return proc.Exit{Code: 127, Exited: true, After: time.Since(start)}, nil
		}
	}
	return proc.Exit{Exited: true, After: time.Since(start)}, nil
}

// watched is a provider whose requests somebody sees.
type watched struct {
	llm.Provider
	requests func(*llm.Request)
}

func (w watched) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if w.requests != nil {
		w.requests(req)
	}
	return w.Provider.Stream(ctx, req)
}
