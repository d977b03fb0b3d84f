// Package schematest checks records against the contract of a dialect, as a client would
// that was made from "isotope schema". It owns the validator; it must not know what a
// record means. It is for tests.
//
// All functions may be called concurrently.
package schematest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/schema"
)

// A Contract validates records against the schema of a dialect.
type Contract struct {
	Root jsonschema.Schema

	mu    sync.Mutex
	ready map[string]*jsonschema.Resolved // by what they validate
}

var made sync.Map // name of a dialect: func() (*Contract, error)

// Of returns the contract of a dialect.
func Of(t testing.TB, d dialect.Dialect) *Contract {
	t.Helper()
	once, _ := made.LoadOrStore(d.Name, sync.OnceValues(func() (*Contract, error) { return newContract(d) }))
	c, err := once.(func() (*Contract, error))()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newContract(d dialect.Dialect) (*Contract, error) {
	doc, err := schema.Document(d)
	if err != nil {
		return nil, err
	}
	c := &Contract{ready: map[string]*jsonschema.Resolved{}}
	if err := jsonx.Unmarshal(doc, &c.Root); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return c, nil
}

// big is the size from which of equal lines one is checked.
const big = 1 << 20

// Lines checks every line that a server wrote.
func Lines(t testing.TB, d dialect.Dialect, out string) {
	t.Helper()
	c := Of(t, d)
	last := "" // big one, without its id
	for line := range strings.Lines(out) {
		if len(line) > big {
			_, rest, _ := strings.Cut(line[:100], `"type"`)
			if rest += line[100:]; rest == last {
				continue
			}
			last = rest
		}
		if err := c.Check(line); err != nil {
			t.Errorf("against the schema: %v\n%.600s", err, line)
		}
	}
}

// Check says what is wrong with a line of a server.
func (c *Contract) Check(line string) error {
	var record map[string]any
	if err := jsonx.Unmarshal([]byte(line), &record); err != nil {
		return err
	}
	return c.Validate(Name(record), record)
}

// Name returns the name of the definition of a record that a server wrote.
func Name(record map[string]any) string {
	switch {
	case record["type"] == "response" && record["success"] == true:
		return schema.ResponsePrefix + fmt.Sprint(record["command"])
	case record["type"] == "response":
		return schema.ResponsePrefix + schema.FailedResponse
	case record["type"] == "message_update" && record["message"] != nil:
		return schema.SnapshotEvent
	case record["type"] == "extension_ui_request":
		return schema.UIPrefix + fmt.Sprint(record["method"])
	}
	return schema.EventPrefix + fmt.Sprint(record["type"])
}

// Validate says what is wrong with a value, by the name of its definition.
func (c *Contract) Validate(name string, v any) error {
	if c.Root.Defs[name] == nil {
		return fmt.Errorf("the schema has no %s", name)
	}
	r, err := c.resolved(name, &jsonschema.Schema{Ref: "#/$defs/" + name})
	if err != nil {
		return err
	}
	return r.Validate(v)
}

// resolved returns a schema with all that it may refer to, made once by key.
func (c *Contract) resolved(key string, s *jsonschema.Schema) (*jsonschema.Resolved, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.ready[key]; r != nil {
		return r, nil
	}
	needed := map[string]*jsonschema.Schema{} // resolving takes time
	c.reach(s, needed)
	r, err := (&jsonschema.Schema{Schema: c.Root.Schema, AllOf: []*jsonschema.Schema{s.CloneSchemas()}, Defs: needed}).Resolve(nil)
	if err == nil {
		c.ready[key] = r
	}
	return r, err
}

// reach collects the definitions that a schema refers to.
func (c *Contract) reach(s *jsonschema.Schema, found map[string]*jsonschema.Schema) {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok && found[name] == nil {
		found[name] = c.Root.Defs[name]
		c.reach(found[name], found)
	}
	for _, list := range [][]*jsonschema.Schema{s.AnyOf, {s.Items, s.AdditionalProperties, s.Not}, slices.Collect(maps.Values(s.Properties))} {
		for _, inner := range list {
			if inner != nil {
				c.reach(inner, found)
			}
		}
	}
}
