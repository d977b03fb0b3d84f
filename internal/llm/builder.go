package llm

import (
	"strconv"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Builder folds the events of one stream into an assistant message. It is used by
// the goroutine that ranges over the stream and is not safe for concurrent use.
// Adding n bytes of deltas costs O(n) in all.
type Builder struct {
	prices ModelCost
	msg    AssistantMessage
	blocks []*building
	usage  *Usage // priced; replaced, never changed, so that events may hold it
	ids    map[string]bool
	done   bool
}

// building is a content block that still grows.
type building struct {
	block Block
	text  []byte
	ended bool
}

// NewBuilder returns a builder for an answer of m that began at now (milliseconds
// since 1970).
func NewBuilder(m *Model, level ThinkingLevel, now int64) *Builder {
	return &Builder{
		prices: m.Cost,
		usage:  &Usage{},
		ids:    map[string]bool{},
		msg: AssistantMessage{
			Content: Content{}, API: m.API, Provider: m.Provider, Model: m.ID,
			StopReason: StopPending, Timestamp: now, ThinkingLevel: level,
		},
	}
}

// Pending returns the message as message_start carries it: no content yet, zero
// usage, stop reason pending.
func (b *Builder) Pending() *AssistantMessage {
	return &AssistantMessage{
		Content: Content{}, API: b.msg.API, Provider: b.msg.Provider, Model: b.msg.Model,
		StopReason: StopPending, Timestamp: b.msg.Timestamp,
	}
}

// Usage returns the latest priced usage. The value it points to never changes.
func (b *Builder) Usage() *Usage { return b.usage }

// EndTurn returns the provider's explicit end-of-turn signal, nil if there was none.
func (b *Builder) EndTurn() *bool { return b.msg.EndTurn }

// Done reports whether EventDone was added.
func (b *Builder) Done() bool { return b.done }

// Add folds one event. Events for blocks that were never started are ignored.
func (b *Builder) Add(e Event) {
	switch e.Kind {
	case EventMeta:
		b.meta(e)
	case EventTextStart:
		b.start(e.Index, &Text{TextSignature: e.Signature})
	case EventThinkingStart:
		b.start(e.Index, &Thinking{ThinkingSignature: e.Signature, Redacted: e.Redacted})
	case EventToolCallStart:
		b.start(e.Index, &ToolCall{ID: b.uniqueID(e.ID), Name: e.Name})
	case EventTextDelta, EventThinkingDelta, EventToolCallDelta:
		if bl := b.at(e.Index); bl != nil {
			bl.text = append(bl.text, e.Delta...)
		}
	case EventTextEnd, EventThinkingEnd, EventToolCallEnd:
		b.end(e)
	case EventDone:
		b.meta(e)
		b.done = true
		b.msg.StopReason = e.StopReason
	}
}

// Block returns the block at a content index with the content it has so far; nil
// when there is none. After the block's end event the result is final.
func (b *Builder) Block(index int) Block {
	bl := b.at(index)
	if bl == nil {
		return nil
	}
	if !bl.ended {
		bl.settle()
	}
	return bl.block
}

// Finish closes open blocks and returns the final message. err is the stream's
// error or nil; a stream that ended without EventDone and without an error is one
// that was cut. The Builder must not be used afterwards.
func (b *Builder) Finish(err *Error, durationMs int64) *AssistantMessage {
	for _, bl := range b.blocks {
		if bl == nil {
			continue
		}
		if !bl.ended {
			bl.settle()
		}
		b.msg.Content = append(b.msg.Content, bl.block)
	}
	b.msg.Usage = *b.usage
	b.msg.DurationMs = &durationMs
	if err != nil {
		b.msg.StopReason = StopError
		if err.Kind == ErrAborted {
			b.msg.StopReason = StopAborted
		}
		b.msg.ErrorMessage, b.msg.Err = err.Message, err
	}
	return &b.msg
}

func (b *Builder) meta(e Event) {
	if e.ResponseID != "" {
		b.msg.ResponseID = e.ResponseID
	}
	if e.ResponseModel != "" && e.ResponseModel != b.msg.Model {
		b.msg.ResponseModel = e.ResponseModel
	}
	if e.ProviderLevel != "" {
		b.msg.ProviderThinkingLevel = e.ProviderLevel
	}
	if e.RawStopReason != "" { // a stop that is an error has no EventDone
		b.msg.RawStopReason = e.RawStopReason
	}
	if e.EndTurn != nil {
		b.msg.EndTurn = e.EndTurn
	}
	if e.Prices != nil {
		b.prices = *e.Prices
	}
	if e.Usage != nil {
		u := e.Usage.Price(b.prices)
		b.usage = &u
	}
}

func (b *Builder) start(index int, block Block) {
	for len(b.blocks) <= index {
		b.blocks = append(b.blocks, nil)
	}
	b.blocks[index] = &building{block: block}
}

func (b *Builder) end(e Event) {
	bl := b.at(e.Index)
	if bl == nil {
		return
	}
	if e.Replace != nil {
		bl.text = append(bl.text[:0], *e.Replace...)
	}
	switch block := bl.block.(type) {
	case *Text:
		if e.Signature != "" {
			block.TextSignature = e.Signature
		}
	case *Thinking:
		if e.Signature != "" {
			block.ThinkingSignature = e.Signature
		}
		block.Redacted = block.Redacted || e.Redacted
	case *ToolCall:
		if e.Signature != "" {
			block.ThoughtSignature = e.Signature
		}
		if e.Name != "" {
			block.Name = e.Name
		}
	}
	bl.settle()
	bl.ended = true
	bl.text = nil
}

func (b *Builder) at(index int) *building {
	if index < 0 || index >= len(b.blocks) {
		return nil
	}
	return b.blocks[index]
}

// uniqueID returns id, or id with a suffix when an earlier call of this message has
// it: results are matched by id, so two calls must never share one.
func (b *Builder) uniqueID(id string) string {
	if id == "" {
		id = "call_" + strconv.FormatInt(b.msg.Timestamp, 36)
	}
	unique := id
	for n := 2; b.ids[unique]; n++ {
		unique = id + "_" + strconv.Itoa(n)
	}
	b.ids[unique] = true
	return unique
}

// settle writes the collected text into the block.
func (bl *building) settle() {
	switch block := bl.block.(type) {
	case *Text:
		block.Text = string(bl.text)
	case *Thinking:
		block.Thinking = string(bl.text)
	case *ToolCall:
		block.Arguments, block.ArgumentsError = arguments(bl.text)
	}
}

// arguments returns the text of a call's arguments as a JSON object; no text is {}.
// Text that is no object comes back as {} with what is wrong with it.
func arguments(text []byte) (obj jsonx.Raw, fault string) {
	if len(text) == 0 {
		return jsonx.Raw("{}"), ""
	}
	obj, err := jsonx.Compact(text)
	if err != nil || len(obj) == 0 || obj[0] != '{' {
		return jsonx.Raw("{}"), ArgumentsFault(string(text))
	}
	return obj, ""
}
