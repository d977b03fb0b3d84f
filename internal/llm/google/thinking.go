package google

import (
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// thinking says how much a model is to reason, by a number of tokens (Gemini 2.5; -1
// lets the model decide) or by a level (Gemini 3 and later, Gemma 4).
type thinking struct {
	Include bool   `json:"includeThoughts,omitzero"`
	Budget  *int64 `json:"thinkingBudget,omitzero"`
	Level   string `json:"thinkingLevel,omitzero"`
}

// think returns the thinking options, nil for a model that does not reason. A model
// whose reasoning cannot be switched off gets its least level.
func think(m *llm.Model, l llm.ThinkingLevel) *thinking {
	if !m.Reasoning {
		return nil
	}
	off := l == "" || l == llm.ThinkingOff
	if off {
		if l = m.ClampThinking(llm.ThinkingOff); l == llm.ThinkingOff {
			return &thinking{Budget: new(int64)}
		}
	}
	t := &thinking{Include: !off}
	if takesLevel(m.ID) {
		t.Level = strings.ToUpper(wireLevel(m, l))
		return t
	}
	budget := budgetOf(m.ID, wireLevel(m, l))
	t.Budget = &budget
	return t
}

// wireLevel returns the level's name among the four that the API knows.
func wireLevel(m *llm.Model, l llm.ThinkingLevel) string {
	switch word := strings.ToLower(m.ProviderThinking(l)); word {
	case "minimal", "low", "medium", "high":
		return word
	}
	return "high" // xhigh and max
}

// budgetOf returns the thinking tokens of a level.
func budgetOf(id, level string) int64 {
	var budgets [4]int64 // minimal, low, medium, high
	switch {
	case strings.Contains(id, "2.5-pro"):
		budgets = [4]int64{128, 2048, 8192, 32768}
	case strings.Contains(id, "2.5-flash-lite"):
		budgets = [4]int64{512, 2048, 8192, 24576}
	case strings.Contains(id, "2.5-flash"):
		budgets = [4]int64{128, 2048, 8192, 24576}
	default:
		return -1
	}
	switch level {
	case "minimal":
		return budgets[0]
	case "low":
		return budgets[1]
	case "medium":
		return budgets[2]
	}
	return budgets[3]
}

// takesLevel reports whether a model takes a level in place of a number of tokens.
func takesLevel(id string) bool {
	id = strings.ToLower(id)
	switch {
	case id == "gemini-flash-latest", id == "gemini-flash-lite-latest", strings.Contains(id, "gemma-4"), strings.Contains(id, "gemma4"):
		return true
	}
	_, version, ok := strings.Cut(id, "gemini-")
	if !ok {
		return false
	}
	major, rest := leadingNumber(version)
	if major != 3 {
		return major >= 4
	}
	if minor, ok := strings.CutPrefix(rest, "."); ok {
		_, rest = leadingNumber(minor)
	}
	return strings.HasPrefix(rest, "-pro") || strings.HasPrefix(rest, "-flash")
}

// leadingNumber returns the number at the start of s, -1 for none, and what follows.
func leadingNumber(s string) (n int, rest string) {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return -1, s
	}
	return n, s[end:]
}

// generation returns the major version of a Gemini model, -1 for another one.
func generation(id string) int {
	rest, ok := strings.CutPrefix(strings.ToLower(id), "gemini-")
	if !ok {
		return -1
	}
	n, _ := leadingNumber(strings.TrimPrefix(rest, "live-"))
	return n
}

// numbersCalls reports whether calls and results carry ids.
func numbersCalls(id string) bool {
	return generation(id) >= 3 || strings.HasPrefix(id, "claude-") || strings.HasPrefix(id, "gpt-oss-")
}

// takesImagesInResults reports whether pictures of a tool may stand in its result.
func takesImagesInResults(id string) bool {
	g := generation(id)
	return g < 0 || g >= 3
}
