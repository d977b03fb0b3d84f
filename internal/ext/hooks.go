package ext

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Hooks returns the engine's hooks. They are not live while no extension is loaded, so
// that nothing is paid, and become so when a reload finds one.
func (x *Extensions) Hooks() engine.Hooks {
	return engine.Hooks{
		Live:    x.live,
		Command: x.Command, Input: x.input, BeforeRun: x.beforeRun, Context: x.context, BeforeTool: x.beforeTool, AfterTool: x.afterTool,
		MessageEnd: x.messageEnd, Event: x.Observe, UserBash: x.userBash, BeforeSwitch: x.beforeSwitch, SessionStart: x.SessionStart, SessionShutdown: x.SessionShutdown,
		BeforeTree: x.beforeTree, TreeMoved: x.treeMoved, BeforeCompact: x.beforeCompact, Compacted: x.compacted,
		Completions: x.Complete, Shortcuts: x.shortcuts, Shortcut: x.shortcut,
	}
}

// Emit has the handlers of any event take it and returns what became of it, nil for
// nothing (spec/extensions.md section 6.1).
func (x *Extensions) Emit(ctx context.Context, event string, payload any) (jsonx.Raw, error) {
	g := x.current.Load()
	if !g.has(event) {
		return nil, nil
	}
	return g.emit(ctx, event, payload, emission{signal: strings.HasPrefix(event, "session_before_")})
}

// decide emits an event and decodes what became of it; ok false means nothing did.
func decide[T any](ctx context.Context, x *Extensions, event string, payload any, how emission) (out T, ok bool, err error) {
	g := x.current.Load()
	if !g.has(event) {
		return out, false, nil
	}
	raw, err := g.emit(ctx, event, payload, how)
	if err != nil || raw == nil {
		return out, false, err
	}
	if err := jsonx.Unmarshal(raw, &out); err != nil {
		return out, false, fmt.Errorf("%s: reading what an extension answered: %w", event, err)
	}
	return out, true, nil
}

func (x *Extensions) input(ctx context.Context, in engine.Input) (engine.InputResult, error) {
	payload := struct {
		Text     string       `json:"text"`
		Images   []*llm.Image `json:"images,omitzero"`
		Source   string       `json:"source"`
		Behavior string       `json:"streamingBehavior,omitzero"`
	}{in.Text, in.Images, x.inputSource(), inputBehavior(in)}
	out, ok, err := decide[struct {
		Action string       `json:"action"`
		Text   string       `json:"text"`
		Images []*llm.Image `json:"images"`
	}](ctx, x, "input", payload, emission{})
	if err != nil || !ok {
		return engine.InputResult{}, err
	}
	switch out.Action {
	case "handled":
		return engine.InputResult{Handled: true}, nil
	case "transform":
		return engine.InputResult{Replace: true, Text: out.Text, Images: out.Images}, nil
	}
	return engine.InputResult{}, nil
}

func (x *Extensions) inputSource() string {
	if x.cfg.Mode == "rpc" {
		return "rpc"
	}
	return "interactive"
}

// inputBehavior says how an input queues itself, "" for a prompt that starts a run.
func inputBehavior(in engine.Input) string {
	if in.Kind != engine.InputPrompt {
		return string(in.Kind)
	}
	return string(in.Behavior)
}

func (x *Extensions) beforeRun(ctx context.Context, prompt llm.Message) (engine.BeforeRunResult, error) {
	st := x.state()
	payload := struct {
		MessageType   string       `json:"messageType"`
		Prompt        string       `json:"prompt,omitzero"`
		Images        []*llm.Image `json:"images,omitzero"`
		Message       llm.Message  `json:"message,omitzero"`
		SystemPrompt  string       `json:"systemPrompt"`
		PromptOptions any          `json:"systemPromptOptions"`
	}{MessageType: "custom", Message: prompt, SystemPrompt: x.systemPrompt(), PromptOptions: st.PromptOptions}
	if m, ok := prompt.(*llm.UserMessage); ok {
		payload.MessageType, payload.Message = "user", nil
		payload.Prompt = m.Content.PlainText("\n")
		payload.Images = images(m.Content)
	}
	if payload.PromptOptions == nil {
		payload.PromptOptions = map[string]any{"cwd": x.cwd()}
	}
	out, ok, err := decide[struct {
		Messages     []jsonx.Raw `json:"messages"`
		SystemPrompt *string     `json:"systemPrompt"`
	}](ctx, x, "before_agent_start", payload, emission{})
	if err != nil || !ok {
		return engine.BeforeRunResult{}, err
	}
	var res engine.BeforeRunResult
	for _, raw := range out.Messages {
		m, err := x.customMessage(raw)
		if err != nil {
			return res, fmt.Errorf("before_agent_start: %w", err)
		}
		res.Messages = append(res.Messages, &m)
	}
	if out.SystemPrompt != nil {
		res.SystemPrompt = *out.SystemPrompt
	}
	return res, nil
}

// customMessage reads a message as extensions write it: customType, content, display,
// details.
func (x *Extensions) customMessage(raw jsonx.Raw) (llm.CustomMessage, error) {
	var m llm.CustomMessage
	var in struct {
		CustomType string      `json:"customType"`
		Content    llm.Content `json:"content"`
		Display    bool        `json:"display"`
		Details    jsonx.Raw   `json:"details"`
		Exclude    bool        `json:"excludeFromContext"`
	}
	if err := jsonx.Unmarshal(raw, &in); err != nil {
		return m, fmt.Errorf("message of an extension: %w", err)
	}
	if in.CustomType == "" {
		return m, errors.New("message of an extension: customType must be a string")
	}
	m.CustomType, m.Content, m.Display, m.Details, m.ExcludeFromContext = in.CustomType, in.Content, in.Display, in.Details, in.Exclude
	m.Timestamp = x.cfg.Now().UnixMilli()
	return m, nil
}

func images(c llm.Content) []*llm.Image {
	var out []*llm.Image
	for _, b := range c {
		if i, ok := b.(*llm.Image); ok {
			out = append(out, i)
		}
	}
	return out
}

// context lets extensions replace the messages of a request; those of role system are
// not shown to them and stay in front.
func (x *Extensions) context(ctx context.Context, msgs []llm.Message) ([]llm.Message, error) {
	for _, event := range []string{"context", "context_with_system"} {
		if !x.current.Load().has(event) {
			continue
		}
		var kept, shown []llm.Message
		for _, m := range msgs {
			if event == "context" && m.Role() == llm.RoleSystem {
				kept = append(kept, m)
			} else {
				shown = append(shown, m)
			}
		}
		out, ok, err := decide[struct {
			Messages []jsonx.Raw `json:"messages"`
		}](ctx, x, event, struct {
			Messages []llm.Message `json:"messages"`
		}{shown}, emission{})
		if err != nil {
			return msgs, err
		}
		if !ok {
			continue
		}
		decoded, err := decodeMessages(out.Messages)
		if err != nil {
			x.failed("<"+event+">", event, err)
			continue
		}
		msgs = append(kept, decoded...)
	}
	return msgs, nil
}

func decodeMessages(raws []jsonx.Raw) ([]llm.Message, error) {
	out := make([]llm.Message, 0, len(raws))
	for i, raw := range raws {
		m, err := llm.DecodeMessage(raw)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// beforeTool fails closed: what throws, hangs or crashes blocks the call.
func (x *Extensions) beforeTool(ctx context.Context, call *llm.ToolCall) (agent.Decision, error) {
	g := x.current.Load()
	if g == nil || !g.has("tool_call") {
		return agent.Decision{}, nil
	}
	raw, err := g.emit(ctx, "tool_call", toolCallPayload{call.ID, call.Name, call.Arguments}, emission{closed: true})
	if err != nil {
		return agent.Decision{}, err
	}
	if raw == nil {
		return agent.Decision{}, nil
	}
	var out struct {
		Input  jsonx.Raw `json:"input"`
		Block  bool      `json:"block"`
		Reason string    `json:"reason"`
	}
	if err := jsonx.Unmarshal(raw, &out); err != nil {
		return agent.Decision{}, fmt.Errorf("tool_call: reading what an extension answered: %w", err)
	}
	if out.Block {
		return agent.Decision{Block: true, Reason: out.Reason}, nil
	}
	if len(out.Input) > 0 && out.Input[0] == '{' {
		call.Arguments = out.Input
	}
	return agent.Decision{}, nil
}

type toolCallPayload struct {
	ID    string    `json:"toolCallId"`
	Name  string    `json:"toolName"`
	Input jsonx.Raw `json:"input"`
}

func (x *Extensions) afterTool(ctx context.Context, call *llm.ToolCall, res tool.Result) tool.Result {
	payload := struct {
		toolCallPayload
		Content    llm.Content `json:"content"`
		Details    any         `json:"details,omitzero"`
		Structured any         `json:"structuredContent,omitzero"`
		IsError    bool        `json:"isError"`
		Usage      *llm.Usage  `json:"usage,omitzero"`
	}{toolCallPayload{call.ID, call.Name, call.Arguments}, res.Content, res.Details, res.StructuredContent, res.IsError, res.Usage}
	out, ok, err := decide[toolAnswer](ctx, x, "tool_result", payload, emission{})
	if err != nil || !ok {
		return res
	}
	return out.patch(res)
}

// messageEnd lets extensions replace a message by one of the same role.
func (x *Extensions) messageEnd(ctx context.Context, m llm.Message) llm.Message {
	out, ok, err := decide[struct {
		Message jsonx.Raw `json:"message"`
	}](ctx, x, "message_end", struct {
		Message llm.Message `json:"message"`
	}{m}, emission{})
	if err != nil || !ok {
		return m
	}
	n, err := llm.DecodeMessage(out.Message)
	if err != nil || n.Role() != m.Role() {
		x.failed("<message_end>", "message_end", errors.Join(err, errors.New("message_end handlers must return a message with the same role")))
		return m
	}
	return n
}

// userBash fails closed.
func (x *Extensions) userBash(ctx context.Context, command string) (handled bool, output string, exitCode int, err error) {
	g := x.current.Load()
	if g == nil || !g.has("user_bash") {
		return false, "", 0, nil
	}
	raw, err := g.emit(ctx, "user_bash", struct {
		Command string `json:"command"`
		Exclude bool   `json:"excludeFromContext"`
		Cwd     string `json:"cwd"`
	}{command, false, x.cwd()}, emission{closed: true})
	if err != nil || raw == nil {
		return false, "", 0, err
	}
	var out struct {
		Result struct {
			Output   string `json:"output"`
			ExitCode int    `json:"exitCode"`
		} `json:"result"`
	}
	if err := jsonx.Unmarshal(raw, &out); err != nil {
		return false, "", 0, fmt.Errorf("user_bash: reading what an extension answered: %w", err)
	}
	return true, out.Result.Output, out.Result.ExitCode, nil
}

// beforeSwitch asks whether a session may be replaced: "new", "resume", "fork".
func (x *Extensions) beforeSwitch(ctx context.Context, kind string) (bool, error) {
	event, payload := "session_before_switch", map[string]any{"reason": kind}
	if kind == "fork" || kind == "clone" {
		event, payload = "session_before_fork", map[string]any{"position": "before"}
	}
	out, _, err := decide[struct {
		Cancel bool `json:"cancel"`
	}](ctx, x, event, payload, emission{signal: true})
	return out.Cancel, err
}

// SessionStart tells that a session began: reason is "startup", "reload", "new",
// "resume" or "fork". For all but the first two the extensions are loaded anew.
func (x *Extensions) SessionStart(ctx context.Context, reason string) {
	if reason != "startup" && reason != "reload" {
		for _, err := range x.Replace(ctx) {
			x.failed(err.Source.Path, "load", err.Err)
		}
	}
	x.turns.began(x.state().Thinking)
	_, _ = x.Emit(ctx, "session_start", map[string]string{"reason": reason}) // failures were told
}

// SessionShutdown tells that the session ends: "quit", "reload", "new", "resume", "fork".
func (x *Extensions) SessionShutdown(ctx context.Context, reason string) {
	_, _ = x.Emit(ctx, "session_shutdown", map[string]string{"reason": reason}) // failures were told
}

func (x *Extensions) state() State {
	if h := x.host.Load(); h.State != nil {
		return h.State()
	}
	return State{}
}

func (x *Extensions) systemPrompt() string {
	if h := x.host.Load(); h.SystemPrompt != nil {
		return h.SystemPrompt()
	}
	return ""
}
