package compact

import (
	"maps"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Files are the files that a conversation touched, sorted. One that was read and
// modified is in ModifiedFiles only. They are the details of summaries (seed 003).
type Files struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

// section returns the lists as the end of a summary, "" when both are empty.
func (f Files) section() string {
	var b []byte
	for _, list := range []struct {
		name  string
		files []string
	}{{"read-files", f.ReadFiles}, {"modified-files", f.ModifiedFiles}} {
		if len(list.files) == 0 {
			continue
		}
		b = append(b, "\n\n<"+list.name+">\n"...)
		for _, file := range list.files {
			b = append(b, file+"\n"...)
		}
		b = append(b, "</"+list.name+">"...)
	}
	return string(b)
}

// fileSet collects files.
type fileSet struct{ read, modified map[string]bool }

func newFileSet() *fileSet { return &fileSet{map[string]bool{}, map[string]bool{}} }

// touchedFiles returns the files of a previous boundary and of messages.
func touchedFiles(previous *session.SpanEntry, msgs []llm.Message) Files {
	s := newFileSet()
	if previous != nil {
		s.carry(previous)
	}
	for _, m := range msgs {
		s.add(m)
	}
	return s.files()
}

// carry adds the lists of an earlier summary. Those of extensions are their own
// business.
func (s *fileSet) carry(e *session.SpanEntry) {
	if e.FromHook || len(e.Details) == 0 {
		return
	}
	var details struct {
		ReadFiles     jsonx.Raw `json:"readFiles"`
		ModifiedFiles jsonx.Raw `json:"modifiedFiles"`
	}
	if jsonx.Unmarshal(e.Details, &details) != nil {
		return
	}
	for _, part := range []struct {
		raw jsonx.Raw
		to  map[string]bool
	}{{details.ReadFiles, s.read}, {details.ModifiedFiles, s.modified}} {
		var list []string
		if jsonx.Unmarshal(part.raw, &list) == nil {
			for _, f := range list {
				part.to[f] = true
			}
		}
	}
}

// add adds the files of a message's tool calls.
func (s *fileSet) add(m llm.Message) {
	a, ok := m.(*llm.AssistantMessage)
	if !ok {
		return
	}
	for _, block := range a.Content {
		c, ok := block.(*llm.ToolCall)
		if !ok {
			continue
		}
		switch c.Name {
		case "read":
			s.mark(s.read, c)
		case "write", "edit":
			s.mark(s.modified, c)
		}
	}
}

func (s *fileSet) mark(set map[string]bool, c *llm.ToolCall) {
	var args struct {
		Path jsonx.Raw `json:"path"`
	}
	var path string
	if jsonx.Unmarshal(c.Arguments, &args) == nil && jsonx.Unmarshal(args.Path, &path) == nil && path != "" {
		set[path] = true
	}
}

func (s *fileSet) files() Files {
	for f := range s.modified {
		delete(s.read, f)
	}
	return Files{slices.Sorted(maps.Keys(s.read)), slices.Sorted(maps.Keys(s.modified))}
}
