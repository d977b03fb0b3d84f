package llm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestClassify(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		code, text string
		want       ErrorKind
	}{
		// overflow
		"size in words":               {400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ErrOverflow},
		"size by code only":           {400, "context_length_exceeded", "no", ErrOverflow},
		"size by code in the body":    {400, "", `{"error":{"code":"context_length_exceeded","message":"no"}}`, ErrOverflow},
		"size by number code":         {400, "1261", "x", ErrOverflow},
		"Nova":                        {400, "", "Input Tokens Exceeded: Number of input tokens exceeds maximum length.", ErrOverflow},
		"xAI":                         {400, "", "[input_too_large] Current message (9 tokens) exceeds budget (5 tokens)", ErrOverflow},
		"Perplexity":                  {400, "", "The total length of all messages is too long.", ErrOverflow},
		"Mistral":                     {400, "", "Prompt contains 9 tokens ... too large for model with 5 maximum context length", ErrOverflow},
		"LM Studio":                   {400, "", "tokens to keep from the initial prompt is greater than the context length", ErrOverflow},
		"LM Studio, older":            {400, "", "Input length 1581 exceeds context length 1500", ErrOverflow},
		"DS4":                         {400, "", "Prompt has 9 tokens, but the configured context size is 5 tokens", ErrOverflow},
		"LiteLLM":                     {400, "", "litellm.ContextWindowExceededError: Context Window exceeded for given call.", ErrOverflow},
		"llama.cpp as a server error": {500, "", "the request exceeds the available context size", ErrOverflow},
		"413":                         {413, "", `{"message":"failed to parse request","code":""}`, ErrOverflow},
		"413 without body":            {413, "", "", ErrOverflow},
		"400 without body":            {400, "", " ", ErrOverflow},
		"in a stream":                 {0, "", "The model returned the following errors: Input is too long for requested model.", ErrOverflow},
		"finish reason":               {0, "model_context_window_exceeded", "", ErrOverflow},
		"Alibaba, internal error":     {400, "", "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 9]", ErrOverflow},

		// never overflow
		"throttled by tokens":      {429, "", "Too many tokens, please wait before trying again.", ErrRateLimit},
		"throttled in a stream":    {0, "throttlingException", "Too many tokens, please wait before trying again.", ErrRateLimit},
		"per minute":               {429, "", "Tokens per minute limit exceeded - too many tokens processed.", ErrRateLimit},
		"413 of a minute's budget": {413, "rate_limit_exceeded", "Request too large on tokens per minute (TPM)", ErrRateLimit},
		"unavailable":              {503, "", "Service unavailable: too many tokens", ErrTransient},
		"picture too large":        {400, "", "image exceeds 5 MB maximum", ErrBadRequest},

		// quota is no rate limit
		"insufficient quota":     {429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.", ErrQuota},
		"quota without code":     {429, "", "You exceeded your current quota, please check your plan", ErrQuota},
		"quota in a stream":      {0, "insufficient_quota", "x", ErrQuota},
		"usage cap":              {429, "1308", "You have reached the limit of your plan", ErrQuota},
		"usage cap, field 101":   {429, "", `{"error":{"code":"1308","message":"usage limit reached for 5 hours"}}`, ErrQuota},
		"credit balance":         {400, "invalid_request_error", "Your credit balance is too low to access the API", ErrQuota},
		"payment":                {402, "", "Prompt tokens limit exceeded: 36163 > 29652", ErrQuota},
		"rate limit with ad":     {429, "rate_limit_exceeded", "Rate limit reached. Upgrade at https://x/settings/billing", ErrRateLimit},
		"quota that says when":   {429, "429", `You exceeded your current quota ... "retryDelay": "48s"`, ErrRateLimit},
		"quota of the day":       {429, "429", `exceeded your current quota "quotaId":"RequestsPerDay" "retryDelay":"1s"`, ErrQuota},
		"billing server is down": {503, "", "billing backend failed", ErrTransient},

		// rate and capacity
		"429 with nothing":   {429, "", "", ErrRateLimit},
		"429 of capacity":    {429, "", "Service tier capacity exceeded for this model.", ErrTransient},
		"529":                {529, "", "k3", ErrTransient},
		"520":                {520, "", "<html>", ErrTransient},
		"524":                {524, "", "", ErrTransient},
		"409":                {409, "", "conflict", ErrTransient},
		"overloaded, stream": {0, "overloaded_error", "Overloaded", ErrTransient},
		"server, stream":     {0, "", "The server had an error while processing your request. Sorry about that!", ErrTransient},
		"gRPC":               {0, "", "ResourceExhausted: worker limit", ErrTransient},

		// auth
		"401":               {401, "", "rate limit? no", ErrAuth},
		"403":               {403, "", "mock", ErrAuth},
		"bad key as 400":    {400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", ErrAuth},
		"403 of moderation": {403, "", "Input was flagged for violence", ErrRefusal},

		// the rest
		"filter":        {400, "content_filter", "blocked by the content management policy", ErrRefusal},
		"unknown model": {404, "not_found_error", "model: x", ErrBadRequest},
		"validation":    {422, "", "x", ErrBadRequest},
		"redirect":      {302, "", "x", ErrBadRequest},
		"reset, stream": {0, "", "read ECONNRESET", ErrTransport},
		"bad call":      {0, "tool_use_failed", "Tool call validation failed", ErrBadRequest},
		"odd":           {0, "api_error", "something odd", ErrUnknown},
		"nothing":       {0, "", "", ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Classify(c.status, c.code, c.text); got != c.want {
				t.Errorf("Classify(%d, %q, %q) = %s, want %s", c.status, c.code, c.text, got, c.want)
			}
		})
	}
}

// Field report 100: texts of transient failures that clients of the reference saw
// without a retry.
func TestClassifyMissedTransients(t *testing.T) {
	for _, text := range []string{
		"ECONNRESET", "write EPIPE", "connect ETIMEDOUT", "The socket connection was closed unexpectedly",
		"request ended without sending any chunks", "ResourceExhausted", "getaddrinfo EAI_AGAIN x", "socket hang up",
	} {
		if k := Classify(0, "", text); k != ErrTransport && k != ErrTransient {
			t.Errorf("Classify(0, %q) = %s, which is not retried", text, k)
		}
	}
	for _, status := range []int{408, 500, 502, 503, 504, 520, 524, 529} {
		if k := Classify(status, "", "x"); k != ErrTransient {
			t.Errorf("Classify(%d) = %s, want %s", status, k, ErrTransient)
		}
	}
}

// The recorded error bodies, where they are present: their class in the index decides.
func TestClassifyCorpus(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "data", "streams")
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Skip("no recorded bodies here")
	}
	type item struct {
		Name     string `json:"name"`
		Kind     string `json:"kind"`
		Class    string `json:"class"`
		Provider string `json:"provider"`
		File     string `json:"response_file"`
		Status   int    `json:"status"`
	}
	var list []item
	if err := jsonx.Unmarshal(index, &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]ErrorKind{
		"overflow": ErrOverflow, "auth": ErrAuth, "rate-limit": ErrRateLimit, "not-found": ErrBadRequest,
		"bad-request": ErrBadRequest, "overloaded": ErrTransient, "server": ErrTransient, "model-output": ErrBadRequest, "quota": ErrQuota,
	}
	n := 0
	for _, it := range list {
		if it.Kind != "http-error" {
			continue
		}
		n++
		body, err := os.ReadFile(filepath.Join(dir, it.Provider, it.File))
		if err != nil {
			t.Fatal(err)
		}
		if got := Classify(it.Status, "", string(body)); got != want[it.Class] {
			t.Errorf("%s (%d): %s, want %s\n%s", it.Name, it.Status, got, want[it.Class], body)
		}
	}
	if n == 0 {
		t.Error("the index lists no error bodies")
	}
}
