package rpc_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/rpc"
	"github.com/isotope-agent/isotope/internal/schema"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
)

// rareEvents are those that no conversation shows in full.
func rareEvents() []event.Event {
	model := &llm.Model{ID: "m", Input: []string{"text"}}
	return []event.Event{
		event.Session{Version: 3, ID: "i", Timestamp: "2026-01-01T00:00:00.000Z", Cwd: "/w"},
		event.CompactionStart{Reason: event.ReasonManual},
		event.CompactionEnd{Reason: event.ReasonManual, Result: &compact.SummaryResult{Summary: "s"}},
		event.CompactionEnd{Reason: event.ReasonManual, Result: &compact.VerbatimResult{}},
		event.SummarizationRetryScheduled{Attempt: 1, MaxAttempts: 3, DelayMs: 5, ErrorMessage: "e"},
		event.SummarizationRetryAttemptStart{Source: "compaction"},
		event.SummarizationRetryFinished{},
		event.ModelFallbackStart{From: "a", To: "b", Reason: "r", Attempt: 1},
		event.ModelFallbackEnd{Success: true},
		event.ModelChanged{Model: model, PreviousModel: model, Source: "set"},
		event.EntryAppended{Entry: jsonx.Raw(`{"type":"custom"}`)},
		event.ExtensionError{ExtensionPath: "p", Event: "e", Error: "x"},
		event.ToolExecutionUpdate{ToolCallID: "1", ToolName: "bash", Args: jsonx.Raw(`{}`), PartialResult: map[string]any{"content": []any{}}},
	}
}

// uiRequests are all methods of extension_ui_request, with and without what is optional.
func uiRequests(t *testing.T) (lines []string) {
	t.Helper()
	add := func(record any, err error) {
		line, encoding := jsonx.Marshal(record)
		if err != nil || encoding != nil {
			t.Fatal(err, encoding)
		}
		lines = append(lines, string(line))
	}
	for _, members := range []string{ // the examples of docs/protocol.md
		`"method":"select","title":"Which one?","options":["this","that"],"timeout":5000`,
		`"method":"confirm","title":"Sure?","message":"All of it goes."`,
		`"method":"input","title":"Name","placeholder":"of the branch"`,
		`"method":"editor","title":"Commit message","prefill":"fix: "`,
		`"method":"notify","message":"Formatted 3 files","notifyType":"info"`,
		`"method":"setStatus","statusKey":"tests","statusText":"3 failed"`,
		`"method":"setWidget","widgetKey":"todo","widgetLines":["[ ] one"],"widgetPlacement":"belowEditor"`,
		`"method":"setTitle","title":"project"`,
		`"method":"set_editor_text","text":"draft"`,
	} {
		add(jsonx.Raw(`{"type":"extension_ui_request","id":"01a2",`+members+`}`), nil)
	}
	for _, m := range event.UIMethods() {
		fields, err := jsonx.Marshal(m.Members)
		var b bytes.Buffer
		if err == nil {
			err = event.Append(&b, event.ExtensionUIRequest{ID: "1", Method: m.Name, Fields: fields})
		}
		add(jsonx.Raw(b.Bytes()), err)
	}
	for _, n := range []auth.Notice{
		{Method: auth.MethodAuth, Auth: &auth.AuthURL{URL: "u", Instructions: "i"}},
		{Method: auth.MethodDevice, Device: &auth.DeviceCode{UserCode: "c", VerificationURI: "u"}},
		{Method: auth.MethodProgress, Message: "m"},
		{Method: auth.MethodInfo, Message: "m", Links: []auth.Link{{Label: "l", URL: "u"}}},
	} {
		add(n.Record("1", "p", "l"), nil)
	}
	for _, method := range []string{auth.MethodPrompt, auth.MethodSelect, auth.MethodCode} {
		q := auth.Question{Method: method, Prompt: auth.Prompt{Message: "m", Options: []auth.Option{{ID: "i", Label: "l"}}}}
		add(q.Record("1", "p", "l"), nil)
	}
	add(auth.WithdrawCode("1", "p", "l"), nil)
	return lines
}

// rareResponses are those that need somebody else, an extension, a person or a model, with
// their commands (account_test.go, compaction_test.go).
func rareResponses() [][2]string {
	return [][2]string{
		{`{"id":"k","type":"invoke_shortcut","key":"ctrl+x"}`, `{"id":"k","type":"response","command":"invoke_shortcut","success":true}`},
		{
			`{"id":"l","type":"login_provider","provider":"fake","loginId":"mine"}`,
			`{"id":"l","type":"response","command":"login_provider","success":true,"data":{"provider":"fake","cancelled":true}}`,
		},
	}
}

// examples returns the records of all conversations, and the rare ones, by definition:
// one of each shape that a definition was seen in.
func examples(t *testing.T) map[string][]string {
	t.Helper()
	found, seen := map[string][]string{}, map[string]bool{}
	add := func(line string) {
		var record map[string]any
		if jsonx.Unmarshal([]byte(line), &record) != nil || len(line) > 20_000 {
			return // the short form of another kind of conversation
		}
		name := schematest.Name(record)
		if shape := name + shapeOf(record); !seen[shape] {
			seen[shape] = true
			found[name] = append(found[name], line)
		}
	}
	eachStdout(t, add)
	for _, r := range rareResponses() {
		add(r[1])
	}
	for _, line := range uiRequests(t) {
		add(line)
	}
	for _, e := range rareEvents() {
		var b bytes.Buffer
		if err := event.Append(&b, e); err != nil {
			t.Fatal(err)
		}
		add(b.String())
	}
	return found
}

// eachStdout calls add with each line that a conversation expects.
func eachStdout(t *testing.T, add func(line string)) {
	t.Helper()
	err := filepath.WalkDir("testdata", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".txtar") {
			return err
		}
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return err
		}
		for _, f := range archive.Files {
			if f.Name == "stdout" {
				for line := range strings.Lines(string(f.Data)) {
					add(strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// shapeOf is a value without its texts and numbers, and with one of each shape a list.
func shapeOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.WriteString("{" + key + shapeOf(v[key]))
			if key == "role" || key == "type" {
				fmt.Fprint(&b, v[key])
			}
		}
		return b.String() + "}"
	case []any:
		kinds := map[string]bool{}
		for _, e := range v {
			kinds[shapeOf(e)] = true
		}
		return fmt.Sprint(slices.Sorted(maps.Keys(kinds)))
	}
	return fmt.Sprintf(" %T", v)
}

// openObjects are the members whose value may have any member: what tools, providers,
// extensions and other programs put there (dialects.md; issue "The contract").
var openObjects = []string{
	"args", "arguments", "details", "structuredContent", "entry", "entries[]", "compat", "inputLimits", "promptCache",
	"samplingParams", "samplingParamsByThinkingLevel",
}

// A record of any shape that lacks a member, has one more, or has one of another type, at
// whatever depth, is none of the protocol, in either dialect.
func TestSchemaNoticesChanges(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing runs at the same time here")
	}
	records := examples(t)
	for _, e := range event.All() {
		if _, ok := e.(event.ExtensionUIRequest); !ok && records[schema.EventPrefix+e.Kind()] == nil {
			t.Errorf("no example of %s", e.Kind())
		}
	}
	for _, cmd := range rpc.Commands() {
		if records[schema.ResponsePrefix+cmd.Name] == nil {
			t.Errorf("no conversation shows a success of %s", cmd.Name)
		}
	}
	for _, name := range []string{dialect.Atomic, dialect.Pi} {
		d, _ := dialect.Named(name)
		c := schematest.Of(t, d)
		for def := range c.Root.Defs {
			if strings.HasPrefix(def, schema.UIPrefix) && records[def] == nil {
				t.Errorf("no example of %s", def)
			}
		}
		for _, def := range slices.Sorted(maps.Keys(records)) {
			t.Run(name+"/"+def, func(t *testing.T) {
				for _, line := range records[def] {
					mutate(t, c, def, line)
				}
			})
		}
	}
}

func mutate(t *testing.T, c *schematest.Contract, def, line string) {
	t.Helper()
	var record map[string]any
	if err := jsonx.Unmarshal([]byte(line), &record); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(def, record); err != nil {
		if !strings.Contains(def, "compaction_end") && def != schema.ResponsePrefix+"get_state" { // those are split by dialect
			t.Errorf("unchanged: %v\n%s", err, line)
		}
		return
	}
	unnoticed, open := c.Unnoticed(def, record)
	for _, what := range unnoticed {
		t.Errorf("nobody notices %s\nin %.400s", what, line)
	}
	for _, path := range open {
		if !slices.Contains(openObjects, path[strings.LastIndexByte(path, '.')+1:]) {
			t.Errorf("%q may have any member\nin %.400s", path, line)
		}
	}
	if err := c.Validate(def, record); err != nil {
		t.Fatalf("it was left changed: %v", err)
	}
}
