package rpc_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/schema"
)

// contract validates records against the schema of a dialect.
type contract struct {
	root jsonschema.Schema

	mu    sync.Mutex
	ready map[string]*jsonschema.Resolved // by definition
}

var contracts = struct {
	sync.Mutex
	made map[string]*contract
}{made: map[string]*contract{}}

func contractOf(t testing.TB, d dialect.Dialect) *contract {
	t.Helper()
	contracts.Lock()
	defer contracts.Unlock()
	if c := contracts.made[d.Name]; c != nil {
		return c
	}
	doc, err := schema.Document(d)
	if err != nil {
		t.Fatal(err)
	}
	c := &contract{ready: map[string]*jsonschema.Resolved{}}
	if err := jsonx.Unmarshal(doc, &c.root); err != nil {
		t.Fatalf("reading the schema: %v", err)
	}
	contracts.made[d.Name] = c
	return c
}

// definition returns what a record is checked against.
func (c *contract) definition(name string) (*jsonschema.Resolved, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.ready[name]; r != nil {
		return r, nil
	}
	if c.root.Defs[name] == nil {
		return nil, fmt.Errorf("the schema has no %s", name)
	}
	needed := map[string]*jsonschema.Schema{name: c.root.Defs[name]} // resolving takes time
	for other, def := range c.root.Defs {
		if family, _, _ := strings.Cut(other, "."); family != "command" && family != "response" && family != "event" {
			needed[other] = def
		}
	}
	s := jsonschema.Schema{Schema: c.root.Schema, Ref: "#/$defs/" + name, Defs: needed}
	r, err := s.Resolve(nil)
	if err == nil {
		c.ready[name] = r
	}
	return r, err
}

// definitionOf names the definition of a line that the server wrote.
func definitionOf(record map[string]any) string {
	switch {
	case record["type"] != "response":
		return schema.EventPrefix + fmt.Sprint(record["type"])
	case record["success"] == true:
		return schema.ResponsePrefix + fmt.Sprint(record["command"])
	}
	return schema.ResponsePrefix + schema.FailedResponse
}

// check says what is wrong with a line.
func (c *contract) check(line string) error {
	var record map[string]any
	if err := jsonx.Unmarshal([]byte(line), &record); err != nil {
		return err
	}
	r, err := c.definition(definitionOf(record))
	if err != nil {
		return err
	}
	return r.Validate(record)
}

// checkSchema validates every line that a server wrote.
func checkSchema(t testing.TB, d dialect.Dialect, out string) {
	t.Helper()
	c := contractOf(t, d)
	for line := range strings.Lines(out) {
		if err := c.check(line); err != nil {
			t.Errorf("against the schema: %v\n%.600s", err, line)
		}
	}
}
