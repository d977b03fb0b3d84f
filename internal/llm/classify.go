package llm

import "strings"

// Classify returns the kind of a failure that a provider reported: by HTTP status (0
// for an error inside a stream), by the provider's code or type, and by what the body
// or message says. It follows spec/errors.md; where kinds compete, these rules hold:
//
//   - a cap that waiting does not lift (quota, billing, plan) is not a rate limit;
//   - a rate limit is never an overflow, whatever it says of tokens;
//   - a stated rate limit is no quota, even when the text advertises a billing page.
func Classify(status int, code, text string) ErrorKind {
	s := strings.ToLower(`"code":"` + code + `" ` + text)
	switch {
	case status == 401 || status == 407:
		return ErrAuth
	case status == 402 || matches(s, capWords):
		return ErrQuota
	case status == 404:
		return ErrBadRequest
	case matches(s, capacityWords):
		return ErrTransient
	case matches(s, rateWords):
		return ErrRateLimit
	case status < 500 && matches(s, quotaWords):
		return ErrQuota
	case overflows(status, s, strings.TrimSpace(text) == ""):
		return ErrOverflow
	case matches(s, authWords):
		return ErrAuth
	case status < 500 && matches(s, refusalWords):
		return ErrRefusal
	case status == 403:
		return ErrAuth
	case status == 0:
		return classifyWords(s)
	}
	return byStatus(status)
}

// overflows reports whether the failure means that the context does not fit.
func overflows(status int, s string, empty bool) bool {
	switch {
	case status == 429:
		return false
	case status == 413:
		return true
	case status == 400 && empty: // how one provider and some gateways say it
		return true
	}
	return matches(s, overflowWords)
}

func byStatus(status int) ErrorKind {
	switch {
	case status == 429:
		return ErrRateLimit
	case status == 408, status == 409, status == 425, status >= 500:
		return ErrTransient
	case status >= 300:
		return ErrBadRequest
	}
	return ErrUnknown
}

// classifyWords classes a failure without a status.
func classifyWords(s string) ErrorKind {
	switch {
	case matches(s, serverWords):
		return ErrTransient
	case matches(s, transportWords):
		return ErrTransport
	case matches(s, requestWords):
		return ErrBadRequest
	}
	return ErrUnknown
}

// A phrase matches a text that holds its parts, separated by "…", in their order.
// Tables are in lower case; a text with JSON in it is searched as it is, so codes
// are found whether they are handed over or only in the body.
func matches(s string, phrases []string) bool {
	for _, p := range phrases {
		if holds(s, p) {
			return true
		}
	}
	return false
}

func holds(s, phrase string) bool {
	for {
		part, rest, more := strings.Cut(phrase, "…")
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		if !more {
			return true
		}
		s, phrase = s[i+len(part):], rest
	}
}

// The tables are variables only because Go has no constant slices.
var (
	// capWords name a cap that no waiting of seconds or minutes lifts.
	capWords = []string{
		"insufficient_quota", "gousagelimiterror", "freeusagelimiterror", "usage_limit_reached",
		"usage_not_included", "usage_limit_exceeded", "monthly usage limit", "available balance", "insufficient balance",
		"insufficient_balance", "insufficient credit", "insufficient funds", "credit balance is too low", "out of credits",
		"out of budget", "budget has been exceeded", "budget_exceeded", "billing_hard_limit", "billing_error",
		"billing hard limit", "spending limit", "spend limit", "payment required", "usage limit", `"code":"1308"`,
		`"code": "1308"`, `"code":1308`, `"code": 1308`, "perday",
	}
	// rateWords name a limit that passes.
	rateWords = []string{
		"rate limit", "rate_limit", "rate-limit", "ratelimit", "rate limited", "too many requests", "too_many_requests",
		"toomanyrequests", "throttl", "tokens per min", "requests per min", "per minute", "please wait before trying",
		`"retrydelay"`, "please slow down",
	}
	// quotaWords mean a cap where nothing says that it passes.
	quotaWords = []string{
		"exceeded your current quota", `"quota_exceeded"`, "quota exceeded", "exceeded your quota", "billing", "subscription plan",
		"upgrade your plan", "plan limit",
	}
	overflowWords = []string{
		"context_length_exceeded", "model_context_window_exceeded", "model_max_prompt_tokens_exceeded",
		"exceed_context_size_error", "too_many_prompt_tokens", "request_too_large", "input_too_large", "contextwindowexceeded",
		`"code":"1261"`, `"code": "1261"`,
		"prompt is too long", "prompt too long", "prompt exceeds max length", "input is too long", "input tokens exceeded",
		"exceeds the context window", "exceeds context window", "context window exceeds limit", "context window exceeded",
		"context length exceeded", "maximum context length", "exceeded max context length", "exceeded context length",
		"maximum prompt length is", "maximum allowed input length", "input length…exceeds…context length",
		"input token count…exceeds the maximum", "prompt token count…exceeds the limit", "is longer than the model…context length",
		"reduce the length of the messages", "available context size", "configured context size", "context length is only…tokens",
		"greater than the context length", "model token limit", "range of input length", "too many tokens",
		"token limit exceeded", "tokens in request more than max tokens allowed", "current message…exceeds budget",
		"total length of all messages is too long", "request entity too large",
	}
	authWords = []string{
		"authentication_error", "permission_error", "invalid_api_key", "api_key_invalid", "invalid api key", "incorrect api key",
		"api key not valid", "api key is invalid", "no api key", "missing api key", "invalid x-api-key", "authentication fails",
		"missing authentication", "invalid authentication", "unauthorized", "invalid subscription key",
		"security token included in the request", "unrecognizedclient", "expiredtoken", "token has expired",
	}
	refusalWords = []string{
		"content_filter", "content filter", "content_policy", "content management policy", "responsibleaipolicyviolation",
		"invalid_prompt", "flagged for", "moderation", "cyber_policy",
	}
	// capacityWords: the provider has no room at the moment.
	capacityWords = []string{
		"overloaded", "server busy", "server is busy", "high demand", "at capacity", "capacity exceeded", "no capacity",
		"service unavailable", "service_unavailable", "serviceunavailable", "temporarily unavailable", `"unavailable"`,
		"resourceexhausted",
	}
	// serverWords: something broke on the provider's side.
	serverWords = []string{
		"server_error", "server error", "internal error", "internalservererror", "internal_error", "server had an error",
		"retry your request", "try your request again", "provider returned error", "upstream", "modelstreamerror",
		"bad gateway", "gateway timeout", "status code 500", "status code 502", "status code 503", "status code 504",
		"unavailable", "try again",
	}
	transportWords = []string{
		"econnreset", "econnaborted", "econnrefused", "etimedout", "epipe", "enotfound", "eai_again", "socket hang up",
		"socket closed", "socket connection", "connection error", "connection reset", "connection refused", "connection lost",
		"connection closed", "connection was closed", "network error", "fetch failed", "other side closed", "http2", "timed out",
		"timeout", "terminated", "websocket", "ended without", "stream ended before", "stream disconnected",
	}
	requestWords = []string{
		"invalid_request", "invalid request", "bad request", "bad_request", "tool_use_failed", "tool call validation failed",
		"not_found_error", "model_not_found", "unsupported", "validation error", "did not call a tool",
	}
)
