package ext

import (
	"context"
	"fmt"
	"iter"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// host answers as the reference's runner is answered.
func (s *stage) host() Host {
	cancelled := func(op string, args any) (bool, error) { s.note(op, args); return false, nil }
	return Host{
		Emit:  s.client,
		State: func() State { return State{Model: s.b.Model, Thinking: s.level, Idle: true, Trusted: true} }, SystemPrompt: func() string { return s.b.System }, ContextUsage: func() any { return s.b.Usage },
		View: func() (*session.View, error) { return s.store.View(), nil },
		SendMessage: func(m llm.CustomMessage, o SendOptions) error {
			s.note("sendMessage", map[string]any{"customType": m.CustomType, "content": m.Content, "display": m.Display, "details": m.Details, "options": map[string]any{"triggerTurn": o.TriggerTurn, "deliverAs": o.DeliverAs}})
			return nil
		},
		SendUser: func(t string, images []*llm.Image, o SendOptions) error {
			s.note("sendUserMessage", map[string]any{"content": t, "images": images, "options": map[string]any{"triggerTurn": o.TriggerTurn, "deliverAs": o.DeliverAs}})
			return nil
		},
		AppendEntry:   s.appendEntry,
		AppendMessage: func(m llm.Message) error { s.note("appendMessage", m); return nil },
		SetModel: func(p, id string) (bool, error) {
			s.note("setModel", map[string]string{"provider": p, "id": id})
			return true, nil
		},
		SetThinking: func(l llm.ThinkingLevel) error {
			s.note("setThinkingLevel", map[string]any{"level": l})
			s.level = l
			return nil
		},
		Tools: func() ([]tool.Tool, []string) {
			var all []tool.Tool
			for _, n := range []string{"read", "bash", "edit", "write"} {
				all = append(all, namedTool(n))
			}
			return append(all, s.x.Tools()...), s.active
		},
		SetTools: func(names []string) error {
			s.note("setActiveTools", map[string]any{"names": names})
			s.active = names
			return nil
		},
		Commands: func() any {
			var out []any
			for _, c := range s.x.Commands() {
				out = append(out, map[string]any{"name": c.Name, "description": c.Description, "source": "extension", "sourceInfo": c.Source})
			}
			return out
		},
		Abort: func() { s.note("abort", nil) }, Shutdown: func() { s.note("shutdown", nil) },
		Compact: func(_ context.Context, in string) (any, error) {
			s.note("compact", map[string]string{"customInstructions": in})
			return map[string]any{"summary": "s", "firstKeptEntryId": "aaaaaaaa", "tokensBefore": 10}, nil
		},
		WaitIdle: func(context.Context) error { s.note("waitForIdle", nil); return nil },
		Reload:   func(context.Context) error { s.note("reload", nil); return nil },
		NewSession: func(_ context.Context, p string) (bool, error) {
			return cancelled("newSession", map[string]string{"parentSession": p})
		},
		Fork: func(_ context.Context, id, pos string) (bool, error) {
			return cancelled("fork", map[string]string{"entryId": id, "position": pos})
		},
		Switch: func(_ context.Context, p string) (bool, error) {
			return cancelled("switchSession", map[string]string{"path": p})
		},
		NavigateTree: func(_ context.Context, id string, _ jsonx.Raw) (any, error) {
			s.note("navigateTree", map[string]string{"targetId": id})
			return map[string]bool{"cancelled": false}, nil
		},
		Models: s.b.models, Available: s.b.models,
		Credential: func(context.Context, string) (Credential, error) { return Credential{APIKey: "key"}, nil },
		Stream:     s.stream,
		RegisterProvider: func(name string, config jsonx.Raw, _ llm.Provider) error {
			var c any
			_ = jsonx.Unmarshal(config, &c)
			s.out.Providers = append(s.out.Providers, map[string]any{"name": name, "config": c})
			return nil
		},
	}
}

func (s *stage) appendEntry(e session.Body) error {
	switch e := e.(type) {
	case session.Custom:
		s.note("appendEntry", map[string]any{"customType": e.CustomType, "data": e.Data})
	case session.Label:
		s.note("setLabel", map[string]any{"targetId": e.TargetID, "label": e.Label})
	case session.SessionInfo:
		s.note("setSessionName", map[string]any{"name": e.Name})
	default:
		s.note("appendEntry", e)
	}
	_, err := s.store.Append(e)
	return err
}

// stream sends the battery's answer.
func (s *stage) stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		words := "A generated summary"
		for _, ev := range []llm.Event{{Kind: llm.EventMeta}, {Kind: llm.EventTextStart}, {Kind: llm.EventTextDelta, Delta: words}, {Kind: llm.EventTextEnd}, {Kind: llm.EventDone, StopReason: llm.StopEnd, Usage: &llm.Usage{Input: 1, Output: 1, TotalTokens: 2}}} {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// client answers dialogs as the reference's user interface of the battery does.
func (s *stage) client(ev event.Event) {
	switch e := ev.(type) {
	case event.ExtensionError:
		s.note("error", map[string]string{"event": e.Event, "message": e.Error})
	case event.ExtensionUIRequest:
		s.note("ui."+e.Method, e.Fields)
		var f struct {
			Options []string `json:"options"`
		}
		_ = jsonx.Unmarshal(e.Fields, &f)
		answer := map[string]string{"confirm": `{"confirmed":true}`, "input": `{"value":"text"}`, "editor": `{"value":"edited text"}`}[e.Method]
		if e.Method == "select" {
			answer = `{"value":` + string(jsonx.String(f.Options[0])) + `}`
		}
		if answer != "" {
			go s.x.DialogAnswer(e.ID, jsonx.Raw(answer))
		}
	}
}

type namedTool string

func (n namedTool) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: string(n), Description: string(n), Parameters: jsonx.Raw("{}")}
}

func (n namedTool) Run(context.Context, tool.Call, func(tool.Result)) (tool.Result, error) {
	return tool.Result{}, fmt.Errorf("%s does not run here", string(n))
}
