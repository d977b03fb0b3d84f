package google

import (
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// partialArg is a piece of streamed arguments: a value, or a piece of a text, and the
// JSON path where it belongs.
type partialArg struct {
	Path   lax       `json:"jsonPath"`
	Text   optional  `json:"stringValue"`
	Number jsonx.Raw `json:"numberValue"`
	Bool   jsonx.Raw `json:"boolValue"`
}

// value returns what a piece sets where it is no text.
func (p *partialArg) value() jsonx.Raw {
	switch {
	case p.Number.Kind() == '0':
		return p.Number
	case p.Bool.Kind() == 't' || p.Bool.Kind() == 'f':
		return p.Bool
	}
	return jsonx.Raw("null")
}

// node is a value of arguments under construction: a text, another scalar, an object
// or an array.
type node struct {
	text  []byte // nil: no text
	raw   jsonx.Raw
	names []string
	named map[string]*node
	list  []*node
}

// maxIndex bounds the indexes of arrays: a path must not ask for more memory than the
// stream has bytes.
const maxIndex = 1 << 16

// set puts a piece in its place. Pieces without a usable path are left out.
func (n *node) set(p *partialArg) {
	steps, ok := parsePath(string(p.Path))
	if !ok {
		return
	}
	for _, st := range steps {
		if n = n.child(st); n == nil {
			return
		}
	}
	if p.Text.set {
		if n.text == nil {
			n.text = []byte{}
		}
		n.text = append(n.text, p.Text.value...)
		return
	}
	n.raw = p.value().Clone()
}

// step is one step of a path: a name, or an index when name is empty.
type step struct {
	name  string
	index int
}

// child returns the node of a step, made when it is missing, nil for an index that is
// far behind the end.
func (n *node) child(st step) *node {
	if st.index < 0 {
		if n.named == nil {
			n.named = map[string]*node{}
		}
		c := n.named[st.name]
		if c == nil {
			c = &node{}
			n.named[st.name] = c
			n.names = append(n.names, st.name)
		}
		return c
	}
	if st.index > len(n.list)+64 || st.index > maxIndex {
		return nil
	}
	for len(n.list) <= st.index {
		n.list = append(n.list, &node{})
	}
	return n.list[st.index]
}

// append appends the node's JSON.
func (n *node) append(dst []byte) []byte {
	switch {
	case n.named != nil:
		dst = append(dst, '{')
		for i, name := range n.names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, jsonx.String(name)...), ':')
			dst = n.named[name].append(dst)
		}
		return append(dst, '}')
	case n.list != nil:
		dst = append(dst, '[')
		for i, c := range n.list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c.append(dst)
		}
		return append(dst, ']')
	case n.text != nil:
		return append(dst, jsonx.String(string(n.text))...)
	case n.raw != nil:
		return append(dst, n.raw...)
	}
	return append(dst, "null"...)
}

// maxSteps bounds the depth of a path.
const maxSteps = 200

// parsePath reads a path like $.a[0].b or $['a'][0]["b"].
func parsePath(path string) (steps []step, ok bool) {
	rest, ok := strings.CutPrefix(path, "$")
	for ok && rest != "" && len(steps) < maxSteps {
		var st step
		if st, rest, ok = nextStep(rest); ok {
			steps = append(steps, st)
		}
	}
	return steps, ok && rest == "" && len(steps) > 0 && steps[0].index < 0
}

func nextStep(path string) (st step, rest string, ok bool) {
	if name, ok := strings.CutPrefix(path, "."); ok {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		return step{name[:end], -1}, name[end:], end > 0
	}
	inner, ok := strings.CutPrefix(path, "[")
	if !ok || inner == "" {
		return step{}, "", false
	}
	if quote := inner[:1]; quote == "'" || quote == `"` {
		name, rest, ok := strings.Cut(inner[1:], quote+"]")
		return step{name, -1}, rest, ok
	}
	digits, rest, ok := strings.Cut(inner, "]")
	n, err := strconv.Atoi(digits)
	return step{"", n}, rest, ok && err == nil && n >= 0
}
