// Package event owns every record that a client can see and that is not a
// response: one struct an event, fields only. The list below is the protocol's
// (seeds/000 section Events, atomic-facts.md section 4, resolved by dialects.md).
//
// It must not know who emits or who writes. Events are immutable once emitted and
// may be shared between goroutines.
package event

import (
	"bytes"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// An Event is one record. Kind returns its wire name (the member "type").
type Event interface{ Kind() string }

// A Sink takes events in order. It blocks while the client is slow and never drops.
type Sink func(Event)

// Session is the first record of JSON mode: the header of the session's file. Version is
// that of the file's format.
type Session struct {
	Version       int    `json:"version"`
	ID            string `json:"id"`
	Timestamp     string `json:"timestamp"`
	Cwd           string `json:"cwd"`
	ParentSession string `json:"parentSession,omitzero"`
}

// AgentStart: a run begins.
type AgentStart struct{}

// AgentEnd: a low-level run is over. Messages is everything it added. WillRetry says
// that another run follows by itself. It is not the end of the prompt: AgentSettled is.
type AgentEnd struct {
	Messages  []llm.Message `json:"messages"`
	WillRetry bool          `json:"willRetry"`
}

// AgentSettled is the last event of an accepted prompt, exactly once.
type AgentSettled struct {
	Aborted bool `json:"aborted"`
}

// TurnStart: one model call and its tools begin.
type TurnStart struct{}

// TurnEnd: the turn's answer and tool results are complete.
type TurnEnd struct {
	Message     llm.Message              `json:"message"`
	ToolResults []*llm.ToolResultMessage `json:"toolResults"`
}

// MessageStart: a message begins; an assistant's has stopReason "pending".
type MessageStart struct {
	Message llm.Message `json:"message"`
}

// MessageUpdate is one step of a streaming assistant message. Usage is the latest
// cumulative usage. EndTurn is present only when the provider said so.
type MessageUpdate struct {
	Usage   *llm.Usage `json:"usage"`
	Update  Update     `json:"assistantMessageEvent"`
	EndTurn *bool      `json:"endTurn,omitzero"`
}

// MessageEnd carries the final message.
type MessageEnd struct {
	Message llm.Message `json:"message"`
}

// An Update is the body of a MessageUpdate: Delta, BlockStart, TextEnd or ToolCallEnd.
type Update interface{ isUpdate() }

// UpdateType names a step of a streaming message.
type UpdateType string

// The update types. The stream's own start, done and error are never sent.
const (
	TypeTextStart     UpdateType = "text_start"
	TypeTextDelta     UpdateType = "text_delta"
	TypeTextEnd       UpdateType = "text_end"
	TypeThinkingStart UpdateType = "thinking_start"
	TypeThinkingDelta UpdateType = "thinking_delta"
	TypeThinkingEnd   UpdateType = "thinking_end"
	TypeToolCallStart UpdateType = "toolcall_start"
	TypeToolCallDelta UpdateType = "toolcall_delta"
	TypeToolCallEnd   UpdateType = "toolcall_end"
)

// Delta is a piece of text, thinking or tool arguments.
type Delta struct {
	Type         UpdateType `json:"type"`
	ContentIndex int        `json:"contentIndex"`
	Delta        string     `json:"delta"`
}

// BlockStart opens a content block; ID and ToolName belong to a tool call.
type BlockStart struct {
	Type         UpdateType `json:"type"`
	ContentIndex int        `json:"contentIndex"`
	ID           string     `json:"id,omitzero"`
	ToolName     string     `json:"toolName,omitzero"`
}

// TextEnd closes a text or thinking block with its whole content.
type TextEnd struct {
	Type         UpdateType `json:"type"`
	ContentIndex int        `json:"contentIndex"`
	Content      string     `json:"content"`
}

// ToolCallEnd closes a tool call.
type ToolCallEnd struct {
	Type         UpdateType    `json:"type"`
	ContentIndex int           `json:"contentIndex"`
	ToolCall     *llm.ToolCall `json:"toolCall"`
}

func (Delta) isUpdate()       {}
func (BlockStart) isUpdate()  {}
func (TextEnd) isUpdate()     {}
func (ToolCallEnd) isUpdate() {}

// ToolExecutionStart: a tool call is about to run (or to be refused).
type ToolExecutionStart struct {
	ToolCallID string    `json:"toolCallId"`
	ToolName   string    `json:"toolName"`
	Args       jsonx.Raw `json:"args"`
}

// ToolExecutionUpdate carries the whole output so far. PartialResult is a tool.Result.
type ToolExecutionUpdate struct {
	ToolCallID    string    `json:"toolCallId"`
	ToolName      string    `json:"toolName"`
	Args          jsonx.Raw `json:"args"`
	PartialResult any       `json:"partialResult"`
}

// ToolExecutionEnd: a tool call is over. Result is a tool.Result. DurationMs
// (milliseconds) is absent when the tool never ran.
type ToolExecutionEnd struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	Result     any    `json:"result"`
	IsError    bool   `json:"isError"`
	DurationMs *int64 `json:"durationMs,omitzero"`
}

// BashExecutionUpdate is output of a direct bash command. ID is the command's id
// as the client sent it; absent when it had none. Channel is "stdout" or "stderr".
type BashExecutionUpdate struct {
	ID      jsonx.Raw `json:"id,omitzero"`
	Channel string    `json:"channel"`
	Delta   string    `json:"delta"`
}

// QueueUpdate lists the texts that wait, after every change.
type QueueUpdate struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

// Compaction reasons.
const (
	ReasonManual    = "manual"
	ReasonThreshold = "threshold"
	ReasonOverflow  = "overflow"
)

// CompactionStart: a compaction begins; MidTurn when it happens between a turn's
// tools and the next request.
type CompactionStart struct {
	Reason  string `json:"reason"`
	MidTurn bool   `json:"midTurn,omitzero"`
}

// CompactionEnd: a compaction is over. Result has the shape of the strategy that
// ran; a nil Result is written as null or left out, by dialect: whoever builds the
// event chooses (jsonx.Raw("null") or nil).
type CompactionEnd struct {
	Reason             string `json:"reason"`
	Result             any    `json:"result,omitzero"`
	Aborted            bool   `json:"aborted"`
	WillRetry          bool   `json:"willRetry"`
	UnresolvedOverflow bool   `json:"unresolvedOverflow,omitzero"`
	ErrorMessage       string `json:"errorMessage,omitzero"`
	MidTurn            bool   `json:"midTurn,omitzero"`
}

// AutoRetryStart: a failed call will be tried again after DelayMs milliseconds.
type AutoRetryStart struct {
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"maxAttempts"`
	DelayMs      int64  `json:"delayMs"`
	ErrorMessage string `json:"errorMessage"`
}

// AutoRetryEnd: retrying is over.
type AutoRetryEnd struct {
	Success    bool   `json:"success"`
	Attempt    int    `json:"attempt"`
	FinalError string `json:"finalError,omitzero"`
}

// SummarizationRetryScheduled: a compaction or branch summary request failed and
// will be tried again after DelayMs milliseconds.
type SummarizationRetryScheduled struct {
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"maxAttempts"`
	DelayMs      int64  `json:"delayMs"`
	ErrorMessage string `json:"errorMessage"`
}

// SummarizationRetryAttemptStart: the request is sent again. Source is "compaction"
// (with Reason) or "branchSummary".
type SummarizationRetryAttemptStart struct {
	Source string `json:"source"`
	Reason string `json:"reason,omitzero"`
}

// SummarizationRetryFinished: the retry loop is over.
type SummarizationRetryFinished struct{}

// ModelFallbackStart: the run goes on with another model.
type ModelFallbackStart struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Reason  string `json:"reason"`
	Attempt int    `json:"attempt"`
}

// ModelFallbackEnd: the fallback is over, the first model is back.
type ModelFallbackEnd struct {
	Success    bool   `json:"success"`
	From       string `json:"from,omitzero"`
	To         string `json:"to,omitzero"`
	FinalError string `json:"finalError,omitzero"`
}

// SessionInfoChanged: the session has another name; absent when it was cleared.
type SessionInfoChanged struct {
	Name jsonx.Str `json:"name,omitzero"`
}

// ModelChanged: Source is "set", "cycle", "restore" or "fallback".
type ModelChanged struct {
	Model         *llm.Model `json:"model"`
	PreviousModel *llm.Model `json:"previousModel,omitzero"`
	Source        string     `json:"source"`
}

// ThinkingLevelChanged: the effective level is another one.
type ThinkingLevelChanged struct {
	Level llm.ThinkingLevel `json:"level"`
}

// ContextWindowChanged: the budget in tokens is another one.
type ContextWindowChanged struct {
	ContextWindow int64 `json:"contextWindow"`
}

// EntryAppended: an extension appended a session entry.
type EntryAppended struct {
	Entry jsonx.Raw `json:"entry"`
}

// ExtensionError: an extension failed. Event is the handler or command.
type ExtensionError struct {
	ExtensionPath string `json:"extensionPath"`
	Event         string `json:"event"`
	Error         string `json:"error"`
}

// ExtensionUIRequest asks the client for a dialog or shows something, for an extension or
// a login. Fields are the method's own members, in order: see UIMethods.
type ExtensionUIRequest struct {
	ID     string    `json:"id"`
	Method string    `json:"method"`
	Fields jsonx.Raw `json:",embed"`
}

// Kind implements Event.
func (Session) Kind() string                        { return "session" }
func (AgentStart) Kind() string                     { return "agent_start" }
func (AgentEnd) Kind() string                       { return "agent_end" }
func (AgentSettled) Kind() string                   { return "agent_settled" }
func (TurnStart) Kind() string                      { return "turn_start" }
func (TurnEnd) Kind() string                        { return "turn_end" }
func (MessageStart) Kind() string                   { return "message_start" }
func (MessageUpdate) Kind() string                  { return "message_update" }
func (MessageEnd) Kind() string                     { return "message_end" }
func (ToolExecutionStart) Kind() string             { return "tool_execution_start" }
func (ToolExecutionUpdate) Kind() string            { return "tool_execution_update" }
func (ToolExecutionEnd) Kind() string               { return "tool_execution_end" }
func (BashExecutionUpdate) Kind() string            { return "bash_execution_update" }
func (QueueUpdate) Kind() string                    { return "queue_update" }
func (CompactionStart) Kind() string                { return "compaction_start" }
func (CompactionEnd) Kind() string                  { return "compaction_end" }
func (AutoRetryStart) Kind() string                 { return "auto_retry_start" }
func (AutoRetryEnd) Kind() string                   { return "auto_retry_end" }
func (SummarizationRetryScheduled) Kind() string    { return "summarization_retry_scheduled" }
func (SummarizationRetryAttemptStart) Kind() string { return "summarization_retry_attempt_start" }
func (SummarizationRetryFinished) Kind() string     { return "summarization_retry_finished" }
func (ModelFallbackStart) Kind() string             { return "model_fallback_start" }
func (ModelFallbackEnd) Kind() string               { return "model_fallback_end" }
func (SessionInfoChanged) Kind() string             { return "session_info_changed" }
func (ModelChanged) Kind() string                   { return "model_changed" }
func (ThinkingLevelChanged) Kind() string           { return "thinking_level_changed" }
func (ContextWindowChanged) Kind() string           { return "context_window_changed" }
func (EntryAppended) Kind() string                  { return "entry_appended" }
func (ExtensionError) Kind() string                 { return "extension_error" }
func (ExtensionUIRequest) Kind() string             { return "extension_ui_request" }

// All returns a zero value of every event, in the order of the list above.
func All() []Event {
	return []Event{
		Session{},
		AgentStart{},
		AgentEnd{},
		AgentSettled{},
		TurnStart{},
		TurnEnd{},
		MessageStart{},
		MessageUpdate{},
		MessageEnd{},
		ToolExecutionStart{},
		ToolExecutionUpdate{},
		ToolExecutionEnd{},
		BashExecutionUpdate{},
		QueueUpdate{},
		CompactionStart{},
		CompactionEnd{},
		AutoRetryStart{},
		AutoRetryEnd{},
		SummarizationRetryScheduled{},
		SummarizationRetryAttemptStart{},
		SummarizationRetryFinished{},
		ModelFallbackStart{},
		ModelFallbackEnd{},
		SessionInfoChanged{},
		ModelChanged{},
		ThinkingLevelChanged{},
		ContextWindowChanged{},
		EntryAppended{},
		ExtensionError{},
		ExtensionUIRequest{},
	}
}

// Append appends the record of e to buf: one JSON object with "type" first, no line
// feed. The discriminator comes from Kind, so that no event can be without it.
func Append(buf *bytes.Buffer, e Event) error {
	buf.WriteString(`{"type":"`)
	buf.WriteString(e.Kind())
	buf.WriteByte('"')
	if u, _ := e.(MessageUpdate); u.appendDelta(buf) {
		return nil
	}
	at := buf.Len()
	if err := jsonx.Write(buf, e); err != nil {
		return err
	}
	body := buf.Bytes()[at:]
	if len(body) == 2 { // {}
		body[0] = '}'
		buf.Truncate(at + 1)
		return nil
	}
	body[0] = ','
	return nil
}
