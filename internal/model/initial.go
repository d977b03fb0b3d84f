package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts about the model at start (atomic-facts.md 1.3, 10.2, dialects.md).
const (
	// UnsupportedDefault refuses prompts while the saved default's provider is unknown.
	UnsupportedDefault = "Configured default model is unavailable or unsupported. Update defaultProvider/defaultModel or use /model."
	// NoModels is the warning at start, and the fallback message, when there is no model.
	NoModels = "No models available. Set an API key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, add a provider to models.json, or try the offline demo: --model scripted/demo."
	// NoModelSelected refuses prompts when there is no model.
	NoModelSelected = "No model selected.\n\nSet an API key such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or add a provider to models.json; then select a model with set_model or --model."

	msgNotRestored = "Could not restore model %s/%s"
	msgNoDefault   = "Could not find default model %s/%s"
	msgUsing       = "%s. Using %s/%s"
)

// Reasons that get_state gives beside a fallback message (atomic-facts.md 1.4).
const (
	ReasonSessionRestore      = "session-restore"
	ReasonUnsupportedProvider = "configured-provider-unsupported"
	ReasonNoModels            = "no-models-available"
)

// Start is what the choice of the first model depends on.
type Start struct {
	Flags Flags
	Scope []Scoped // of --models or enabledModels, resolved
	Saved Saved
	// What a resumed session says; HasMessages is false for new and empty ones.
	HasMessages     bool
	SessionProvider string
	SessionModel    string
	SessionThinking llm.ThinkingLevel // of its last thinking_level_change, "" without one
}

// Initial is the model to start with. Model is nil when there is none; Thinking is
// clamped to it.
type Initial struct {
	Model    *llm.Model
	Thinking llm.ThinkingLevel
	Warning  string // for stderr
	// FallbackMessage and FallbackReason say that another model than the wanted one is
	// used, or none (get_state). Either may be "".
	FallbackMessage string
	FallbackReason  string
	// Blocked, when not "", refuses prompts until another model is chosen.
	Blocked string
}

// Initial chooses the first model: flags, else (for a session without messages) the
// scope, else the model of the session, else the saved default, else the first known
// default of a provider with a key, else the first available model. The error is a
// start-up error about the flags.
func (r *Registry) Initial(s Start) (Initial, error) {
	sel, err := r.Resolve(s.Flags)
	if err != nil {
		return Initial{}, err
	}
	out := Initial{Model: sel.Model, Warning: sel.Warning}
	asked := cmp.Or(s.Flags.Thinking, sel.Thinking)
	if out.Model == nil && len(s.Scope) > 0 && !s.HasMessages {
		scoped := s.fromScope()
		out.Model, asked = scoped.Model, cmp.Or(asked, scoped.Thinking)
	}
	if out.Model == nil && s.HasMessages && s.SessionModel != "" {
		r.restore(s, &out)
	}
	if out.Model == nil {
		r.fallBack(s, &out)
	}
	out.Thinking = s.thinking(out.Model, asked)
	return out, nil
}

// fromScope returns the saved default when the scope has it, else its first model.
func (s Start) fromScope() Scoped {
	i := slices.IndexFunc(s.Scope, func(sc Scoped) bool {
		return sc.Model.Provider == s.Saved.Provider && sc.Model.ID == s.Saved.Model
	})
	return s.Scope[max(i, 0)]
}

func (s Start) thinking(m *llm.Model, asked llm.ThinkingLevel) llm.ThinkingLevel {
	if m == nil {
		return llm.ThinkingOff
	}
	level := asked
	if level == "" && s.HasMessages {
		level = cmp.Or(s.SessionThinking, s.Saved.Thinking, defaultLevel)
	}
	return m.ClampThinking(cmp.Or(level, s.Saved.modelThinking(m), s.Saved.Thinking, defaultLevel))
}

// restore takes the session's model, or says why not.
func (r *Registry) restore(s Start, out *Initial) {
	if m, ok := r.choose(s.SessionProvider, s.SessionModel); ok {
		out.Model = m
		return
	}
	out.FallbackMessage = fmt.Sprintf(msgNotRestored, s.SessionProvider, s.SessionModel)
	out.FallbackReason = ReasonSessionRestore
}

// choose finds a model that can be used. A scripted one counts as chosen explicitly.
func (r *Registry) choose(providerID, id string) (*llm.Model, bool) {
	m, ok := r.Find(providerID, id)
	if !ok || !r.Usable(providerID) {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(m)
	return m, true
}

// fallBack takes the saved default or any model there is, and completes the message
// of a restore that failed.
func (r *Registry) fallBack(s Start, out *Initial) {
	if saved := s.Saved; saved.Provider != "" && saved.Model != "" {
		m, ok := r.choose(saved.Provider, saved.Model)
		switch {
		case ok:
			out.Model = m
		case !r.Known(saved.Provider):
			out.Blocked = UnsupportedDefault
		case out.FallbackMessage == "":
			if _, exists := r.Find(saved.Provider, saved.Model); !exists {
				out.FallbackMessage = fmt.Sprintf(msgNoDefault, saved.Provider, saved.Model)
			}
		}
	}
	if out.Model == nil {
		out.Model = r.anyModel()
	}
	switch {
	case out.Blocked != "":
		out.FallbackMessage, out.FallbackReason = out.Blocked, ReasonUnsupportedProvider
	case out.Model == nil:
		out.FallbackMessage, out.FallbackReason = NoModels, ReasonNoModels
	case out.FallbackMessage != "":
		out.FallbackMessage = fmt.Sprintf(msgUsing, out.FallbackMessage, out.Model.Provider, out.Model.ID)
	}
}

// anyModel returns the default model of the first provider in preference that has
// one available, else the first available model, else nil.
func (r *Registry) anyModel() *llm.Model {
	available := r.Available()
	for _, d := range defaultModels() {
		for _, m := range available {
			if m.Provider == d.provider && m.ID == d.id {
				return m
			}
		}
	}
	if len(available) > 0 {
		return available[0]
	}
	return nil
}
