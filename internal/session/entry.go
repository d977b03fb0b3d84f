package session

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Names of the entry types that the store knows. Others are kept as they are.
const (
	TypeMessage             = "message"
	TypeModelChange         = "model_change"
	TypeThinkingLevelChange = "thinking_level_change"
	TypeSessionInfo         = "session_info"
	TypeLabel               = "label"
	TypeCustom              = "custom"
	TypeCustomMessage       = "custom_message"
	TypeBranchSummary       = "branch_summary"
	TypeCompaction          = "compaction"
	TypeContextCompaction   = "context_compaction" // archival, inert
	TypeContextWindowChange = "context_window_change"
	TypeContextEdit         = "context_edit"
	TypeUsage               = "usage"
	TypeSessionSummary      = "session_summary"
)

// An Entry is what the index knows of one line: its head, not its body.
type Entry struct {
	Index     int    // position in the session, 0 for the first line behind the header
	ID        string // "" when the line has none; such an entry cannot be a parent
	ParentID  string // as written; "" for null
	HasParent bool   // the parent is in the session; else the entry is a root of the tree
	Type      string
	Role      string // of the message of a message entry
	Timestamp string // as written, ISO 8601 in files of all known programs
	Time      int64  // Timestamp in milliseconds since 1970, 0 when it is no time
}

// A Body is the content of an entry that is to be appended: its members beside
// type, id, parentId and timestamp, which the store writes in front. Bodies are
// passed as values, not as pointers.
type Body interface {
	// EntryType returns the value of the member "type".
	EntryType() string
}

// Message is a message of the conversation. Store compaction and branch summaries
// as the entries of their own, not as messages.
type Message struct {
	Message llm.Message `json:"message"`
}

// ModelChange selects the model for what follows on its branch.
type ModelChange struct {
	Provider string `json:"provider"`
	ModelID  string `json:"modelId"`
}

// ThinkingLevelChange selects the thinking level for what follows on its branch.
type ThinkingLevelChange struct {
	ThinkingLevel llm.ThinkingLevel `json:"thinkingLevel"`
}

// SessionInfo names the session; the last one in the file counts, on whatever
// branch. Line breaks become spaces; "" takes the name away.
type SessionInfo struct {
	Name jsonx.Str `json:"name"`
}

// Label marks the entry TargetID; "" takes the mark away.
type Label struct {
	TargetID string `json:"targetId"`
	Label    string `json:"label,omitzero"`
}

// Custom is state of an extension; a model never sees it.
type Custom struct {
	CustomType string    `json:"customType"`
	Data       jsonx.Raw `json:"data,omitzero"`
}

// CustomMessage is a message of an extension, part of the context. Content is a
// string or an array of blocks.
type CustomMessage struct {
	CustomType         string    `json:"customType"`
	Content            jsonx.Raw `json:"content"`
	Display            bool      `json:"display"`
	Details            jsonx.Raw `json:"details,omitzero"`
	ExcludeFromContext bool      `json:"excludeFromContext,omitzero"`
}

// BranchSummary stands for a branch that was left; FromID is its last entry, or
// "root".
type BranchSummary struct {
	FromID   string     `json:"fromId"`
	Summary  string     `json:"summary"`
	Details  jsonx.Raw  `json:"details,omitzero"`
	Usage    *llm.Usage `json:"usage,omitzero"`
	FromHook *bool      `json:"fromHook,omitzero"`
}

// Compaction is a boundary: of what is before it on its branch, the context keeps
// Summary and the entries from FirstKeptEntryID on. With Details.strategy
// "verbatim-lines" the kept entries become text (seed 000); else they stay messages
// (seed 003). A nil FirstKeptEntryID keeps nothing: it is written as null in the
// first form, as the entry's own id in the second, which is how their programs say it.
type Compaction struct {
	Summary          string     `json:"summary"`
	FirstKeptEntryID *string    `json:"firstKeptEntryId"`
	TokensBefore     int64      `json:"tokensBefore"`
	Details          jsonx.Raw  `json:"details,omitzero"`
	Usage            *llm.Usage `json:"usage,omitzero"`
	FromHook         *bool      `json:"fromHook,omitzero"`
}

// ContextWindowChange sets the context budget, in tokens.
type ContextWindowChange struct {
	ContextWindow int64 `json:"contextWindow"`
}

// ContextEdit changes what the context shows of the entry TargetID. Replacement is
// null (the entry is left out) or {"content": string or blocks}.
type ContextEdit struct {
	TargetID    string    `json:"targetId"`
	Replacement jsonx.Raw `json:"replacement"`
}

// Usage records tokens that belong to no message.
type Usage struct {
	Kind     string    `json:"kind"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Usage    llm.Usage `json:"usage"`
	Note     string    `json:"note,omitzero"`
}

// RawBody is an entry of any type. Fields is a JSON object without the members that
// the store writes; nil stands for none.
type RawBody struct {
	Type   string
	Fields jsonx.Raw
}

// EntryType implements Body.
func (Message) EntryType() string { return TypeMessage }

// EntryType implements Body.
func (ModelChange) EntryType() string { return TypeModelChange }

// EntryType implements Body.
func (ThinkingLevelChange) EntryType() string { return TypeThinkingLevelChange }

// EntryType implements Body.
func (SessionInfo) EntryType() string { return TypeSessionInfo }

// EntryType implements Body.
func (Label) EntryType() string { return TypeLabel }

// EntryType implements Body.
func (Custom) EntryType() string { return TypeCustom }

// EntryType implements Body.
func (CustomMessage) EntryType() string { return TypeCustomMessage }

// EntryType implements Body.
func (BranchSummary) EntryType() string { return TypeBranchSummary }

// EntryType implements Body.
func (Compaction) EntryType() string { return TypeCompaction }

// EntryType implements Body.
func (ContextWindowChange) EntryType() string { return TypeContextWindowChange }

// EntryType implements Body.
func (ContextEdit) EntryType() string { return TypeContextEdit }

// EntryType implements Body.
func (Usage) EntryType() string { return TypeUsage }

// EntryType implements Body.
func (b RawBody) EntryType() string { return b.Type }

// CleanName returns a session name as it is stored: on one line, without space
// around it.
func CleanName(name string) string {
	name = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(name)
	return strings.TrimSpace(name)
}

// encodeEntry returns the line of an entry, without its end.
func encodeEntry(id, parent, timestamp string, b Body) ([]byte, error) {
	line := append(make([]byte, 0, 256), `{"type":`...)
	line = append(line, jsonx.String(b.EntryType())...)
	line = appendMember(line, "id", jsonx.String(id))
	if parent == "" {
		line = appendMember(line, "parentId", []byte("null"))
	} else {
		line = appendMember(line, "parentId", jsonx.String(parent))
	}
	line = appendMember(line, "timestamp", jsonx.String(timestamp))
	fields, err := bodyFields(b)
	if err != nil {
		return nil, fmt.Errorf("encoding a %s entry: %w", b.EntryType(), err)
	}
	if len(fields) > 2 {
		line = append(line, ',')
		line = append(line, fields[1:]...)
		return line, nil
	}
	return append(line, '}'), nil
}

// bodyFields returns the members of a body as a compact object.
func bodyFields(b Body) ([]byte, error) {
	raw, ok := b.(RawBody)
	if !ok {
		return jsonx.Marshal(b)
	}
	if raw.Type == "" || raw.Type == typeHeader {
		return nil, fmt.Errorf("%q is no type for an entry", raw.Type)
	}
	if len(raw.Fields) == 0 {
		return []byte("{}"), nil
	}
	fields, err := jsonx.Compact(raw.Fields)
	if err != nil {
		return nil, err
	}
	if fields[0] != '{' {
		return nil, fmt.Errorf("the fields must be an object")
	}
	for name := range members(fields) {
		switch string(text(name)) {
		case "type", "id", "parentId", "timestamp":
			return nil, fmt.Errorf("the fields must not hold %s", name)
		}
	}
	return fields, nil
}
