package google

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
func sent(t *testing.T, p llmtest.Protocol, req *llm.Request) (string, *http.Request) {
	t.Helper()
	a := &llmtest.Answer{Status: http.StatusTeapot}
	r := p.Stream(t, a, req)
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

// member returns a member of a body, a path of names.
func member(t *testing.T, body string, path ...string) string {
	t.Helper()
	for _, name := range path {
		members, err := jsonx.Members(jsonx.Raw(body))
		if err != nil {
			t.Fatal(err)
		}
		body = ""
		for _, m := range members {
			if m.Name == name {
				body = string(m.Value)
			}
		}
		if body == "" {
			return ""
		}
	}
	return body
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

func call(id, args, signature string) *llm.ToolCall {
	return &llm.ToolCall{ID: id, Name: "read", Arguments: jsonx.Raw(args), ThoughtSignature: signature}
}

func TestWholeRequest(t *testing.T) {
	m := model("gemini-3-flash-preview")
	m.Headers = map[string]string{"X-One": "model"}
	req := request(m, user(llm.NewText("hi"), llm.NewText(" \n"), llm.NewImage("AA==", "image/png")))
	req.System, req.Thinking, req.Headers = "Be brief.", llm.ThinkingLow, map[string]string{"X-Two": "request"}
	req.Tools = []llm.ToolSpec{
		{Name: "read", Description: "Reads", Parameters: jsonx.Raw(`{"type":"object","properties":{"mode":{"const":"x"},"const":{"type":"string"}}}`)},
		{Name: "ls", Description: "Lists"},
	}
	body, r := sent(t, protocol(), req)
	check(t, body, `{"contents":[{"role":"user","parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}],
		"systemInstruction":{"role":"user","parts":[{"text":"Be brief."}]},
		"tools":[{"functionDeclarations":[
			{"name":"read","description":"Reads","parametersJsonSchema":{"type":"object","properties":{"mode":{"enum":["x"]},"const":{"type":"string"}}}},
			{"name":"ls","description":"Lists","parametersJsonSchema":{"type":"object","properties":{}}}]}],
		"generationConfig":{"maxOutputTokens":16384,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`)
	if want := "http://provider.invalid/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"; r.URL.String() != want {
		t.Errorf("sent to %s, want %s", r.URL, want)
	}
	for name, want := range map[string]string{"X-Goog-Api-Key": "key-for-tests", "X-One": "model", "X-Two": "request", "Authorization": ""} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestModelPath(t *testing.T) {
	for id, want := range map[string]string{
		"gemini-4-argon": "models/gemini-4-argon", "models/x": "models/x", "tunedModels/y": "tunedModels/y", "a b": "models/a%20b",
	} {
		if got := geminiPath(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// A blank result of a tool has a text (field report 113).
func TestContents(t *testing.T) {
	old, three := model("gemini-2.5-flash"), model("gemini-3-flash-preview")
	other := &llm.Model{ID: "claude", API: llm.APIAnthropicMessages, Provider: "anthropic"}
	onVertex := *three
	onVertex.API, onVertex.Provider = llm.APIGoogleVertex, "google-vertex"
	blind := *three
	blind.Input = []string{"text"}
	answer := func(m *llm.Model) llm.Message {
		return said(
			m, &llm.Thinking{Thinking: "hm", ThinkingSignature: "QUJD"}, &llm.Text{Text: "ok", TextSignature: "QUJE"},
			call("call_1", `{"path":"a"}`, "QUJF"), call("call_2", `{"path":"b"}`, ""),
		)
	}
	history := func(m *llm.Model) []llm.Message {
		return []llm.Message{
			user(llm.NewText("hi")), answer(m),
			result("call_1", false, llm.NewText("A"), llm.NewImage("AAAA", "image/png")), result("call_2", false, llm.NewImage("BBBB", "image/png")),
			user(llm.NewText("see"), llm.NewImage("CCCC", "image/jpeg")),
			said(other, &llm.Thinking{Thinking: "foreign", ThinkingSignature: "xx"}, llm.NewText("foreign text"), call("toolu|x/1", `{"path":"c"}`, "QUJF")),
			result("toolu|x/1", true, llm.NewText("boom")),
			user(llm.NewText("go")),
		}
	}
	const begun = `{"role":"user","parts":[{"text":"hi"}]},`
	for _, tt := range []struct {
		name string
		to   *llm.Model
		in   []llm.Message
		want string
	}{
		{"before Gemini 3: no ids, pictures behind all results", old, history(old), `[` + begun + `
			{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"QUJD"},{"text":"ok","thoughtSignature":"QUJE"},
				{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"QUJF"},{"functionCall":{"name":"read","args":{"path":"b"}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"A"}}},{"functionResponse":{"name":"read","response":{"output":"(see attached image)"}}}]},
			{"role":"user","parts":[{"text":"Tool result image:"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"image/png","data":"BBBB"}}]},
			{"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/jpeg","data":"CCCC"}}]},
			{"role":"model","parts":[{"text":"foreign text"},{"functionCall":{"name":"read","args":{"path":"c"}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"error":"boom"}}}]},
			{"role":"user","parts":[{"text":"go"}]}]`},
		{"Gemini 3: ids, pictures in results", three, history(three), `[` + begun + `
			{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"QUJD"},{"text":"ok","thoughtSignature":"QUJE"},
				{"functionCall":{"id":"call_1","name":"read","args":{"path":"a"}},"thoughtSignature":"QUJF"},{"functionCall":{"id":"call_2","name":"read","args":{"path":"b"}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"read","response":{"output":"A"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}},
				{"functionResponse":{"id":"call_2","name":"read","response":{"output":"(see attached image)"},"parts":[{"inlineData":{"mimeType":"image/png","data":"BBBB"}}]}}]},
			{"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/jpeg","data":"CCCC"}}]},
			{"role":"model","parts":[{"text":"foreign text"},{"functionCall":{"id":"toolu_x_1","name":"read","args":{"path":"c"}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"toolu_x_1","name":"read","response":{"error":"boom"}}}]},
			{"role":"user","parts":[{"text":"go"}]}]`},
		{"another model's call in the current turn", three, []llm.Message{
			user(llm.NewText("hi")), said(other, call("a", `{}`, ""), call("b", `{}`, "")), result("a", false, llm.NewText("A")), result("b", false, llm.NewText(" \n")),
		}, `[` + begun + `
			{"role":"model","parts":[{"functionCall":{"id":"a","name":"read","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"b","name":"read","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read","response":{"output":"A"}}},{"functionResponse":{"id":"b","name":"read","response":{"output":"(no tool output)"}}}]}]`},
		{"Vertex AI knows no such value", &onVertex, []llm.Message{
			user(llm.NewText("hi")), said(other, call("a", `{}`, "")), result("a", false, llm.NewText("A")),
		}, `[` + begun + `
			{"role":"model","parts":[{"functionCall":{"id":"a","name":"read","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"a","name":"read","response":{"output":"A"}}}]}]`},
		{
			"a sibling's signatures and reasoning are left out", three,
			[]llm.Message{user(llm.NewText("hi")), answer(old), result("call_1", false, llm.NewText("A")), result("call_2", false, llm.NewText("B")), user(llm.NewText("go"))},
			`[` + begun + `
			{"role":"model","parts":[{"text":"ok"},{"functionCall":{"id":"call_1","name":"read","args":{"path":"a"}}},{"functionCall":{"id":"call_2","name":"read","args":{"path":"b"}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"read","response":{"output":"A"}}},{"functionResponse":{"id":"call_2","name":"read","response":{"output":"B"}}}]},
			{"role":"user","parts":[{"text":"go"}]}]`,
		},
		{
			"an empty text counts for its signature, and only for one that is base64", three,
			[]llm.Message{user(llm.NewText("hi")), said(three, &llm.Thinking{Thinking: "hm", ThinkingSignature: "no base64"}, &llm.Text{TextSignature: "QUJD"}, &llm.Text{TextSignature: "{}"})},
			`[` + begun + `{"role":"model","parts":[{"text":"hm","thought":true},{"text":"","thoughtSignature":"QUJD"}]}]`,
		},
		{"ids that were used twice, and a call without a result", three, []llm.Message{
			user(llm.NewText("hi")), said(three, call("x", `{}`, "QUJD")), result("x", false, llm.NewText("1")),
			said(three, call("x", `null`, "QUJD")), user(llm.NewText("go")),
		}, `[` + begun + `
			{"role":"model","parts":[{"functionCall":{"id":"x","name":"read","args":{}},"thoughtSignature":"QUJD"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"x","name":"read","response":{"output":"1"}}}]},
			{"role":"model","parts":[{"functionCall":{"id":"x_2","name":"read","args":{}},"thoughtSignature":"QUJD"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"x_2","name":"read","response":{"error":"No result provided"}}}]},
			{"role":"user","parts":[{"text":"go"}]}]`},
		{
			"a model without eyes", &blind,
			[]llm.Message{user(llm.NewImage("AAAA", "image/png"))},
			`[{"role":"user","parts":[{"text":"(image omitted: model does not support images)"}]}]`,
		},
		{"nothing", three, nil, `[]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := protocol()
			if tt.to.API == llm.APIGoogleVertex {
				p = vertexProtocol()
			}
			body, _ := sent(t, p, request(tt.to, tt.in...))
			check(t, member(t, body, "contents"), tt.want)
		})
	}
}

func TestThinking(t *testing.T) {
	never := map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil}
	word := func(s string) *string { return &s }
	pro := map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil, llm.ThinkingMinimal: nil, llm.ThinkingXHigh: word("xhigh")}
	gemma := map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil, llm.ThinkingMinimal: word("MINIMAL"), llm.ThinkingLow: nil, llm.ThinkingMedium: nil, llm.ThinkingHigh: word("HIGH")}
	for _, tt := range []struct {
		id    string
		words map[llm.ThinkingLevel]*string
		level llm.ThinkingLevel
		want  string
	}{
		{"gemini-2.5-flash", nil, "", `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", nil, llm.ThinkingOff, `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", nil, llm.ThinkingMinimal, `{"includeThoughts":true,"thinkingBudget":128}`},
		{"gemini-2.5-flash", nil, llm.ThinkingLow, `{"includeThoughts":true,"thinkingBudget":2048}`},
		{"gemini-2.5-flash", nil, llm.ThinkingMedium, `{"includeThoughts":true,"thinkingBudget":8192}`},
		{"gemini-2.5-flash", nil, llm.ThinkingHigh, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash-lite", nil, llm.ThinkingMinimal, `{"includeThoughts":true,"thinkingBudget":512}`},
		{"gemini-2.5-pro", never, llm.ThinkingOff, `{"thinkingBudget":128}`},
		{"gemini-2.5-pro", never, llm.ThinkingHigh, `{"includeThoughts":true,"thinkingBudget":32768}`},
		{"gemini-3-flash-preview", nil, llm.ThinkingOff, `{"thinkingBudget":0}`},
		{"gemini-3-flash-preview", nil, llm.ThinkingMinimal, `{"includeThoughts":true,"thinkingLevel":"MINIMAL"}`},
		{"gemini-3.1-pro-preview", pro, llm.ThinkingOff, `{"thinkingLevel":"LOW"}`},
		{"gemini-3.1-pro-preview", pro, llm.ThinkingMedium, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-4-hydrogen", pro, llm.ThinkingXHigh, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-12-x", pro, llm.ThinkingLow, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-3-other", nil, llm.ThinkingLow, `{"includeThoughts":true,"thinkingBudget":-1}`},
		{"gemini-flash-latest", nil, llm.ThinkingLow, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemma-4-31b-it", gemma, llm.ThinkingOff, `{"thinkingLevel":"MINIMAL"}`},
		{"gemma-4-31b-it", gemma, llm.ThinkingHigh, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"another", nil, llm.ThinkingHigh, `{"includeThoughts":true,"thinkingBudget":-1}`},
	} {
		m := model(tt.id)
		m.ThinkingLevelMap = tt.words
		req := request(m, user(llm.NewText("hi")))
		req.Thinking = tt.level
		body, _ := sent(t, protocol(), req)
		if got := member(t, body, "generationConfig", "thinkingConfig"); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.id, tt.level, got, tt.want)
		}
		m.Reasoning = false
		body, _ = sent(t, protocol(), req)
		if got := member(t, body, "generationConfig", "thinkingConfig"); got != "" {
			t.Errorf("%s does not reason, and is sent %s", tt.id, got)
		}
	}
}

func TestSchemas(t *testing.T) {
	for in, want := range map[string]string{
		``:                               `{"type":"object","properties":{}}`,
		`{"const":1}`:                    `{"enum":[1]}`,
		`{"const":true}`:                 `{"const":true}`,
		`{"const":"a","enum":["a","b"]}`: `{"const":"a","enum":["a","b"]}`,
		`{"anyOf":[{"const":"a"},{"const":"b"}]}`:                        `{"anyOf":[{"enum":["a"]},{"enum":["b"]}]}`,
		`{"items":{"const":"a"},"default":{"const":"a"}}`:                `{"items":{"enum":["a"]},"default":{"const":"a"}}`,
		`{"$defs":{"const":{"const":"a"}},"additionalProperties":false}`: `{"$defs":{"const":{"enum":["a"]}},"additionalProperties":false}`,
	} {
		got, err := schemaOf(jsonx.Raw(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s (%v), want %s", in, got, err, want)
		}
	}
	req := request(model("m"), user(llm.NewText("hi")))
	req.Tools = []llm.ToolSpec{{Name: "read", Parameters: jsonx.Raw(`{"a":`)}}
	a := &llmtest.Answer{}
	if r := protocol().Stream(t, a, req); r.Err == nil || r.Err.Kind != llm.ErrBadRequest || !strings.Contains(r.Err.Message, "schema of tool read") || a.Request != nil {
		t.Errorf("a broken schema: %+v", r.Err)
	}
}

func TestNoKey(t *testing.T) {
	req := request(model("m"), user(llm.NewText("hi")))
	req.APIKey = ""
	a := &llmtest.Answer{}
	if r := protocol().Stream(t, a, req); r.Err == nil || r.Err.Kind != llm.ErrAuth || r.Err.Message != "No API key for provider: google" || a.Request != nil {
		t.Errorf("%+v", r.Err)
	}
	req.Headers = map[string]string{"Authorization": "Bearer x"}
	if _, r := sent(t, protocol(), req); r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("X-Goog-Api-Key") != "" {
		t.Errorf("headers of the user's own: %v", r.Header)
	}
}

func TestErrorTexts(t *testing.T) {
	const key = `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`
	for _, tt := range []struct {
		status     int
		body, want string
		kind       llm.ErrorKind
		code       string
	}{
		{400, strings.ReplaceAll(key, ",", ",\n "), key, llm.ErrAuth, "API_KEY_INVALID"},
		{400, "[" + key + "]", key, llm.ErrAuth, "API_KEY_INVALID"},
		{
			429, `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"48s"}]}}`,
			`{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"48s"}]}}`, llm.ErrRateLimit, "RESOURCE_EXHAUSTED",
		},
		{
			400, `{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (5).","status":"INVALID_ARGUMENT"}}`,
			`{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (5).","status":"INVALID_ARGUMENT"}}`, llm.ErrOverflow, "INVALID_ARGUMENT",
		},
		{502, `<html>`, `502 <html>`, llm.ErrTransient, ""},
		{500, `{"error":{"message":"x"}}`, `500 {"error":{"message":"x"}}`, llm.ErrTransient, ""},
	} {
		r := protocol().Stream(t, &llmtest.Answer{Status: tt.status, Pieces: [][]byte{[]byte(tt.body)}}, nil)
		if r.Err == nil || r.Err.Message != tt.want || r.Err.Kind != tt.kind || r.Err.Code != tt.code {
			t.Errorf("%s\ngives %s %s %q\nwant  %s %s %q", tt.body, r.Err.Kind, r.Err.Code, r.Err.Message, tt.kind, tt.code, tt.want)
		}
	}
}
