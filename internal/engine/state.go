package engine

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/trust"
)

// State is what get_state shows (seeds/000, atomic-facts.md 1.4). Model is nil when
// there is none: how that is written is the dialect's business.
type State struct {
	Model                 *llm.Model        `json:"model,omitzero"`
	ModelFallbackMessage  string            `json:"modelFallbackMessage,omitzero"`
	ModelFallbackReason   string            `json:"modelFallbackReason,omitzero"`
	ThinkingLevel         llm.ThinkingLevel `json:"thinkingLevel"`
	IsStreaming           bool              `json:"isStreaming"`
	IsCompacting          bool              `json:"isCompacting"`
	CompactionReason      string            `json:"compactionReason,omitzero"`
	SteeringMode          QueueMode         `json:"steeringMode"`
	FollowUpMode          QueueMode         `json:"followUpMode"`
	SessionFile           string            `json:"sessionFile,omitzero"`
	SessionID             string            `json:"sessionId"`
	SessionName           jsonx.Str         `json:"sessionName,omitzero"`
	AutoCompactionEnabled bool              `json:"autoCompactionEnabled"`
	MessageCount          int               `json:"messageCount"`
	PendingMessageCount   int               `json:"pendingMessageCount"`
	QueuedMessagesPaused  bool              `json:"queuedMessagesPaused"`
	Untrusted             []trust.Resource  `json:"untrusted,omitzero"` // what the project has that is left out
}

// State replies with the state of the session as it is now. It never waits.
func (e *Engine) State(reply func(State, error)) {
	ask(e, true, reply, func() (State, error) {
		v := e.store.View()
		count, err := v.MessageCount()
		if err != nil { // the state is asked for most when something is wrong
			e.cfg.Report("counting the messages: " + err.Error())
		}
		s := State{
			Model:                 e.model,
			ModelFallbackMessage:  e.chosen.FallbackMessage,
			ModelFallbackReason:   e.chosen.FallbackReason,
			ThinkingLevel:         e.thinking,
			IsStreaming:           e.run != nil,
			IsCompacting:          e.comp.reason() != "",
			CompactionReason:      e.comp.reason(),
			SteeringMode:          e.queues.steeringMode,
			FollowUpMode:          e.queues.followUpMode,
			SessionFile:           e.store.Path(),
			SessionID:             e.store.ID(),
			SessionName:           jsonx.Str(v.Name()),
			AutoCompactionEnabled: e.autoCompact,
			MessageCount:          count,
			PendingMessageCount:   e.queues.len(),
			QueuedMessagesPaused:  e.queues.paused && !e.closing,
			Untrusted:             e.cfg.Untrusted(),
		}
		return s, nil
	})
}
