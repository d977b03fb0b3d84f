package tool

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// The texts of calls that cannot run; the model sees them (pi-facts.md section 2).
const (
	textInvalidArguments = "Invalid arguments for tool \"%s\": %s"
	textValidationFailed = "Validation failed for tool \"%s\":\n%s\n\nReceived arguments:\n%s"
	textBadSchema        = "Tool \"%s\" has no usable schema: %v"
)

// Prepare checks the arguments of a call against the tool's schema and returns them
// coerced to it: the order of the members and unknown members are kept. The error's
// text names every fault and is meant for the model. The call is not changed.
//
// Compiled schemas are kept by their text. Prepare may be called concurrently.
func Prepare(spec llm.ToolSpec, call *llm.ToolCall) (jsonx.Raw, error) {
	if call.ArgumentsError != "" {
		return nil, fmt.Errorf(textInvalidArguments, spec.Name, call.ArgumentsError)
	}
	raw := call.Arguments
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = jsonx.Raw("{}")
	}
	s, err := schemas().get(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf(textBadSchema, spec.Name, err)
	}
	v, err := parseValue(raw)
	if err != nil {
		return nil, fmt.Errorf(textInvalidArguments, spec.Name, llm.ArgumentsFault(string(raw)))
	}
	c := checker{extra: 4 * len(raw)}
	if c.fits(v, s) {
		return raw, nil // coercion changes only what does not fit
	}
	c.steps = 0
	v = c.coerce(v, s)
	c.steps = 0
	if faults := c.check(v, s); len(faults) > 0 {
		return nil, fmt.Errorf(textValidationFailed, spec.Name, describe(faults), jsonx.Indent(raw))
	}
	return v.append(nil), nil
}

func describe(faults []fault) string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		path := "root"
		if len(f.path) > 0 {
			path = strings.Join(f.path, ".")
		}
		lines[i] = "  - " + path + ": " + f.message
	}
	return strings.Join(lines, "\n")
}
