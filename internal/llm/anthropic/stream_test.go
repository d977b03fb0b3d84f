package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

const (
	messageStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"mock\",\"usage\":{\"input_tokens\":3}}}\n\n"
	someText     = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\n"
)

// The error texts that clients see, and which of them are retried.
func TestStreamErrors(t *testing.T) {
	reset := errors.New("read: connection reset by peer")
	for name, c := range map[string]struct {
		answer *llmtest.Answer
		kind   llm.ErrorKind
		want   string
	}{
		"status":             {&llmtest.Answer{Status: 529, Pieces: [][]byte{[]byte(`{"error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}`)}}, llm.ErrTransient, `529 {"error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}`},
		"status, plain":      {&llmtest.Answer{Status: 400, Pieces: [][]byte{[]byte("plain text body")}}, llm.ErrBadRequest, "400 plain text body"},
		"nothing":            {&llmtest.Answer{}, llm.ErrTransport, TextNoReason},
		"cut":                {body(messageStart, someText), llm.ErrTransport, TextNoStop},
		"a page":             {body("<html><body>gateway page</body></html>"), llm.ErrTransport, TextNoReason},
		"cut inside JSON":    {body(messageStart, someText[:len(someText)-20]), llm.ErrTransport, TextNoStop},
		"reset":              {&llmtest.Answer{Pieces: [][]byte{[]byte(messageStart)}, Err: reset}, llm.ErrTransport, "terminated: read ECONNRESET"},
		"no stop reason":     {body(messageStart, "data: {\"type\":\"message_stop\"}\n\n"), llm.ErrTransport, TextNoReason},
		"malformed":          {body("event: message_start\ndata: {not json at all\n\n"), llm.ErrUnknown, "Could not parse Anthropic SSE event message_start: "},
		"error":              {body(messageStart, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"), llm.ErrTransient, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		"error without name": {body("data: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n"), llm.ErrRateLimit, `{"type":"error",`},
		"odd error":          {body("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"something odd\"}}\n\n"), llm.ErrUnknown, `{"type":"error",`},
		"plain error":        {body("event: error\ndata: upstream failed\n\n"), llm.ErrTransient, "upstream failed"},
		"empty error":        {body("event: error\ndata:\n\n"), llm.ErrUnknown, "error"},
		"refusal":            {body(messageStart, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"), llm.ErrRefusal, TextRefused},
		"sensitive":          {body(messageStart, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"sensitive\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"), llm.ErrRefusal, "Provider stopped with: sensitive"},
	} {
		t.Run(name, func(t *testing.T) {
			r := protocol().Stream(t, c.answer, nil)
			if r.Err == nil || r.Err.Kind != c.kind || !strings.HasPrefix(r.Err.Message, c.want) {
				t.Fatalf("%+v, want %s %q", r.Err, c.kind, c.want)
			}
		})
	}
}

func body(parts ...string) *llmtest.Answer {
	return &llmtest.Answer{Pieces: [][]byte{[]byte(strings.Join(parts, ""))}}
}

// What a stream that was aborted says, and that it keeps what had come.
func TestAbortText(t *testing.T) {
	r := llmtest.Abort(t, protocol(), []byte(messageStart+someText))
	m := r.Message
	if m.StopReason != llm.StopAborted || m.ErrorMessage != "This operation was aborted" || m.Content.PlainText("") != "hi" || m.Usage.Input != 3 {
		t.Errorf("%s", r.Text(t))
	}
	if r := llmtest.Abort(t, protocol(), nil); r.Message.ErrorMessage != "Request aborted" {
		t.Errorf("before the answer: %q", r.Message.ErrorMessage)
	}
}

func TestReportedCost(t *testing.T) {
	req := protocol().Request()
	req.Model.Provider = "openrouter"
	a := body(messageStart, someText, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5,\"cost\":0.25}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	r := protocol().Stream(t, a, req)
	if u := r.Message.Usage; u.Cost.Total != 0.25 || u.Cost.TotalFromProvider == nil || !*u.Cost.TotalFromProvider || u.Output != 5 {
		t.Errorf("%+v, %v", u, r.Err)
	}
}

func TestProviderLevel(t *testing.T) {
	req := protocol().Request()
	req.Model.Compat, req.Thinking = []byte(`{"forceAdaptiveThinking":true}`), llm.ThinkingMinimal
	a := body(messageStart, someText)
	if r := protocol().Stream(t, a, req); r.Message.ProviderThinkingLevel != "low" {
		t.Errorf("%+v", r.Message)
	}
}
