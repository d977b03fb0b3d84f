package llm

import (
	"context"
	"iter"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A Provider speaks one wire protocol. The agent's run goroutine calls Stream once
// for each request and ranges over the result; breaking the loop or cancelling ctx
// ends the request and releases its connection.
//
// The sequence yields events in the order of Event's documentation. It ends after
// EventDone, or with a single non-nil error, which is an *Error (or ctx's error
// when it was cancelled). A provider never retries.
type Provider interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Request is one call of a model. Messages come from ForModel: only user,
// assistant and tool result messages. Nothing in a request is changed by a provider.
type Request struct {
	Model    *Model
	System   string // the system prompt; "" for none
	Messages []Message
	Tools    []ToolSpec
	Thinking ThinkingLevel // already clamped to the model
	// MaxTokens caps the answer; 0 lets the provider compute the cap from the model.
	MaxTokens int64
	SessionID string // for prompt caches and affinity headers; "" for none
	NoCache   bool   // leave cache markers and keys out (summaries)
	APIKey    string
	Headers   map[string]string // added to the request, beside the model's own
	// Env holds variables that a stored credential brings along; a provider looks
	// there before the process's environment.
	Env map[string]string
}

// ToolSpec describes a tool to a model. Parameters is a JSON Schema object.
type ToolSpec struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Parameters  jsonx.Raw `json:"parameters"`
	Sampling    Sampling  `json:"-"`
}

// EventKind names a stream event.
type EventKind uint8

// The stream events. A provider numbers content blocks from 0 in the order of
// their appearance; each block has a start, deltas and an end. Chat Completions
// ends its blocks only at the end of the stream.
const (
	// EventMeta updates what is known of the response: ResponseID, ResponseModel,
	// RawStopReason (before an error that a stop reason stands for) and Usage when
	// not nil. The first one comes before all other events and marks the start of
	// the answer.
	EventMeta EventKind = iota + 1
	EventTextStart
	EventTextDelta
	EventTextEnd
	EventThinkingStart
	EventThinkingDelta
	EventThinkingEnd
	// EventToolCallStart carries ID and Name.
	EventToolCallStart
	// EventToolCallDelta carries a piece of the arguments' JSON text.
	EventToolCallDelta
	EventToolCallEnd
	// EventDone is the last event: StopReason, RawStopReason, EndTurn, Usage.
	EventDone
)

// Event is one step of a streamed answer. It is a value: a delta costs nothing
// beyond its text.
type Event struct {
	Kind  EventKind
	Index int    // content index
	Delta string // text of a *Delta event

	// Set on *Start and *End events.
	ID        string // tool call id
	Name      string // tool name
	Signature string // opaque signature of the block
	Redacted  bool   // thinking block without text
	// Replace, when not nil, is the block's whole text or argument JSON as the
	// provider states it at its end; it wins over the joined deltas.
	Replace *string

	// Set on EventMeta and EventDone.
	ResponseID    string
	ResponseModel string
	Usage         *Usage // unpriced
	// Prices are those of this answer, from here on, where they are not the model's:
	// another model answered, or the provider has tiers of service.
	Prices        *ModelCost
	StopReason    StopReason
	RawStopReason string
	EndTurn       *bool
	ProviderLevel string // the thinking level in the provider's words, when it differs
}
