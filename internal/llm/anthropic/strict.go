package anthropic

import (
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// strictRule returns what strict tools may be. More of them, or more optional members in
// all, make the provider reject the request.
func strictRule(on bool) llm.StrictRule {
	return llm.StrictRule{On: on, Refuses: refused, Tools: 20, Options: 16}
}

// refused reports the members of a strict schema for which the provider rejects the whole
// request.
func refused(name string, value jsonx.Raw) bool {
	switch name {
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems", "uniqueItems",
		"minContains", "maxContains", "minProperties", "maxProperties":
		return true
	case "minItems":
		return string(value) != "0" && string(value) != "1"
	case "format":
		formats := []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
		return !slices.Contains(formats, plain(value))
	}
	return false
}
