// Package tool owns what a tool is: its interface, a call, a result, the set of
// active tools, and the checking of arguments against a tool's schema.
//
// It must not know any particular tool, the loop that runs tools, or the client
// protocol. Tools may be run concurrently, also with themselves.
package tool

import (
	"context"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// A Tool can be called by a model.
type Tool interface {
	// Spec describes the tool to the model. It is called often and must be cheap.
	Spec() llm.ToolSpec
	// Run executes one call, on a goroutine of its own. Arguments were checked
	// against the spec. update may be called with the whole output so far, any number
	// of times, until Run returns. A returned error becomes an error result with the
	// error's text; an error of ctx means that the call was aborted.
	Run(ctx context.Context, call Call, update func(Result)) (Result, error)
}

// Prompted is implemented by tools that say something about themselves in the
// system prompt: a one-line snippet for the list of tools, and guidelines.
type Prompted interface {
	Snippet() string
	Guidelines() []string
}

// Sequential is implemented by tools whose calls must not run beside others: one
// such call makes its whole batch run one after the other.
type Sequential interface{ Sequential() bool }

// Opener is implemented by tools that show something before they have any output.
// The loop tells it before the call starts, so that the updates of calls that start
// together come in call order. ok false means that there is nothing to show.
type Opener interface {
	Opening() (res Result, ok bool)
}

// Call is one checked call of a tool.
type Call struct {
	ID   string
	Args jsonx.Raw // a JSON object
}

// Result is what a tool produced. Details and StructuredContent are tool-specific;
// the model sees Content only. IsError says that the tool itself reports a failure.
// Terminate asks to end the run when every result of the batch asks for it.
type Result struct {
	Content           llm.Content `json:"content"`
	Details           any         `json:"details,omitzero"`
	StructuredContent any         `json:"structuredContent,omitzero"`
	Usage             *llm.Usage  `json:"usage,omitzero"`
	Terminate         bool        `json:"terminate,omitzero"`
	IsError           bool        `json:"isError,omitzero"`
}

// TextResult returns a result of one text block.
func TextResult(text string) Result { return Result{Content: llm.Content{llm.NewText(text)}} }

// ErrorResult returns the result of a call that failed with text: one text block,
// empty details (pi-facts.md section 2).
func ErrorResult(text string) Result {
	return Result{Content: llm.Content{llm.NewText(text)}, Details: struct{}{}}
}

// Set is an ordered set of tools, looked up by name. It is immutable.
type Set struct {
	tools  []Tool
	byName map[string]Tool
}

// NewSet returns the set of tools; of two with one name the later wins the place of
// the earlier.
func NewSet(tools ...Tool) *Set {
	s := &Set{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		name := t.Spec().Name
		if _, dup := s.byName[name]; dup {
			for i, old := range s.tools {
				if old.Spec().Name == name {
					s.tools[i] = t
				}
			}
		} else {
			s.tools = append(s.tools, t)
		}
		s.byName[name] = t
	}
	return s
}

// Lookup returns the tool of that name.
func (s *Set) Lookup(name string) (Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// All returns the tools in order. The result must not be changed.
func (s *Set) All() []Tool { return s.tools }

// Specs returns the specs in order.
func (s *Set) Specs() []llm.ToolSpec {
	specs := make([]llm.ToolSpec, len(s.tools))
	for i, t := range s.tools {
		specs[i] = t.Spec()
	}
	return specs
}
