package mistral

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// sent returns the body of a request, which is answered by an error, and the request.
func sent(t *testing.T, req *llm.Request) (string, *http.Request) {
	t.Helper()
	a := &llmtest.Answer{Status: http.StatusTeapot}
	r := protocol().Stream(t, a, req)
	if a.Request == nil {
		t.Fatalf("nothing was sent: %v", r.Err)
	}
	return string(a.Body), a.Request
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

func request(m *llm.Model, msgs ...llm.Message) *llm.Request {
	return &llm.Request{Model: m, Messages: msgs, APIKey: "key-for-tests"}
}

func user(blocks ...llm.Block) llm.Message { return &llm.UserMessage{Content: blocks} }

func said(m *llm.Model, blocks ...llm.Block) llm.Message {
	return &llm.AssistantMessage{Content: blocks, API: m.API, Provider: m.Provider, Model: m.ID, StopReason: llm.StopEnd}
}

func result(id string, isError bool, blocks ...llm.Block) llm.Message {
	return &llm.ToolResultMessage{ToolCallID: id, ToolName: "read", Content: blocks, IsError: isError}
}

func called(id, args string) *llm.ToolCall {
	return &llm.ToolCall{ID: id, Name: "read", Arguments: jsonx.Raw(args)}
}

func TestWholeRequest(t *testing.T) {
	m := model()
	m.BaseURL = "http://provider.invalid/x/v1/"
	m.Headers = map[string]string{"X-One": "model"}
	req := request(m, user(llm.NewText("hi"), llm.NewText(" "), llm.NewImage("AA==", "image/png")))
	req.System, req.Thinking, req.SessionID, req.Headers = "Be brief.", llm.ThinkingHigh, "s-1", map[string]string{"X-Two": "request"}
	req.Tools = []llm.ToolSpec{{Name: "read", Description: "Reads", Parameters: jsonx.Raw(`{"type":"object"}`)}, {Name: "ls"}}
	body, r := sent(t, req)
	check(t, body, `{"model":"test-model","stream":true,"messages":[{"role":"system","content":"Be brief."},
		{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":"data:image/png;base64,AA=="}]}],
		"tools":[{"type":"function","function":{"name":"read","description":"Reads","parameters":{"type":"object"},"strict":false}},
			{"type":"function","function":{"name":"ls","description":"","parameters":{"type":"object","properties":{}},"strict":false}}],
		"max_tokens":16384,"prompt_mode":"reasoning","prompt_cache_key":"s-1"}`)
	if want := "http://provider.invalid/x/v1/chat/completions"; r.URL.String() != want {
		t.Errorf("sent to %s, want %s", r.URL, want)
	}
	for name, want := range map[string]string{"Authorization": "Bearer key-for-tests", "X-Affinity": "s-1", "X-One": "model", "X-Two": "request", "Accept": "text/event-stream"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	req.NoCache = true
	if body, r = sent(t, req); member(t, body, "prompt_cache_key") != "" || r.Header.Get("X-Affinity") != "" {
		t.Errorf("a cache key although the request wants none: %s", body)
	}
	m.Headers["x-affinity"], req.NoCache = "mine", false
	if _, r = sent(t, req); r.Header.Get("X-Affinity") != "mine" {
		t.Error("a header of the model's own is lost")
	}
}

// A blank result of a tool has a text (field report 113).
func TestMessages(t *testing.T) {
	m := model()
	other := &llm.Model{ID: "claude", API: llm.APIAnthropicMessages, Provider: "anthropic"}
	blind := *m
	blind.Input = []string{"text"}
	history := []llm.Message{
		user(llm.NewText("hi")),
		said(m, &llm.Thinking{Thinking: "hm"}, llm.NewText("ok"), called("aX2gaLIyo", `{"path":"a"}`), called("bX2gaLIyo", `null`)),
		result("aX2gaLIyo", false, llm.NewText("A")), result("bX2gaLIyo", false, llm.NewImage("AAAA", "image/png")),
		user(llm.NewText("see"), llm.NewImage("BBBB", "image/jpeg")),
		said(other, &llm.Thinking{Thinking: "foreign", ThinkingSignature: "xx"}, llm.NewText("foreign text"), called("toolu|x/1", `{"path":"c"}`)),
		result("toolu|x/1", true, llm.NewText("boom"), llm.NewImage("CCCC", "image/png")),
		user(llm.NewText("go")),
	}
	id := derived("toolu|x/1", 0)
	twice := derived("aX2gaLIyo_2", 0)
	for _, tt := range []struct {
		name string
		to   *llm.Model
		in   []llm.Message
		want string
	}{
		{"a conversation of two providers", m, history, `[{"role":"user","content":[{"type":"text","text":"hi"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"ok"}],
				"tool_calls":[{"id":"aX2gaLIyo","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"bX2gaLIyo","type":"function","function":{"name":"read","arguments":"{}"}}]},
			{"role":"tool","name":"read","content":[{"type":"text","text":"A"}],"tool_call_id":"aX2gaLIyo"},
			{"role":"tool","name":"read","content":[{"type":"text","text":"(see attached image)"},{"type":"image_url","image_url":"data:image/png;base64,AAAA"}],"tool_call_id":"bX2gaLIyo"},
			{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":"data:image/jpeg;base64,BBBB"}]},
			{"role":"assistant","content":[{"type":"text","text":"foreign text"}],"tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"read","arguments":"{\"path\":\"c\"}"}}]},
			{"role":"tool","name":"read","content":[{"type":"text","text":"[tool error] boom"},{"type":"image_url","image_url":"data:image/png;base64,CCCC"}],"tool_call_id":"` + id + `"},
			{"role":"user","content":[{"type":"text","text":"go"}]}]`},
		{"a model without eyes", &blind, []llm.Message{user(llm.NewImage("A", "image/png")), said(&blind, called("aX2gaLIyo", `{}`)), result("aX2gaLIyo", true, llm.NewImage("A", "image/png"))}, `[
			{"role":"user","content":[{"type":"text","text":"(image omitted: model does not support images)"}]},
			{"role":"assistant","tool_calls":[{"id":"aX2gaLIyo","type":"function","function":{"name":"read","arguments":"{}"}}]},
			{"role":"tool","name":"read","content":[{"type":"text","text":"[tool error] (tool image omitted: model does not support images)"}],"tool_call_id":"aX2gaLIyo"}]`},
		{"an id that was used twice, and results without text", m, []llm.Message{
			said(m, called("aX2gaLIyo", `{}`)), result("aX2gaLIyo", false, llm.NewText("\r\n")), said(m, called("aX2gaLIyo", `{}`)),
		}, `[{"role":"assistant","tool_calls":[{"id":"aX2gaLIyo","type":"function","function":{"name":"read","arguments":"{}"}}]},
			{"role":"tool","name":"read","content":[{"type":"text","text":"(no tool output)"}],"tool_call_id":"aX2gaLIyo"},
			{"role":"assistant","tool_calls":[{"id":"` + twice + `","type":"function","function":{"name":"read","arguments":"{}"}}]},
			{"role":"tool","name":"read","content":[{"type":"text","text":"[tool error] No result provided"}],"tool_call_id":"` + twice + `"}]`},
		{"nothing", m, nil, `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, _ := sent(t, request(tt.to, tt.in...))
			check(t, member(t, body, "messages"), tt.want)
		})
	}
}

// Ids have nine letters and digits; no two calls share one, and none changes.
func TestCallIDs(t *testing.T) {
	var c callIDs
	seen := map[string]string{}
	ids := []string{"", "toolu_01AbC", "aX2gaLIyo", "aX2gaLIy_", derived("toolu_01AbC", 1), "call|fc", "\x00\xff"}
	for i := range 2000 {
		ids = append(ids, "call_"+strconv.Itoa(i))
	}
	for range 2 {
		for _, id := range ids {
			w := c.of(id)
			if !wellFormed(w) {
				t.Errorf("%q became %q", id, w)
			}
			if before, ok := seen[w]; ok && before != id {
				t.Errorf("%q and %q became %q", before, id, w)
			}
			seen[w] = id
		}
	}
	if c.of("aX2gaLIyo") != "aX2gaLIyo" {
		t.Error("a good id was changed")
	}
	if len(seen) != len(ids) {
		t.Errorf("%d ids became %d", len(ids), len(seen))
	}
	if n := len(derived("x", 0)); n != idLength {
		t.Errorf("%d digits", n)
	}
}

// An id that already has a hash's form cannot be taken away by it.
func TestCallIDsCollide(t *testing.T) {
	var c callIDs
	first := derived("long-id", 0)
	if c.of(first) != first || c.of("long-id") != derived("long-id", 1) {
		t.Error("an id was given twice")
	}
}

func TestReasoning(t *testing.T) {
	word := func(s string) *string { return &s }
	words := map[llm.ThinkingLevel]*string{llm.ThinkingOff: word("none"), llm.ThinkingMinimal: nil, llm.ThinkingLow: word("low"), llm.ThinkingHigh: word("high"), llm.ThinkingMax: word("max")}
	always := map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil, llm.ThinkingLow: word("low")}
	for _, tt := range []struct {
		words        map[llm.ThinkingLevel]*string
		level        llm.ThinkingLevel
		mode, effort string
	}{
		{nil, "", "", ""},
		{nil, llm.ThinkingOff, "", ""},
		{nil, llm.ThinkingMinimal, "reasoning", ""},
		{nil, llm.ThinkingHigh, "reasoning", ""},
		{words, "", "", "none"},
		{words, llm.ThinkingOff, "", "none"},
		{words, llm.ThinkingLow, "", "low"},
		{words, llm.ThinkingMedium, "", "high"},
		{words, llm.ThinkingHigh, "", "high"},
		{words, llm.ThinkingMax, "", "max"},
		{always, llm.ThinkingOff, "", ""},
		{always, llm.ThinkingLow, "", "low"},
	} {
		m := model()
		m.ThinkingLevelMap = tt.words
		req := request(m, user(llm.NewText("hi")))
		req.Thinking = tt.level
		b, err := body(req)
		if err != nil {
			t.Fatal(err)
		}
		if b.PromptMode != tt.mode || b.Effort != tt.effort {
			t.Errorf("%v %s: mode %q, effort %q", tt.words, tt.level, b.PromptMode, b.Effort)
		}
		m.Reasoning = false
		if b, _ := body(req); b.PromptMode != "" || b.Effort != "" {
			t.Errorf("a model that does not reason: %+v", b)
		}
	}
}

func TestNoKey(t *testing.T) {
	req := request(model(), user(llm.NewText("hi")))
	req.APIKey = ""
	a := &llmtest.Answer{}
	if r := protocol().Stream(t, a, req); r.Err == nil || r.Err.Kind != llm.ErrAuth || r.Err.Message != "No API key for provider: mistral" || a.Request != nil {
		t.Errorf("%+v", r.Err)
	}
}

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		status     int
		body, want string
		kind       llm.ErrorKind
		code       string
	}{
		{401, `{"detail":"Invalid API Key"}`, `Mistral API error (401): {"detail":"Invalid API Key"}`, llm.ErrAuth, ""},
		{429, `{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}`, `Mistral API error (429): {"object":"error",`, llm.ErrRateLimit, "1300"},
		{429, `{"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","code":null}`, `Mistral API error (429): {`, llm.ErrTransient, "invalid_request_error"},
		{422, `{"detail":[{"loc":["body"],"msg":"bad"}]}`, `Mistral API error (422): {"detail":[`, llm.ErrBadRequest, ""},
		{400, `{"error":{"message":"Prompt contains 9 tokens, too large for model with 5 maximum context length","code":3051}}`, `Mistral API error (400): {"error":`, llm.ErrOverflow, "3051"},
		{503, ``, `Mistral API error (503): 503 status code (no body)`, llm.ErrTransient, ""},
	} {
		r := protocol().Stream(t, &llmtest.Answer{Status: tt.status, Pieces: [][]byte{[]byte(tt.body)}}, nil)
		if r.Err == nil || !strings.HasPrefix(r.Err.Message, tt.want) || r.Err.Kind != tt.kind || r.Err.Code != tt.code {
			t.Errorf("%s\ngives %s %s %q\nwant  %s %s %q", tt.body, r.Err.Kind, r.Err.Code, r.Err.Message, tt.kind, tt.code, tt.want)
		}
	}
}
