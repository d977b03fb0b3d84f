package openai

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// thinking sets the members that switch reasoning on or off (providers.md, "Thinking
// switches"). maxTokens is the cap of the whole answer.
type thinking struct {
	model  *llm.Model
	compat *compat
	level  llm.ThinkingLevel // off when the model is not to reason
	budget int64             // tokens for reasoning, 0 for no cap
}

func thinkingOf(req *llm.Request, c *compat, maxTokens int64) thinking {
	t := thinking{model: req.Model, compat: c, level: req.Thinking}
	if t.level == "" || !req.Model.Reasoning {
		t.level = llm.ThinkingOff
	}
	if t.on() {
		t.budget = max(0, min(t.level.Budget(), maxTokens-minAnswer))
	}
	return t
}

// minAnswer is what a reasoning budget leaves for the answer, in tokens.
const minAnswer = 1024

func (t thinking) on() bool { return t.level != llm.ThinkingOff }

// effort is the level in the model's words; for off it is "" unless the model has a
// word for that. offForbidden says that the model cannot be told not to reason.
func (t thinking) effort() (effort string, offForbidden bool) {
	word, named := t.model.ThinkingLevelMap[t.level]
	switch {
	case word != nil:
		return *word, false
	case t.on():
		return string(t.level), false
	}
	return "", named
}

// named is the effort for formats that send one only where the model's map does not
// exclude the level.
func (t thinking) named() string {
	if word, named := t.model.ThinkingLevelMap[t.level]; named && word == nil {
		return ""
	}
	effort, _ := t.effort()
	return effort
}

// onOff is the value of {"type": …} switches.
type onOff struct {
	Type          string `json:"type"`
	ClearThinking *bool  `json:"clear_thinking,omitzero"`
}

type effortOption struct {
	Effort string `json:"effort"`
}

type enabledOption struct {
	Enabled bool `json:"enabled"`
}

type qwenTemplate struct {
	EnableThinking   bool `json:"enable_thinking"`
	PreserveThinking bool `json:"preserve_thinking"`
}

func (t thinking) set(body *jsonx.Object) {
	if !t.model.Reasoning {
		return
	}
	t.format(body)
	if t.compat.budgetField != "" && t.budget > 0 {
		body.Set(t.compat.budgetField, t.budget)
	}
}

func (t thinking) format(body *jsonx.Object) {
	effort, offForbidden := t.effort()
	withEffort := func(effort string) {
		if t.compat.reasoningEffort && effort != "" {
			body.Set("reasoning_effort", effort)
		}
	}
	// Where off has no word, "none" says it, unless the model forbids off.
	orNone := func(set func(string)) {
		switch {
		case effort != "":
			set(effort)
		case !offForbidden:
			set("none")
		}
	}
	switch t.compat.thinkingFormat {
	case formatZai:
		if !t.on() {
			body.Set("thinking", onOff{Type: "disabled"})
			return
		}
		body.Set("thinking", onOff{Type: "enabled", ClearThinking: new(bool)})
		withEffort(t.named())
	case formatQwen:
		body.Set("enable_thinking", t.on())
		if t.on() {
			withEffort(effort)
		}
	case formatQwenTemplate:
		body.Set("chat_template_kwargs", qwenTemplate{EnableThinking: t.on(), PreserveThinking: true})
	case formatChatTemplate:
		t.template(body, "chat_template_kwargs", t.compat.ChatTemplateKwargs)
	case formatBaseten:
		t.template(body, "chat_template_args", t.compat.ChatTemplateArgs)
		withEffort(t.named())
	case formatDeepSeek:
		switch {
		case t.on():
			body.Set("thinking", onOff{Type: "enabled"})
			withEffort(effort)
		case !offForbidden:
			body.Set("thinking", onOff{Type: "disabled"})
		}
	case formatOpenRouter:
		orNone(func(e string) { body.Set("reasoning", effortOption{e}) })
	case formatAntLing:
		if word := t.model.ThinkingLevelMap[t.level]; t.on() && word != nil {
			body.Set("reasoning", effortOption{*word})
		}
	case formatTogether:
		body.Set("reasoning", enabledOption{t.on()})
		if t.on() {
			withEffort(effort)
		}
	case formatStringThinking:
		orNone(func(e string) { body.Set("thinking", e) })
	default:
		withEffort(effort)
	}
}

// template sets the variables of a chat template: plain values, or {"$var": …} for
// what the level decides.
func (t thinking) template(body *jsonx.Object, name string, values map[string]jsonx.Raw) {
	resolved := map[string]any{}
	for key, raw := range values {
		if v := t.variable(raw); v != nil {
			resolved[key] = v
		}
	}
	if len(resolved) > 0 {
		body.Set(name, resolved)
	}
}

func (t thinking) variable(raw jsonx.Raw) any {
	if raw.Kind() != '{' {
		return raw
	}
	var ref struct {
		Var         string `json:"$var"`
		OmitWhenOff bool   `json:"omitWhenOff"`
	}
	if jsonx.Unmarshal(raw, &ref) != nil || ref.OmitWhenOff && !t.on() {
		return nil
	}
	switch ref.Var {
	case "thinking.enabled":
		return t.on()
	case "thinking.budget":
		if t.budget > 0 {
			return t.budget
		}
		return nil
	case "thinking.effort":
		if effort := t.named(); effort != "" {
			return effort
		}
	}
	return nil
}
