package rpc_test

import (
	"bytes"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/rpc"
	"github.com/isotope-agent/isotope/internal/schema"
)

// rareEvents are those that no conversation shows in full.
func rareEvents() []event.Event {
	model := &llm.Model{ID: "m", Input: []string{"text"}}
	return []event.Event{
		event.CompactionStart{Reason: event.ReasonManual},
		event.CompactionEnd{Reason: event.ReasonManual, Result: &compact.SummaryResult{Summary: "s"}},
		event.SummarizationRetryScheduled{Attempt: 1, MaxAttempts: 3, DelayMs: 5, ErrorMessage: "e"},
		event.SummarizationRetryAttemptStart{Source: "compaction"},
		event.SummarizationRetryFinished{},
		event.ModelFallbackStart{From: "a", To: "b", Reason: "r", Attempt: 1},
		event.ModelFallbackEnd{Success: true},
		event.ModelChanged{Model: model, Source: "set"},
		event.EntryAppended{Entry: jsonx.Raw(`{"type":"custom"}`)},
		event.ExtensionError{ExtensionPath: "p", Event: "e", Error: "x"},
		event.ExtensionUIRequest{ID: "1", Method: "notify", Fields: jsonx.Raw(`{"message":"m"}`)},
		event.ToolExecutionUpdate{ToolCallID: "1", ToolName: "bash", Args: jsonx.Raw(`{}`), PartialResult: map[string]any{"content": []any{}}},
	}
}

// rareResponses are those that need somebody else: an extension, a person, a model.
func rareResponses() []string {
	return []string{
		`{"type":"response","command":"invoke_shortcut","success":true}`,
		`{"type":"response","command":"login_provider","success":true,"data":{"provider":"p","cancelled":true}}`,
		`{"type":"response","command":"abort_compaction","success":true}`,
		`{"type":"response","command":"compact","success":true,"data":{"summary":"s","firstKeptEntryId":"e","tokensBefore":9,"estimatedTokensAfter":1}}`,
	}
}

// examples returns one record a definition: from the conversations, and the rare ones.
func examples(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(line string) {
		var record map[string]any
		if jsonx.Unmarshal([]byte(line), &record) != nil {
			return // the short form of another kind of conversation
		}
		if name := definitionOf(record); len(line) > len(found[name]) && len(line) < 20_000 {
			found[name] = line
		}
	}
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
	for _, line := range rareResponses() {
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

// TestSchemaNoticesChanges: a record that lacks a member, has one more, or has one of
// another type is none of the protocol.
func TestSchemaNoticesChanges(t *testing.T) {
	isotope, _ := dialect.Named(dialect.Isotope)
	c := contractOf(t, isotope)
	records := examples(t)
	for _, e := range event.All() {
		if records[schema.EventPrefix+e.Kind()] == "" {
			t.Errorf("no example of %s", e.Kind())
		}
	}
	for _, cmd := range rpc.Commands() {
		if records[schema.ResponsePrefix+cmd.Name] == "" {
			t.Errorf("no conversation shows a success of %s", cmd.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		t.Run(name, func(t *testing.T) { mutate(t, c, name, records[name]) })
	}
}

func mutate(t *testing.T, c *contract, name, line string) {
	decode := func() (record map[string]any) {
		if err := jsonx.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		return record
	}
	r, err := c.definition(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(decode()); err != nil {
		t.Fatalf("unchanged: %v\n%s", err, line)
	}
	def := c.root.Defs[name]
	for _, key := range def.Required {
		record := decode()
		delete(record, key)
		if r.Validate(record) == nil {
			t.Errorf("%s is missing, and nobody notices", key)
		}
	}
	if def.AdditionalProperties != nil {
		record := decode()
		record["surplus"] = 1
		if r.Validate(record) == nil {
			t.Error("there is a member more, and nobody notices")
		}
	} else if name != "event.extension_ui_request" {
		t.Error("the record is open")
	}
	for key, value := range decode() {
		if s := def.Properties[key]; s == nil || key == "id" || key == "args" || key == "entry" {
			continue // of any form
		}
		record := decode()
		record[key] = any(7.5)
		if _, ok := value.(float64); ok {
			record[key] = "x"
		}
		if r.Validate(record) == nil {
			t.Errorf("%s has another type, and nobody notices", key)
		}
	}
}
