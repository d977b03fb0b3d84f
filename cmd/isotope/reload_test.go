package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reloading is a program whose surroundings change.
type reloading struct {
	*process
	t                *testing.T
	home, dir, agent string
	requests         string // the file of all requests
	read             int    // how much of them was looked at
}

func newReloading(t *testing.T, args ...string) *reloading {
	t.Helper()
	r := &reloading{t: t, home: t.TempDir(), dir: t.TempDir()}
	if real, err := filepath.EvalSymlinks(r.dir); err == nil { // as trust.json has it
		r.dir = real
	}
	r.agent, r.requests = filepath.Join(r.home, ".pi", "agent"), filepath.Join(r.home, "requests.jsonl")
	srv := newModelServer(r.requests)
	t.Cleanup(srv.Close)
	r.put("home/.pi/agent/models.json", string(srv.models()))
	r.put("home/.pi/agent/settings.json", `{"defaultProvider":"local","defaultModel":"m","steeringMode":"all"}`)
	r.put("home/.pi/agent/prompts/say.md", "Say one thing about $1.")
	r.put("AGENTS.md", "Rule one.")
	r.put(".pi/prompts/sail.md", "Set sail.")
	r.process = launch(t, r.home, r.dir, append([]string{"pi", "--mode", "rpc"}, args...)...)
	r.follow()
	return r
}

// put writes a file of the folder, or of the home; "" removes it.
func (r *reloading) put(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if below, ok := strings.CutPrefix(name, "home/"); ok {
		path = filepath.Join(r.home, filepath.FromSlash(below))
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil && text == "" {
		err = os.Remove(path)
	} else if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *reloading) reload() {
	r.t.Helper()
	if got := r.answer(`{"type":"reload"}`); !strings.Contains(got, `"success":true`) {
		r.t.Fatalf("reload: %s", got)
	}
}

// end ends the program and compares what it said on stderr.
func (r *reloading) end(stderr ...string) {
	r.t.Helper()
	r.closeInput()
	r.rest()
	if code := r.wait(); code != 0 {
		r.t.Errorf("exit code %d", code)
	}
	said := strings.NewReplacer(filepath.ToSlash(r.agent), "$AGENT", filepath.ToSlash(r.dir), "$DIR").Replace(filepath.ToSlash(r.stderr.String()))
	if diff := cmp.Diff(stderr, strings.Split(strings.TrimSuffix(said, "\n"), "\n")); diff != "" {
		r.t.Errorf("stderr (-want +got):\n%s", diff)
	}
}

// prompt sends a prompt, waits for its end and returns what the provider was asked.
func (r *reloading) prompt(text string) string {
	r.t.Helper()
	r.send(`{"type":"prompt","message":"` + text + `"}`)
	r.until(`"type":"agent_settled"`)
	all, err := os.ReadFile(r.requests)
	if err != nil {
		r.t.Fatal(err)
	}
	asked := string(all[r.read:])
	r.read = len(all)
	return asked
}

// has checks the parts of a text: those with a "!" in front must not be there.
func (r *reloading) has(what, text string, parts ...string) {
	r.t.Helper()
	for _, part := range parts {
		not, ok := strings.CutPrefix(part, "!")
		if strings.Contains(text, not) == ok {
			r.t.Errorf("%s: %q: want %s", what, text, part)
		}
	}
}

// A reload takes up what changed in every file that a session comes from, and leaves
// the session, its model and level, its queue and the modes of its queues alone.
func TestReload(t *testing.T) {
	r := newReloading(t)
	state := func(parts ...string) { t.Helper(); r.has("state", r.answer(`{"type":"get_state"}`), parts...) }
	commands := func(parts ...string) {
		t.Helper()
		r.has("commands", r.answer(`{"type":"get_commands"}`), parts...)
	}
	models := func(parts ...string) {
		t.Helper()
		r.has("models", r.answer(`{"type":"get_available_models"}`), parts...)
	}

	r.has("first request", r.prompt("hi"), "Rule one.", "!Rule two.")
	before := r.answer(`{"type":"get_state"}`)
	session := member(t, before[strings.Index(before, `"data":`)+len(`"data":`):len(before)-1], "sessionId")
	r.answer(`{"type":"set_model","provider":"local","modelId":"thinker"}`)
	r.answer(`{"type":"set_thinking_level","level":"high"}`)
	r.answer(`{"type":"set_follow_up_mode","mode":"all"}`)
	r.answer(`{"type":"steer","message":"queued before"}`)

	// Context files, skills and templates.
	r.put("AGENTS.md", "Rule two.")
	r.put("home/.pi/agent/AGENTS.md", "Rule of the user.")
	r.put("home/.pi/agent/APPEND_SYSTEM.md", "An end of the user.")
	r.put("home/.pi/agent/prompts/say.md", "---\ndescription: new words\n---\nSay two things about $1.")
	r.put("home/.pi/agent/prompts/more.md", "More.")
	r.put("home/.pi/agent/skills/tie/SKILL.md", "---\nname: tie\ndescription: ties knots\n---\nTie it.")
	commands(`"name":"say","description":"Say one thing about $1."`, "!skill:tie", `!"more"`)
	r.reload()
	commands(`"name":"say","description":"new words"`, "skill:tie", `"more"`, "!sail")

	// Session, model, level, queue and modes are as they were.
	state(`"sessionId":"`+session+`"`, `"id":"thinker"`, `"thinkingLevel":"high"`, `"pendingMessageCount":1`, `"followUpMode":"all"`, `"steeringMode":"all"`, `"messageCount":2`)
	asked := r.prompt("/say tea")
	r.has("request", asked, "Rule two.", "Rule of the user.", "An end of the user.", "!Rule one.", "Say two things about tea.", "queued before", "tie", "hi")

	// Settings: of the user, and of a project that gets trusted.
	state(`"autoCompactionEnabled":true`, `"untrusted":[{`)
	r.put("home/.pi/agent/settings.json", `{"defaultProvider":"gw","compaction":{"enabled":false},"enabledModels":["local/*"],"steeringMode":"one-at-a-time"}`)
	r.put("home/.pi/agent/trust.json", `{"`+filepath.ToSlash(r.dir)+`":true}`)
	r.put(".pi/settings.json", `{"defaultTools":["read"]}`)
	r.reload()
	state(`"autoCompactionEnabled":false`, `!"untrusted"`, `"id":"thinker"`, `"thinkingLevel":"high"`, `"steeringMode":"all"`)
	commands(`"name":"sail"`, `"scope":"project"`)
	models(`"scopedModels":[{"model":{"id":"m"`, `!"model":{"id":"claude`)
	r.has("request", r.prompt("again"), `"name":"read"`, `!"name":"bash"`)

	// models.json: the live model changes with its entry; what is broken is said and
	// keeps nothing from working.
	models(`!"id":"late"`)
	config, err := os.ReadFile(filepath.Join(r.agent, "models.json"))
	if err != nil {
		t.Fatal(err)
	}
	r.put("home/.pi/agent/models.json", strings.Replace(string(config), `{"id":"thinker",`, `{"id":"late"},{"id":"thinker","contextWindow":77000,`, 1))
	r.reload()
	models(`"id":"late"`)
	state(`"contextWindow":77000`, `"id":"thinker"`)
	r.put("home/.pi/agent/models.json", "{\n\"providers\": {,}")
	r.put("home/.pi/agent/settings.json", "{\n  \"compaction\": {\"enabled\": false},,\n}")
	r.reload()
	state(`"id":"thinker"`, `"autoCompactionEnabled":false`, `"sessionId":"`+session+`"`)

	// Trust that is taken away takes the project's own away.
	r.put("home/.pi/agent/models.json", string(config))
	r.put("home/.pi/agent/settings.json", `{}`)
	r.put("home/.pi/agent/trust.json", `{"`+filepath.ToSlash(r.dir)+`":false}`)
	r.reload()
	state(`"autoCompactionEnabled":true`, `"untrusted":[{`)
	commands("!sail")
	r.has("request", r.prompt("at last"), `"name":"bash"`, "hi", "again", "Rule two.")

	r.end(
		textLeftOut(".pi/prompts"), textLeftOut(".pi/prompts"),
		"Warning: $AGENT/settings.json:2:36: settings are ignored: unexpected ',' where a name or '}' is due",
		"Warning: Failed to parse models.json: unexpected ',' where a name or '}' is due at line 2, column 15", "", "File: $AGENT/models.json",
		`Warning: No models match pattern "local/*"`,
		"Warning: this project's own resources are left out, as trust.json does not trust $DIR: .pi/settings.json, .pi/prompts. Use --approve (-a) to use them.",
	)
}

func textLeftOut(names string) string {
	return "Warning: this project's own resources are left out, as it is not trusted: " + names + ". Use --approve (-a) to use them."
}

// A reload during a run leaves the run alone.
func TestReloadDuringARun(t *testing.T) {
	r := newReloading(t)
	r.send(`{"type":"prompt","message":"silent:"}`)
	r.until(`"type":"message_start"`, `"role":"user"`)
	r.answer(`{"type":"follow_up","message":"and then"}`)
	r.put("AGENTS.md", "Rule two.")
	r.reload()
	r.has("state", r.answer(`{"type":"get_state"}`), `"isStreaming":true`, `"pendingMessageCount":1`)
	r.send(`{"type":"abort"}`)
	r.until(`"type":"agent_settled"`)
	r.has("request", r.prompt("next"), "Rule two.", "and then")
	r.end(textLeftOut(".pi/prompts"), textLeftOut(".pi/prompts"))
}
