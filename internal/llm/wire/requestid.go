package wire

import (
	"net/http"
	"strings"
)

// idHeaders carry the id under which a provider, or what stands before it, finds a
// request again; the one that the provider itself is asked about comes first.
var idHeaders = [...]string{
	"x-request-id", "request-id", "x-amzn-requestid", "apim-request-id", "x-ms-request-id", "mistral-correlation-id",
	"x-kong-request-id", "cf-ray",
}

// maxID is how long such an id may be. A longer one is left out: half an id is none.
const maxID = 128

// requestID returns the header that names the request, and its value; "" for none.
func requestID(h http.Header) (name, id string) {
	for _, name := range idHeaders {
		id := strings.TrimSpace(h.Get(name))
		if id != "" && len(id) <= maxID && strings.IndexFunc(id, odd) < 0 {
			return name, id
		}
	}
	return "", ""
}

// odd reports whether a character belongs to no id.
func odd(r rune) bool { return r <= ' ' || r > '~' || r == '(' || r == ')' }

// identified returns the message of a failure with the id of the request behind it, so
// that clients which look at how a message begins see no difference. An id that stands in
// the message already is not said twice.
func (s *Response) identified(message string) string {
	name, id := requestID(s.Header)
	if id == "" || strings.Contains(message, id) {
		return message
	}
	return message + " (" + name + ": " + s.scrub(id) + ")"
}
