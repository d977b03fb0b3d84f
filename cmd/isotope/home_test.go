package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/session"
)

var update = flag.Bool("update", false, "write golden files anew")

// homeFolder is a home and a project in it that programs use.
type homeFolder struct {
	root   string
	server *modelServer
}

func (h homeFolder) home() string { return filepath.Join(h.root, "home") }
func (h homeFolder) proj() string { return filepath.Join(h.root, "proj") }

// sessions is where the project's sessions are.
func (h homeFolder) sessions() string {
	return session.FolderFor(filepath.Join(h.home(), ".pi", "agent", "sessions"), h.proj())
}

// homeFlags are the command lines that a home is used with, $ROOT being its folder;
// homePrompts what is asked each time.
var (
	homeFlags = []string{
		"--continue", "--continue --approve --no-skills", "", "--approve", "--no-approve", "--approve --no-prompt-templates",
		"-nc --approve --skill $ROOT/extra/more/SKILL.md --prompt-template $ROOT/extra/tmpl",
	}
	homePrompts = []string{
		"/greet Bob 'two words' x", "/greet", "/skill:alpha more", "/skill:hidden", "/skill:deep", "/skill:shared", "/skill:pskill go",
		"/proj a b", "/fromset z", "/inner", "/plain", "the end",
	}
)

// used is what came of using a home: commands and requests by command line.
type used struct {
	state, commands map[string]any
	requests        []map[string]any
}

// use runs a program with a home, once for each command line.
func (h homeFolder) use(t *testing.T, program string) map[string]used {
	t.Helper()
	out := map[string]used{}
	for _, flags := range homeFlags {
		before := len(h.requests(t))
		p := h.launch(t, program, strings.Fields(strings.ReplaceAll(flags, "$ROOT", h.root))...)
		u := used{state: h.data(t, p, "get_state"), commands: h.data(t, p, "get_commands")}
		for _, text := range homePrompts {
			p.send(`{"type":"prompt","message":"` + text + `"}`)
			p.until(`"type":"agent_settled"`)
		}
		p.closeInput()
		p.rest()
		if code := p.wait(); code != 0 {
			t.Errorf("%s %s: exit code %d", program, flags, code)
		}
		u.requests = h.requests(t)[before:]
		out[flags] = u
	}
	return out
}

func (h homeFolder) launch(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := launch(t, h.home(), h.proj(), append([]string{program, "--mode", "rpc"}, args...)...)
	p.readLines(func(string) error { return nil })
	return p
}

// data is the data of a response, paths from the home's folder.
func (h homeFolder) data(t *testing.T, p *process, command string) map[string]any {
	t.Helper()
	var data map[string]any
	text := h.relative(member(t, p.answer(`{"type":"`+command+`"}`), "data"))
	if err := jsonx.Unmarshal([]byte(text), &data); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return data
}

func (h homeFolder) relative(text string) string {
	return strings.NewReplacer(h.root, "$ROOT", h.server.URL, "$URL").Replace(text)
}

// requests are the bodies of all requests so far, without what is a program's own: its
// words in the system prompt and in the descriptions of tools.
func (h homeFolder) requests(t *testing.T) []map[string]any {
	t.Helper()
	log, err := os.ReadFile(h.server.log)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for line := range bytes.Lines(log) {
		var body map[string]any
		if err := jsonx.Unmarshal([]byte(h.relative(string(line))), &body); err != nil {
			t.Fatal(err)
		}
		for _, m := range body["messages"].([]any) {
			if m := m.(map[string]any); m["role"] == "system" {
				m["content"] = "SYSTEM"
			}
		}
		body["tools"] = undescribed(body["tools"])
		out = append(out, body)
	}
	return out
}

// undescribed takes the descriptions out of a schema.
func undescribed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if _, isText := v["description"].(string); isText {
			delete(v, "description")
		}
		for name, m := range v {
			v[name] = undescribed(m)
		}
	case []any:
		for i, m := range v {
			v[i] = undescribed(m)
		}
	}
	return v
}

// The fixture of a home gives the commands and the requests of the golden file.
func TestHomeOfPi(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the fixture has paths in JSON")
	}
	h := homeFolder{root: realTemp(t)}
	h.server = newModelServer(filepath.Join(h.root, "requests.jsonl"))
	defer h.server.Close()
	h.unpack(t, filepath.Join("testdata", "home.txtar"))
	got := h.use(t, "pi")
	var b strings.Builder
	for _, flags := range homeFlags {
		u := got[flags]
		fmt.Fprintf(&b, "# %s\n\n", strings.TrimSpace("pi --mode rpc "+flags))
		state := u.state
		fmt.Fprintf(&b, "model %v, thinking %v, steering %v, %v messages, untrusted %d\n\n", state["model"].(map[string]any)["id"], state["thinkingLevel"], state["steeringMode"], state["messageCount"], len(list(state["untrusted"])))
		for _, c := range list(u.commands["commands"]) {
			line, err := jsonx.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", line)
		}
		var before []any
		for _, r := range u.requests {
			b.WriteString("\n" + newIn(t, r, before))
			before = list(r["messages"])
		}
		b.WriteString("\n")
	}
	golden := filepath.Join("testdata", "home.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// newIn shows a request: what it has beside the messages, and the messages that the one
// before it did not have.
func newIn(t *testing.T, request map[string]any, before []any) string {
	t.Helper()
	var tools []string
	for _, tool := range list(request["tools"]) {
		tools = append(tools, tool.(map[string]any)["function"].(map[string]any)["name"].(string))
	}
	messages := list(request["messages"])
	var b strings.Builder
	fmt.Fprintf(&b, "%v, max %v, effort %v, tools %s, %d messages\n", request["model"], request["max_completion_tokens"], request["reasoning_effort"], strings.Join(tools, " "), len(messages))
	if len(before) <= len(messages) && cmp.Equal(before, messages[:len(before)]) {
		messages = messages[len(before):]
	}
	for _, m := range messages {
		line, err := jsonx.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}

// realTemp is a temporary folder without links in its path.
func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// unpack writes the files of an archive.
func (h homeFolder) unpack(t *testing.T, archive string) {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	places := strings.NewReplacer("$ROOT", h.root, "$URL", h.server.URL, "$SESSIONS", h.sessions())
	for _, f := range a.Files {
		name := places.Replace(f.Name)
		if !filepath.IsAbs(name) {
			name = filepath.Join(h.root, filepath.FromSlash(name))
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(places.Replace(string(f.Data))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
