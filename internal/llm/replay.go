package llm

import (
	"strconv"
	"strings"
)

// Texts that stand in a request for what a model cannot be sent (pi-facts.md 2 and 7).
const (
	// NoResultText answers a tool call that never got a result.
	NoResultText = "No result provided"
	// ImageOmittedText stands for pictures of a user message.
	ImageOmittedText = "(image omitted: model does not support images)"
	// ToolImageOmittedText stands for pictures of a tool result.
	ToolImageOmittedText = "(tool image omitted: model does not support images)"
)

// Replay returns a history as m may be sent it: one that every provider accepts.
// msgs is the output of ForModel; it is not changed, and messages that need no
// change are shared with the result.
//
// A turn is an assistant message with all that follows up to the next one. Failed
// (error, aborted) and empty assistant messages are left out, with the results of
// their turn. Every tool call has exactly one result right behind its message: those
// that the turn holds come first, in their order; a call without one gets an error
// result saying NoResultText; results that answer no call of their turn, and second
// answers, are dropped. Tool call ids are unique in the whole history. Reasoning and
// signatures are kept only where m itself made them. Pictures become a text where m
// takes none; pictures in answers and blocks of unknown types are dropped.
func Replay(msgs []Message, m *Model) []Message {
	r := replayer{
		model: m,
		out:   make([]Message, 0, len(msgs)),
		ids:   taken{},
	}
	for start := 0; start < len(msgs); {
		end := start + 1
		for end < len(msgs) && !isAssistant(msgs[end]) {
			end++
		}
		r.turn(msgs[start:end])
		start = end
	}
	return r.out
}

func isAssistant(m Message) bool { _, ok := m.(*AssistantMessage); return ok }

// replayer builds one replayed history.
type replayer struct {
	model *Model
	out   []Message
	ids   taken // tool call ids
}

// turn appends one turn: msgs[0] is its assistant message, except for what precedes
// the first one of a history.
func (r *replayer) turn(msgs []Message) {
	if am, ok := msgs[0].(*AssistantMessage); ok {
		msgs = msgs[1:]
		if sent := r.assistant(am); sent != nil {
			r.out = append(r.out, sent)
			r.results(am, sent, msgs)
		}
	}
	for _, msg := range msgs {
		if u, ok := msg.(*UserMessage); ok {
			if u = r.user(u); u != nil {
				r.out = append(r.out, u)
			}
		}
	}
}

// assistant returns am as the model may see it, nil when nothing of it is left.
func (r *replayer) assistant(am *AssistantMessage) *AssistantMessage {
	if am.Failed() {
		return nil
	}
	same := r.model.Made(am)
	kept, changed := make(Content, 0, len(am.Content)), false
	for _, b := range am.Content {
		k := r.block(b, same)
		changed = changed || k != b
		if k != nil {
			kept = append(kept, k)
		}
	}
	switch {
	case len(kept) == 0:
		return nil
	case !changed:
		return am
	}
	sent := *am
	sent.Content = kept
	return &sent
}

// block returns a block of an assistant message as the model may see it, b itself
// when nothing changes, nil when it is to be dropped.
func (r *replayer) block(b Block, same bool) Block {
	switch b := b.(type) {
	case *Text:
		signed := same && b.TextSignature != ""
		if !signed && strings.TrimSpace(b.Text) == "" {
			return nil
		}
		if !same && b.TextSignature != "" {
			return NewText(b.Text)
		}
		return b
	case *Thinking:
		if same && (b.Redacted || b.ThinkingSignature != "" || strings.TrimSpace(b.Thinking) != "") {
			return b
		}
		return nil
	case *ToolCall:
		return r.call(b, same)
	}
	return nil
}

// call returns a tool call with an id that no earlier one has.
func (r *replayer) call(c *ToolCall, same bool) *ToolCall {
	id := c.ID
	if id == "" {
		id = "call"
	}
	id = r.ids.unique(id, 0)
	foreign := !same && (c.ThoughtSignature != "" || c.Namespace != "")
	if id == c.ID && !foreign {
		return c
	}
	sent := *c
	sent.ID = id
	if foreign {
		sent.ThoughtSignature, sent.Namespace = "", ""
	}
	return &sent
}

// results appends one result for each call of am, which is sent as sent; rest is
// what follows in its turn.
func (r *replayer) results(am, sent *AssistantMessage, rest []Message) {
	calls := sent.Content.ToolCalls()
	if len(calls) == 0 {
		return
	}
	// The ids as stored, with those as sent that wait for a result: calls of one
	// message may share a stored id, results then answer them in order.
	open := make(map[string][]string, len(calls))
	for i, c := range am.Content.ToolCalls() {
		open[c.ID] = append(open[c.ID], calls[i].ID)
	}
	answered := make(map[string]bool, len(calls))
	for _, msg := range rest {
		res, ok := msg.(*ToolResultMessage)
		if !ok || len(open[res.ToolCallID]) == 0 {
			continue
		}
		id := open[res.ToolCallID][0]
		open[res.ToolCallID] = open[res.ToolCallID][1:]
		answered[id] = true
		r.out = append(r.out, r.result(res, id))
	}
	for _, c := range calls {
		if !answered[c.ID] {
			r.out = append(r.out, &ToolResultMessage{
				ToolCallID: c.ID, ToolName: c.Name, Content: Content{NewText(NoResultText)},
				IsError: true, Timestamp: am.Timestamp,
			})
		}
	}
}

// result returns res as the answer to the call that is sent with that id.
func (r *replayer) result(res *ToolResultMessage, id string) *ToolResultMessage {
	content, changed := r.pictures(res.Content, ToolImageOmittedText)
	if id == res.ToolCallID && !changed {
		return res
	}
	sent := *res
	sent.ToolCallID, sent.Content = id, content
	return &sent
}

// user returns u as the model may see it, nil when nothing of it is left.
func (r *replayer) user(u *UserMessage) *UserMessage {
	content, changed := r.pictures(u.Content, ImageOmittedText)
	switch {
	case len(content) == 0:
		return nil
	case !changed:
		return u
	}
	sent := *u
	sent.Content = content
	return &sent
}

// pictures returns c without what a user message or tool result cannot carry: each
// run of pictures becomes one text when the model takes none.
func (r *replayer) pictures(c Content, omitted string) (kept Content, changed bool) {
	takes := r.model.AcceptsImages()
	plain := true
	for _, b := range c {
		switch b.(type) {
		case *Text:
		case *Image:
			plain = plain && takes
		default:
			plain = false
		}
	}
	if plain {
		return c, false
	}
	kept = make(Content, 0, len(c))
	standsIn := false
	for _, b := range c {
		switch b := b.(type) {
		case *Text:
			kept = append(kept, b)
			standsIn = b.Text == omitted
		case *Image:
			if takes {
				kept = append(kept, b)
			} else if !standsIn {
				kept = append(kept, NewText(omitted))
				standsIn = true
			}
		}
	}
	return kept, true
}

// Made reports whether m made the message: same provider, protocol and model id.
// Only then may its signatures and reasoning go back.
func (m *Model) Made(am *AssistantMessage) bool {
	return am.Provider == m.Provider && am.API == m.API && am.Model == m.ID
}

// CallIDs maps the tool call ids of one replayed history to the form that a
// provider accepts. Two ids never get the same form. Not safe for concurrent use.
type CallIDs struct {
	// Max is the longest form in bytes, 0 for no limit.
	Max   int
	wire  map[string]string
	taken taken
}

// Add records that the call with that id is sent as wanted, or as wanted with a
// suffix when another call has that form, and returns the form.
func (c *CallIDs) Add(id, wanted string) string {
	if c.wire == nil {
		c.wire, c.taken = map[string]string{}, taken{}
	}
	c.wire[id] = c.taken.unique(wanted, c.Max)
	return c.wire[id]
}

// Of returns the form of an id that was added, else the id itself.
func (c *CallIDs) Of(id string) string {
	if w, ok := c.wire[id]; ok {
		return w
	}
	return id
}

// taken holds the ids that are in use, each with the last suffix that was tried for
// it, so that a thousand calls with one id stay cheap.
type taken map[string]int

// unique returns id, or id with a suffix when it is in use, and marks the result as
// used. maxLen cuts the result to a number of bytes; 0 is no limit.
func (t taken) unique(id string, maxLen int) string {
	base := cutTo(id, maxLen, "")
	last, used := t[base]
	if !used {
		t[base] = 1
		return base
	}
	for n := last + 1; ; n++ {
		id := cutTo(base, maxLen, "_"+strconv.Itoa(n))
		if _, used := t[id]; !used {
			t[base], t[id] = n, 1
			return id
		}
	}
}

// cutTo returns id followed by suffix, id cut so that both fit into maxLen bytes.
func cutTo(id string, maxLen int, suffix string) string {
	if maxLen > 0 && len(id)+len(suffix) > maxLen {
		id = id[:maxLen-len(suffix)]
	}
	return id + suffix
}
