package openai_test

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
	if want := strings.TrimRight(req.Model.BaseURL, "/") + "/chat/completions"; a.Request.URL.String() != want {
		t.Errorf("sent to %s, want %s", a.Request.URL, want)
	}
	return string(a.Body), a.Request.Header
}

// indented returns JSON in a form that can be compared line by line.
func indented(t *testing.T, body string) string {
	t.Helper()
	if !jsonx.Valid([]byte(body)) {
		t.Fatalf("no JSON: %s", body)
	}
	return string(jsonx.Indent([]byte(body)))
}

func check(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(indented(t, want), indented(t, got)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func model(provider, url, compat string) *llm.Model {
	return &llm.Model{
		ID: "m", API: llm.APIOpenAICompletions, Provider: provider, BaseURL: url, Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: 100_000, MaxTokens: 1000, Compat: jsonx.Raw(compat),
	}
}

func request(m *llm.Model, msgs ...llm.Message) *llm.Request {
	return &llm.Request{Model: m, Messages: msgs, APIKey: "key-for-tests"}
}

func user(blocks ...llm.Block) llm.Message { return &llm.UserMessage{Content: blocks} }

func said(m *llm.Model, blocks ...llm.Block) *llm.AssistantMessage {
	return &llm.AssistantMessage{Content: blocks, API: m.API, Provider: m.Provider, Model: m.ID, StopReason: llm.StopEnd}
}

func result(id string, blocks ...llm.Block) llm.Message {
	return &llm.ToolResultMessage{ToolCallID: id, ToolName: "bash", Content: blocks}
}

func call(id, args string) *llm.ToolCall {
	return &llm.ToolCall{ID: id, Name: "bash", Arguments: jsonx.Raw(args)}
}

// messagesOf returns the messages of a body.
func messagesOf(t *testing.T, body string) string {
	t.Helper()
	var b struct {
		Messages jsonx.Raw `json:"messages"`
	}
	if err := jsonx.Unmarshal([]byte(body), &b); err != nil {
		t.Fatal(err)
	}
	return string(b.Messages)
}

func TestWholeRequest(t *testing.T) {
	m := model("mock", "http://mock.invalid/v1/", "")
	req := request(m, user(llm.NewText("hi"), llm.NewImage("AA==", "image/png")))
	req.System, req.Thinking, req.SessionID = "Be brief.", llm.ThinkingHigh, "s-1"
	req.Tools = []llm.ToolSpec{{Name: "bash", Description: "Runs it", Parameters: jsonx.Raw(`{"type":"object"}`)}}
	body, h := sent(t, req)
	check(t, body, `{"model":"m","messages":[{"role":"system","content":"Be brief."},
		{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}],
		"stream":true,"stream_options":{"include_usage":true},"store":false,"max_completion_tokens":1000,
		"tools":[{"type":"function","function":{"name":"bash","description":"Runs it","parameters":{"type":"object"}}}],
		"reasoning_effort":"high"}`)
	if got := h.Get("Authorization"); got != "Bearer key-for-tests" {
		t.Errorf("Authorization: %s", got)
	}
	for _, name := range []string{"session_id", "x-client-request-id", "x-session-affinity", "x-session-id"} {
		if h.Get(name) != "" {
			t.Errorf("%s is sent to a server that does not want it", name)
		}
	}
}

func TestHistory(t *testing.T) {
	m := model("mock", "http://mock.invalid/v1", "")
	other := *m
	other.ID, other.API = "claude", llm.APIAnthropicMessages
	thought := &llm.Thinking{Thinking: "hm", ThinkingSignature: "reasoning_content"}
	blank := result("c", llm.NewText("\r\n")) // field report 113
	tests := []struct {
		name   string
		compat string
		in     []llm.Message
		want   string
	}{
		{"text, reasoning and a call", "", []llm.Message{
			user(llm.NewText("go")), said(m, thought, llm.NewText("a"), llm.NewText("b"), call("c", `{"x":1}`)), result("c", llm.NewText("one"), llm.NewText("two")),
		}, `[{"role":"user","content":[{"type":"text","text":"go"}]},
			{"role":"assistant","content":"ab","reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{\"x\":1}"}}]},
			{"role":"tool","content":"one\ntwo","tool_call_id":"c"}]`},
		{"reasoning goes back in the field it came in", "", []llm.Message{
			said(m, &llm.Thinking{Thinking: "a", ThinkingSignature: "reasoning"}, llm.NewText("x")),
			said(m, &llm.Thinking{Thinking: "b", ThinkingSignature: "reasoning_text"}, llm.NewText("y")),
			said(m, &llm.Thinking{Thinking: "c", ThinkingSignature: "opaque"}, llm.NewText("z")),
		}, `[{"role":"assistant","content":"x","reasoning":"a"},{"role":"assistant","content":"y","reasoning_text":"b"},{"role":"assistant","content":"z"}]`},
		{"another model's reasoning does not", "", []llm.Message{said(&other, thought, llm.NewText("a"))}, `[{"role":"assistant","content":"a"}]`},
		{
			"a call without text", "",
			[]llm.Message{said(m, call("c", ``)), blank},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","content":"(no tool output)","tool_call_id":"c"}]`,
		},
		{"pictures of tools follow the results of the turn", "", []llm.Message{
			said(m, call("c", `{}`), call("d", `{}`)), result("c", llm.NewImage("AA==", "image/png")), result("d", llm.NewText("t"), llm.NewImage("BB==", "image/gif")), user(llm.NewText("ok")),
		}, `[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}},{"id":"d","type":"function","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","content":"(see attached image)","tool_call_id":"c"},{"role":"tool","content":"t","tool_call_id":"d"},
			{"role":"user","content":[{"type":"text","text":"Attached image(s) from tool result:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"image_url","image_url":{"url":"data:image/gif;base64,BB=="}}]},
			{"role":"user","content":[{"type":"text","text":"ok"}]}]`},
		{"ids of the Responses protocol", "", []llm.Message{
			said(&other, call("call_1|fc_1", `{}`), call("call_2|"+strings.Repeat("x+/", 30), `{}`)), result("call_1|fc_1", llm.NewText("t")),
		}, `[{"role":"assistant","content":null,"tool_calls":[{"id":"call_1_fc_1","type":"function","function":{"name":"bash","arguments":"{}"}},{"id":"call_2_etezc4","type":"function","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","content":"t","tool_call_id":"call_1_fc_1"},{"role":"tool","content":"No result provided","tool_call_id":"call_2_etezc4"}]`},
		{"ids that become equal stay apart", "", []llm.Message{
			said(&other, call("a|b", `{}`), call("a_b", `{}`)), result("a_b", llm.NewText("2")), result("a|b", llm.NewText("1")),
		}, `[{"role":"assistant","content":null,"tool_calls":[{"id":"a_b","type":"function","function":{"name":"bash","arguments":"{}"}},{"id":"a_b_2","type":"function","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","content":"2","tool_call_id":"a_b_2"},{"role":"tool","content":"1","tool_call_id":"a_b"}]`},
		{"only reasoning is nothing", "", []llm.Message{said(m, thought), user(llm.NewText("go"))}, `[{"role":"user","content":[{"type":"text","text":"go"}]}]`},
		{"reasoning details", "", []llm.Message{
			said(m, &llm.Thinking{Thinking: "hm", ThinkingSignature: `[{"type":"reasoning.text","text":"hm","signature":"s"}]`}, llm.NewText("a")),
		}, `[{"role":"assistant","content":"a","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}]}]`},
		{"details and extra content kept with calls", "", []llm.Message{
			said(m, &llm.ToolCall{ID: "c", Name: "bash", Arguments: jsonx.Raw(`{}`), ThoughtSignature: `{"type":"reasoning.encrypted","id":"e","data":"D"}`}), blank,
			said(m, &llm.ToolCall{ID: "d", Name: "bash", Arguments: jsonx.Raw(`{}`), ThoughtSignature: `{"google":{"thought_signature":"S"}}`}),
		}, `[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}],"reasoning_details":[{"type":"reasoning.encrypted","id":"e","data":"D"}]},
			{"role":"tool","content":"(no tool output)","tool_call_id":"c"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"d","type":"function","function":{"name":"bash","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S"}}}]},
			{"role":"tool","content":"No result provided","tool_call_id":"d"}]`},
		{
			"requiresToolResultName", `{"requiresToolResultName":true}`,
			[]llm.Message{said(m, call("c", `{}`)), result("c", llm.NewText("t"))},
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","content":"t","tool_call_id":"c","name":"bash"}]`,
		},
		{"requiresAssistantAfterToolResult", `{"requiresAssistantAfterToolResult":true}`, []llm.Message{
			said(m, call("c", `{}`)), result("c", llm.NewText("t"), llm.NewImage("AA==", "image/png")), user(llm.NewText("ok")),
		}, `[{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","content":"t","tool_call_id":"c"},{"role":"assistant","content":"I have processed the tool results."},
			{"role":"user","content":[{"type":"text","text":"Attached image(s) from tool result:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},
			{"role":"user","content":[{"type":"text","text":"ok"}]}]`},
		{
			"requiresThinkingAsText", `{"requiresThinkingAsText":true}`,
			[]llm.Message{said(m, thought, llm.NewText("a"))},
			`[{"role":"assistant","content":[{"type":"text","text":"hm"},{"type":"text","text":"a"}]}]`,
		},
		{
			"requiresReasoningContentOnAssistantMessages", `{"requiresReasoningContentOnAssistantMessages":true}`,
			[]llm.Message{said(m, llm.NewText("a"))},
			`[{"role":"assistant","content":"a","reasoning_content":""}]`,
		},
		{
			"requiresNonNullAssistantContent", `{"requiresNonNullAssistantContent":true}`,
			[]llm.Message{said(m, call("c", `{}`)), blank},
			`[{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]},
			{"role":"tool","content":"(no tool output)","tool_call_id":"c"}]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			to := *m
			to.Compat = jsonx.Raw(tt.compat)
			body, _ := sent(t, request(&to, tt.in...))
			check(t, messagesOf(t, body), tt.want)
		})
	}
}

func TestOpenCodeGoWantsReasoningContent(t *testing.T) {
	m := model("opencode-go", "http://mock.invalid/v1", "")
	body, _ := sent(t, request(m, said(m, &llm.Thinking{Thinking: "hm", ThinkingSignature: "reasoning"}, llm.NewText("a"))))
	check(t, messagesOf(t, body), `[{"role":"assistant","content":"a","reasoning_content":"hm"}]`)
}

// rest returns a body without the members that all requests share.
func rest(t *testing.T, body string) string {
	t.Helper()
	members, err := jsonx.Members(jsonx.Raw(body))
	if err != nil {
		t.Fatal(err)
	}
	var o jsonx.Object
	for _, m := range members {
		switch m.Name {
		case "model", "messages", "stream":
		default:
			o.Set(m.Name, m.Value)
		}
	}
	raw, err := jsonx.Marshal(&o)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestServers(t *testing.T) {
	const max, mct = `"max_tokens":1000`, `"max_completion_tokens":1000`
	const options, store = `"stream_options":{"include_usage":true},`, `"store":false,`
	tests := []struct {
		provider, url, want string
	}{
		{"mock", "http://localhost:1/v1", options + store + mct + `,"reasoning_effort":"low"`},
		{"openai", "https://api.openai.com/v1", `"prompt_cache_key":"s-1",` + options + store + mct + `,"reasoning_effort":"low"`},
		{"deepseek", "https://api.deepseek.com", options + max + `,"thinking":{"type":"enabled"},"reasoning_effort":"low"`},
		{"zai", "https://api.z.ai/api/coding/paas/v4", options + max + `,"thinking":{"type":"enabled","clear_thinking":false}`},
		{"together", "https://api.together.ai/v1", options + max + `,"reasoning":{"enabled":true}`},
		{"moonshotai", "https://api.moonshot.ai/v1", options + max},
		{"nvidia", "https://integrate.api.nvidia.com/v1", options + max},
		{"ant-ling", "https://api.ant-ling.com/v1", options + max},
		{"cloudflare-ai-gateway", "https://gateway.ai.cloudflare.com/v1/a/b/openai", options + max},
		{"cloudflare-workers-ai", "https://api.cloudflare.com/client/v4/accounts/a/ai/v1", options + mct + `,"reasoning_effort":"low"`},
		{"x", "https://llm.chutes.ai/v1", options + max + `,"reasoning_effort":"low"`},
		{"xai", "https://api.x.ai/v1", options + mct},
		{"cerebras", "https://api.cerebras.ai/v1", options + mct + `,"reasoning_effort":"low"`},
		{"opencode", "https://opencode.ai/zen/v1", options + mct + `,"reasoning_effort":"low"`},
		{"openrouter", "https://openrouter.ai/api/v1", options + store + mct + `,"reasoning":{"effort":"low"}`},
	}
	for _, tt := range tests {
		t.Run(tt.provider, func(t *testing.T) {
			req := request(model(tt.provider, tt.url, ""), user(llm.NewText("hi")))
			req.Thinking, req.SessionID = llm.ThinkingLow, "s-1"
			body, _ := sent(t, req)
			check(t, rest(t, body), "{"+tt.want+"}")
		})
	}
}

func TestInstructionRole(t *testing.T) {
	for _, tt := range []struct{ url, compat, want string }{
		{"https://api.openai.com/v1", "", "developer"},
		{"https://api.openai.com/v1", `{"supportsDeveloperRole":false}`, "system"},
		{"http://localhost:1/v1", "", "system"},
		{"http://localhost:1/v1", `{"supportsDeveloperRole":true}`, "developer"},
	} {
		req := request(model("p", tt.url, tt.compat))
		req.System = "S"
		body, _ := sent(t, req)
		check(t, messagesOf(t, body), `[{"role":"`+tt.want+`","content":"S"}]`)
	}
}

func TestFlags(t *testing.T) {
	const base = `"stream_options":{"include_usage":true},"store":false,"max_completion_tokens":1000`
	tests := []struct {
		name, compat, want string
	}{
		{"none", ``, base},
		{"null", `null`, base},
		{"supportsStore", `{"supportsStore":false}`, `"stream_options":{"include_usage":true},"max_completion_tokens":1000`},
		{"supportsUsageInStreaming", `{"supportsUsageInStreaming":false}`, `"store":false,"max_completion_tokens":1000`},
		{"maxTokensField", `{"maxTokensField":"max_tokens"}`, `"stream_options":{"include_usage":true},"store":false,"max_tokens":1000`},
		{"vllmPriority", `{"vllmPriority":-2}`, base + `,"priority":-2`},
		{"openRouterRouting", `{"openRouterRouting":{"only":["a"]}}`, base + `,"provider":{"only":["a"]}`},
		{"vercelGatewayRouting", `{"vercelGatewayRouting":{"order":["a"]}}`, base + `,"providerOptions":{"gateway":{"order":["a"]}}`},
		{"promptCacheKeyMode", `{"promptCacheKeyMode":"enabled"}`, `"prompt_cache_key":"s-1",` + base},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := request(model("mock", "http://mock.invalid/v1", tt.compat), user(llm.NewText("hi")))
			req.SessionID = "s-1"
			body, _ := sent(t, req)
			check(t, rest(t, body), "{"+tt.want+"}")
		})
	}
}

func TestToolFlags(t *testing.T) {
	m := model("mock", "http://mock.invalid/v1", `{"supportsStrictMode":true,"zaiToolStream":true,"requiresToolsWithToolHistory":true}`)
	req := request(m, user(llm.NewText("hi")))
	req.Tools = []llm.ToolSpec{{Name: "a", Description: "A", Parameters: jsonx.Raw(`{}`)}}
	body, _ := sent(t, req)
	check(t, rest(t, body), `{"stream_options":{"include_usage":true},"store":false,"max_completion_tokens":1000,
		"tools":[{"type":"function","function":{"name":"a","description":"A","parameters":{},"strict":false}}],"tool_stream":true}`)
	body, _ = sent(t, request(m, said(m, call("c", `{}`))))
	check(t, rest(t, body), `{"stream_options":{"include_usage":true},"store":false,"max_completion_tokens":1000,"tools":[]}`)
}

func TestThinkingFormats(t *testing.T) {
	word := func(s string) *string { return &s }
	mapped := map[llm.ThinkingLevel]*string{llm.ThinkingHigh: word("deep"), llm.ThinkingOff: word("zero")}
	noOff := map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil}
	tests := []struct {
		compat string
		words  map[llm.ThinkingLevel]*string
		level  llm.ThinkingLevel
		want   string
	}{
		{`{}`, nil, llm.ThinkingHigh, `"reasoning_effort":"high"`},
		{`{}`, nil, llm.ThinkingOff, ``},
		{`{}`, mapped, llm.ThinkingHigh, `"reasoning_effort":"deep"`},
		{`{}`, mapped, llm.ThinkingOff, `"reasoning_effort":"zero"`},
		{`{}`, mapped, "", `"reasoning_effort":"zero"`},
		{`{"supportsReasoningEffort":false}`, nil, llm.ThinkingHigh, ``},
		{`{"thinkingFormat":"openrouter"}`, nil, llm.ThinkingHigh, `"reasoning":{"effort":"high"}`},
		{`{"thinkingFormat":"openrouter"}`, nil, llm.ThinkingOff, `"reasoning":{"effort":"none"}`},
		{`{"thinkingFormat":"openrouter"}`, noOff, llm.ThinkingOff, ``},
		{`{"thinkingFormat":"deepseek"}`, nil, llm.ThinkingHigh, `"thinking":{"type":"enabled"},"reasoning_effort":"high"`},
		{`{"thinkingFormat":"deepseek"}`, nil, llm.ThinkingOff, `"thinking":{"type":"disabled"}`},
		{`{"thinkingFormat":"deepseek"}`, noOff, llm.ThinkingOff, ``},
		{`{"thinkingFormat":"zai"}`, nil, llm.ThinkingHigh, `"thinking":{"type":"enabled","clear_thinking":false},"reasoning_effort":"high"`},
		{`{"thinkingFormat":"zai"}`, nil, llm.ThinkingOff, `"thinking":{"type":"disabled"}`},
		{`{"thinkingFormat":"qwen"}`, nil, llm.ThinkingHigh, `"enable_thinking":true,"reasoning_effort":"high"`},
		{`{"thinkingFormat":"qwen"}`, nil, llm.ThinkingOff, `"enable_thinking":false`},
		{`{"thinkingFormat":"qwen-chat-template"}`, nil, llm.ThinkingLow, `"chat_template_kwargs":{"enable_thinking":true,"preserve_thinking":true}`},
		{`{"thinkingFormat":"together"}`, nil, llm.ThinkingLow, `"reasoning":{"enabled":true},"reasoning_effort":"low"`},
		{`{"thinkingFormat":"together"}`, nil, llm.ThinkingOff, `"reasoning":{"enabled":false}`},
		{`{"thinkingFormat":"ant-ling"}`, mapped, llm.ThinkingHigh, `"reasoning":{"effort":"deep"}`},
		{`{"thinkingFormat":"ant-ling"}`, nil, llm.ThinkingHigh, ``},
		{`{"thinkingFormat":"string-thinking"}`, nil, llm.ThinkingHigh, `"thinking":"high"`},
		{`{"thinkingFormat":"string-thinking"}`, nil, llm.ThinkingOff, `"thinking":"none"`},
		{
			`{"thinkingFormat":"chat-template","chatTemplateKwargs":{"a":1,"b":{"$var":"thinking.enabled"},"c":{"$var":"thinking.effort"},"d":{"$var":"thinking.budget"},"e":{"$var":"odd"}}}`,
			nil, llm.ThinkingLow, `"chat_template_kwargs":{"a":1,"b":true,"c":"low","d":2048}`,
		},
		{
			`{"thinkingFormat":"chat-template","chatTemplateKwargs":{"b":{"$var":"thinking.enabled","omitWhenOff":true},"c":{"$var":"thinking.effort"}}}`,
			nil, llm.ThinkingOff, ``,
		},
		{
			`{"thinkingFormat":"baseten","chatTemplateArgs":{"b":{"$var":"thinking.enabled"}}}`,
			mapped, llm.ThinkingOff, `"chat_template_args":{"b":false},"reasoning_effort":"zero"`,
		},
		{`{"thinkingTokenBudgetField":"thinking_budget"}`, nil, llm.ThinkingMinimal, `"reasoning_effort":"minimal","thinking_budget":1024`},
		{`{"supportsThinkingTokenBudget":true}`, nil, llm.ThinkingHigh, `"reasoning_effort":"high","thinking_token_budget":3976`},
	}
	for _, tt := range tests {
		t.Run(tt.compat+" "+string(tt.level), func(t *testing.T) {
			m := model("mock", "http://mock.invalid/v1", tt.compat)
			m.ThinkingLevelMap, m.MaxTokens = tt.words, 5000
			req := request(m, user(llm.NewText("hi")))
			req.Thinking = tt.level
			body, _ := sent(t, req)
			want := `"stream_options":{"include_usage":true},"store":false,"max_completion_tokens":5000`
			if tt.want != "" {
				want += "," + tt.want
			}
			check(t, rest(t, body), "{"+want+"}")
		})
	}
}

func TestModelsWithoutReasoningGetNoSwitch(t *testing.T) {
	m := model("deepseek", "http://mock.invalid/v1", "")
	m.Reasoning = false
	body, _ := sent(t, request(m, said(m, llm.NewText("a"))))
	check(t, rest(t, body), `{"stream_options":{"include_usage":true},"max_tokens":1000}`)
	check(t, messagesOf(t, body), `[{"role":"assistant","content":"a"}]`)
}

func TestSamplingParametersWin(t *testing.T) {
	m := model("mock", "http://mock.invalid/v1", "")
	m.SamplingParams = jsonx.Raw(`{"temperature":0.2,"store":true}`)
	m.SamplingByLevel = jsonx.Raw(`{"low":{"temperature":1}}`)
	req := request(m, user(llm.NewText("hi")))
	req.Thinking = llm.ThinkingLow
	body, _ := sent(t, req)
	check(t, rest(t, body), `{"stream_options":{"include_usage":true},"store":true,"max_completion_tokens":1000,"reasoning_effort":"low","temperature":1}`)
}

func TestCacheMarkers(t *testing.T) {
	m := model("openrouter", "https://openrouter.ai/api/v1", "")
	m.ID = "anthropic/claude"
	req := request(m, user(llm.NewText("one"), llm.NewImage("AA==", "image/png")), said(m, call("c", `{}`)), result("c", llm.NewText("t")))
	req.System, req.SessionID = "S", "s-1"
	req.Tools = []llm.ToolSpec{{Name: "a", Parameters: jsonx.Raw(`{}`)}, {Name: "b", Parameters: jsonx.Raw(`{}`)}}
	body, h := sent(t, req)
	check(t, messagesOf(t, body), `[{"role":"system","content":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}]},
		{"role":"user","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]},
		{"role":"tool","content":[{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}],"tool_call_id":"c"}]`)
	if n := strings.Count(body, "cache_control"); n != 3 {
		t.Errorf("%d markers, want 3: %s", n, body)
	}
	if got := h.Get("x-session-id"); got != "s-1" {
		t.Errorf("x-session-id: %q", got)
	}
	req.NoCache = true
	body, h = sent(t, req)
	if strings.Contains(body, "cache_control") || h.Get("x-session-id") != "" {
		t.Errorf("cache markers although the request wants none: %s %v", body, h)
	}
}

func TestHeaders(t *testing.T) {
	m := model("mock", "http://mock.invalid/v1", `{"sendSessionAffinityHeaders":true}`)
	m.Headers = map[string]string{"X-One": "model", "X-Two": "model"}
	req := request(m, user(llm.NewText("hi")))
	req.SessionID, req.Headers = "s-1", map[string]string{"X-Two": "request"}
	_, h := sent(t, req)
	for name, want := range map[string]string{
		"X-One": "model", "X-Two": "request", "session_id": "s-1", "x-client-request-id": "s-1", "x-session-affinity": "s-1",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	m.Compat = jsonx.Raw(`{"sendSessionAffinityHeaders":true,"sessionAffinityFormat":"openai-nosession"}`)
	if _, h = sent(t, req); h.Get("session_id") != "" || h.Get("x-session-affinity") != "s-1" {
		t.Errorf("openai-nosession sends %v", h)
	}
}

func TestErrorsBeforeTheRequest(t *testing.T) {
	noKey := request(model("mock", "http://mock.invalid/v1", ""))
	noKey.APIKey = ""
	sampling := request(model("mock", "http://mock.invalid/v1", ""))
	sampling.Model.SamplingParams = jsonx.Raw(`[]`)
	for _, tt := range []struct {
		name, want string
		kind       llm.ErrorKind
		req        *llm.Request
	}{
		{"no key", "No API key for provider: mock", llm.ErrAuth, noKey},
		{"flag of a wrong type", "compat of mock/m", llm.ErrBadRequest, request(model("mock", "http://mock.invalid/v1", `{"supportsStore":"yes"}`))},
		{"sampling parameters that are none", "samplingParams of mock/m", llm.ErrBadRequest, sampling},
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
	noKey.Headers = map[string]string{"Authorization": "Basic eDp5"}
	if _, h := sent(t, noKey); h.Get("Authorization") != "Basic eDp5" {
		t.Errorf("the request's own Authorization is lost: %v", h)
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		status     int
		body, want string
		code       string
	}{
		{400, `{"error":{"code":null,"message":"no","type":"invalid_request_error"}}`, `400: {"code":null,"message":"no","type":"invalid_request_error"}`, "invalid_request_error"},
		{429, `{"error": {"message":"quota", "code":"insufficient_quota"}}`, `429: {"message":"quota","code":"insufficient_quota"}`, "insufficient_quota"},
		{
			429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"slow \"down\""}}}`,
			`429: {"message":"Provider returned error","code":429,"metadata":{"raw":"slow \"down\""}}` + "\nslow \"down\"", "429",
		},
		{400, `plain text body`, `400 plain text body`, ""},
		{400, `<html><b>x</b></html>`, `400 <html><b>x</b></html>`, ""},
		{400, `{"error":"text"}`, `400 {"error":"text"}`, ""},
		{400, `{"error":{}}`, `400 {"error":{}}`, ""},
		{400, `{"detail":"odd","code":"c"}`, `400 {"detail":"odd","code":"c"}`, "c"},
		{500, ``, `500 status code (no body)`, ""},
	} {
		r := protocol().Stream(t, &llmtest.Answer{Status: tt.status, Pieces: [][]byte{[]byte(tt.body)}}, nil)
		if r.Err == nil || r.Err.Message != tt.want || r.Err.Code != tt.code {
			t.Errorf("%d %s\ngives %q, code %q\nwant  %q, code %q", tt.status, tt.body, r.Err.Message, r.Err.Code, tt.want, tt.code)
		}
	}
}
