package wire

import "github.com/isotope-agent/isotope/internal/llm"

// LongCache reports whether the user asked for prompt caches that last, and the request
// may use one: PI_CACHE_RETENTION is "long", or the same under another program's prefix.
// Getenv looks up variables; nil is that of the request and the process.
func LongCache(req *llm.Request, getenv func(string) string) bool {
	if getenv == nil {
		getenv = func(name string) string { return Getenv(req, name) }
	}
	for _, prefix := range []string{"ISOTOPE", "ATOMIC", "PI"} {
		if v := getenv(prefix + "_CACHE_RETENTION"); v != "" {
			return v == "long" && !req.NoCache
		}
	}
	return false
}
