package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/dialect"
)

// The reference writes settings, models and a session into a home; then it and Isotope use
// copies of that home from the same place: states and commands are equal but for what
// docs/compatibility.md lists, requests are equal but for a program's own words. It takes
// half a minute, so it runs only when it is asked for, where the reference is installed.
func TestHomeOfTheReference(t *testing.T) {
	if os.Getenv("ISOTOPE_TEST_REFERENCE") == "" {
		t.Skip("ISOTOPE_TEST_REFERENCE is not set")
	}
	user, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	reference := filepath.Join(user, ".cache", "oracle", "bin", "pi")
	if _, err := os.Stat(reference); err != nil {
		t.Skip("the reference is not installed: ", err)
	}
	for name, value := range map[string]string{"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"} {
		t.Setenv(name, value)
	}
	above := realTemp(t)
	h := homeFolder{root: filepath.Join(above, "root")}
	h.server = newModelServer(filepath.Join(above, "requests.jsonl"))
	defer h.server.Close()
	h.unpack(t, filepath.Join("testdata", "home.txtar"))
	if err := os.RemoveAll(h.sessions()); err != nil { // the reference makes its own
		t.Fatal(err)
	}
	p := h.launch(t, reference, "--approve")
	for _, text := range []string{"one", "sh:echo $MARK", "/greet Bob Smith", "/skill:alpha with args"} {
		p.send(`{"type":"prompt","message":"` + text + `"}`)
		p.until(`"type":"agent_settled"`)
	}
	for _, command := range []string{
		`{"type":"set_session_name","name":"made by the reference"}`, `{"type":"set_steering_mode","mode":"one-at-a-time"}`,
		`{"type":"set_follow_up_mode","mode":"one-at-a-time"}`, `{"type":"set_auto_retry","enabled":true}`,
		`{"type":"set_model","provider":"mock","modelId":"think"}`, `{"type":"set_thinking_level","level":"high"}`,
		`{"type":"bash","command":"echo from bash"}`,
	} {
		p.answer(command)
	}
	p.send(`{"type":"prompt","message":"two"}`)
	p.until(`"type":"agent_settled"`)
	p.closeInput()
	p.rest()
	if code := p.wait(); code != 0 {
		t.Fatalf("the reference: exit code %d", code)
	}
	made := filepath.Join(above, "made")
	if err := os.CopyFS(made, os.DirFS(h.root)); err != nil {
		t.Fatal(err)
	}
	uses := map[string]map[string]used{}
	for _, program := range []string{reference, dialect.Pi} {
		if err := os.RemoveAll(h.root); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(h.root, os.DirFS(made)); err != nil {
			t.Fatal(err)
		}
		uses[program] = h.use(t, program)
	}
	for _, flags := range homeFlags {
		want, got := uses[reference][flags], uses[dialect.Pi][flags]
		if diff := cmp.Diff(common(want.state), common(got.state)); diff != "" {
			t.Errorf("state with %q (-reference +isotope):\n%s", flags, diff)
		}
		if diff := cmp.Diff(own(want.commands), own(got.commands)); diff != "" {
			t.Errorf("commands with %q (-reference +isotope):\n%s", flags, diff)
		}
		if diff := cmp.Diff(want.requests, got.requests); diff != "" || len(got.requests) != len(homePrompts) {
			t.Errorf("%d requests with %q (-reference +isotope):\n%s", len(got.requests), flags, diff)
		}
	}
}

// common are the members of a state that both programs have and that say the same thing.
func common(state map[string]any) map[string]any {
	state = maps.Clone(state)
	maps.DeleteFunc(state, func(name string, _ any) bool {
		return !slices.Contains([]string{"model", "thinkingLevel", "steeringMode", "followUpMode", "sessionName", "autoCompactionEnabled"}, name)
	})
	return state
}

// own are commands without what one program has beside the other: built-in extensions,
// names with the scope of a skill, location and path.
func own(data map[string]any) []any {
	var out []any
	for _, c := range list(data["commands"]) {
		c := maps.Clone(c.(map[string]any))
		if name, _ := c["name"].(string); c["source"] == "extension" || slices.Contains([]string{"skill:alpha@user", "skill:alpha@project"}, name) {
			continue
		}
		delete(c, "location")
		delete(c, "path")
		out = append(out, c)
	}
	return out
}
