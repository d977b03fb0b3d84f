package engine

import (
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
)

// fallback is a run on another model (setting fallbackModels; atomic-facts.md 7.5). The
// session's own comes back when the run settles.
type fallback struct {
	model    *llm.Model // the session's own
	thinking llm.ThinkingLevel
	now      *llm.Model // the one that answers
	tried    []string   // models that failed in this run
	attempt  int
	err      string // the failure of the last one that could be tried; "" while one answers
}

// fallbackModels returns the models of the setting that can be used, in order. thinking
// is for those that name no level.
func (e *Engine) fallbackModels(thinking llm.ThinkingLevel) (list []compact.Candidate) {
	for _, text := range e.cfg.Settings.FallbackModels() {
		if m, level, ok := e.usableModel(text, thinking); ok {
			list = append(list, compact.Candidate{Model: m, Thinking: level})
		}
	}
	return list
}

// usableModel returns the model that a setting names as provider/id[:level], when it is
// known and has a key. thinking is for one that names no level.
func (e *Engine) usableModel(text string, thinking llm.ThinkingLevel) (*llm.Model, llm.ThinkingLevel, bool) {
	provider, id, ok := model.Ref(text)
	if !ok {
		return nil, "", false
	}
	m, ok := e.cfg.Models.Find(provider, id)
	if at := strings.LastIndex(id, ":"); !ok && at >= 0 {
		if level := llm.ThinkingLevel(id[at+1:]); level.Valid() {
			thinking = level
			m, ok = e.cfg.Models.Find(provider, id[:at])
		}
	}
	if !ok || !e.cfg.Models.Usable(provider) {
		return nil, "", false
	}
	return m, m.ClampThinking(thinking), true
}

// passesOn reports whether another model may do better.
func passesOn(kind llm.ErrorKind) bool {
	switch kind {
	case llm.ErrTransient, llm.ErrRateLimit, llm.ErrTransport, llm.ErrQuota, llm.ErrAuth, llm.ErrBadRequest, llm.ErrOverflow:
		return true
	}
	return false
}

// planFallback looks for the model that takes a failed answer over, once trying again
// is no use. It is called on the run goroutine.
func (e *Engine) planFallback(r *activeRun, m *llm.AssistantMessage) (compact.Candidate, bool) {
	fault := faultOf(m)
	if fault == nil || !passesOn(fault.Kind) || r.ctx.Err() != nil || r.recovery.blocked != nil {
		if f := r.fallback; f != nil && fault != nil {
			f.err = fault.Message
		}
		return compact.Candidate{}, false
	}
	var (
		now      *llm.Model
		thinking llm.ThinkingLevel
		closing  bool
	)
	e.sync(func() { now, thinking, closing = e.model, e.thinking, e.closing })
	if now == nil || closing {
		return compact.Candidate{}, false
	}
	tried := []string{now.Ref()}
	if r.fallback != nil {
		tried = append(tried, r.fallback.tried...)
	}
	for _, c := range e.fallbackModels(thinking) {
		if !slices.Contains(tried, c.Model.Ref()) {
			return c, true
		}
	}
	if r.fallback != nil {
		r.fallback.err = fault.Message
	}
	return compact.Candidate{}, false
}

// fallBack goes on with another model. It reports whether it does.
func (e *Engine) fallBack(r *activeRun, failed *llm.AssistantMessage, c compact.Candidate) bool {
	f := r.fallback
	if f == nil {
		f = &fallback{}
		e.sync(func() { f.model, f.thinking = e.model, e.thinking })
		f.now = f.model
	}
	r.fallback = f
	f.attempt++
	f.tried = append(f.tried, f.now.Ref())
	e.emit(r, event.ModelFallbackStart{
		From: f.now.Ref(), To: c.Model.Ref(), Reason: faultOf(failed).Message, Attempt: f.attempt,
	})
	err := error(ErrShutdown)
	e.sync(func() {
		if r.ctx.Err() != nil {
			err = r.ctx.Err()
			return
		}
		e.dropAnswer(failed)
		err = e.switchModel(c.Model, c.Thinking, "fallback", false)
	})
	if err != nil {
		f.err = err.Error()
		return false
	}
	f.now = c.Model
	r.attempt = 0
	r.recovery.recovered = false
	return true
}

// restoreModel brings the session's own model back when a run that fell back settles. A
// model that a client chose meanwhile stays. It is called on the engine goroutine.
func (e *Engine) restoreModel(r *activeRun) {
	f := r.fallback
	if f == nil {
		return
	}
	r.fallback = nil
	if e.model != nil && e.model.Ref() == f.now.Ref() {
		if err := e.switchModel(f.model, f.thinking, "restore", false); err != nil {
			e.cfg.Report("restoring the model: " + err.Error())
		}
	}
	e.cfg.Output.Post(event.ModelFallbackEnd{
		Success: f.err == "", From: f.model.Ref(), To: f.now.Ref(), FinalError: f.err,
	})
}
