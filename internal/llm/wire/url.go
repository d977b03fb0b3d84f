package wire

import (
	"fmt"
	"os"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Getenv returns a variable of the request's credential, else of the environment.
func Getenv(req *llm.Request, name string) string {
	if v, ok := req.Env[name]; ok {
		return v
	}
	return os.Getenv(name)
}

// Endpoint returns the model's base URL with path behind it. "{NAME}" in the URL
// stands for a variable (accounts and gateways of some providers); one that is not set
// stays, and Post tells its name.
func Endpoint(req *llm.Request, path string) string {
	var b strings.Builder
	rest := req.Model.BaseURL
	for {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		name, behind, closed := strings.Cut(after, "}")
		if !found || !closed {
			b.WriteString(rest[len(before):])
			break
		}
		if value := Getenv(req, name); value != "" {
			b.WriteString(value)
		} else {
			b.WriteString("{" + name + "}")
		}
		rest = behind
	}
	return strings.TrimRight(strings.TrimSpace(b.String()), "/") + path
}

// textNoVariable names a variable that a provider's address needs.
const textNoVariable = "%s is not set, and the provider's address needs it: set it, or store it with: isotope auth login"

// checkURL reports a variable that a URL of Endpoint still needs.
func checkURL(url string) error {
	_, after, _ := strings.Cut(url, "{")
	if name, _, closed := strings.Cut(after, "}"); closed {
		return &llm.Error{Kind: llm.ErrBadRequest, Message: fmt.Sprintf(textNoVariable, name)}
	}
	return nil
}
