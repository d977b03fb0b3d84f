package engine

import (
	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Stats is what get_session_stats shows: counts and usage of the whole file, every
// branch, and the size of the active context.
type Stats struct {
	SessionFile string `json:"sessionFile,omitzero"`
	SessionID   string `json:"sessionId"`
	session.Stats
	ContextUsage *ContextUsage `json:"contextUsage,omitzero"`
}

// ContextUsage is the size of the active context in tokens. Tokens and Percent are
// null right after a compaction, until an answer reports usage again.
type ContextUsage struct {
	Tokens        *int64   `json:"tokens"`
	ContextWindow int64    `json:"contextWindow"`
	Percent       *float64 `json:"percent"`
}

// Stats replies with the statistics of the session. They are counted beside the
// engine, from a snapshot.
func (e *Engine) Stats(reply func(Stats, error)) {
	ok := e.post(func() {
		if e.closing {
			reply(Stats{}, ErrShutdown)
			return
		}
		view, model, id, path := e.store.View(), e.model, e.store.ID(), e.store.Path()
		e.goDo(func() {
			s, err := try(e, func() (s Stats, err error) {
				s = Stats{SessionFile: path, SessionID: id}
				if s.Stats, err = view.Stats(); err == nil && model != nil && model.ContextWindow > 0 {
					s.ContextUsage, err = e.contextUsage(model)
				}
				return s, err
			})
			e.post(func() { reply(s, err) })
		})
	})
	if !ok {
		reply(Stats{}, ErrShutdown)
	}
}

// contextUsage estimates the active context. It may read the session.
func (e *Engine) contextUsage(m *llm.Model) (*ContextUsage, error) {
	msgs, err := e.conversationMessages()
	if err != nil {
		return nil, err
	}
	u := &ContextUsage{ContextWindow: m.ContextWindow}
	if freshlyCompacted(msgs) {
		return u, nil
	}
	tokens := compact.ContextTokens(msgs)
	percent := float64(tokens) / float64(m.ContextWindow) * 100
	u.Tokens, u.Percent = &tokens, &percent
	return u, nil
}

// freshlyCompacted reports whether no answer has reported usage since the newest
// compaction boundary.
func freshlyCompacted(msgs []llm.Message) bool {
	since, ok := boundaryTime(msgs)
	if !ok {
		return false
	}
	for _, m := range msgs[1:] {
		if a, ok := m.(*llm.AssistantMessage); ok && !a.Failed() && a.Timestamp >= since && compact.UsageTokens(a.Usage, a.API) > 0 {
			return false
		}
	}
	return true
}

// boundaryTime returns the time of the compaction boundary that a context begins with.
func boundaryTime(msgs []llm.Message) (ms int64, ok bool) {
	if len(msgs) == 0 {
		return 0, false
	}
	switch m := msgs[0].(type) {
	case *llm.CompactionSummaryMessage:
		return m.Timestamp, true
	case *llm.CustomMessage:
		return m.Timestamp, m.CustomType == session.BoundaryType
	}
	return 0, false
}
