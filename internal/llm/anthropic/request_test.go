package anthropic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// sent returns the body and headers of what a request makes.
func sent(t *testing.T, req *llm.Request) (string, *llmtest.Answer) {
	t.Helper()
	a := &llmtest.Answer{Status: 500}
	protocol().Stream(t, a, req)
	if a.Request == nil {
		t.Fatal("nothing was sent")
	}
	return string(a.Body), a
}

func user(text string) *llm.UserMessage {
	return &llm.UserMessage{Content: llm.Content{llm.NewText(text)}, Timestamp: 1}
}

// answer is an answer of the model under test.
func answer(blocks ...llm.Block) *llm.AssistantMessage {
	m := model()
	return &llm.AssistantMessage{Content: blocks, API: m.API, Provider: m.Provider, Model: m.ID, StopReason: llm.StopEnd}
}

func toolCall(id, name, args string) *llm.ToolCall {
	return &llm.ToolCall{ID: id, Name: name, Arguments: jsonx.Raw(args)}
}

func result(id string, isError bool, blocks ...llm.Block) *llm.ToolResultMessage {
	return &llm.ToolResultMessage{ToolCallID: id, ToolName: "read", Content: blocks, IsError: isError}
}

// A whole request, as pi-facts.md section 7 describes it.
func TestBody(t *testing.T) {
	req := protocol().Request()
	req.Thinking = llm.ThinkingMedium
	req.Tools = append([]llm.ToolSpec{{Name: "ls", Description: "Lists", Parameters: jsonx.Raw(
		`{"title":"x","type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"additionalProperties":false,"$defs":{"b":{}},"anyOf":[]}`)}}, req.Tools...)
	req.Messages = []llm.Message{
		user("first"),
		answer(&llm.Thinking{Thinking: "hm", ThinkingSignature: "c2ln"}, llm.NewText("calling"), toolCall("toolu_1", "read", `{"path":"a"}`), toolCall("toolu_2", "ls", `{}`)),
		result("toolu_1", false, llm.NewText("one"), llm.NewText("two")),
		result("toolu_2", true, llm.NewText("no such file")),
	}
	got, _ := sent(t, req)
	want := `{"model":"mock","messages":[` +
		`{"role":"user","content":[{"type":"text","text":"first"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"calling"},` +
		`{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"toolu_2","name":"ls","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"one\ntwo","is_error":false},` +
		`{"type":"tool_result","tool_use_id":"toolu_2","content":"no such file","is_error":true,"cache_control":{"type":"ephemeral"}}]}],` +
		`"max_tokens":16384,"stream":true,"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"ls","description":"Lists","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"required":[],"additionalProperties":false,"$defs":{"b":{}}}},` +
		`{"name":"read","description":"Reads a file","eager_input_streaming":true,"input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"cache_control":{"type":"ephemeral"}}],` +
		`"thinking":{"type":"enabled","budget_tokens":8192,"display":"summarized"}}`
	if diff := cmp.Diff(indent(want), indent(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func indent(s string) string { return string(jsonx.Indent([]byte(s))) }

// Single decisions: the body must, or must not, hold a text.
func TestBodyParts(t *testing.T) {
	str := func(s string) *string { return &s }
	thinking := func(l llm.ThinkingLevel) func(*llm.Request) { return func(r *llm.Request) { r.Thinking = l } }
	messages := func(msgs ...llm.Message) func(*llm.Request) { return func(r *llm.Request) { r.Messages = msgs } }
	compat := func(s string, l llm.ThinkingLevel) func(*llm.Request) {
		return func(r *llm.Request) { r.Model.Compat, r.Thinking = jsonx.Raw(s), l }
	}
	img := llm.NewImage("QUJD", "image/png")
	foreign := &llm.AssistantMessage{Content: llm.Content{
		&llm.Thinking{Thinking: "secret", ThinkingSignature: "s"}, toolCall("call_1|fc_"+strings.Repeat("x", 80), "read", `{}`), toolCall("call_1|fc_"+strings.Repeat("x", 90), "read", `{}`),
	}, API: "other", Provider: "other", Model: "other", StopReason: llm.StopToolUse}
	for name, c := range map[string]struct {
		change func(*llm.Request)
		want   []string
		not    []string
	}{
		"thinking off":     {thinking(llm.ThinkingOff), []string{`"thinking":{"type":"disabled"}`}, nil},
		"thinking minimal": {thinking(llm.ThinkingMinimal), []string{`"budget_tokens":1024,`}, nil},
		"thinking low":     {thinking(llm.ThinkingLow), []string{`"budget_tokens":2048,`}, nil},
		"thinking high":    {thinking(llm.ThinkingHigh), []string{`"budget_tokens":15360,`, `"max_tokens":16384`}, nil},
		"thinking xhigh":   {thinking(llm.ThinkingXHigh), []string{`"budget_tokens":15360,`}, nil},
		"no reasoning":     {func(r *llm.Request) { r.Model.Reasoning = false; r.Thinking = llm.ThinkingHigh }, nil, []string{`"thinking"`}},
		"off is not possible": {func(r *llm.Request) {
			r.Model.ThinkingLevelMap = map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil}
		}, nil, []string{`"thinking"`}},
		"a cap leaves room for thinking": {func(r *llm.Request) { r.MaxTokens, r.Thinking = 500, llm.ThinkingLow }, []string{`"max_tokens":2548,`, `"budget_tokens":1524,`}, nil},
		"no room for thinking":           {func(r *llm.Request) { r.Model.ContextWindow, r.Thinking = 6000, llm.ThinkingLow }, []string{`"thinking":{"type":"disabled"}`}, []string{"budget_tokens"}},
		"adaptive":                       {compat(`{"forceAdaptiveThinking":true}`, llm.ThinkingMinimal), []string{`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}`}, nil},
		"adaptive, mapped": {func(r *llm.Request) {
			compat(`{"supportsMidConvoEffort":true}`, llm.ThinkingXHigh)(r)
			r.Model.ThinkingLevelMap = map[llm.ThinkingLevel]*string{llm.ThinkingXHigh: str("xhigh")}
		}, []string{`"type":"adaptive"`, `{"effort":"xhigh"}`}, nil},
		"no cache":           {func(r *llm.Request) { r.NoCache = true }, nil, []string{"cache_control"}},
		"no cache on tools":  {compat(`{"supportsCacheControlOnTools":false}`, ""), []string{`"required":["path"]}}]`, `"cache_control"`}, nil},
		"no eager streaming": {compat(`{"supportsEagerToolInputStreaming":false}`, ""), nil, []string{"eager_input_streaming"}},
		"long cache":         {func(r *llm.Request) { r.Env = map[string]string{"PI_CACHE_RETENTION": "long"} }, []string{`{"type":"ephemeral","ttl":"1h"}`}, nil},
		"long cache not supported": {func(r *llm.Request) {
			r.Env = map[string]string{"PI_CACHE_RETENTION": "long"}
			compat(`{"supportsLongCacheRetention":false}`, "")(r)
		}, []string{`{"type":"ephemeral"}`}, []string{"ttl"}},
		"no system":  {func(r *llm.Request) { r.System = " " }, nil, []string{`"system"`}},
		"no tools":   {func(r *llm.Request) { r.Tools = nil }, nil, []string{`"tools"`}},
		"odd schema": {func(r *llm.Request) { r.Tools[0].Parameters = jsonx.Raw(`[1]`) }, []string{`"input_schema":{"type":"object","properties":{},"required":[]}`}, nil},
		"image":      {messages(&llm.UserMessage{Content: llm.Content{llm.NewText("look"), img}}), []string{`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"},"cache_control"`}, nil},
		"image for a text model": {func(r *llm.Request) {
			r.Model.Input = []string{"text"}
			messages(&llm.UserMessage{Content: llm.Content{img}})(r)
		}, []string{llm.ImageOmittedText}, []string{"QUJD"}},
		"image result":       {messages(user("x"), answer(toolCall("a", "read", `{}`)), result("a", false, img)), []string{`"content":[{"type":"text","text":"(see attached image)"},{"type":"image",`}, nil},
		"image result, text": {messages(user("x"), answer(toolCall("a", "read", `{}`)), result("a", false, llm.NewText("t"), img)), []string{`"content":[{"type":"text","text":"t"},{"type":"image",`}, []string{textSeeImage}},
		"image in an error": {
			messages(user("x"), answer(toolCall("a", "read", `{}`), toolCall("b", "read", `{}`)), result("a", true, img, img), result("b", false, llm.NewText("t"))),
			[]string{`"content":"(image attached after the tool results)","is_error":true},{"type":"tool_result","tool_use_id":"b"`, `{"type":"text","text":"Images from the error result of tool call a (read):"},{"type":"image"`},
			nil,
		},
		"blank result (field report 113)": {messages(user("x"), answer(toolCall("a", "read", `{}`)), result("a", false, llm.NewText(" \r\n"))), []string{`"content":"(no tool output)"`}, nil},
		"thinking of another model":       {messages(user("x"), foreign, result(foreign.Content.ToolCalls()[0].ID, false, llm.NewText("one"))), []string{`"id":"call_1_fc_xxx`, "one", llm.NoResultText}, []string{"secret", "|"}},
		"redacted thinking":               {messages(user("x"), answer(&llm.Thinking{ThinkingSignature: "b3Bh", Redacted: true}, llm.NewText("y"))), []string{`{"type":"redacted_thinking","data":"b3Bh"}`}, nil},
		"unsigned thinking":               {messages(user("x"), answer(&llm.Thinking{Thinking: "hm"}, llm.NewText("y"))), []string{`{"type":"text","text":"hm"}`}, []string{`"thinking":"hm"`}},
		"unsigned thinking, allowed": {func(r *llm.Request) {
			compat(`{"allowEmptySignature":true}`, "")(r)
			messages(user("x"), answer(&llm.Thinking{Thinking: "hm"}, llm.NewText("y")))(r)
		}, []string{`{"type":"thinking","thinking":"hm","signature":""}`}, nil},
		"signed thinking without text": {messages(user("x"), answer(&llm.Thinking{ThinkingSignature: "s"}, llm.NewText("y"))), []string{`{"type":"thinking","thinking":"","signature":"s"}`}, nil},
		"failed answer":                {messages(user("x"), &llm.AssistantMessage{Content: llm.Content{llm.NewText("half")}, StopReason: llm.StopError}, user("again")), []string{"again"}, []string{"half"}},
		"arguments that are no object": {messages(user("x"), answer(toolCall("a", "read", `[1]`)), result("a", true, llm.NewText("bad"))), []string{`"input":{}`}, nil},
		"no marker on an answer":       {messages(user("x"), answer(llm.NewText("y"))), []string{`{"type":"text","text":"y"}]}]`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			req := protocol().Request()
			c.change(req)
			got, _ := sent(t, req)
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("no %s in\n%s", w, got)
				}
			}
			for _, w := range c.not {
				if strings.Contains(got, w) {
					t.Errorf("%s in\n%s", w, got)
				}
			}
		})
	}
}

// Ids of other providers' calls are cut and stay distinct, in calls and results alike.
func TestCallIDs(t *testing.T) {
	ids := &callIDs{byID: map[string]string{}, used: map[string]bool{}}
	long := strings.Repeat("x", 70)
	seen := map[string]string{}
	for _, id := range []string{"a", "a|b", "a_b", long, long + "y", "", "☃"} {
		got := ids.of(id)
		if again := ids.of(id); again != got {
			t.Errorf("%q: %q, then %q", id, got, again)
		}
		if len(got) == 0 || len(got) > 64 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q: %q is not accepted", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q share %q", id, other, got)
		}
		seen[got] = id
	}
}

func TestHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*llm.Request)
		want   map[string]string // "" means absent
	}{
		"key":      {func(r *llm.Request) { r.APIKey = "k" }, map[string]string{"X-Api-Key": "k", "Authorization": "", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "", "Content-Type": "application/json"}},
		"thinking": {func(r *llm.Request) { r.Thinking = llm.ThinkingLow }, map[string]string{"Anthropic-Beta": "interleaved-thinking-2025-05-14"}},
		"adaptive": {func(r *llm.Request) {
			r.Thinking = llm.ThinkingLow
			r.Model.Compat = jsonx.Raw(`{"forceAdaptiveThinking":true}`)
		}, map[string]string{"Anthropic-Beta": ""}},
		"no eager": {func(r *llm.Request) { r.Model.Compat = jsonx.Raw(`{"supportsEagerToolInputStreaming":false}`) }, map[string]string{"Anthropic-Beta": "fine-grained-tool-streaming-2025-05-14"}},
		"oauth":    {func(r *llm.Request) { r.APIKey = "sk-ant-oat01-x"; r.Thinking = llm.ThinkingLow }, map[string]string{"X-Api-Key": "", "Authorization": "Bearer sk-ant-oat01-x", "Anthropic-Beta": "claude-code-20250219,oauth-2025-04-20,interleaved-thinking-2025-05-14"}},
		"token": {func(r *llm.Request) {
			r.APIKey = "tok"
			r.Model.Provider = "anthropic"
			r.Env = map[string]string{"ANTHROPIC_AUTH_TOKEN": "tok"}
		}, map[string]string{"X-Api-Key": "", "Authorization": "Bearer tok"}},
		"copilot":  {func(r *llm.Request) { r.APIKey = "tid=1"; r.Model.Provider = "github-copilot" }, map[string]string{"X-Api-Key": "", "Authorization": "Bearer tid=1"}},
		"own auth": {func(r *llm.Request) { r.APIKey = ""; r.Headers = map[string]string{"authorization": "Bearer mine"} }, map[string]string{"X-Api-Key": "", "Authorization": "Bearer mine"}},
		"merged": {func(r *llm.Request) {
			r.Model.Headers = map[string]string{"X-A": "model", "x-b": "model"}
			r.Headers = map[string]string{"x-a": "request", "anthropic-beta": "mine"}
		}, map[string]string{"X-A": "request", "X-B": "model", "Anthropic-Beta": "mine"}},
		"no beta": {func(r *llm.Request) {
			r.Thinking = llm.ThinkingLow
			r.Headers = map[string]string{"Anthropic-Beta": ""}
		}, map[string]string{"Anthropic-Beta": ""}},
		"affinity": {func(r *llm.Request) {
			r.SessionID = "s1"
			r.Model.Compat = jsonx.Raw(`{"sendSessionAffinityHeaders":true}`)
		}, map[string]string{"X-Session-Affinity": "s1"}},
		"no affinity":            {func(r *llm.Request) { r.SessionID = "s1" }, map[string]string{"X-Session-Affinity": "", "X-Session-Id": ""}},
		"affinity of OpenRouter": {func(r *llm.Request) { r.SessionID = "s1"; r.Model.Provider = "openrouter" }, map[string]string{"X-Session-Id": "s1"}},
		"affinity without cache": {func(r *llm.Request) { r.SessionID, r.NoCache = "s1", true; r.Model.Provider = "openrouter" }, map[string]string{"X-Session-Id": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			req := protocol().Request()
			c.change(req)
			_, a := sent(t, req)
			for k, want := range c.want {
				if got := a.Request.Header.Get(k); got != want {
					t.Errorf("%s: %q, want %q", k, got, want)
				}
			}
		})
	}
}

func TestOAuthIdentity(t *testing.T) {
	req := protocol().Request()
	req.APIKey = "sk-ant-oat01-x"
	got, _ := sent(t, req)
	if want := `"system":[{"type":"text","text":"You are Claude Code, Anthropic's official CLI for Claude.","cache_control":{"type":"ephemeral"}},{"type":"text","text":"Be brief."`; !strings.Contains(got, want) {
		t.Errorf("no identity in\n%s", got)
	}
}

func TestURL(t *testing.T) {
	for base, want := range map[string]string{
		"http://h":                "http://h/v1/messages",
		"http://h/anthropic/":     "http://h/anthropic/v1/messages",
		"http://h/v1":             "http://h/v1/messages",
		"http://h/{ACCOUNT}/gate": "http://h/acc/gate/v1/messages",
	} {
		req := protocol().Request()
		req.Model.BaseURL = base
		req.Env = map[string]string{"ACCOUNT": "acc"}
		if _, a := sent(t, req); a.Request.URL.String() != want {
			t.Errorf("%s: %s, want %s", base, a.Request.URL, want)
		}
	}
}

func TestRequestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*llm.Request)
		kind   llm.ErrorKind
		want   string
	}{
		"no key":     {func(r *llm.Request) { r.APIKey = "" }, llm.ErrAuth, "No API key for provider: mock-anthropic"},
		"bad compat": {func(r *llm.Request) { r.Model.Compat = jsonx.Raw(`{"allowEmptySignature":"yes"}`) }, llm.ErrBadRequest, "building the Anthropic request: compat of mock-anthropic/mock: "},
	} {
		t.Run(name, func(t *testing.T) {
			req := protocol().Request()
			c.change(req)
			a := &llmtest.Answer{}
			r := protocol().Stream(t, a, req)
			if r.Err == nil || r.Err.Kind != c.kind || !strings.HasPrefix(r.Err.Message, c.want) || a.Request != nil {
				t.Errorf("%+v, want %s %q and nothing sent", r.Err, c.kind, c.want)
			}
		})
	}
}
