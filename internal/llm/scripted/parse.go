package scripted

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Parse decodes and checks a script (docs/scripted.md). The error names the place of
// the first fault: a member that is unknown, mistyped or missing, a step that does
// nothing or two things, a template that does not compile.
func Parse(data []byte) (*Script, error) {
	data, err := plain(data)
	if err != nil {
		return nil, err
	}
	s := &Script{}
	if err := jsonx.Unmarshal(data, s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	for i, t := range s.Turns {
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("turns[%d]: %w", i, err)
		}
		if err := s.Add(t); err != nil {
			return nil, fmt.Errorf("turns[%d]: %w", i, err)
		}
	}
	return s, nil
}

// Add files a turn behind those that the script has. It is how a script grows that
// is being recorded; the turn must not be changed afterwards. Parse's scripts are
// complete.
func (s *Script) Add(t *Turn) error {
	switch {
	case t.Retry && t.conditional():
		return errors.New("retry goes with no condition")
	case t.Retry && s.last == nil:
		return errors.New("retry has no turn before it")
	case t.Retry:
		s.last.turns = append(s.last.turns, t)
		return nil
	}
	s.last = &place{turns: []*Turn{t}}
	if t.conditional() {
		s.rules = append(s.rules, s.last)
	} else {
		s.ordered = append(s.ordered, s.last)
	}
	return nil
}

func (s *Script) check() error {
	if err := unknown(s.Unknown); err != nil {
		return err
	}
	switch {
	case s.Turns == nil:
		return errors.New("turns is missing")
	case len(s.Turns) == 0:
		return errors.New("turns is empty")
	case !slices.Contains([]string{"", EndError, EndRepeat, EndLoop}, s.OnEnd):
		return fmt.Errorf("onEnd is %q: want error, repeat or loop", s.OnEnd)
	case s.ChunkSize < 0 || s.DelayMs < 0:
		return errors.New("chunkSize and delayMs must not be negative")
	}
	if s.Model != nil {
		if err := unknown(s.Model.Unknown); err != nil {
			return fmt.Errorf("model: %w", err)
		}
		if s.Model.ContextWindow < 0 || s.Model.MaxTokens < 0 {
			return errors.New("model: contextWindow and maxTokens must not be negative")
		}
	}
	return s.Usage.check()
}

// conditional reports whether the turn is chosen by a condition.
func (t *Turn) conditional() bool {
	return t.Match != nil || t.Turn != nil || t.AfterTool != "" || t.Result != nil || t.ToolFailed != nil || t.HasTool != ""
}

var stopReasons = []llm.StopReason{"", llm.StopEnd, llm.StopLength, llm.StopToolUse}

func (t *Turn) check() error {
	if err := unknown(t.Unknown); err != nil {
		return err
	}
	switch {
	case t.Steps == nil:
		return errors.New("steps is missing")
	case !slices.Contains(stopReasons, t.StopReason):
		return fmt.Errorf("stopReason is %q: want stop, length or toolUse (an error is a step)", t.StopReason)
	case (t.Result != nil || t.ToolFailed != nil) && t.AfterTool == "":
		return errors.New(`result and toolFailed go with afterTool ("*" is any tool)`)
	}
	if err := t.Usage.check(); err != nil {
		return err
	}
	var open []blockKinds // of the blocks so far; zero for one that has ended
	for i, st := range t.Steps {
		if st == nil {
			return fmt.Errorf("steps[%d]: null is no step", i)
		}
		err := st.check(t.Verbatim)
		if err == nil {
			open, err = st.blocks(open)
		}
		if err != nil {
			return fmt.Errorf("steps[%d]: %w", i, err)
		}
	}
	return nil
}

// blocks checks the blocks that a step names and returns the blocks after it.
func (st *Step) blocks(open []blockKinds) ([]blockKinds, error) {
	var kinds blockKinds
	switch {
	case st.Text != nil:
		kinds = textKinds()
	case st.Thinking != nil:
		kinds = thinkingKinds()
	case st.ToolCall != nil:
		kinds = callKinds()
	case st.Repeat != nil && st.Repeat.Thinking:
		kinds = thinkingKinds()
	case st.Repeat != nil:
		kinds = textKinds()
	case st.End != nil:
		if n := *st.End; n < 0 || n >= len(open) || open[n] == (blockKinds{}) {
			return nil, fmt.Errorf("end: block %d is not open", n)
		}
		open[*st.End] = blockKinds{}
		return open, nil
	default:
		if st.Open || st.Block != nil {
			return nil, errors.New("open and block go with text, thinking, toolCall and repeat")
		}
		return open, nil
	}
	at := len(open)
	if st.Block == nil {
		open = append(open, kinds)
	} else if at = *st.Block; at < 0 || at >= len(open) || open[at] != kinds {
		return nil, fmt.Errorf("block %d is not an open block of this type", at)
	}
	if !st.Open {
		open[at] = blockKinds{}
	}
	return open, nil
}

// check checks a step and compiles its templates.
func (st *Step) check(verbatim bool) error {
	if err := unknown(st.Unknown); err != nil {
		return err
	}
	kinds := 0
	for _, set := range []bool{st.Thinking != nil, st.Text != nil, st.ToolCall != nil, st.Repeat != nil, st.Meta != nil, st.Error != nil, st.Hang, st.End != nil} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return errors.New("a step does one thing: split it")
	case kinds == 0 && st.DelayMs == 0:
		return errors.New("a step needs one of thinking, text, toolCall, repeat, meta, error, hang, end, delayMs")
	case st.DelayMs < 0 || st.ChunkSize < 0:
		return errors.New("delayMs and chunkSize must not be negative")
	}
	if err := st.checkParts(); err != nil {
		return err
	}
	return st.compile(verbatim)
}

func (st *Step) checkParts() error {
	if c := st.ToolCall; c != nil {
		switch {
		case unknown(c.Unknown) != nil:
			return fmt.Errorf("toolCall: %w", unknown(c.Unknown))
		case c.Name == "" && st.Block == nil && !st.Open && c.EndName == "":
			return errors.New("toolCall: name is missing")
		case c.Arguments != nil && c.RawArguments != nil:
			return errors.New("toolCall: arguments and rawArguments exclude each other")
		}
	}
	if r := st.Repeat; r != nil {
		switch {
		case unknown(r.Unknown) != nil:
			return fmt.Errorf("repeat: %w", unknown(r.Unknown))
		case r.Count < 1:
			return errors.New("repeat: count must be at least 1")
		case (r.Text == "") == (r.Bytes == 0) || r.Bytes < 0:
			return errors.New("repeat: want either text or bytes")
		}
	}
	if m := st.Meta; m != nil {
		if err := unknown(m.Unknown); err != nil {
			return fmt.Errorf("meta: %w", err)
		}
		if err := m.Usage.check(); err != nil {
			return fmt.Errorf("meta: %w", err)
		}
	}
	if e := st.Error; e != nil {
		return e.check()
	}
	return nil
}

var errorKinds = []llm.ErrorKind{
	"", llm.ErrTransient, llm.ErrRateLimit, llm.ErrQuota, llm.ErrAuth, llm.ErrOverflow,
	llm.ErrBadRequest, llm.ErrTransport, llm.ErrRefusal, llm.ErrUnknown,
}

func (e *Error) check() error {
	switch {
	case unknown(e.Unknown) != nil:
		return fmt.Errorf("error: %w", unknown(e.Unknown))
	case !slices.Contains(errorKinds, e.Kind):
		return fmt.Errorf("error: kind %q is unknown", e.Kind)
	case e.Times < 0 || e.RetryAfterMs < 0 || e.Status < 0:
		return errors.New("error: status, times and retryAfterMs must not be negative")
	}
	return nil
}

func (u *Usage) check() error {
	if u == nil {
		return nil
	}
	if err := unknown(u.Unknown); err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	return nil
}

// compile prepares the templates of the step's text or arguments.
func (st *Step) compile(verbatim bool) error {
	var texts Pieces
	switch {
	case st.Text != nil:
		texts = *st.Text
	case st.Thinking != nil:
		texts = *st.Thinking
	case st.ToolCall != nil && st.ToolCall.RawArguments != nil:
		texts, verbatim = *st.ToolCall.RawArguments, true
	case st.ToolCall != nil && st.ToolCall.Arguments != nil:
		raw, err := jsonx.Compact(st.ToolCall.Arguments)
		if err != nil {
			return fmt.Errorf("toolCall: arguments: %w", err)
		}
		t, err := compileJSON(raw, verbatim)
		if err != nil {
			return fmt.Errorf("toolCall: arguments: %w", err)
		}
		st.pieces = []template{t}
	}
	for _, text := range texts {
		t := template{{literal: text}}
		if !verbatim {
			var err error
			if t, err = compile(text); err != nil {
				return err
			}
		}
		st.pieces = append(st.pieces, t)
	}
	return nil
}

// unknown names the first member of raw, which holds the members that a format does
// not have.
func unknown(raw jsonx.Raw) error {
	var members map[string]jsonx.Raw
	if len(raw) == 0 || jsonx.Unmarshal(raw, &members) != nil || len(members) == 0 {
		return nil
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	return fmt.Errorf("unknown member %q", slices.Min(names))
}
