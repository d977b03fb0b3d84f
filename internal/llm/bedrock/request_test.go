package bedrock

import (
	"net/http"
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

func claude() *llm.Model {
	return model("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "Claude Sonnet 4.5")
}

func TestWholeRequest(t *testing.T) {
	m := claude()
	m.Headers = map[string]string{"X-One": "model", "Authorization": "Bearer mine", "x-amz-target": "mine"}
	req := request(m, user(llm.NewText("hi"), llm.NewText(" \n"), llm.NewImage("AA==", "image/jpg"), llm.NewImage("AA==", "image/bmp")))
	req.System, req.Thinking, req.Headers = "Be brief.", llm.ThinkingLow, map[string]string{"X-Two": "request"}
	req.Tools = []llm.ToolSpec{{Name: "read", Description: "Reads", Parameters: jsonx.Raw(`{"type":"object"}`)}, {Name: "ls"}}
	body, r := sent(t, req)
	check(t, body, `{"messages":[{"role":"user","content":[{"text":"hi"},{"image":{"format":"jpeg","source":{"bytes":"AA=="}}},
			{"text":"(image omitted: not a JPEG, PNG, GIF or WebP picture)"},{"cachePoint":{"type":"default"}}]}],
		"system":[{"text":"Be brief."},{"cachePoint":{"type":"default"}}],"inferenceConfig":{"maxTokens":16384},
		"toolConfig":{"tools":[{"toolSpec":{"name":"read","description":"Reads","inputSchema":{"json":{"type":"object"}}}},
			{"toolSpec":{"name":"ls","inputSchema":{"json":{"type":"object","properties":{}}}}}]},
		"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2048,"display":"summarized"},"anthropic_beta":["interleaved-thinking-2025-05-14"]}}`)
	if want := "http://provider.invalid/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"; r.URL.String() != want {
		t.Errorf("sent to %s, want %s", r.URL, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer key-for-tests", "Content-Type": "application/json", "Accept": "application/vnd.amazon.eventstream",
		"X-One": "model", "X-Two": "request", "X-Amz-Target": "", "X-Amz-Date": "",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A blank result of a tool has a text (field report 113).
func TestMessages(t *testing.T) {
	m, nova := claude(), model("amazon.nova-lite-v1:0", "Nova")
	other := &llm.Model{ID: "gpt", API: llm.APIOpenAIResponses, Provider: "openai"}
	history := func(m *llm.Model) []llm.Message {
		return []llm.Message{
			user(llm.NewText("hi")),
			said(
				m, &llm.Thinking{Thinking: "hm", ThinkingSignature: "QUJD"}, &llm.Thinking{Redacted: true, ThinkingSignature: "QUJE"},
				&llm.Thinking{Redacted: true, ThinkingSignature: "no base64"}, &llm.Thinking{Thinking: "unsigned"}, llm.NewText("ok"),
				called("call_1", `{"path":"a"}`), called("call_2", `{"":1,"list":[{"":2,"x":3}]}`),
			),
			result("call_1", false, llm.NewText("A")), result("call_2", true, llm.NewText("B"), llm.NewImage("AAAA", "image/png"), llm.NewImage("BBBB", "image/png")),
			user(llm.NewText("see")),
			said(other, &llm.Thinking{Thinking: "foreign", ThinkingSignature: "xx"}, llm.NewText("foreign text"), called("call|fc/1", `null`)),
			result("call|fc/1", false, llm.NewText("\r\n")),
			user(llm.NewText("go")),
		}
	}
	const tail = `{"role":"assistant","content":[{"text":"foreign text"},{"toolUse":{"toolUseId":"call_fc_1","name":"read","input":{}}}]},
		{"role":"user","content":[{"toolResult":{"toolUseId":"call_fc_1","content":[{"text":"(no tool output)"}],"status":"success"}},{"text":"go"}`
	const uses = `{"text":"ok"},{"toolUse":{"toolUseId":"call_1","name":"read","input":{"path":"a"}}},{"toolUse":{"toolUseId":"call_2","name":"read","input":{"list":[{"x":3}]}}}]},`
	const first = `{"toolResult":{"toolUseId":"call_1","content":[{"text":"A"}],"status":"success"}},`
	for _, tt := range []struct {
		name string
		to   *llm.Model
		in   []llm.Message
		want string
	}{
		{"Claude signs reasoning, and takes no pictures in errors", m, history(m), `[{"role":"user","content":[{"text":"hi"}]},
			{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"QUJD"}}},{"reasoningContent":{"redactedContent":"QUJE"}},{"text":"unsigned"},` + uses + `
			{"role":"user","content":[` + first + `
				{"toolResult":{"toolUseId":"call_2","content":[{"text":"B"},{"text":"(image attached after the tool results)"}],"status":"error"}},
				{"text":"Images from the error result of tool call call_2 (read):"},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"BBBB"}}},{"text":"see"}]},
			` + tail + `,{"cachePoint":{"type":"default"}}]}]`},
		{"others refuse signatures", nova, history(nova), `[{"role":"user","content":[{"text":"hi"}]},
			{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"reasoningContent":{"redactedContent":"QUJE"}},{"reasoningContent":{"reasoningText":{"text":"unsigned"}}},` + uses + `
			{"role":"user","content":[` + first + `
				{"toolResult":{"toolUseId":"call_2","content":[{"text":"B"},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"image":{"format":"png","source":{"bytes":"BBBB"}}}],"status":"error"}},{"text":"see"}]},
			` + tail + `]}]`},
		{"pictures of an error behind the last result", m, []llm.Message{
			said(m, called("a", `{}`), called("b", `{}`)), result("a", true, llm.NewImage("AAAA", "image/png")), result("b", false, llm.NewText("B")),
		}, `[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"read","input":{}}},{"toolUse":{"toolUseId":"b","name":"read","input":{}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"(image attached after the tool results)"}],"status":"error"}},
				{"toolResult":{"toolUseId":"b","content":[{"text":"B"}],"status":"success"}},
				{"text":"Images from the error result of tool call a (read):"},{"image":{"format":"png","source":{"bytes":"AAAA"}}},{"cachePoint":{"type":"default"}}]}]`},
		{"an id that was used twice, and a call without a result", nova, []llm.Message{
			said(nova, called("x", `{}`)), result("x", false, llm.NewText("1")), said(nova, called("x", `{}`)),
		}, `[{"role":"assistant","content":[{"toolUse":{"toolUseId":"x","name":"read","input":{}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"x","content":[{"text":"1"}],"status":"success"}}]},
			{"role":"assistant","content":[{"toolUse":{"toolUseId":"x_2","name":"read","input":{}}}]},
			{"role":"user","content":[{"toolResult":{"toolUseId":"x_2","content":[{"text":"No result provided"}],"status":"error"}}]}]`},
		{"nothing", nova, nil, `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, _ := sent(t, request(tt.to, tt.in...))
			check(t, member(t, body, "messages"), tt.want)
		})
	}
}

// A history with calls is refused without a declaration of tools.
func TestToolsOfTheHistory(t *testing.T) {
	m := claude()
	body, _ := sent(t, request(m, user(llm.NewText("hi")), said(m, called("a", `{}`), called("b", `{}`)), user(llm.NewText("sum up"))))
	check(t, member(t, body, "toolConfig"), `{"tools":[{"toolSpec":{"name":"read","description":"Not to be called.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}`)
	if body, _ = sent(t, request(m, user(llm.NewText("hi")))); member(t, body, "toolConfig") != "" {
		t.Errorf("tools of nowhere: %s", body)
	}
}

func TestCachePoints(t *testing.T) {
	const long, short = `{"text":"hi"},{"cachePoint":{"type":"default","ttl":"1h"}}`, `{"text":"hi"},{"cachePoint":{"type":"default"}}`
	for _, tt := range []struct {
		name, id string
		env      map[string]string
		noCache  bool
		want     string
	}{
		{"claude", claude().ID, nil, false, short},
		{"for an hour", claude().ID, map[string]string{"PI_CACHE_RETENTION": "long"}, false, long},
		{"the program's own word comes first", claude().ID, map[string]string{"PI_CACHE_RETENTION": "long", "ISOTOPE_CACHE_RETENTION": "short"}, false, short},
		{"not wanted", claude().ID, nil, true, `{"text":"hi"}`},
		{"an old one", "anthropic.claude-v2", nil, false, `{"text":"hi"}`},
		{"3.5 haiku", "anthropic.claude-3-5-haiku-20241022-v1:0", nil, false, short},
		{"another model", "amazon.nova-lite-v1:0", nil, false, `{"text":"hi"}`},
		{"forced", "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x", map[string]string{"AWS_BEDROCK_FORCE_CACHE": "1"}, false, short},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request(model(tt.id, ""), user(llm.NewText("hi")))
			req.Env, req.NoCache = tt.env, tt.noCache
			body, _ := sent(t, req)
			if got := member(t, body, "messages"); got != `[{"role":"user","content":[`+tt.want+`]}]` {
				t.Error(got)
			}
		})
	}
}

func TestThinking(t *testing.T) {
	word := func(s string) *string { return &s }
	wide := map[llm.ThinkingLevel]*string{llm.ThinkingXHigh: word("xhigh"), llm.ThinkingMax: word("max")}
	enabled := func(budget string) string {
		return `{"thinking":{"type":"enabled","budget_tokens":` + budget + `,"display":"summarized"},"anthropic_beta":["interleaved-thinking-2025-05-14"]}`
	}
	plain := func(effort string) string {
		return `{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"` + effort + `"}}`
	}
	bound := func(effort string) string {
		return `{"thinking":{"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}},"output_config":{"effort":"` + effort + `"},"anthropic_beta":["thinking-binding-controls-2026-08-01"]}`
	}
	for _, tt := range []struct {
		id, name string
		words    map[llm.ThinkingLevel]*string
		level    llm.ThinkingLevel
		want     string
	}{
		{claude().ID, "", nil, "", ""},
		{claude().ID, "", nil, llm.ThinkingOff, ""},
		{claude().ID, "", nil, llm.ThinkingMinimal, enabled("1024")},
		{claude().ID, "", nil, llm.ThinkingMedium, enabled("8192")},
		{claude().ID, "", nil, llm.ThinkingHigh, enabled("15360")},
		{claude().ID, "", wide, llm.ThinkingMax, enabled("15360")},
		{"arn:aws:bedrock:eu-west-1:1:application-inference-profile/x", "My Claude Sonnet 4.5", nil, llm.ThinkingLow, enabled("2048")},
		{"anthropic.claude-opus-4-6-v1", "", nil, llm.ThinkingMinimal, plain("low")},
		{"anthropic.claude-opus-4-6-v1", "", wide, llm.ThinkingMax, plain("max")},
		{"anthropic.claude-opus-4-7", "", nil, llm.ThinkingMedium, bound("medium")},
		{"anthropic.claude-opus-4-7", "", nil, llm.ThinkingXHigh, bound("xhigh")},
		{"arn:x", "Claude Opus 5.5", wide, llm.ThinkingHigh, bound("high")},
		{
			"us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", "", nil, llm.ThinkingLow,
			`{"thinking":{"type":"enabled","budget_tokens":2048},"anthropic_beta":["interleaved-thinking-2025-05-14"]}`,
		},
		{"us-gov.anthropic.claude-opus-4-7", "", nil, llm.ThinkingLow, `{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}`},
		{"openai.gpt-oss-120b-1:0", "", nil, llm.ThinkingMinimal, `{"reasoning_effort":"low"}`},
		{"openai.gpt-oss-120b-1:0", "", wide, llm.ThinkingMax, `{"reasoning_effort":"high"}`},
		{"global.openai.gpt-5.6-luna", "", nil, llm.ThinkingMinimal, `{"reasoning":{"effort":"low"}}`},
		{"global.openai.gpt-5.6-luna", "", wide, llm.ThinkingXHigh, `{"reasoning":{"effort":"xhigh"}}`},
		{"amazon.nova-2-lite-v1:0", "Nova 2 Lite", nil, llm.ThinkingHigh, ""},
	} {
		m := model(tt.id, tt.name)
		m.ThinkingLevelMap = tt.words
		req := request(m, user(llm.NewText("hi")))
		req.Thinking = tt.level
		body, _ := sent(t, req)
		if got := member(t, body, "additionalModelRequestFields"); got != tt.want {
			t.Errorf("%s %s:\n%s, want\n%s", tt.id, tt.level, got, tt.want)
		}
		m.Reasoning = false
		if body, _ = sent(t, req); member(t, body, "additionalModelRequestFields") != "" {
			t.Errorf("%s does not reason, and is sent %s", tt.id, body)
		}
	}
	small := claude()
	small.MaxTokens = 2000
	req := request(small, user(llm.NewText("hi")))
	req.Thinking = llm.ThinkingHigh
	if body, _ := sent(t, req); member(t, body, "additionalModelRequestFields") != "" || member(t, body, "inferenceConfig") != `{"maxTokens":2000}` {
		t.Errorf("no room for thinking: %s", body)
	}
}

func TestErrorTexts(t *testing.T) {
	const namespace = ":http://internal.amazon.com/coral/com.amazon.bedrock/"
	for _, tt := range []struct {
		status           int
		name, body, want string
		kind             llm.ErrorKind
	}{
		{400, "ValidationException" + namespace, `{"message":"The provided model identifier is invalid."}`, "Validation error: The provided model identifier is invalid.", llm.ErrBadRequest},
		{400, "ValidationException" + namespace, `{"message":"Input is too long for requested model."}`, "Validation error: Input is too long for requested model.", llm.ErrOverflow},
		{403, "ExpiredTokenException" + namespace, `{"message":"The security token included in the request is expired"}`, "ExpiredTokenException: The security token included in the request is expired", llm.ErrAuth},
		{429, "ThrottlingException" + namespace, `{"message":"Too many tokens, please wait before trying again."}`, "Throttling error: Too many tokens, please wait before trying again.", llm.ErrRateLimit},
		{503, "ServiceUnavailableException", `{"Message":"x"}`, "Service unavailable: x", llm.ErrTransient},
		{400, "", `{"__type":"com.amazon.coral.service#ValidationException","message":"x"}`, "Validation error: x", llm.ErrBadRequest},
		{403, "AccessDeniedException", `{"message":"data retention mode 'default' is not available"}`, "AccessDeniedException: data retention mode 'default' is not available" + textRetention, llm.ErrAuth},
		{403, "", `<html>`, "403 <html>", llm.ErrAuth},
		{500, "InternalServerException", ``, "500 status code (no body)", llm.ErrTransient},
	} {
		a := &llmtest.Answer{Status: tt.status, Header: map[string]string{"X-Amzn-Errortype": tt.name}, Pieces: [][]byte{[]byte(tt.body)}}
		r := protocol().Stream(t, a, nil)
		if r.Err == nil || r.Err.Message != tt.want || r.Err.Kind != tt.kind || strings.Contains(r.Err.Code, ":") {
			t.Errorf("%s %s\ngives %s %q %s\nwant  %s %q", tt.name, tt.body, r.Err.Kind, r.Err.Message, r.Err.Code, tt.kind, tt.want)
		}
	}
}
