package wire

import (
	"net/http"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Headers merges header maps, names without regard to case: a later map wins, and an
// empty value removes what earlier ones set. White space around values is dropped:
// keys are often pasted with a line end.
func Headers(sources ...map[string]string) http.Header {
	h := http.Header{}
	for _, source := range sources {
		for name, value := range source {
			if value = strings.TrimSpace(value); value == "" {
				h.Del(name)
			} else {
				h.Set(name, value)
			}
		}
	}
	return h
}

// BearerHeaders returns the headers of a request whose key is a bearer token: the key, the
// model's headers, more, then the request's. The error says that nothing proves who asks.
func BearerHeaders(req *llm.Request, more map[string]string) (http.Header, *llm.Error) {
	key := map[string]string{}
	if req.APIKey != "" {
		key["Authorization"] = "Bearer " + req.APIKey
	}
	h := Headers(key, req.Model.Headers, more, req.Headers)
	if req.APIKey == "" && h.Get("Authorization") == "" && h.Get("Cf-Aig-Authorization") == "" {
		return nil, NoKey(req.Model)
	}
	return h, nil
}

// textNoKey is followed by the provider.
const textNoKey = "No API key for provider: "

// NoKey returns the error of a request without a key.
func NoKey(m *llm.Model) *llm.Error {
	return &llm.Error{Kind: llm.ErrAuth, Message: textNoKey + m.Provider}
}

func setDefault(h http.Header, name, value string) {
	if value != "" && h.Get(name) == "" {
		h.Set(name, value)
	}
}

// Redacted stands in an error for a credential that a server echoed.
const Redacted = "[redacted]"

// credentialHeaders carry keys.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cf-Aig-Authorization", "Proxy-Authorization", "X-Amz-Security-Token"}

// secrets returns the credentials of a request.
func secrets(h http.Header) []string {
	var out []string
	for _, name := range credentialHeaders {
		out = addSecrets(out, h[name])
	}
	return out
}

// minSecret is the length from which a text is taken for a credential. Shorter ones are
// placeholders of local servers, and would hide words.
const minSecret = 8

// addSecrets adds the credentials in the values of a header, without their scheme.
func addSecrets(out, values []string) []string {
	for _, v := range values {
		if _, after, ok := strings.Cut(v, " "); ok {
			v = after
		}
		if len(v) >= minSecret {
			out = append(out, v)
		}
	}
	return out
}

// redact removes credentials from text.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, Redacted)
	}
	return text
}

// scrub removes the request's credentials from text.
func (s *Response) scrub(text string) string { return redact(text, s.secrets) }
