package compact

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// shape builds entries from a word of letters, each of 10 tokens: u user, a answer,
// c answer with a call, r its result, s branch summary, b bash, h hidden bash, f
// failed answer, m metadata, R an orphan result.
func shape(word string) []session.SpanEntry {
	text := llm.Content{llm.NewText(strings.Repeat("x", 40))}
	var out []session.SpanEntry
	for i, c := range word {
		e := session.SpanEntry{ID: string(rune('A' + i)), Type: session.TypeMessage}
		switch c {
		case 'u':
			e.Message = &llm.UserMessage{Content: text}
		case 'a':
			e.Message = &llm.AssistantMessage{Content: text, StopReason: llm.StopEnd}
		case 'c':
			e.Message = &llm.AssistantMessage{Content: llm.Content{&llm.ToolCall{ID: "1", Name: strings.Repeat("x", 38), Arguments: []byte(`{}`)}}, StopReason: llm.StopToolUse}
		case 'r', 'R':
			e.Message = &llm.ToolResultMessage{ToolCallID: "1", Content: text}
		case 's':
			e.Message = &llm.BranchSummaryMessage{Summary: strings.Repeat("x", 40)}
		case 'b', 'h':
			e.Message = &llm.BashExecutionMessage{Command: strings.Repeat("x", 40), ExcludeFromContext: c == 'h'}
		case 'f':
			e.Message = &llm.AssistantMessage{StopReason: llm.StopError}
		case 'm':
			e.Type = session.TypeModelChange
		}
		out = append(out, e)
	}
	return out
}

// cutWord shows a cut: | in front of what is kept, / in front of a turn that is cut.
func cutWord(word string, keep int64, abandoned bool) string {
	entries := shape(word)
	c := findCut(entries, seenBy(entries), keep, abandoned)
	return word[:c.turn] + map[bool]string{true: "/"}[c.turn != c.first] + word[c.turn:c.first] + "|" + word[c.first:]
}

func TestFindCut(t *testing.T) {
	for _, test := range []struct {
		name, word string
		keep       int64
		want       string
	}{
		{"all is kept", "uaua", 100, "|uaua"},
		{"empty", "", 100, "|"},
		{"nothing that a model sees", "mm", 100, "|mm"},
		{"a turn", "uauaua", 20, "uaua|ua"},
		{"a token more than a turn", "uauaua", 21, "ua/u|aua"},
		{"keep nothing", "uaua", 0, "ua/u|a"},
		{"a turn is cut", "uaucrcra", 30, "ua/ucr|cra"},
		{"never between call and result", "uacrcr", 20, "/uacr|cr"},
		{"a large last result keeps its call", "ucr", 5, "/u|cr"},
		{"several results of one call", "uacrr", 10, "/ua|crr"},
		{"a user in front of the result", "ucur", 15, "/u|cur"},
		{"bash and branch summaries begin turns", "uasaba", 20, "uasa|ba"},
		{"branch summary", "uasa", 20, "ua|sa"},
		{"hidden ones weigh nothing", "uahhua", 20, "ua|hhua"},
		{"failures weigh nothing", "uauf", 10, "ua|uf"},
		{"entries without a message go with what follows", "uammua", 20, "ua|mmua"},
		{"and do not make a whole turn a cut one", "uamua", 20, "ua|mua"},
		{"nor hide a cut one", "uaucrma", 10, "ua/ucr|ma"},
		{"orphan results at the start", "RRua", 20, "RR|ua"},
		{"only orphans", "RR", 5, "|RR"},
	} {
		if got := cutWord(test.word, test.keep, false); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// An input that is too large by itself can only be given up once it failed.
func TestFindCutAbandons(t *testing.T) {
	for _, test := range []struct{ word, plain, abandoned string }{
		{"uauf", "ua|uf", "ua/u|f"},
		{"uf", "|uf", "/u|f"},
		{"ufmff", "|ufmff", "/u|fmff"},
		{"uaum", "ua|um", "ua|um"},
		{"uaufu", "uau|fu", "uau|fu"},
	} {
		if got := cutWord(test.word, 10, false); got != test.plain {
			t.Errorf("%s: %s, want %s", test.word, got, test.plain)
		}
		if got := cutWord(test.word, 10, true); got != test.abandoned {
			t.Errorf("%s, abandoned: %s, want %s", test.word, got, test.abandoned)
		}
	}
	if got := cutWord("uf", 1000, true); got != "|uf" {
		t.Errorf("a small input: %s", got)
	}
}

// Entries of a damaged file that cannot be referred to are no place for a cut.
func TestFindCutNeedsAnID(t *testing.T) {
	entries := shape("uaua")
	entries[2].ID = ""
	if c := findCut(entries, seenBy(entries), 20, false); c.first != 3 || c.turn != 2 {
		t.Errorf("%+v", c)
	}
}

func BenchmarkFindCut(b *testing.B) {
	entries := shape(strings.Repeat("ucrcrcra", 10_000))
	b.ReportAllocs()
	for b.Loop() {
		findCut(entries, seenBy(entries), 20_000, false)
	}
}
