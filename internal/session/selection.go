package session

import "github.com/isotope-agent/isotope/internal/llm"

// Selection is what the current branch says about model and thinking level, without
// its messages. Model is nil and Thinking "" when the branch does not say.
type Selection struct {
	Model         *ModelRef
	Thinking      llm.ThinkingLevel
	ContextWindow int64 // tokens; 0 when the branch does not say
	HasMessages   bool
}

// Selection reads what was chosen last on the current branch. It reads entries from
// the end and stops at what it looks for.
func (v *View) Selection() (Selection, error) {
	r := v.reader()
	defer r.close()
	var c Context
	path := v.branch()
	if err := v.choices(&c, path, r); err != nil {
		return Selection{}, err
	}
	s := Selection{Model: c.Model, ContextWindow: c.ContextWindow}
	if c.HasThinking {
		s.Thinking = llm.ThinkingLevel(c.Thinking)
	}
	for k := len(path) - 1; k >= 0 && !s.HasMessages; k-- {
		s.HasMessages = v.recs[path[k]].typ == typMessage
	}
	return s, nil
}
