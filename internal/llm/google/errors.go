package google

import (
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// fault is the error object of Google's APIs.
type fault struct {
	Code    jsonx.Raw         `json:"code"`
	Status  lax               `json:"status"`
	Details list[faultDetail] `json:"details"`
}

type faultDetail struct {
	Reason lax `json:"reason"`
}

// code returns the most exact name that the error has.
func (f *fault) code() string {
	for _, d := range f.Details {
		if d.Reason != "" {
			return string(d.Reason)
		}
	}
	return string(f.Status)
}

// explain words an error status: the body, on one line, where it names the status
// itself, as the reference does.
func explain(status int, body string) (message, code string) {
	raw, err := jsonx.Compact([]byte(body))
	if err != nil {
		return "", ""
	}
	if raw.Kind() == '[' { // as an answer without alt=sse has it
		var all []jsonx.Raw
		if jsonx.Unmarshal(raw, &all) == nil && len(all) > 0 {
			raw = all[0]
		}
	}
	var e struct {
		Error object[fault] `json:"error"`
	}
	if raw.Kind() != '{' || jsonx.Unmarshal(raw, &e) != nil {
		return "", ""
	}
	if string(e.Error.v.Code) == strconv.Itoa(status) {
		message = wire.Truncate(string(raw))
	}
	return message, e.Error.v.code()
}

// reported returns the error of a chunk that is one.
func reported(resp *wire.Response, raw jsonx.Raw) *llm.Error {
	var f object[fault]
	text := `{"error":` + string(raw) + `}`
	if jsonx.Unmarshal(raw, &f) != nil || f.v.Status == "" {
		return resp.StreamError(text, "", text)
	}
	return resp.StreamError(textStatus+string(f.v.Status)+". "+text, f.v.code(), text)
}

// finishReason returns the name of a finish reason, which servers may send as a number.
func finishReason(raw jsonx.Raw) string {
	switch raw.Kind() {
	case '"':
		var s string
		if jsonx.Unmarshal(raw, &s) == nil {
			return s
		}
	case '0':
		names := [...]string{
			"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT",
			"SPII", "MALFORMED_FUNCTION_CALL",
		}
		if n, err := strconv.Atoi(string(raw)); err == nil && n >= 0 && n < len(names) {
			return names[n]
		}
		return string(raw)
	}
	return ""
}

// refuses reports whether a finish reason means that a filter stepped in.
func refuses(reason string) bool {
	switch reason {
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR":
		return true
	}
	return strings.HasPrefix(reason, "IMAGE_")
}
