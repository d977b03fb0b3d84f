package compact

import (
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// seenBy says which entries a model sees. A failed or cancelled answer is none, and
// neither are its tool results: requests leave them out.
func seenBy(entries []session.SpanEntry) []bool {
	seen := make([]bool, len(entries))
	failed := false
	for i := range entries {
		switch m := entries[i].Message.(type) {
		case *llm.AssistantMessage:
			failed = m.Failed()
			seen[i] = !failed
		case *llm.ToolResultMessage:
			seen[i] = !failed
		case *llm.UserMessage:
			seen[i] = hasContent(m.Content)
		case *llm.CustomMessage:
			seen[i] = !m.ExcludeFromContext && hasContent(m.Content)
		case *llm.BashExecutionMessage:
			seen[i] = !m.ExcludeFromContext
		case *llm.BranchSummaryMessage:
			seen[i] = true
		}
	}
	return seen
}

// hasContent reports whether anything but blank text is in c.
func hasContent(c llm.Content) bool {
	for _, b := range c {
		if t, ok := b.(*llm.Text); !ok || strings.TrimSpace(t.Text) != "" {
			return true
		}
	}
	return false
}

// messagesOf returns the messages of the entries that a model sees.
func messagesOf(entries []session.SpanEntry, seen []bool) []llm.Message {
	var out []llm.Message
	for i := range entries {
		if seen[i] {
			out = append(out, entries[i].Message)
		}
	}
	return out
}

// A cut divides entries into what is summarised and what is kept.
type cut struct {
	first int // of the kept entries
	turn  int // first entry of the turn that the cut goes through, else equal to first
}

// findCut returns the cut that keeps about keep tokens (pi-facts.md section 3). It
// goes in front of an answer or of what stands for the user, never between a tool
// call and its result. first is 0 when everything is kept.
//
// abandoned lets it give up an input that is too large by itself and whose answers
// all failed: what would be kept cannot be sent.
func findCut(entries []session.SpanEntry, seen []bool, keep int64, abandoned bool) cut {
	points := cutPoints(entries, seen)
	if len(points) == 0 {
		return cut{}
	}
	at, over := points[0], false
	next := len(points) // points[next:] are at or behind i
	var tokens int64
	for i := len(entries) - 1; i >= 0 && !over; i-- {
		if next > 0 && points[next-1] == i {
			next--
		}
		if !seen[i] {
			continue
		}
		n := MessageTokens(entries[i].Message)
		tokens += n
		if over = n > 0 && tokens >= keep; over {
			// Results that are too large by themselves stay with their call.
			at = points[min(next, len(points)-1)]
		}
	}
	if over && abandoned && onlyFailures(entries, seen, at) {
		at++
	}
	turn := turnStart(entries, seen, at)
	whole := turn == at
	for at > 0 && !seen[at-1] && entries[at-1].ID != "" && entries[at-1].Type != session.TypeCompaction {
		at-- // entries without a message go with what follows them
	}
	if whole {
		turn = at
	}
	return cut{first: at, turn: turn}
}

// cutPoints returns the places where a cut may go.
func cutPoints(entries []session.SpanEntry, seen []bool) []int {
	var out []int
	result := false // a tool result of an earlier call is ahead
	for i := len(entries) - 1; i >= 0; i-- {
		if !seen[i] {
			continue
		}
		switch entries[i].Message.(type) {
		case *llm.ToolResultMessage:
			result = true
			continue
		case *llm.AssistantMessage:
			result = false
		default:
			if result {
				continue
			}
		}
		if entries[i].ID != "" {
			out = append(out, i)
		}
	}
	slices.Reverse(out)
	return out
}

// onlyFailures reports whether nothing but failed answers follows entry at.
func onlyFailures(entries []session.SpanEntry, seen []bool, at int) bool {
	failed := false
	for i := at + 1; i < len(entries); i++ {
		if seen[i] {
			return false
		}
		if a, ok := entries[i].Message.(*llm.AssistantMessage); ok && a.Failed() {
			failed = true
		}
	}
	return failed
}

// turnStart returns the entry that begins the turn which a cut at entry at goes
// through, at itself when the cut goes through none.
func turnStart(entries []session.SpanEntry, seen []bool, at int) int {
	for i := at; i >= 0 && i < len(entries); i-- {
		if !seen[i] {
			continue
		}
		switch entries[i].Message.(type) {
		case *llm.AssistantMessage, *llm.ToolResultMessage:
		default:
			return i
		}
	}
	return at
}
