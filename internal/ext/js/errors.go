package js

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"modernc.org/quickjs"
)

// An Error is what a script threw. Stack has one frame a line, with positions in the
// extension's own files.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Code    string `json:"code,omitzero"`
	Stack   string `json:"stack,omitzero"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Full returns name, message and stack as Node shows them.
func (e *Error) Full() string {
	head := e.Message
	if e.Name != "" {
		head = e.Name + ": " + head
	}
	if e.Stack == "" {
		return head
	}
	return head + "\n" + strings.TrimRight(e.Stack, "\n")
}

// frame finds positions in scripts.
var frame = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(ext:[^\s():]+):(\d+)(?::(\d+))?`) })

// mapStack rewrites positions in scripts to positions in the extension's files and
// leaves the host's own frames out.
func (s *state) mapStack(stack string) string {
	if stack == "" {
		return ""
	}
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(stack, "\n"), "\n") {
		if strings.Contains(line, "<eval>") || strings.Contains(line, "(native)") {
			continue
		}
		out = append(out, frame().ReplaceAllStringFunc(line, s.mapPlace))
	}
	return strings.Join(out, "\n")
}

func (s *state) mapPlace(place string) string {
	m := frame().FindStringSubmatch(place)
	r := s.maps[m[1]]
	if r == nil {
		return place
	}
	line, _ := strconv.Atoi(m[2])
	col, _ := strconv.Atoi(m[3])
	pos, ok := r.Find(line, max(col, 1))
	if !ok {
		return place
	}
	return position(pos)
}

func position(p bundle.Position) string {
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// mapped makes the engine's errors Errors.
func (r *Runtime) mapped(err error) error {
	var e *quickjs.Error
	if !errors.As(err, &e) {
		return err
	}
	name, message := e.Name, e.Message
	if name == "" && message == "" {
		message = e.Error()
	}
	return &Error{Name: name, Message: message, Stack: r.mapStack(e.Stack)}
}
