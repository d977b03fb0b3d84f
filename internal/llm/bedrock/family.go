package bedrock

import (
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// names returns what a model is told by: its id and its name, which the user gives for
// profiles whose ARN says nothing, in lower case and with "-" for other separators.
func names(m *llm.Model) []string {
	var out []string
	for _, s := range []string{m.ID, m.Name} {
		s = strings.ToLower(s)
		out = append(out, s, strings.Join(strings.FieldsFunc(s, func(r rune) bool {
			return r == ' ' || r == '\t' || r == '_' || r == '.' || r == ':'
		}), "-"))
	}
	return out
}

// like reports whether a model is one of those whose names hold a part.
func like(m *llm.Model, parts ...string) bool {
	for _, name := range names(m) {
		for _, p := range parts {
			if strings.Contains(name, p) {
				return true
			}
		}
	}
	return false
}

// isClaude reports whether a model is one of Anthropic's: they alone sign reasoning and
// take cache points.
func isClaude(m *llm.Model) bool {
	id := strings.ToLower(m.ID)
	return strings.Contains(id, "anthropic.claude") || strings.Contains(id, "anthropic/claude") ||
		strings.Contains(strings.ToLower(m.Name), "claude")
}

// adaptive reports whether a Claude decides itself how much to think.
func adaptive(m *llm.Model) bool { return like(m, "opus-4-6", "sonnet-4-6") || bindsBlocks(m) }

// bindsBlocks reports whether a Claude binds its signed reasoning to the prompt and
// tools it was made with.
func bindsBlocks(m *llm.Model) bool {
	return like(m, "opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "haiku-5", "fable-5")
}

// caches reports whether a Claude takes cache points.
func caches(m *llm.Model) bool {
	return like(m, "claude") && like(m, "fable-5", "opus-5", "sonnet-5", "haiku-5", "-4-", "claude-3-7-sonnet", "claude-3-5-haiku")
}
