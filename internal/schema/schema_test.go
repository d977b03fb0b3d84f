package schema

import (
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
)

func document(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	d, ok := dialect.Named(name)
	if !ok {
		t.Fatalf("no dialect %q", name)
	}
	b, err := Document(d)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := jsonx.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// Every command and event has its definitions, every reference leads somewhere, and the
// root takes any record.
func TestDocument(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			s := document(t, name)
			for _, c := range rpc.Commands() {
				for _, def := range []string{CommandPrefix + c.Name, ResponsePrefix + c.Name} {
					if s.Defs[def] == nil {
						t.Errorf("there is no %s", def)
					}
				}
			}
			for _, e := range event.All() {
				if s.Defs[EventPrefix+e.Kind()] == nil {
					t.Errorf("there is no event %s", e.Kind())
				}
			}
			r, err := s.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{
				`{"type":"prompt","message":"hi","id":7}`,
				`{"type":"agent_settled","aborted":false}`,
				`{"type":"response","command":"parse","success":false,"error":"e"}`,
			} {
				if err := r.Validate(decoded(t, line)); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			for _, line := range []string{
				`{"type":"prompt"}`, `{"type":"agent_settled"}`, `{"type":"nobody_knows"}`, `[]`,
				`{"type":"response","command":"abort","success":true,"error":"e"}`,
			} {
				if r.Validate(decoded(t, line)) == nil {
					t.Errorf("%s is taken", line)
				}
			}
		})
	}
}

func decoded(t *testing.T, line string) (v any) {
	t.Helper()
	if err := jsonx.Unmarshal([]byte(line), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What the dialects answer differently is different in their schemas.
func TestSplitAnswers(t *testing.T) {
	state := func(model string) string {
		return `{"type":"response","command":"get_state","success":true,"data":{` + model + `"thinkingLevel":"off","isStreaming":false,
		"isCompacting":false,"steeringMode":"all","followUpMode":"all","sessionId":"s","autoCompactionEnabled":true,"messageCount":0,
		"pendingMessageCount":0,"queuedMessagesPaused":false}}`
	}
	end := func(result string) string {
		return `{"type":"compaction_end","reason":"manual",` + result + `"aborted":true,"willRetry":false}`
	}
	for _, tt := range []struct {
		name, line string
		pi, atomic bool
	}{
		{"no model, null", state(`"model":null,`), false, true},
		{"no model, left out", state(""), true, false},
		{"no result, null", end(`"result":null,`), false, true},
		{"no result, left out", end(""), true, false},
		{"a result", end(`"result":{"summary":"s","firstKeptEntryId":"e","tokensBefore":9,"estimatedTokensAfter":1},`), true, true},
	} {
		for name, want := range map[string]bool{dialect.Pi: tt.pi, dialect.Atomic: tt.atomic, dialect.Isotope: tt.atomic} {
			r, err := document(t, name).Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Validate(decoded(t, tt.line)); (err == nil) != want {
				t.Errorf("%s, dialect %s: taken is %v, want %v: %v", tt.name, name, err == nil, want, err)
			}
		}
	}
}
