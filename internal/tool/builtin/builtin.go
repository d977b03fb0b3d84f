// Package builtin owns the tools that every session has: read, bash, edit, write,
// grep, find and ls, with the schemas, limits, notices and error texts of
// pi-facts.md section 5. Each tool is one file and one description for models
// beside it.
//
// It must not know the loop, the session or the client protocol; what it needs of
// them comes in through Config. Tools may be run concurrently, also with themselves:
// edits and writes of one file wait for each other, in call order.
package builtin

import (
	"context"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Config is what the file tools share. The zero value of every field but Cwd works.
type Config struct {
	Cwd  string // absolute; relative paths start here
	Home string // what ~ stands for; "" leaves ~ alone
	// Files keeps edits and writes of one file in order. Tools that may touch the
	// same files share one; nil gives the tool one of its own.
	Files *tool.Queue
	// Model returns the model that will see a picture, nil when there is none. read
	// reports one that takes no pictures.
	Model func() *llm.Model
	// KeepImageSize reports whether pictures are sent as large as they are (setting
	// images.autoResize off).
	KeepImageSize func() bool
}

// Builtin names one tool of this package.
type Builtin struct {
	Name    string
	Default bool // on unless the user chooses otherwise
}

// Names returns the tools in the order in which models see them.
func Names() []Builtin {
	return []Builtin{{"read", true}, {"bash", true}, {"edit", true}, {"write", true}, {"grep", false}, {"find", false}, {"ls", false}}
}

// about is what a tool says about itself; the tools embed it.
type about struct {
	spec       llm.ToolSpec
	snippet    string
	guidelines []string
}

func newAbout(name, description, schema, snippet string, guidelines ...string) about {
	spec := llm.ToolSpec{Name: name, Description: strings.TrimSpace(description), Parameters: jsonx.Raw(schema)}
	return about{spec, snippet, guidelines}
}

// strictly returns a tool whose arguments providers are to hold to its schema, where they
// can.
func (a about) strictly() about {
	a.spec.Sampling = llm.SamplingPrefer
	return a
}

// Spec implements tool.Tool.
func (a *about) Spec() llm.ToolSpec { return a.spec }

// Snippet implements tool.Prompted.
func (a *about) Snippet() string { return a.snippet }

// Guidelines implements tool.Prompted.
func (a *about) Guidelines() []string { return a.guidelines }

// aborted returns the cause of a cancelled context, nil when it is not.
func aborted(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// wholeNumber reads a count that a model may have sent as a fraction or not at all.
func wholeNumber(f *float64, absent int) int {
	const most = 1 << 53
	switch {
	case f == nil:
		return absent
	case *f >= most:
		return most
	case *f <= -most:
		return -most
	}
	n := int(*f)
	if float64(n) > *f {
		n--
	}
	return n
}
