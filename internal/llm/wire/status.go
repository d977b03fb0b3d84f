package wire

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/llm"
)

const (
	// MaxBody is how many characters of an error body an error shows.
	MaxBody = 4000
	// readBody is how many bytes of one are read.
	readBody = 1 << 20
)

// StatusText returns the message of an error status whose body the protocol cannot
// explain: "400 the body", or that there was none.
func StatusText(status int, body string) string {
	if body == "" {
		return strconv.Itoa(status) + " status code (no body)"
	}
	return strconv.Itoa(status) + " " + Truncate(body)
}

// Truncate returns text with at most MaxBody characters and says how many it left out.
func Truncate(text string) string {
	if len(text) <= MaxBody {
		return text
	}
	n := utf8.RuneCountInString(text)
	if n <= MaxBody {
		return text
	}
	return cut(text) + "... [truncated " + strconv.Itoa(n-MaxBody) + " chars]"
}

// cut returns the first MaxBody characters.
func cut(text string) string {
	n := 0
	for i := range text {
		if n == MaxBody {
			return text[:i]
		}
		n++
	}
	return text
}

// statusError reads the body of an error status.
func (s *Response) statusError(explain func(int, string) (string, string)) *llm.Error {
	raw, err := io.ReadAll(io.LimitReader(s, readBody))
	if err != nil && s.ctx.Err() != nil {
		return Aborted(s.ctx, TextAborted)
	}
	body := strings.TrimSpace(s.scrub(strings.ToValidUTF8(string(raw), "\uFFFD")))
	message, code := "", ""
	if explain != nil {
		message, code = explain(s.Status, body)
	}
	if message == "" {
		message = StatusText(s.Status, body)
	}
	return &llm.Error{
		Kind: llm.Classify(s.Status, code, body), Message: s.identified(message), Status: s.Status, Code: code,
		RetryAfter: RetryAfter(s.Header, body, time.Now()), Body: cut(body),
	}
}

// StreamError returns the error that a provider sent inside a stream of status 200:
// message is what clients see, code the provider's code or type, text what it says.
func (s *Response) StreamError(message, code, text string) *llm.Error {
	text = s.scrub(text)
	return &llm.Error{
		Kind: llm.Classify(0, code, text), Message: s.identified(s.scrub(Truncate(message))), Code: code,
		RetryAfter: RetryAfter(nil, text, time.Now()), Body: cut(text),
	}
}

// RetryAfter returns how long a server asks its clients to wait, 0 when it does not
// say: the header retry-after-ms, then Retry-After in seconds or as a date, then what
// the body states ("retryDelay": "48s", "try again in 1.574s"). now is the time the
// answer came.
func RetryAfter(h http.Header, body string, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return floatDuration(ms, time.Millisecond)
	}
	if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		if sec, err := strconv.ParseFloat(v, 64); err == nil {
			return floatDuration(sec, time.Second)
		}
		if t, err := http.ParseTime(v); err == nil {
			return max(0, t.Sub(now))
		}
	}
	return stated(body)
}

// maxWait keeps absurd numbers from overflowing; callers have lower caps.
const maxWait = 365 * 24 * time.Hour

func floatDuration(n float64, unit time.Duration) time.Duration {
	if !(n > 0) {
		return 0
	}
	if d := n * float64(unit); d < float64(maxWait) {
		return time.Duration(d)
	}
	return maxWait
}

// stated finds a delay in the words of an error.
func stated(body string) time.Duration {
	lower := strings.ToLower(body)
	for _, lead := range []string{`"retrydelay"`, "try again in", "retry in", "retry after"} {
		_, rest, ok := strings.Cut(lower, lead)
		if !ok {
			continue
		}
		if d := leadingDuration(strings.TrimLeft(rest, " :\"")); d > 0 {
			return d
		}
	}
	return 0
}

// leadingDuration reads "1.574s", "120ms", "1m30s", "20 seconds" at the start of s.
func leadingDuration(s string) time.Duration {
	var total time.Duration
	for range 3 {
		n := 0
		for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.') {
			n++
		}
		v, err := strconv.ParseFloat(strings.TrimRight(s[:n], "."), 64)
		if err != nil {
			break
		}
		s = strings.TrimLeft(s[n:], " ")
		u := 0
		for u < len(s) && s[u] >= 'a' && s[u] <= 'z' {
			u++
		}
		per := unit(s[:u])
		if per == 0 {
			break
		}
		total += floatDuration(v, per)
		s = s[u:]
	}
	return total
}

func unit(word string) time.Duration {
	switch word {
	case "ms", "milliseconds":
		return time.Millisecond
	case "s", "sec", "second", "seconds":
		return time.Second
	case "m", "min", "minute", "minutes":
		return time.Minute
	case "h", "hour", "hours":
		return time.Hour
	}
	return 0
}
