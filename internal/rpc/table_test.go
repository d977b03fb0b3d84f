package rpc_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
)

// tableScript is the world of the table test: answers come, but "slow" takes its time.
const tableScript = `
-- provider --
{"onEnd":"repeat","turns":[{"match":"slow","steps":[{"text":"a long "},{"delayMs":60000},{"text":"answer"}]},{"steps":[{"text":"answer to {{user}}"}]}]}
-- files/other.jsonl --
{"type":"session","version":3,"id":"other","timestamp":"1999-01-01T00:00:00.000Z","cwd":""}
{"type":"message","id":"a3","parentId":null,"timestamp":"1999-01-01T00:00:00.000Z","message":{"role":"user","content":"long ago","timestamp":1}}
`

// tableRow is what the table cannot say of itself. Values are members of the command;
// an error is a part of its text.
type tableRow struct {
	valid   string // a whole set of parameters
	fails   string // the error of valid, in a saved session that is idle; "" when it succeeds
	unknown string // parameters of the right form that name nothing
	unknErr string
	state   string // what is wrong: "running", "empty", "memory" or "" for nothing
	stErr   string // the error then, "" when it succeeds all the same
}

// tableRows has a row for every command. $WORK is the folder of the test.
func tableRows() map[string]tableRow {
	const entry = `"entryId":"00000003"`
	return map[string]tableRow{
		"prompt":                        {valid: `"message":"hi","streamingBehavior":null,"images":[]`, state: "running", stErr: "already processing"},
		"steer":                         {valid: `"message":"hi"`, state: "running"},
		"follow_up":                     {valid: `"message":"hi","attachments":[{"type":"document","fileName":"a","extractedText":"t"}]`, state: "running"},
		"abort":                         {state: "running"},
		"clear_queue":                   {state: "running"},
		"pause_queued_messages":         {state: "running"},
		"resume_queued_messages":        {state: "running"},
		"get_state":                     {state: "running"},
		"get_messages":                  {state: "running"},
		"get_last_assistant_text":       {state: "empty"},
		"get_session_stats":             {state: "empty"},
		"get_commands":                  {state: "running"},
		"get_protocol_info":             {state: "running"},
		"set_model":                     {valid: `"provider":"fake","modelId":"two"`, unknown: `"provider":"fake","modelId":"nope"`, unknErr: "Model not found: fake/nope", state: "running"},
		"cycle_model":                   {valid: `"direction":"backward"`, state: "running"},
		"get_available_models":          {state: "running"},
		"set_thinking_level":            {valid: `"level":"low","persist":false`, state: "running"},
		"cycle_thinking_level":          {state: "running"},
		"get_available_thinking_levels": {state: "running"},
		"set_context_window":            {valid: `"contextWindow":5000`, unknown: `"contextWindow":9000000`, unknErr: "contextWindow must be at most", state: "running"},
		"get_available_context_windows": {state: "running"},
		"set_steering_mode":             {valid: `"mode":"all"`, state: "running"},
		"set_follow_up_mode":            {valid: `"mode":"one-at-a-time"`, state: "running"},
		"set_auto_retry":                {valid: `"enabled":true`, state: "running"},
		"abort_retry":                   {state: "running"},
		"compact":                       {valid: `"customInstructions":"short"`, fails: "Nothing to compact", state: "empty", stErr: "Nothing to compact"},
		"set_auto_compaction":           {valid: `"enabled":false`, state: "running"},
		"abort_compaction":              {state: "empty"},
		"bash":                          {valid: `"command":"echo hi"`, state: "running"},
		"user_bash":                     {valid: `"command":"echo hi","excludeFromContext":true`, state: "running"},
		"abort_bash":                    {valid: `"requestId":{"any":1}`, state: "running"},
		"new_session":                   {valid: `"parentSession":"p"`, state: "running"},
		"switch_session":                {valid: `"sessionPath":"$WORK/proj/other.jsonl"`, unknown: `"sessionPath":"$WORK/nope.jsonl"`, unknErr: "does not exist", state: "running"},
		"import_session":                {valid: `"inputPath":"$WORK/proj/other.jsonl"`, unknown: `"inputPath":"$WORK/nope.jsonl"`, unknErr: "File not found", state: "running"},
		"list_sessions":                 {valid: `"scope":"all"`, state: "running"},
		"set_session_name":              {valid: `"name":"n"`, unknown: `"name":" "`, unknErr: "Session name cannot be empty", state: "running"},
		"export_html":                   {valid: `"outputPath":"page.html"`, state: "memory", stErr: "in-memory"},
		"reload":                        {state: "running"},
		"get_entries":                   {valid: `"since":"00000003"`, unknown: `"since":"nope"`, unknErr: "Entry not found: nope", state: "running"},
		"get_tree":                      {state: "running"},
		"get_fork_messages":             {state: "empty"},
		"fork":                          {valid: entry, unknown: `"entryId":"00000002"`, unknErr: "Invalid entry ID for forking", state: "running"},
		"clone":                         {state: "empty", stErr: "has not been saved yet"},
		"navigate_tree":                 {valid: `"targetId":"00000003","options":{"label":"l"}`, unknown: `"targetId":"nope"`, unknErr: "Entry nope not found", state: "running", stErr: "Wait for the current response"},
		"set_label":                     {valid: entry + `,"label":"l"`, unknown: `"entryId":"nope","label":"l"`, unknErr: "Entry nope not found", state: "running"},
		"refresh_models":                {valid: `"timeoutMs":1000,"force":true`, state: "running"},
		"login_provider":                {valid: `"provider":"anthropic","authType":"oauth"`, fails: "?", unknown: `"provider":"nope","authType":"oauth"`, unknErr: "Unknown OAuth provider: nope"},
		"cancel_login_provider":         {valid: `"provider":"fake"`, state: "running"},
		"save_provider_credential":      {valid: `"provider":"fake","credential":{"type":"api_key","key":"k"}`, unknown: `"provider":"fake","credential":{"type":"nope"}`, unknErr: "credential", state: "running"},
		"logout_provider":               {valid: `"provider":"fake"`, state: "running"},
		"get_command_completions":       {valid: `"commandName":"x","argumentPrefix":""`, state: "running"},
		"get_shortcuts":                 {state: "running"},
		"invoke_shortcut":               {valid: `"key":"ctrl+x"`, fails: "Shortcut not found: ctrl+x", state: "running", stErr: "Shortcut not found: ctrl+x"},
	}
}

// Every command, with good and bad parameters and in the wrong state, in both dialects:
// one answer, as the table says, and nothing is done by what was refused.
func TestCommandTable(t *testing.T) {
	rows := tableRows()
	for _, name := range []string{dialect.Pi, dialect.Atomic} {
		for _, c := range rpc.Commands() {
			row, ok := rows[c.Name]
			if !ok {
				t.Errorf("no row for %s", c.Name)
				continue
			}
			t.Run(name+"/"+c.Name, func(t *testing.T) { tableCommand(t, name, c, row) })
		}
	}
}

func tableCommand(t *testing.T, dialectName string, c rpc.Command, row tableRow) {
	in := func(state string, hold func(*tableTalk)) {
		arrange := func(b *testbed) { b.dialect, _ = dialect.Named(dialectName); b.memory = state == "memory" }
		inBubble(t, tableScript, arrange, func(c *talk) { hold(enterState(c, state)) })
	}
	in("idle", func(k *tableTalk) {
		before := k.state()
		for _, bad := range faultyParams(c, row.valid) {
			k.want(c.Name, bad.params, bad.err)
		}
		if row.unknown != "" {
			k.want(c.Name, row.unknown, row.unknErr)
		}
		if after := k.state(); before != after {
			t.Errorf("something was done by what was refused:\n%s\n%s", before, after)
		}
		if row.fails != "?" { // else it needs somebody else
			k.want(c.Name, row.valid, row.fails)
		}
	})
	if row.state != "" {
		in(row.state, func(k *tableTalk) { k.want(c.Name, row.valid, row.stErr) })
	}
}

// faulty is a set of parameters and the error that it leads to.
type faulty struct{ params, err string }

// faultyParams leaves each required parameter out, and gives each one a wrong type and,
// if it is a word, a wrong word.
func faultyParams(c rpc.Command, valid string) (out []faulty) {
	with := func(name, value string) string {
		var members []string
		seen := false
		var given map[string]jsonx.Raw
		if err := jsonx.Unmarshal([]byte("{"+valid+"}"), &given); err != nil {
			panic(err)
		}
		for key, raw := range given {
			if key == name {
				seen = true
				if raw = jsonx.Raw(value); value == "" {
					continue
				}
			}
			members = append(members, fmt.Sprintf("%q:%s", key, raw))
		}
		if !seen && value != "" {
			members = append(members, fmt.Sprintf("%q:%s", name, value))
		}
		return strings.Join(members, ",")
	}
	for _, p := range c.Params {
		if p.Required {
			out = append(out, faulty{with(p.Name, ""), p.Name + " is missing: it must be "})
			out = append(out, faulty{with(p.Name, "null"), p.Name + " must be "})
		}
		if p.Kind == rpc.KindID {
			continue
		}
		wrong := "[7]"
		if p.Kind == rpc.KindImages || p.Kind == rpc.KindAttachments {
			wrong = "7"
		}
		out = append(out, faulty{with(p.Name, wrong), p.Name + " must be "})
		if p.Kind == rpc.KindWord {
			out = append(out, faulty{with(p.Name, `"no such word"`), `not "no such word"`})
		}
		for _, f := range p.Fields {
			out = append(out, faulty{with(p.Name, fmt.Sprintf(`{%q:[7]}`, f.Name)), p.Name + "." + f.Name + " must be "})
		}
	}
	return out
}

// tableTalk sends one command after the other.
type tableTalk struct {
	*talk
	n int
}

// enterState brings a session into a state.
func enterState(c *talk, state string) *tableTalk {
	k := &tableTalk{talk: c}
	if state == "idle" || state == "memory" || state == "running" {
		c.send(`{"type":"prompt","message":"first"}`)
		c.await("agent_settled", "")
	}
	if state == "running" {
		c.send(`{"type":"prompt","message":"slow"}`)
		c.await("message_update", "a long ")
	}
	return k
}

// ask sends a command and returns its response.
func (k *tableTalk) ask(command, params string) string {
	k.t.Helper()
	k.n++
	id := fmt.Sprint("q", k.n)
	params = strings.ReplaceAll(params, "$WORK", filepath.ToSlash(k.bed.work))
	if params != "" {
		params = "," + params
	}
	k.send(fmt.Sprintf(`{"id":%q,"type":%q%s}`, id, command, params))
	k.await("response", fmt.Sprintf("%q", id))
	return k.response(id)
}

// want asks, and compares the outcome: an error with that part, or a success.
func (k *tableTalk) want(command, params, fault string) {
	k.t.Helper()
	response := k.ask(command, params)
	var r struct {
		Command string `json:"command"`
		Success bool   `json:"success"`
		Error   string `json:"error"`
	}
	if err := jsonx.Unmarshal([]byte(response), &r); err != nil {
		k.t.Errorf("%v: %s", err, response)
	}
	if r.Command != command || r.Success != (fault == "") || !strings.Contains(r.Error, fault) {
		k.t.Errorf("%s {%s}: got %s\nwant the error %q", command, params, response, fault)
	}
}

// state is everything that a refused command must not change.
func (k *tableTalk) state() string {
	var all []string
	for _, getter := range []string{"get_state", "get_entries", "get_available_models"} {
		_, data, _ := strings.Cut(k.ask(getter, ""), `"data":`)
		all = append(all, data)
	}
	return strings.Join(all, "\n")
}
