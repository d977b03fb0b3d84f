package responses_test

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/responses"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

func azureModel() *llm.Model {
	m := model("azure", "http://provider.invalid/openai/v1", "")
	m.API, m.ContextWindow, m.MaxTokens = llm.APIAzureResponses, 200_000, 16_384
	return m
}

func azureProtocol(env map[string]string) llmtest.Protocol {
	return llmtest.Protocol{Model: azureModel(), New: func(c *wire.Client) llm.Provider {
		return responses.NewAzure(c, func(name string) string { return env[name] })
	}}
}

// codexModel names its account in a header, as a proxy may: the suite's key is no token.
func codexModel() *llm.Model {
	m := model("openai-codex", "http://provider.invalid/backend-api", "")
	m.API, m.ContextWindow, m.MaxTokens = llm.APICodexResponses, 200_000, 16_384
	m.Headers = map[string]string{"ChatGPT-Account-Id": "acc-of-proxy"}
	return m
}

var codexTime = time.Unix(1_000_000, 0)

func codexProtocol() llmtest.Protocol {
	return llmtest.Protocol{Model: codexModel(), New: func(c *wire.Client) llm.Provider {
		return responses.NewCodex(c, func() time.Time { return codexTime })
	}}
}

// The answers are those of the protocol: some of its fixtures show that they are read.
func TestVariantsConform(t *testing.T) {
	for name, p := range map[string]llmtest.Protocol{"azure": azureProtocol(nil), "codex": codexProtocol()} {
		p.Dir = filepath.Join("testdata", "variants")
		t.Run(name, func(t *testing.T) { llmtest.Run(t, p) })
	}
}

// askedOf returns the body of a request and the request.
func askedOf(t *testing.T, p llmtest.Protocol, req *llm.Request) (string, *http.Request) {
	t.Helper()
	a := &llmtest.Answer{Status: http.StatusTeapot}
	r := p.Stream(t, a, req)
	if a.Request == nil {
		t.Fatalf("nothing was sent: %v", r.Err)
	}
	return string(a.Body), a.Request
}

// conversation is one of two providers, with pictures.
func conversation(m *llm.Model) []llm.Message {
	other := &llm.Model{ID: "claude", API: llm.APIAnthropicMessages, Provider: "anthropic"}
	return []llm.Message{
		user(llm.NewText("hi")),
		said(m, &llm.Thinking{Thinking: "hm", ThinkingSignature: `{"type":"reasoning","id":"rs_1","encrypted_content":"AA"}`}, llm.NewText("ok"), call("call_1|fc_1"), call("call_2")),
		result("call_1|fc_1", llm.NewText("A")), result("call_2", llm.NewImage("AAAA", "image/png")),
		said(other, &llm.Thinking{Thinking: "foreign", ThinkingSignature: "xx"}, llm.NewText("foreign text"), call("toolu|x/1")),
		result("toolu|x/1", llm.NewText("B")),
		user(llm.NewText("go"), llm.NewImage("BBBB", "image/jpeg")),
	}
}

// wantInput is the input that must come of it; foreign is the id of the other
// provider's call.
func wantInput(foreign string) string {
	return `[{"role":"developer","content":"Be brief."},{"role":"user","content":[{"type":"input_text","text":"hi"}]},
		{"type":"reasoning","id":"rs_1","encrypted_content":"AA"},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}],"status":"completed","id":"msg_pi_1"},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"bash","arguments":"{\"x\":1}"},{"type":"function_call","call_id":"call_2","name":"bash","arguments":"{\"x\":1}"},
		{"type":"function_call_output","call_id":"call_1","output":"A"},
		{"type":"function_call_output","call_id":"call_2","output":[{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,AAAA"}]},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"foreign text","annotations":[]}],"status":"completed","id":"msg_pi_4"},
		{"type":"function_call","call_id":"` + foreign + `","name":"bash","arguments":"{\"x\":1}"},{"type":"function_call_output","call_id":"` + foreign + `","output":"B"},
		{"role":"user","content":[{"type":"input_text","text":"go"},{"type":"input_image","detail":"auto","image_url":"data:image/jpeg;base64,BBBB"}]}]`
}

func tools() []llm.ToolSpec {
	return []llm.ToolSpec{{Name: "bash", Description: "Runs it", Parameters: jsonx.Raw(`{"type":"object"}`)}}
}

func TestAzureRequest(t *testing.T) {
	m := azureModel()
	m.Headers = map[string]string{"X-One": "model"}
	req := request(m, conversation(m)...)
	req.System, req.Thinking, req.SessionID, req.Tools = "Be brief.", llm.ThinkingLow, "s-1", tools()
	body, r := askedOf(t, azureProtocol(map[string]string{"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "a=b, m = dep-1 ,c="}), req)
	check(t, body, `{"model":"dep-1","input":`+wantInput("toolu")+`,"stream":true,"prompt_cache_key":"s-1","store":false,"max_output_tokens":16384,
		"tools":[{"type":"function","name":"bash","description":"Runs it","parameters":{"type":"object"},"strict":false}],
		"reasoning":{"effort":"low","summary":"auto"},"include":["reasoning.encrypted_content"]}`)
	if want := "http://provider.invalid/openai/v1/responses?api-version=v1"; r.URL.String() != want {
		t.Errorf("sent to %s, want %s", r.URL, want)
	}
	for name, want := range map[string]string{"Api-Key": "sk-key-for-tests", "Authorization": "", "Session-Id": "", "X-One": "model"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	m.Compat, m.SamplingParams, req.NoCache = jsonx.Raw(`{"supportsStrictMode":false}`), jsonx.Raw(`{"top_p":0.5}`), true
	body, _ = askedOf(t, azureProtocol(nil), req)
	if strings.Contains(body, "strict") || member(t, body, "top_p") != "0.5" || member(t, body, "prompt_cache_key") != "" || member(t, body, "model") != `"m"` {
		t.Errorf("flags: %s", body)
	}
}

func TestAzureThinking(t *testing.T) {
	off := map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil}
	for _, tt := range []struct {
		words map[llm.ThinkingLevel]*string
		level llm.ThinkingLevel
		want  string
	}{
		{nil, llm.ThinkingOff, `{"effort":"none"}`},
		{off, llm.ThinkingOff, ``},
		{nil, llm.ThinkingMinimal, `{"effort":"minimal","summary":"auto"}`},
		{nil, llm.ThinkingHigh, `{"effort":"high","summary":"auto"}`},
	} {
		m := azureModel()
		m.ThinkingLevelMap = tt.words
		req := request(m, user(llm.NewText("hi")))
		req.Thinking = tt.level
		body, _ := askedOf(t, azureProtocol(nil), req)
		if got := member(t, body, "reasoning"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.level, got, tt.want)
		}
	}
}

func TestAzureURLs(t *testing.T) {
	const query = "?api-version=v1"
	for _, tt := range []struct {
		name, base string
		env        map[string]string
		want       string
	}{
		{"a resource", "", map[string]string{"AZURE_OPENAI_RESOURCE_NAME": "mine"}, "https://mine.openai.azure.com/openai/v1/responses" + query},
		{"a host", "", map[string]string{"AZURE_OPENAI_BASE_URL": " https://mine.openai.azure.com/ "}, "https://mine.openai.azure.com/openai/v1/responses" + query},
		{"the URL wins", "http://model.invalid", map[string]string{"AZURE_OPENAI_BASE_URL": "https://x.cognitiveservices.azure.com/openai", "AZURE_OPENAI_RESOURCE_NAME": "mine"}, "https://x.cognitiveservices.azure.com/openai/v1/responses" + query},
		{"the whole URL", "", map[string]string{"AZURE_OPENAI_BASE_URL": "https://x.services.ai.azure.com/openai/v1/responses?api-version=old"}, "https://x.services.ai.azure.com/openai/v1/responses" + query},
		{"a version", "https://x.openai.azure.com/openai/deployments/d", map[string]string{"AZURE_OPENAI_API_VERSION": "2025-04-01-preview"}, "https://x.openai.azure.com/openai/deployments/d/responses?api-version=2025-04-01-preview"},
		{"a proxy", "http://proxy.invalid/a/?tenant=1", nil, "http://proxy.invalid/a/responses?api-version=v1&tenant=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := request(azureModel(), user(llm.NewText("hi")))
			req.Model.BaseURL = tt.base
			for what, p := range map[string]llmtest.Protocol{"environment": azureProtocol(tt.env), "credential": azureProtocol(map[string]string{"AZURE_OPENAI_BASE_URL": "http://not.this"})} {
				if req.Env = nil; what == "credential" {
					if req.Env = tt.env; tt.env["AZURE_OPENAI_BASE_URL"] == "" {
						continue
					}
				}
				if _, r := askedOf(t, p, req); r.URL.String() != tt.want {
					t.Errorf("%s: sent to %s, want %s", what, r.URL, tt.want)
				}
			}
		})
	}
}

func TestAzureErrors(t *testing.T) {
	noURL, badURL, noKey := request(azureModel()), request(azureModel()), request(azureModel())
	noURL.Model.BaseURL, badURL.Model.BaseURL, noKey.APIKey = "", "secret-without-host", ""
	for want, req := range map[string]*llm.Request{
		"Azure OpenAI base URL is required: set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME": noURL,
		"AZURE_OPENAI_BASE_URL is not a URL": badURL,
		"No API key for provider: azure":     noKey,
	} {
		a := &llmtest.Answer{}
		if r := azureProtocol(nil).Stream(t, a, req); r.Err == nil || r.Err.Message != want || a.Request != nil {
			t.Errorf("got %+v, want %s", r.Err, want)
		}
	}
	const denied = `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`
	r := azureProtocol(nil).Stream(t, &llmtest.Answer{Status: 401, Pieces: [][]byte{[]byte(denied)}}, nil)
	if want := `Azure OpenAI API error (401): {"code":"401",`; r.Err == nil || r.Err.Kind != llm.ErrAuth || !strings.HasPrefix(r.Err.Message, want) {
		t.Errorf("%+v", r.Err)
	}
}

// token is a JWT of an account, unsigned.
func token(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestCodexRequest(t *testing.T) {
	m := codexModel()
	m.Headers = map[string]string{"X-One": "model", "Authorization": "mine", "Originator": "mine"}
	req := request(m, conversation(m)...)
	req.APIKey = token(`{"https://api.openai.com/auth":{"chatgpt_account_id":"acc-1"}}`)
	req.System, req.Thinking, req.SessionID, req.Tools = "Be brief.", llm.ThinkingLow, "s-1", tools()
	body, r := askedOf(t, codexProtocol(), req)
	check(t, body, `{"model":"m","store":false,"stream":true,"input":`+wantInput("toolu")+`,"text":{"verbosity":"low"},
		"include":["reasoning.encrypted_content"],"prompt_cache_key":"s-1","tool_choice":"auto","parallel_tool_calls":true,"max_output_tokens":16384,
		"tools":[{"type":"function","name":"bash","description":"Runs it","parameters":{"type":"object"},"strict":null}],
		"reasoning":{"effort":"low","summary":"auto"}}`)
	if want := "http://provider.invalid/backend-api/codex/responses"; r.URL.String() != want {
		t.Errorf("sent to %s, want %s", r.URL, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer " + req.APIKey, "Chatgpt-Account-Id": "acc-1", "OpenAI-Beta": "responses=experimental", "Accept": "text/event-stream",
		"Session-Id": "s-1", "X-Client-Request-Id": "s-1", "X-One": "model", "Originator": "mine",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	m.Headers, req.NoCache, m.Compat = nil, true, jsonx.Raw(`{"supportsMaxOutputTokens":false}`)
	body, r = askedOf(t, codexProtocol(), req)
	if member(t, body, "prompt_cache_key") != "" || member(t, body, "max_output_tokens") != "" || r.Header.Get("Session-Id") != "" || r.Header.Get("Originator") != "isotope" {
		t.Errorf("flags: %s %v", body, r.Header)
	}
}

func TestCodexURLs(t *testing.T) {
	for base, want := range map[string]string{
		"": "https://chatgpt.com/backend-api/codex/responses", "http://x/": "http://x/codex/responses",
		"http://x/codex": "http://x/codex/responses", "http://x/codex/responses/": "http://x/codex/responses",
	} {
		req := request(codexModel(), user(llm.NewText("hi")))
		req.Model.BaseURL = base
		if _, r := askedOf(t, codexProtocol(), req); r.URL.String() != want {
			t.Errorf("%q: sent to %s, want %s", base, r.URL, want)
		}
	}
}

func TestCodexThinking(t *testing.T) {
	word := func(s string) *string { return &s }
	for _, tt := range []struct {
		words map[llm.ThinkingLevel]*string
		level llm.ThinkingLevel
		want  string
	}{
		{nil, "", `{"effort":"none","summary":"auto"}`},
		{nil, llm.ThinkingOff, `{"effort":"none","summary":"auto"}`},
		{map[llm.ThinkingLevel]*string{llm.ThinkingOff: nil}, llm.ThinkingOff, ``},
		{map[llm.ThinkingLevel]*string{llm.ThinkingOff: word("zero")}, llm.ThinkingOff, `{"effort":"zero","summary":"auto"}`},
		{map[llm.ThinkingLevel]*string{llm.ThinkingMinimal: word("low")}, llm.ThinkingMinimal, `{"effort":"low","summary":"auto"}`},
		{nil, llm.ThinkingHigh, `{"effort":"high","summary":"auto"}`},
	} {
		m := codexModel()
		m.ThinkingLevelMap = tt.words
		req := request(m, user(llm.NewText("hi")))
		req.Thinking = tt.level
		body, _ := askedOf(t, codexProtocol(), req)
		if got := member(t, body, "reasoning"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.level, got, tt.want)
		}
	}
}

func TestCodexTokens(t *testing.T) {
	for name, key := range map[string]string{
		"no key": "", "no token": "sk-1", "no base64": "a.!.c", "no JSON": "a.AAAA.c", "no claim": token(`{"sub":"x"}`),
		"another type": token(`{"https://api.openai.com/auth":{"chatgpt_account_id":5}}`), "null": token(`null`),
	} {
		req := request(codexModel(), user(llm.NewText("hi")))
		req.Model.Headers, req.APIKey = nil, key
		want := "Failed to extract accountId from token"
		if key == "" {
			want = "No API key for provider: openai-codex"
		}
		a := &llmtest.Answer{}
		if r := codexProtocol().Stream(t, a, req); r.Err == nil || r.Err.Message != want || r.Err.Kind != llm.ErrAuth || a.Request != nil {
			t.Errorf("%s: %+v", name, r.Err)
		}
	}
}

func TestCodexLimits(t *testing.T) {
	for _, tt := range []struct {
		body, want string
		kind       llm.ErrorKind
		after      time.Duration
	}{
		{
			`{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"Plus","resets_at":1000600}}`,
			"You have hit your ChatGPT usage limit (plus plan). Try again in ~10 min.", llm.ErrQuota, 10 * time.Minute,
		},
		{`{"error":{"code":"usage_limit_reached","resets_in_seconds":90}}`, "You have hit your ChatGPT usage limit. Try again in ~2 min.", llm.ErrQuota, 90 * time.Second},
		{`{"error":{"code":"usage_not_included"}}`, "You have hit your ChatGPT usage limit.", llm.ErrQuota, 0},
		{`{"error":{"code":"usage_limit_reached","resets_at":"soon"}}`, "You have hit your ChatGPT usage limit.", llm.ErrQuota, 0},
		{`{"error":{"code":"rate_limit_exceeded","message":"slow"}}`, `Codex API error (429): {"code":"rate_limit_exceeded","message":"slow"}`, llm.ErrRateLimit, 0},
		{`{"detail":"no"}`, `Codex API error (429): 429 {"detail":"no"}`, llm.ErrRateLimit, 0},
	} {
		r := codexProtocol().Stream(t, &llmtest.Answer{Status: 429, Pieces: [][]byte{[]byte(tt.body)}}, nil)
		if e := r.Err; e == nil || e.Message != tt.want || e.Kind != tt.kind || e.RetryAfter != tt.after {
			t.Errorf("%s\ngives %s %v %q\nwant  %s %v %q", tt.body, e.Kind, e.RetryAfter, e.Message, tt.kind, tt.after, tt.want)
		}
	}
}
