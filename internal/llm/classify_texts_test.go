package llm

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Field reports 97 and 100: each wording by which providers are known to say something,
// without a status, as in a stream. A text that was stored has no status either.
func TestClassifyWordings(t *testing.T) {
	for want, texts := range map[ErrorKind][]string{
		ErrOverflow: {
			"Requested token count exceeds the model's maximum context length of 131072 tokens.",
			"litellm.ContextWindowExceededError: Context Window exceeded for given call.",
			"Input length (265330) exceeds model's maximum context length (262144).",
			"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
			"tokens to keep from the initial prompt is greater than the context length",
			"Input length 1581 exceeds context length 1500",
			"Prompt contains 9 tokens, too large for model with 8 maximum context length",
			"prompt token count of 65446 exceeds the limit of 64000",
			"Prompt has 256468 tokens, but the configured context size is 256000 tokens",
			"Prompt too long", "Prompt exceeds max length", "tokens in request more than max tokens allowed",
			"context length is only 4096 tokens", "request entity too large", "input token count 9 exceeds the maximum",
			"This model's maximum prompt length is 9", "Please reduce the length of the messages or completion.",
			"The input (9 tokens) is longer than the model's context length (8 tokens).",
			"request (5827 tokens) exceeds the available context size (4096 tokens)",
			"invalid params, context window exceeds limit (2013)", "Your request exceeded model token limit: 9",
			"Unhandled stop reason: model_context_window_exceeded", "exceeded max context length by 9 tokens",
			"Range of input length should be [1, 9]", "too many tokens", "token limit exceeded", "request_too_large",
		},
		ErrRateLimit: {
			"Throttling error: Too many tokens, please wait before trying again.", "rate limit reached", "Too Many Requests",
			"Tokens per minute limit exceeded - too many tokens processed.",
		},
		ErrQuota: {
			"GoUsageLimitError", "FreeUsageLimitError: x", "monthly usage limit reached", "not enough available balance",
			"insufficient_quota", "out of budget", "Quota exceeded", "see your billing page", `{"error":{"code":"1308"}}`,
		},
		ErrTransient: {
			"overloaded", "server busy", "high demand", "at capacity", "Service unavailable", "server error", "internal error",
			"provider returned error", "upstream connect failure", "You can retry your request", "ResourceExhausted",
			"The server had an error while processing your request. Sorry about that!",
			"Model stream error: The system encountered an unexpected error during processing. Try your request again.",
			"Internal server error: The system encountered an unexpected error during processing. Try your request again.",
		},
		ErrTransport: {
			"connect ECONNREFUSED 127.0.0.1:1", "read ECONNRESET", "ECONNABORTED", "ETIMEDOUT", "write EPIPE", "getaddrinfo ENOTFOUND x",
			"EAI_AGAIN", "Connection error.", "connection lost", "connection closed", "connection reset by peer", "socket hang up",
			"socket closed", "request timed out", "terminated", "websocket closed", "http2 stream failed",
			"Stream ended without finish_reason", "OpenAI Responses stream ended before a terminal response event",
			"Google stream ended without a finish reason", "fetch failed",
		},
		ErrRefusal: {"Response incomplete: content_filter"},
	} {
		for _, text := range texts {
			if got := Classify(0, "", text); got != want {
				t.Errorf("Classify(0, %q) = %s, want %s", text, got, want)
			}
		}
	}
}

// maxCell is the length at which the page cuts a message; those bodies are classed whole
// by TestClassifyCorpus.
const maxCell = 320

// The page with the texts of errors, where it is present: the section decides.
func TestClassifyPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "spec", "errors.md"))
	if err != nil {
		t.Skip("no page of errors here")
	}
	sections := map[string]ErrorKind{
		"Context overflow": ErrOverflow, "Rate limit": ErrRateLimit, "Overloaded": ErrTransient, "Server error": ErrTransient,
		"Quota": ErrQuota, "Authentication": ErrAuth, "Unknown model": ErrBadRequest, "Bad request": ErrBadRequest,
		"The model produced": ErrBadRequest,
	}
	var want ErrorKind
	known, rows := false, 0
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			known = false
			for start, kind := range sections {
				if strings.HasPrefix(title, start) {
					want, known = kind, true
				}
			}
		}
		cells := strings.Split(line, "|")
		if !known || len(cells) < 6 {
			continue
		}
		status, err := strconv.Atoi(strings.TrimSpace(cells[2]))
		text := strings.TrimSpace(cells[3])
		if err != nil || len(text) >= maxCell {
			continue
		}
		rows++
		body := text
		for _, code := range strings.Split(cells[4], ",") { // as bodies have them, the HTTP code set aside
			if code = strings.TrimSpace(code); code != "" {
				body += ` "code":"` + code + `"`
			}
		}
		if got := Classify(status, "", body); got != want {
			t.Errorf("%d %s: %s, want %s", status, body, got, want)
		}
	}
	if rows < 50 {
		t.Errorf("the page has %d rows", rows)
	}
}
