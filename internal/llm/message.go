// Package llm is the vocabulary that all other packages share: messages and
// their content, usage, models, requests, stream events, errors, and the
// Provider interface. It owns these types and the folding of stream events into
// an assistant message (Builder).
//
// It must not know any provider's wire format, the session file, or the client
// protocol; the JSON names here are those that files and the protocol share
// (seeds/000, section Types).
//
// Values are not safe for concurrent mutation; a message that was handed out
// (emitted, persisted) is never changed again.
package llm

import (
	"fmt"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A Message is one element of a conversation. The concrete types are
// *UserMessage, *AssistantMessage, *ToolResultMessage, the transcript-only
// *BashExecutionMessage, *CustomMessage, *BranchSummaryMessage and
// *CompactionSummaryMessage, and *UnknownMessage for roles of other programs.
type Message interface {
	// Role returns the wire name of the role.
	Role() string
}

// UserMessage is what a user (or a steering client) said. Timestamp is
// milliseconds since 1970.
type UserMessage struct {
	RoleName  userRole `json:"role"`
	Content   Content  `json:"content"`
	Timestamp int64    `json:"timestamp"`
}

// AssistantMessage is one answer of a model. While it streams, StopReason is
// StopPending. ErrorMessage is set when StopReason is error or aborted.
// DurationMs is the time from the request to the end of the stream.
type AssistantMessage struct {
	RoleName              assistantRole `json:"role"`
	Content               Content       `json:"content"`
	API                   string        `json:"api"`
	Provider              string        `json:"provider"`
	Model                 string        `json:"model"`
	ResponseModel         string        `json:"responseModel,omitzero"`
	Usage                 Usage         `json:"usage"`
	StopReason            StopReason    `json:"stopReason"`
	Timestamp             int64         `json:"timestamp"`
	ResponseID            string        `json:"responseId,omitzero"`
	RawStopReason         string        `json:"rawStopReason,omitzero"`
	EndTurn               *bool         `json:"endTurn,omitzero"`
	ErrorMessage          string        `json:"errorMessage,omitzero"`
	DurationMs            *int64        `json:"durationMs,omitzero"`
	ThinkingLevel         ThinkingLevel `json:"thinkingLevel,omitzero"`
	ProviderThinkingLevel string        `json:"providerThinkingLevel,omitzero"`

	// Err is the typed cause behind ErrorMessage while the message is live; it
	// is never encoded.
	Err *Error `json:"-"`
}

// ToolResultMessage answers one tool call. Details is tool-specific JSON.
// DurationMs is absent when the tool never ran.
type ToolResultMessage struct {
	RoleName   toolResultRole `json:"role"`
	ToolCallID string         `json:"toolCallId"`
	ToolName   string         `json:"toolName"`
	Content    Content        `json:"content"`
	Details    jsonx.Raw      `json:"details,omitzero"`
	Usage      *Usage         `json:"usage,omitzero"`
	IsError    bool           `json:"isError"`
	DurationMs *int64         `json:"durationMs,omitzero"`
	Timestamp  int64          `json:"timestamp"`
}

// UnknownMessage keeps a message of a role that this program does not know
// (pi's "system" among them): it is stored and listed, never sent to a model.
type UnknownMessage struct {
	Name string
	Raw  jsonx.Raw
}

// Role names, as on the wire.
const (
	RoleUser              = "user"
	RoleAssistant         = "assistant"
	RoleToolResult        = "toolResult"
	RoleSystem            = "system"
	RoleBashExecution     = "bashExecution"
	RoleCustom            = "custom"
	RoleBranchSummary     = "branchSummary"
	RoleCompactionSummary = "compactionSummary"
)

// Role implements Message.
func (*UserMessage) Role() string { return RoleUser }

// Role implements Message.
func (*AssistantMessage) Role() string { return RoleAssistant }

// Role implements Message.
func (*ToolResultMessage) Role() string { return RoleToolResult }

// Role implements Message.
func (m *UnknownMessage) Role() string { return m.Name }

// MarshalJSONTo writes the message as it was read.
func (m *UnknownMessage) MarshalJSONTo(enc *jsonx.Encoder) error { return enc.WriteValue(m.Raw) }

type (
	userRole       struct{}
	assistantRole  struct{}
	toolResultRole struct{}
)

func (userRole) MarshalText() ([]byte, error)       { return []byte(RoleUser), nil }
func (assistantRole) MarshalText() ([]byte, error)  { return []byte(RoleAssistant), nil }
func (toolResultRole) MarshalText() ([]byte, error) { return []byte(RoleToolResult), nil }
func (*userRole) UnmarshalText([]byte) error        { return nil }
func (*assistantRole) UnmarshalText([]byte) error   { return nil }
func (*toolResultRole) UnmarshalText([]byte) error  { return nil }

// StopReason says why an assistant message ended.
type StopReason string

// The stop reasons of the protocol. Pending appears on message_start only.
const (
	StopPending StopReason = "pending"
	StopEnd     StopReason = "stop"
	StopLength  StopReason = "length"
	StopToolUse StopReason = "toolUse"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Failed reports whether the message ended in an error or was aborted: such a
// message stays in the transcript and is not sent to a model again.
func (m *AssistantMessage) Failed() bool {
	return m.StopReason == StopError || m.StopReason == StopAborted
}

// DecodeMessage decodes one message by its role. A message of an unknown role is
// kept raw; the error names the role of one that does not decode.
func DecodeMessage(raw jsonx.Raw) (Message, error) {
	var head struct {
		Role string `json:"role"`
	}
	if err := jsonx.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	var m Message
	switch head.Role {
	case RoleUser:
		m = &UserMessage{}
	case RoleAssistant:
		m = &AssistantMessage{}
	case RoleToolResult:
		m = &ToolResultMessage{}
	case RoleBashExecution:
		m = &BashExecutionMessage{}
	case RoleCustom:
		m = &CustomMessage{}
	case RoleBranchSummary:
		m = &BranchSummaryMessage{}
	case RoleCompactionSummary:
		m = &CompactionSummaryMessage{}
	default:
		return &UnknownMessage{Name: head.Role, Raw: raw.Clone()}, nil
	}
	if err := jsonx.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("%s message: %w", head.Role, err)
	}
	return m, nil
}
