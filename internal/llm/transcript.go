package llm

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// BashExecutionMessage records a direct bash command of a client (seeds/000,
// BashExecutionMessage). ExitCode is absent when the command was cancelled;
// FullOutputPath is null when there is no spill file.
type BashExecutionMessage struct {
	RoleName           bashRole `json:"role"`
	Command            string   `json:"command"`
	Output             string   `json:"output"`
	ExitCode           *int     `json:"exitCode,omitzero"`
	Cancelled          bool     `json:"cancelled"`
	Truncated          bool     `json:"truncated"`
	FullOutputPath     *string  `json:"fullOutputPath"`
	Timestamp          int64    `json:"timestamp"`
	ExcludeFromContext bool     `json:"excludeFromContext,omitzero"`
}

// CustomMessage is a message that an extension or a compaction put into the
// transcript; a model sees it as user text.
type CustomMessage struct {
	RoleName           customRole `json:"role"`
	CustomType         string     `json:"customType"`
	Content            Content    `json:"content"`
	Display            bool       `json:"display"`
	Details            jsonx.Raw  `json:"details,omitzero"`
	Timestamp          int64      `json:"timestamp"`
	ExcludeFromContext bool       `json:"excludeFromContext,omitzero"`
}

// BranchSummaryMessage stands for a branch that was left (FromID its last entry).
type BranchSummaryMessage struct {
	RoleName  branchSummaryRole `json:"role"`
	Summary   string            `json:"summary"`
	FromID    string            `json:"fromId"`
	Timestamp int64             `json:"timestamp"`
}

// CompactionSummaryMessage stands for the history before a summary compaction;
// TokensBefore is the context size it replaced.
type CompactionSummaryMessage struct {
	RoleName     compactionSummaryRole `json:"role"`
	Summary      string                `json:"summary"`
	TokensBefore int64                 `json:"tokensBefore"`
	Timestamp    int64                 `json:"timestamp"`
}

// Role implements Message.
func (*BashExecutionMessage) Role() string { return RoleBashExecution }

// Role implements Message.
func (*CustomMessage) Role() string { return RoleCustom }

// Role implements Message.
func (*BranchSummaryMessage) Role() string { return RoleBranchSummary }

// Role implements Message.
func (*CompactionSummaryMessage) Role() string { return RoleCompactionSummary }

type (
	bashRole              struct{}
	customRole            struct{}
	branchSummaryRole     struct{}
	compactionSummaryRole struct{}
)

func (bashRole) MarshalText() ([]byte, error)              { return []byte(RoleBashExecution), nil }
func (customRole) MarshalText() ([]byte, error)            { return []byte(RoleCustom), nil }
func (branchSummaryRole) MarshalText() ([]byte, error)     { return []byte(RoleBranchSummary), nil }
func (compactionSummaryRole) MarshalText() ([]byte, error) { return []byte(RoleCompactionSummary), nil }
func (*bashRole) UnmarshalText([]byte) error               { return nil }
func (*customRole) UnmarshalText([]byte) error             { return nil }
func (*branchSummaryRole) UnmarshalText([]byte) error      { return nil }
func (*compactionSummaryRole) UnmarshalText([]byte) error  { return nil }

// Texts that stand before a summary when a model reads it.
const (
	compactionPreface = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
	branchPreface     = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
	summaryEnd        = "\n</summary>"
)

// ForModel returns what a model may see of a transcript: transcript-only messages
// become user messages or are dropped, blank text blocks of user messages and
// messages that hold nothing else are dropped, unknown roles are dropped. The
// result holds only *UserMessage, *AssistantMessage and *ToolResultMessage; msgs
// is not changed.
func ForModel(msgs []Message) []Message {
	out := make([]Message, 0, len(msgs))
	user := func(c Content, ts int64) {
		if c = visible(c); len(c) > 0 {
			out = append(out, &UserMessage{Content: c, Timestamp: ts})
		}
	}
	for _, m := range msgs {
		switch m := m.(type) {
		case *UserMessage:
			user(m.Content, m.Timestamp)
		case *AssistantMessage, *ToolResultMessage:
			out = append(out, m)
		case *BashExecutionMessage:
			if !m.ExcludeFromContext {
				user(Content{NewText(m.text())}, m.Timestamp)
			}
		case *CustomMessage:
			if !m.ExcludeFromContext {
				user(m.Content, m.Timestamp)
			}
		case *BranchSummaryMessage:
			user(Content{NewText(branchPreface + m.Summary + summaryEnd)}, m.Timestamp)
		case *CompactionSummaryMessage:
			user(Content{NewText(compactionPreface + m.Summary + summaryEnd)}, m.Timestamp)
		}
	}
	return out
}

// visible returns c without blank text blocks; c itself when there is none.
func visible(c Content) Content {
	blank := func(b Block) bool {
		t, ok := b.(*Text)
		return ok && strings.TrimSpace(t.Text) == ""
	}
	for i, b := range c {
		if !blank(b) {
			continue
		}
		kept := append(Content{}, c[:i]...)
		for _, b := range c[i+1:] {
			if !blank(b) {
				kept = append(kept, b)
			}
		}
		return kept
	}
	return c
}

// text is the form in which a model reads a bash command (seeds/000, "How bash
// results reach the LLM"; pi-facts.md section 4).
func (m *BashExecutionMessage) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Ran `%s`\n", m.Command)
	if m.Output == "" {
		b.WriteString("(no output)")
	} else {
		fmt.Fprintf(&b, "```\n%s\n```", m.Output)
	}
	switch {
	case m.Cancelled:
		b.WriteString("\n\n(command cancelled)")
	case m.ExitCode != nil && *m.ExitCode != 0:
		fmt.Fprintf(&b, "\n\nCommand exited with code %d", *m.ExitCode)
	}
	if m.Truncated && m.FullOutputPath != nil {
		fmt.Fprintf(&b, "\n\n[Output truncated. Full output: %s]", *m.FullOutputPath)
	}
	return b.String()
}
