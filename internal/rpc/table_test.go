package rpc_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
	"github.com/isotope-agent/isotope/internal/schema"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
)

// tableScript is the world of the table test: answers come, but "slow" and summaries take
// their time.
const tableScript = `
-- settings.json --
{"defaultProvider":"fake","defaultModel":"one","retry":{"baseDelayMs":1000},"compaction":{"keepRecentTokens":300}}
-- provider --
{"onEnd":"repeat","turns":[{"match":"/numbered-transcript|<conversation>|# Conversation/","steps":[{"delayMs":60000},{"text":"2,40"}]},
 {"match":"slow","steps":[{"text":"a long "},{"delayMs":60000},{"text":"answer"}]},{"steps":[{"text":"answer to {{user}}"}]}]}
-- files/other.jsonl --
{"type":"session","version":3,"id":"other","timestamp":"1999-01-01T00:00:00.000Z","cwd":""}
{"type":"message","id":"a3","parentId":null,"timestamp":"1999-01-01T00:00:00.000Z","message":{"role":"user","content":"long ago","timestamp":1}}
`

// tableStates are the states in which every command is sent: after one prompt, before
// any, in a run, in a compaction, with queued messages held back, without a file, without
// a model, and when stdin has ended behind it.
var tableStates = []string{"idle", "empty", "running", "compacting", "paused", "memory", "no model", "ending"}

// tableRow is what the table cannot say of itself. Values are members of the command;
// an error is a part of its text.
type tableRow struct {
	valid   string // a whole set of parameters
	unknown string // parameters of the right form that name nothing
	unknErr string
	fails   string // the error of valid, "" when it succeeds
	in      errs   // what it is in a state, where it is not fails
}

// errs are errors by state.
type errs map[string]string

// tableRows has a row for every command. $WORK is the folder of the test.
func tableRows() map[string]tableRow {
	const entry = `"entryId":"00000003"`
	return map[string]tableRow{
		"prompt":                        {valid: `"message":"hi","streamingBehavior":null,"images":[]`, in: errs{"running": "already processing", "compacting": "compaction is in progress", "no model": "No model selected"}},
		"steer":                         {valid: `"message":"hi"`},
		"follow_up":                     {valid: `"message":"hi","attachments":[{"type":"document","fileName":"a","extractedText":"t"}]`},
		"abort":                         {},
		"clear_queue":                   {},
		"pause_queued_messages":         {},
		"resume_queued_messages":        {},
		"get_state":                     {},
		"get_messages":                  {},
		"get_last_assistant_text":       {},
		"get_session_stats":             {},
		"get_commands":                  {},
		"get_protocol_info":             {},
		"set_model":                     {valid: `"provider":"fake","modelId":"two"`, unknown: `"provider":"fake","modelId":"nope"`, unknErr: "Model not found: fake/nope", in: errs{"no model": "Model not found: fake/two"}},
		"cycle_model":                   {valid: `"direction":"backward"`},
		"get_available_models":          {},
		"set_thinking_level":            {valid: `"level":"low","persist":false`},
		"cycle_thinking_level":          {},
		"get_available_thinking_levels": {},
		"set_context_window":            {valid: `"contextWindow":5000`, unknown: `"contextWindow":9000000`, unknErr: "contextWindow must be at most", in: errs{"no model": "No model selected"}},
		"get_available_context_windows": {},
		"set_steering_mode":             {valid: `"mode":"all"`},
		"set_follow_up_mode":            {valid: `"mode":"one-at-a-time"`},
		"set_auto_retry":                {valid: `"enabled":true`},
		"abort_retry":                   {},
		"compact":                       {valid: `"customInstructions":"short"`, fails: "Nothing to compact", in: errs{"compacting": ""}},
		"set_auto_compaction":           {valid: `"enabled":false`},
		"abort_compaction":              {},
		"bash":                          {valid: `"command":"echo hi"`},
		"user_bash":                     {valid: `"command":"echo hi","excludeFromContext":true`},
		"abort_bash":                    {valid: `"requestId":{"any":1}`},
		"new_session":                   {valid: `"parentSession":"p"`},
		"switch_session":                {valid: `"sessionPath":"$WORK/proj/other.jsonl"`, unknown: `"sessionPath":"$WORK/nope.jsonl"`, unknErr: "does not exist"},
		"import_session":                {valid: `"inputPath":"$WORK/proj/other.jsonl"`, unknown: `"inputPath":"$WORK/nope.jsonl"`, unknErr: "File not found"},
		"list_sessions":                 {valid: `"scope":"all"`},
		"set_session_name":              {valid: `"name":"n"`, unknown: `"name":" "`, unknErr: "Session name cannot be empty"},
		"export_html":                   {valid: `"outputPath":"page.html"`, in: errs{"empty": "Nothing to export yet", "no model": "Nothing to export yet", "memory": "in-memory"}},
		"reload":                        {},
		"get_entries":                   {valid: `"since":"00000003"`, unknown: `"since":"nope"`, unknErr: "Entry not found: nope", in: errs{"empty": "Entry not found: 00000003", "no model": "Entry not found: 00000003"}},
		"get_tree":                      {},
		"get_fork_messages":             {},
		"fork":                          {valid: entry, unknown: `"entryId":"00000002"`, unknErr: "Invalid entry ID for forking", in: errs{"empty": "Invalid entry ID for forking", "no model": "Invalid entry ID for forking"}},
		"clone":                         {in: errs{"empty": "has not been saved yet", "no model": "no current entry selected"}},
		"navigate_tree": {valid: `"targetId":"00000003","options":{"label":"l"}`, unknown: `"targetId":"nope"`, unknErr: "Entry nope not found", in: errs{
			"empty": "Entry 00000003 not found", "no model": "Entry 00000003 not found",
			"running": "Wait for the current response", "compacting": "Wait for the compaction",
		}},
		"set_label":                {valid: entry + `,"label":"l"`, unknown: `"entryId":"nope","label":"l"`, unknErr: "Entry nope not found", in: errs{"empty": "Entry 00000003 not found", "no model": "Entry 00000003 not found"}},
		"refresh_models":           {valid: `"timeoutMs":1000,"force":true`},
		"login_provider":           {valid: `"provider":"fake","authType":"api_key"`, unknown: `"provider":"nope","authType":"oauth"`, unknErr: "Unknown OAuth provider: nope", in: errs{"no model": "does not support API-key login"}},
		"cancel_login_provider":    {valid: `"provider":"fake"`},
		"save_provider_credential": {valid: `"provider":"fake","credential":{"type":"api_key","key":"k"}`, unknown: `"provider":"fake","credential":{"type":"nope"}`, unknErr: "credential"},
		"logout_provider":          {valid: `"provider":"fake"`},
		"get_command_completions":  {valid: `"commandName":"x","argumentPrefix":""`},
		"get_shortcuts":            {},
		"invoke_shortcut":          {valid: `"key":"ctrl+x"`, fails: "Shortcut not found: ctrl+x"},
	}
}

// Every command, with good and bad parameters and in every state, in both dialects: one
// answer, as the table says, and nothing is done by what was refused.
func TestCommandTable(t *testing.T) {
	rows := tableRows()
	dialects := []string{dialect.Pi, dialect.Atomic}
	if raceEnabled {
		dialects = dialects[:1]
	}
	for _, name := range dialects {
		for _, c := range rpc.Commands() {
			row, ok := rows[c.Name]
			if !ok {
				t.Errorf("no row for %s", c.Name)
				continue
			}
			t.Run(name+"/"+c.Name, func(t *testing.T) { tableCommand(t, name, c, row) })
		}
	}
	for _, c := range rpc.Commands() {
		delete(rows, c.Name)
	}
	for name := range rows {
		t.Errorf("a row for %s, which is no command", name)
	}
}

func tableCommand(t *testing.T, dialectName string, c rpc.Command, row tableRow) {
	in := func(state string, hold func(*tableTalk)) {
		arrange := func(b *testbed) {
			b.dialect, _ = dialect.Named(dialectName)
			b.memory = state == "memory"
			if state == "no model" {
				b.write("agent/models.json", `{"providers":{}}`)
				b.write("agent/settings.json", `{}`)
			}
		}
		inBubble(t, tableScript, arrange, func(c *talk) { hold(enterState(c, state)) })
	}
	in("idle", func(k *tableTalk) { // what is refused
		before := k.state()
		k.wantSchema(c.Name, row.valid, true)
		for _, bad := range faultyParams(c, row.valid) {
			k.want(c.Name, bad.params, bad.err)
			k.wantSchema(c.Name, bad.params, false)
		}
		if row.unknown != "" {
			k.want(c.Name, row.unknown, row.unknErr)
		}
		if after := k.state(); before != after {
			t.Errorf("something was done by what was refused:\n%s\n%s", before, after)
		}
	})
	states := tableStates
	if raceEnabled { // where something else runs at the same time
		states = []string{"running", "ending"}
	}
	for _, state := range states {
		t.Run(state, func(t *testing.T) {
			fault, other := row.in[state]
			if !other {
				fault = row.fails
			}
			in(state, func(k *tableTalk) { k.t = t; k.want(c.Name, row.valid, fault) })
		})
	}
	for state := range row.in {
		if !slices.Contains(tableStates, state) {
			t.Errorf("there is no state %q", state)
		}
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
	n    int
	last bool // nothing comes behind the next command
}

// enterState brings a session into a state.
func enterState(c *talk, state string) *tableTalk {
	k := &tableTalk{talk: c, last: state == "ending"}
	prompt := func(text string) {
		c.send(fmt.Sprintf(`{"type":"prompt","message":%q}`, text))
		c.await("agent_settled", "")
	}
	if state != "empty" && state != "no model" {
		prompt("first")
	}
	switch state {
	case "running":
		c.send(`{"type":"prompt","message":"slow"}`)
		c.await("message_update", "a long ")
	case "compacting":
		for range 3 {
			prompt(strings.Repeat("one more line of the log\n", 60))
		}
		c.send(`{"type":"compact"}`)
		c.await("compaction_start", "")
	case "paused":
		c.send(`{"type":"pause_queued_messages"}`, `{"type":"follow_up","message":"later"}`)
		c.await("queue_update", "later")
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
	if k.last {
		k.end()
		return k.response(id)
	}
	for limit := time.Now().Add(10 * time.Minute); time.Now().Before(limit); time.Sleep(time.Second) {
		synctest.Wait()
		if strings.Contains(k.out.String(), fmt.Sprintf(`{"id":%q,"type":"response"`, id)) {
			break
		}
		for _, q := range k.questions() { // a login's
			k.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"value":"sk"}`, q.ID))
		}
	}
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

// wantSchema checks that the schema takes a command, or not, as the engine does.
func (k *tableTalk) wantSchema(command, params string, takes bool) {
	k.t.Helper()
	line := fmt.Sprintf(`{"id":7,"type":%q`, command)
	if params != "" {
		line += "," + params
	}
	var record map[string]any
	if err := jsonx.Unmarshal([]byte(line+"}"), &record); err != nil {
		k.t.Fatal(err)
	}
	if err := schematest.Of(k.t, k.bed.dialect).Validate(schema.CommandPrefix+command, record); (err == nil) != takes {
		k.t.Errorf("%s {%s}: the schema says %v", command, params, err)
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
