package responses_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// sent returns the body and the headers of a request, which is answered by an error.
func sent(t *testing.T, req *llm.Request) (string, http.Header) {
	t.Helper()
	a := &llmtest.Answer{Status: http.StatusTeapot}
	r := protocol().Stream(t, a, req)
	if a.Request == nil {
		t.Fatalf("nothing was sent: %v", r.Err)
	}
	if want := strings.TrimRight(req.Model.BaseURL, "/") + "/responses"; a.Request.URL.String() != want {
		t.Errorf("sent to %s, want %s", a.Request.URL, want)
	}
	return string(a.Body), a.Request.Header
}

func check(t *testing.T, got, want string) {
	t.Helper()
	for _, s := range []string{got, want} {
		if !jsonx.Valid([]byte(s)) {
			t.Fatalf("no JSON: %s", s)
		}
	}
	if diff := cmp.Diff(string(jsonx.Indent([]byte(want))), string(jsonx.Indent([]byte(got)))); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func model(provider, url, compat string) *llm.Model {
	return &llm.Model{
		ID: "m", API: llm.APIOpenAIResponses, Provider: provider, BaseURL: url, Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: 100_000, MaxTokens: 1000, Compat: jsonx.Raw(compat),
	}
}

func request(m *llm.Model, msgs ...llm.Message) *llm.Request {
	return &llm.Request{Model: m, Messages: msgs, APIKey: "sk-key-for-tests"}
}

func user(blocks ...llm.Block) llm.Message { return &llm.UserMessage{Content: blocks} }

func said(m *llm.Model, blocks ...llm.Block) *llm.AssistantMessage {
	return &llm.AssistantMessage{Content: blocks, API: m.API, Provider: m.Provider, Model: m.ID, StopReason: llm.StopEnd}
}

func result(id string, blocks ...llm.Block) llm.Message {
	return &llm.ToolResultMessage{ToolCallID: id, ToolName: "bash", Content: blocks}
}

func call(id string) *llm.ToolCall {
	return &llm.ToolCall{ID: id, Name: "bash", Arguments: jsonx.Raw(`{"x":1}`)}
}

// member returns a member of a body.
func member(t *testing.T, body, name string) string {
	t.Helper()
	members, err := jsonx.Members(jsonx.Raw(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if m.Name == name {
			return string(m.Value)
		}
	}
	return ""
}

func TestWholeRequest(t *testing.T) {
	req := request(model("mock", "http://mock.invalid/v1/", ""), user(llm.NewText("hi"), llm.NewImage("AA==", "image/png")))
	req.System, req.Thinking, req.SessionID = "Be brief.", llm.ThinkingHigh, "s-1"
	req.Tools = []llm.ToolSpec{{Name: "bash", Description: "Runs it", Parameters: jsonx.Raw(`{"type":"object"}`)}}
	body, h := sent(t, req)
	check(t, body, `{"model":"m","input":[{"role":"developer","content":"Be brief."},
		{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AA=="}]}],
		"stream":true,"prompt_cache_key":"s-1","store":false,"max_output_tokens":1000,
		"tools":[{"type":"function","name":"bash","description":"Runs it","parameters":{"type":"object"}}],
		"reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"]}`)
	for name, want := range map[string]string{"Authorization": "Bearer sk-key-for-tests", "session-id": "s-1", "x-client-request-id": "s-1"} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	req.NoCache = true
	if body, h = sent(t, req); member(t, body, "prompt_cache_key") != "" || h.Get("session-id") != "" {
		t.Errorf("a cache key although the request wants none: %s", body)
	}
}

// A blank result of a tool has a text (field report 113).
func TestInput(t *testing.T) {
	m := model("mock", "http://mock.invalid/v1", "")
	openai := model("openai", "https://api.openai.com/v1", "")
	foreign := *m
	foreign.API = llm.APIOpenAICompletions
	sibling := *openai
	sibling.ID = "m2"
	thought := &llm.Thinking{Thinking: "hm", ThinkingSignature: `{"type":"reasoning","id":"rs1","encrypted_content":"AA"}`}
	signed := &llm.Text{Text: "a", TextSignature: `{"v":1,"id":"msg_1","phase":"commentary"}`}
	long := strings.Repeat("i", 70)
	tests := []struct {
		name string
		to   *llm.Model
		in   []llm.Message
		want string
	}{
		{"the same model's items go back as they came", m, []llm.Message{
			user(llm.NewText("go")), said(m, thought, signed, call("c|fc_1")), result("c|fc_1", llm.NewText("t")),
		}, `[{"role":"user","content":[{"type":"input_text","text":"go"}]},
			{"type":"reasoning","id":"rs1","encrypted_content":"AA"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}],"status":"completed","id":"msg_1","phase":"commentary"},
			{"type":"function_call","id":"fc_1","call_id":"c","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call_output","call_id":"c","output":"t"}]`},
		{"another model's lose their ids and reasoning", openai, []llm.Message{
			user(llm.NewText("go")), said(&sibling, thought, signed, llm.NewText("b"), call("c|fc_1")), result("c|fc_1", llm.NewText("t")),
		}, `[{"role":"user","content":[{"type":"input_text","text":"go"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}],"status":"completed","id":"msg_pi_1"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}],"status":"completed","id":"msg_pi_1_1"},
			{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call_output","call_id":"c","output":"t"}]`},
		{"to other servers the whole id is a name", m, []llm.Message{
			said(&foreign, call("c/1|fc_1")), result("c/1|fc_1", llm.NewText("t")),
		}, `[{"type":"function_call","call_id":"c_1_fc_1","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call_output","call_id":"c_1_fc_1","output":"t"}]`},
		{"calls that share a call_id stay apart", m, []llm.Message{
			said(m, call("c|fc_1"), call("c|fc_2")), result("c|fc_2", llm.NewText("2")), result("c|fc_1", llm.NewText("1")),
		}, `[{"type":"function_call","id":"fc_1","call_id":"c","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call","id":"fc_2","call_id":"c_2","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call_output","call_id":"c_2","output":"2"},{"type":"function_call_output","call_id":"c","output":"1"}]`},
		{
			"ids of other items are not sent", m,
			[]llm.Message{said(m, call("c|ctc_1")), result("c|ctc_1", llm.NewText(" \n"))},
			`[{"type":"function_call","call_id":"c","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call_output","call_id":"c","output":"(no tool output)"}]`,
		},
		{"reasoning that nothing follows is not sent", m, []llm.Message{
			said(m, thought), user(llm.NewText("go")), said(m, signed, thought),
		}, `[{"role":"user","content":[{"type":"input_text","text":"go"}]},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}],"status":"completed","id":"msg_1","phase":"commentary"}]`},
		{"signatures that hold no item", m, []llm.Message{
			said(m, &llm.Thinking{Thinking: "hm", ThinkingSignature: "{odd"}, &llm.Text{Text: "a", TextSignature: "msg_old"}),
			said(m, &llm.Text{Text: "b", TextSignature: `{"v":2}`}, &llm.Text{Text: "c", TextSignature: `{"v":1,"id":"msg_3","phase":"odd"}`}),
		}, `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}],"status":"completed","id":"msg_old"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}],"status":"completed","id":"{\"v\":2}"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"c","annotations":[]}],"status":"completed","id":"msg_3"}]`},
		{
			"long ids", m,
			[]llm.Message{said(m, &llm.Text{Text: "a", TextSignature: long})},
			`[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}],"status":"completed","id":"msg_3bx0tzlxb6bjf"}]`,
		},
		{"pictures of tools", m, []llm.Message{
			said(m, call("c|fc_1"), call("d|fc_2")), result("c|fc_1", llm.NewText("t"), llm.NewImage("AA==", "image/png")), result("d|fc_2", llm.NewImage("BB==", "image/gif")),
		}, `[{"type":"function_call","id":"fc_1","call_id":"c","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call","id":"fc_2","call_id":"d","name":"bash","arguments":"{\"x\":1}"},
			{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"t"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AA=="}]},
			{"type":"function_call_output","call_id":"d","output":[{"type":"input_image","detail":"auto","image_url":"data:image/gif;base64,BB=="}]}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body, _ := sent(t, request(tt.to, tt.in...))
			check(t, member(t, body, "input"), tt.want)
		})
	}
}

func TestReasoning(t *testing.T) {
	word := func(s string) *string { return &s }
	for _, tt := range []struct {
		name, provider string
		words          map[llm.ThinkingLevel]*string
		level          llm.ThinkingLevel
		want, include  string
	}{
		{"on", "mock", nil, llm.ThinkingLow, `{"effort":"low","summary":"auto"}`, `["reasoning.encrypted_content"]`},
		{"in the model's words", "mock", map[llm.ThinkingLevel]*string{llm.ThinkingLow: word("tiny")}, llm.ThinkingLow, `{"effort":"tiny","summary":"auto"}`, `["reasoning.encrypted_content"]`},
		{"off", "mock", nil, llm.ThinkingOff, `{"effort":"none"}`, ``},
		{"no level", "mock", nil, "", `{"effort":"none"}`, ``},
		{"off in the model's words", "mock", map[llm.ThinkingLevel]*string{llm.ThinkingOff: word("zero")}, llm.ThinkingOff, `{"effort":"zero"}`, ``},
		{"off is not possible", "mock", map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil}, llm.ThinkingOff, ``, ``},
		{"copilot has no off", "github-copilot", nil, llm.ThinkingOff, ``, ``},
		{"xai always reasons", "xai", nil, llm.ThinkingOff, `{"effort":"none"}`, `["reasoning.encrypted_content"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := model(tt.provider, "http://mock.invalid/v1", "")
			m.ThinkingLevelMap = tt.words
			req := request(m, user(llm.NewText("hi")))
			req.Thinking = tt.level
			body, _ := sent(t, req)
			if got := member(t, body, "reasoning"); got != tt.want {
				t.Errorf("reasoning %s, want %s", got, tt.want)
			}
			if got := member(t, body, "include"); got != tt.include {
				t.Errorf("include %s, want %s", got, tt.include)
			}
		})
	}
	m := model("mock", "http://mock.invalid/v1", "")
	m.Reasoning = false
	req := request(m, user(llm.NewText("hi")))
	req.System = "S"
	body, _ := sent(t, req)
	if member(t, body, "reasoning") != "" || !strings.Contains(body, `{"role":"system","content":"S"}`) {
		t.Errorf("a model without reasoning gets %s", body)
	}
}

func TestFlags(t *testing.T) {
	for _, tt := range []struct{ name, compat, member, want string }{
		{"supportsMaxOutputTokens", `{"supportsMaxOutputTokens":false}`, "max_output_tokens", ``},
		{"promptCacheKeyMode", `{"promptCacheKeyMode":"disabled"}`, "prompt_cache_key", ``},
		{"supportsStrictMode", `{"supportsStrictMode":true}`, "tools", `[{"type":"function","name":"a","description":"A","parameters":{},"strict":false}]`},
		{"supportsDeveloperRole", `{"supportsDeveloperRole":false}`, "input", `[{"role":"system","content":"S"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request(model("mock", "http://mock.invalid/v1", tt.compat))
			req.System, req.SessionID = "S", "s-1"
			req.Tools = []llm.ToolSpec{{Name: "a", Description: "A", Parameters: jsonx.Raw(`{}`)}}
			body, _ := sent(t, req)
			if got := member(t, body, tt.member); got != tt.want {
				t.Errorf("%s %s, want %s", tt.member, got, tt.want)
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	for _, tt := range []struct {
		name, url, compat string
		want              map[string]string
	}{
		{"nosession", "http://mock.invalid/v1", `{"sessionAffinityFormat":"openai-nosession"}`, map[string]string{"session-id": "", "x-client-request-id": "s-1", "x-session-id": ""}},
		{"openrouter", "https://openrouter.ai/api/v1", ``, map[string]string{"session-id": "", "x-client-request-id": "", "x-session-id": "s-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := model("p", tt.url, tt.compat)
			m.Headers = map[string]string{"X-One": "model"}
			req := request(m, user(llm.NewText("hi")))
			req.SessionID, req.Headers = "s-1", map[string]string{"X-Two": "request"}
			tt.want["X-One"], tt.want["X-Two"] = "model", "request"
			_, h := sent(t, req)
			for name, want := range tt.want {
				if got := h.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestLimits(t *testing.T) {
	req := request(model("mock", "http://mock.invalid/v1", ""), user(llm.NewText("hi")))
	req.SessionID, req.MaxTokens = strings.Repeat("é", 70), 3
	body, _ := sent(t, req)
	if got := member(t, body, "prompt_cache_key"); got != `"`+strings.Repeat("é", 64)+`"` {
		t.Errorf("prompt_cache_key %s", got)
	}
	if got := member(t, body, "max_output_tokens"); got != "16" {
		t.Errorf("max_output_tokens %s, want the least that is accepted", got)
	}
	req = request(model("openai", "https://api.openai.com/v1", ""), user(llm.NewText("hi")))
	req.APIKey = "token-of-a-sign-in"
	if body, _ = sent(t, req); member(t, body, "max_output_tokens") != "" {
		t.Errorf("a sign-in token comes with fields it may not have: %s", body)
	}
}

func TestSamplingParametersWin(t *testing.T) {
	m := model("mock", "http://mock.invalid/v1", "")
	m.SamplingParams, m.SamplingByLevel = jsonx.Raw(`{"store":true}`), jsonx.Raw(`{"off":{"top_p":0.5}}`)
	body, _ := sent(t, request(m, user(llm.NewText("hi"))))
	if member(t, body, "store") != "true" || member(t, body, "top_p") != "0.5" {
		t.Errorf("got %s", body)
	}
}

func TestErrorsBeforeTheRequest(t *testing.T) {
	noKey := request(model("mock", "http://mock.invalid/v1", ""))
	noKey.APIKey = ""
	for _, tt := range []struct {
		name, want string
		kind       llm.ErrorKind
		req        *llm.Request
	}{
		{"no key", "No API key for provider: mock", llm.ErrAuth, noKey},
		{"flag of a wrong type", "compat of mock/m", llm.ErrBadRequest, request(model("mock", "http://mock.invalid/v1", `{"supportsStrictMode":"yes"}`))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &llmtest.Answer{}
			if err := protocol().Stream(t, a, tt.req).Err; err == nil || err.Kind != tt.kind || !strings.Contains(err.Message, tt.want) {
				t.Errorf("got %+v, want kind %s and %q", err, tt.kind, tt.want)
			}
			if a.Request != nil {
				t.Error("a request was sent")
			}
		})
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		provider   string
		body, want string
	}{
		{"mock", `{"error":{"code":null,"message":"no","type":"t"}}`, `mock API error (400): {"code":null,"message":"no","type":"t"}`},
		{"openai", `{"error":{"message":"quota"}}`, `OpenAI API error (400): {"message":"quota"}`},
		{"mock", `plain text body`, `mock API error (400): 400 plain text body`},
		{"mock", `<html><b>x</b></html>`, `mock API error (400): 400 <html><b>x</b></html>`},
		{"mock", ``, `mock API error (400): 400 status code (no body)`},
		{
			"openai", `{"error":{"code":"subscription_sharing_usage_limit_exceeded"}}`,
			`OpenAI API error (400): {"code":"subscription_sharing_usage_limit_exceeded"}` + "\nSee your ChatGPT usage at https://chatgpt.com/settings/usage",
		},
	} {
		req := request(model(tt.provider, "http://mock.invalid/v1", ""))
		r := protocol().Stream(t, &llmtest.Answer{Status: 400, Pieces: [][]byte{[]byte(tt.body)}}, req)
		if r.Err == nil || r.Err.Message != tt.want {
			t.Errorf("%s\ngives %q\nwant  %q", tt.body, r.Err.Message, tt.want)
		}
	}
}
