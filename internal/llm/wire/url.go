package wire

import (
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
// stands for a variable (accounts and gateways of some providers).
func Endpoint(req *llm.Request, path string) string {
	var b strings.Builder
	rest := req.Model.BaseURL
	for {
		before, after, ok := strings.Cut(rest, "{")
		b.WriteString(before)
		if !ok {
			break
		}
		name, behind, ok := strings.Cut(after, "}")
		if !ok {
			b.WriteString("{" + after)
			break
		}
		b.WriteString(Getenv(req, name))
		rest = behind
	}
	return strings.TrimRight(strings.TrimSpace(b.String()), "/") + path
}
