package responses

import (
	"fmt"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that clients see (pi-facts.md section 2, Retry).
const (
	textNoTerminal   = "OpenAI Responses stream ended before a terminal response event"
	textUnfinished   = "OpenAI Responses stream completed with an unfinished tool call: " // name (id)
	textIncomplete   = "Response incomplete: "                                            // the reason
	textNoReason     = "Response incomplete without a provider reason"
	textNoDetails    = "Unknown error (no error details in response)"
	textUnknown      = "An unknown error occurred"
	textErrorCode    = "Error Code " // the code
	textMalformed    = wire.TextMalformed
	textFailedReason = "incomplete: " // the reason of a failed response
)

// apiError is the error object of this protocol. Its values are raw: servers send
// numbers where others send texts.
type apiError struct {
	Message jsonx.Raw `json:"message"`
	Code    jsonx.Raw `json:"code"`
	Type    jsonx.Raw `json:"type"`
}

func (e apiError) code() string {
	if c := plain(e.Code); c != "" {
		return c
	}
	if t := plain(e.Type); t != "error" {
		return t
	}
	return ""
}

func decodeError(raw jsonx.Raw) apiError {
	var e apiError
	if jsonx.Unmarshal(raw, &e) != nil {
		return apiError{}
	}
	return e
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

// text returns a raw string's text, "" for any other value.
func text(raw jsonx.Raw) string {
	var p jsonx.Pieces
	return p.Next(raw)
}

func present(raw jsonx.Raw) bool { return len(raw) > 0 && raw[0] != 'n' }

// explainer words an error status as the reference does: the provider, the status,
// and the error object of the body.
func explainer(m *llm.Model) func(int, string) (string, string) {
	provider := m.Provider
	if provider == "openai" {
		provider = "OpenAI"
	}
	return explainerOf(provider)
}

// explainerOf is explainer for a provider of that name.
func explainerOf(provider string) func(int, string) (string, string) {
	return func(status int, body string) (message, code string) {
		var envelope struct {
			Error jsonx.Raw `json:"error"`
		}
		shown := wire.StatusText(status, body)
		raw := jsonx.Raw(body)
		code = decodeError(raw).code()
		if jsonx.Unmarshal(raw, &envelope) == nil && len(envelope.Error) > 0 {
			if compact, err := jsonx.Compact(envelope.Error); err == nil && compact.Kind() == '{' && len(compact) > len("{}") {
				shown, code = wire.Truncate(string(compact)), decodeError(compact).code()
			}
		}
		return fmt.Sprintf("%s API error (%d): %s%s", provider, status, shown, hint(code)), code
	}
}

// hint tells users of "Sign in with ChatGPT" where their limit comes from.
func hint(code string) string {
	switch code {
	case "subscription_sharing_usage_limit_exceeded":
		return "\nSee your ChatGPT usage at https://chatgpt.com/settings/usage"
	case "subscription_sharing_workplace_individual_usage_limit_exceeded":
		return "\nThe usage limit of your ChatGPT workspace is reached; its admin can raise it."
	}
	return ""
}

// errorEvent returns the error of an error event: an object in "error", or the
// event's own fields.
func errorEvent(resp *wire.Response, data, nested jsonx.Raw) *llm.Error {
	value := data
	if present(nested) {
		value = nested
	}
	if value.Kind() != '{' {
		return resp.StreamError(plain(value), "", plain(value))
	}
	e := decodeError(value)
	message := plain(e.Message)
	switch {
	case message != "":
	case e.code() != "":
		message = textErrorCode + e.code()
	default:
		message = string(value)
	}
	return resp.StreamError(message, e.code(), string(value))
}

// failure returns the error of a failed response.
func failure(resp *wire.Response, r *response) *llm.Error {
	switch {
	case present(r.Error):
		e := decodeError(r.Error)
		code, message := plain(e.Code), plain(e.Message)
		if code == "" {
			code = "unknown"
		}
		if message == "" {
			message = "no message"
		}
		return resp.StreamError(code+": "+message, e.code(), string(r.Error))
	case r.reason() != "":
		return resp.StreamError(textFailedReason+r.reason(), r.reason(), r.reason())
	}
	return resp.StreamError(textNoDetails, "", "")
}
