package event

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// MessageSnapshot is a MessageUpdate in its older form (seeds/002): it also carries the
// message so far, twice. What is written grows with the square of the answer then.
type MessageSnapshot struct {
	Message *llm.AssistantMessage `json:"message"`
	Usage   *llm.Usage            `json:"usage"`
	Update  SnapshotUpdate        `json:"assistantMessageEvent"`
	EndTurn *bool                 `json:"endTurn,omitzero"`
}

// Kind implements Event.
func (MessageSnapshot) Kind() string { return MessageUpdate{}.Kind() }

// A SnapshotUpdate is an Update with the message so far.
type SnapshotUpdate interface{ isSnapshot() }

// DeltaSnapshot is a Delta with the message so far.
type DeltaSnapshot struct {
	Delta
	Partial *llm.AssistantMessage `json:"partial"`
}

// BlockStartSnapshot is a BlockStart with the message so far.
type BlockStartSnapshot struct {
	BlockStart
	Partial *llm.AssistantMessage `json:"partial"`
}

// TextEndSnapshot is a TextEnd with the message so far.
type TextEndSnapshot struct {
	TextEnd
	Partial *llm.AssistantMessage `json:"partial"`
}

// ToolCallEndSnapshot is a ToolCallEnd with the message so far.
type ToolCallEndSnapshot struct {
	ToolCallEnd
	Partial *llm.AssistantMessage `json:"partial"`
}

func (DeltaSnapshot) isSnapshot()       {}
func (BlockStartSnapshot) isSnapshot()  {}
func (TextEndSnapshot) isSnapshot()     {}
func (ToolCallEndSnapshot) isSnapshot() {}

// A Growing is an answer that streams, folded from its events: what a client that gets
// deltas has to do. It is not safe for concurrent use.
type Growing struct {
	head   llm.AssistantMessage
	blocks []growingBlock
}

type growingBlock struct {
	start BlockStart
	text  []byte
	end   llm.Block // nil while it grows
}

// Begin starts a new answer. Messages of other roles are ignored.
func (g *Growing) Begin(ev MessageStart) {
	if m, ok := ev.Message.(*llm.AssistantMessage); ok {
		*g = Growing{head: *m}
	}
}

// Add adds a step and returns the message so far, which is never changed again.
func (g *Growing) Add(ev MessageUpdate) *llm.AssistantMessage {
	if ev.Usage != nil {
		g.head.Usage = *ev.Usage
	}
	g.head.EndTurn = ev.EndTurn
	switch u := ev.Update.(type) {
	case BlockStart:
		*g.block(u.ContentIndex) = growingBlock{start: u}
	case Delta:
		b := g.block(u.ContentIndex)
		b.text = append(b.text, u.Delta...)
	case TextEnd:
		g.block(u.ContentIndex).text = []byte(u.Content)
	case ToolCallEnd:
		g.block(u.ContentIndex).end = u.ToolCall
	}
	m := g.head
	m.Content = make(llm.Content, len(g.blocks))
	for i, b := range g.blocks {
		m.Content[i] = b.content()
	}
	return &m
}

func (g *Growing) block(index int) *growingBlock {
	for len(g.blocks) <= index {
		g.blocks = append(g.blocks, growingBlock{})
	}
	return &g.blocks[index]
}

func (b *growingBlock) content() llm.Block {
	switch {
	case b.end != nil:
		return b.end
	case b.start.Type == TypeThinkingStart:
		return &llm.Thinking{Thinking: string(b.text)}
	case b.start.Type == TypeToolCallStart:
		return &llm.ToolCall{ID: b.start.ID, Name: b.start.ToolName, Arguments: jsonx.Closed(b.text)}
	}
	return llm.NewText(string(b.text))
}

// Snapshot returns the older form of an event, which is another one for MessageUpdate
// only. Each event of a run must pass here, in order.
func (g *Growing) Snapshot(ev Event) Event {
	switch ev := ev.(type) {
	case MessageStart:
		g.Begin(ev)
	case MessageUpdate:
		m := g.Add(ev)
		return MessageSnapshot{Message: m, Usage: ev.Usage, Update: snapshotUpdate(ev.Update, m), EndTurn: ev.EndTurn}
	}
	return ev
}

func snapshotUpdate(u Update, m *llm.AssistantMessage) SnapshotUpdate {
	switch u := u.(type) {
	case Delta:
		return DeltaSnapshot{u, m}
	case BlockStart:
		return BlockStartSnapshot{u, m}
	case TextEnd:
		return TextEndSnapshot{u, m}
	case ToolCallEnd:
		return ToolCallEndSnapshot{u, m}
	}
	return nil
}
