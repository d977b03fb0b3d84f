package rpc

import (
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/session"
)

// Disposition is the data of prompt, steer and follow_up.
type Disposition struct {
	Disposition engine.Disposition `json:"disposition"`
}

// Messages is the data of get_messages. It describes what is written; the messages
// themselves are copied from the session file.
type Messages struct {
	Messages []llm.Message `json:"messages"`
}

// Entry is one line of a session file, as it stands there: it may hold what only other
// programs know.
type Entry struct {
	Type   string    `json:"type"`
	Fields jsonx.Raw `json:",embed"`
}

// Entries is the data of get_entries.
type Entries struct {
	Entries []Entry `json:"entries"`
	LeafID  *string `json:"leafId"`
}

// TreeNode is an entry and what follows it.
type TreeNode struct {
	Entry          Entry      `json:"entry"`
	Children       []TreeNode `json:"children"`
	Label          string     `json:"label,omitzero"`
	LabelTimestamp string     `json:"labelTimestamp,omitzero"`
}

// Tree is the data of get_tree: the roots. LeafID is the current entry.
type Tree struct {
	Tree   []TreeNode `json:"tree"`
	LeafID *string    `json:"leafId"`
}

// ForkMessages is the data of get_fork_messages.
type ForkMessages struct {
	Messages []session.ForkMessage `json:"messages"`
}

// LastText is the data of get_last_assistant_text; null when there is none.
type LastText struct {
	Text *string `json:"text"`
}

// Levels is the data of get_available_thinking_levels.
type Levels struct {
	Levels []llm.ThinkingLevel `json:"levels"`
}

// CommandList is the data of get_commands.
type CommandList struct {
	Commands []prompt.Command `json:"commands"`
}

// Exported is the data of export_html: the path as it was given, or made.
type Exported struct {
	Path string `json:"path"`
}

// ProtocolInfo is the data of get_protocol_info. Capabilities are what a client need
// not try out.
type ProtocolInfo struct {
	ProtocolVersion int             `json:"protocolVersion"`
	Dialect         string          `json:"dialect"`
	Program         Program         `json:"program"`
	Commands        []string        `json:"commands"`
	Events          []string        `json:"events"`
	Capabilities    map[string]bool `json:"capabilities"`
}

// Program names the program that answers.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Compacted is the data of compact and the result of compaction_end: the result of the
// strategy that ran.
type Compacted any
