package openai

import (
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that clients see (pi-facts.md section 2, Retry).
const (
	textNoFinish  = "Stream ended without finish_reason"
	textFinish    = "Provider finish_reason: " // followed by the reason
	textMalformed = wire.TextMalformed
)

// apiError is the error object of this protocol. Code may be a text or a number,
// Message anything.
type apiError struct {
	Message  jsonx.Raw `json:"message"`
	Code     jsonx.Raw `json:"code"`
	Type     jsonx.Raw `json:"type"`
	Metadata struct {
		Raw jsonx.Raw `json:"raw"`
	} `json:"metadata"`
}

func (e apiError) code() string {
	for _, raw := range []jsonx.Raw{e.Code, e.Type} {
		if s := plain(raw); s != "" {
			return s
		}
	}
	return ""
}

// plain returns a string without its quotes, another value as its JSON, null as "".
func plain(raw jsonx.Raw) string {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return ""
	}
	if raw.Kind() == '"' {
		return text(raw)
	}
	return string(raw)
}

// explain words an error status as the reference does: status, colon, and the error
// object of the body.
func explain(status int, body string) (message, code string) {
	var envelope struct {
		Error jsonx.Raw `json:"error"`
	}
	raw := jsonx.Raw(body)
	if jsonx.Unmarshal(raw, &envelope) != nil || len(envelope.Error) == 0 {
		return "", codeOf(raw)
	}
	compact, err := jsonx.Compact(envelope.Error)
	if err != nil || compact.Kind() != '{' || len(compact) == len("{}") {
		return "", codeOf(raw)
	}
	e := decodeError(compact)
	message = strconv.Itoa(status) + ": " + wire.Truncate(string(compact))
	if upstream := plain(e.Metadata.Raw); upstream != "" && !strings.Contains(message, upstream) {
		message += "\n" + wire.Truncate(upstream)
	}
	return message, e.code()
}

func codeOf(body jsonx.Raw) string { return decodeError(body).code() }

func decodeError(raw jsonx.Raw) apiError {
	var e apiError
	if jsonx.Unmarshal(raw, &e) != nil {
		return apiError{}
	}
	return e
}

// streamError returns the error that a server sent inside a stream as value: an
// object with a message, or anything else.
func streamError(resp *wire.Response, value jsonx.Raw) *llm.Error {
	if value.Kind() != '{' {
		return resp.StreamError(plain(value), "", plain(value))
	}
	e := decodeError(value)
	message := plain(e.Message)
	if message == "" {
		message = string(value)
	}
	if upstream := plain(e.Metadata.Raw); upstream != "" && !strings.Contains(message, upstream) {
		message += "\n" + upstream
	}
	return resp.StreamError(message, e.code(), string(value))
}
