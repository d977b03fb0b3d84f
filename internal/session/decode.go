package session

import (
	"strconv"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// decoder turns stored messages into llm messages. A context may hold hundreds of
// thousands of them, and llm.DecodeMessage reads each several times (for the role,
// for the type of each block). The decoder reads the three common roles member by
// member, and leaves everything that is not as usual to llm.DecodeMessage; a test
// holds the two against each other. It belongs to one goroutine.
type decoder struct {
	names map[string]string // texts that repeat: models, tools
	odd   bool              // the message at hand is not as usual
}

// message decodes a message; one that does not decode is kept as one of an unknown
// role: a single bad line must not make a session unusable.
func (d *decoder) message(raw jsonx.Raw) llm.Message {
	d.odd = false
	var m llm.Message
	switch string(messageRole(raw)) {
	case llm.RoleUser:
		m = d.user(raw)
	case llm.RoleAssistant:
		m = d.assistant(raw)
	case llm.RoleToolResult:
		m = d.toolResult(raw)
	default:
		d.odd = true
	}
	if !d.odd {
		return m
	}
	m, err := llm.DecodeMessage(raw)
	if err != nil {
		return &llm.UnknownMessage{Name: string(text(member(raw, "role"))), Raw: raw.Clone()}
	}
	return m
}

func (d *decoder) user(raw []byte) *llm.UserMessage {
	m := &llm.UserMessage{}
	for name, v := range members(raw) {
		switch string(text(name)) {
		case "content":
			m.Content = d.content(v)
		case "timestamp":
			m.Timestamp = d.int(v)
		}
	}
	return m
}

func (d *decoder) assistant(raw []byte) *llm.AssistantMessage {
	m := &llm.AssistantMessage{}
	for name, v := range members(raw) {
		switch string(text(name)) {
		case "content":
			m.Content = d.content(v)
		case "api":
			m.API = d.name(v)
		case "provider":
			m.Provider = d.name(v)
		case "model":
			m.Model = d.name(v)
		case "responseModel":
			m.ResponseModel = d.name(v)
		case "usage":
			m.Usage = d.usage(v)
		case "stopReason":
			m.StopReason = llm.StopReason(d.name(v))
		case "timestamp":
			m.Timestamp = d.int(v)
		case "responseId":
			m.ResponseID = d.string(v)
		case "rawStopReason":
			m.RawStopReason = d.name(v)
		case "endTurn":
			b := d.bool(v)
			m.EndTurn = &b
			d.odd = d.odd || isNull(v)
		case "errorMessage":
			m.ErrorMessage = d.string(v)
		case "durationMs":
			n := d.int(v)
			m.DurationMs = &n
			d.odd = d.odd || isNull(v)
		case "thinkingLevel":
			m.ThinkingLevel = llm.ThinkingLevel(d.name(v))
		case "providerThinkingLevel":
			m.ProviderThinkingLevel = d.name(v)
		}
	}
	return m
}

func (d *decoder) toolResult(raw []byte) *llm.ToolResultMessage {
	m := &llm.ToolResultMessage{}
	for name, v := range members(raw) {
		switch string(text(name)) {
		case "toolCallId":
			m.ToolCallID = d.string(v)
		case "toolName":
			m.ToolName = d.name(v)
		case "content":
			m.Content = d.content(v)
		case "details":
			m.Details = jsonx.Raw(v).Clone()
		case "usage":
			u := d.usage(v)
			m.Usage = &u
			d.odd = d.odd || isNull(v)
		case "isError":
			m.IsError = d.bool(v)
		case "durationMs":
			n := d.int(v)
			m.DurationMs = &n
			d.odd = d.odd || isNull(v)
		case "timestamp":
			m.Timestamp = d.int(v)
		}
	}
	return m
}

func (d *decoder) usage(v []byte) llm.Usage {
	var u llm.Usage
	for name, v := range members(v) {
		switch string(text(name)) {
		case "input":
			u.Input = d.int(v)
		case "output":
			u.Output = d.int(v)
		case "cacheRead":
			u.CacheRead = d.int(v)
		case "cacheWrite":
			u.CacheWrite = d.int(v)
		case "cacheWrite1h":
			n := d.int(v)
			u.CacheWrite1h = &n
			d.odd = d.odd || isNull(v)
		case "reasoning":
			n := d.int(v)
			u.Reasoning = &n
			d.odd = d.odd || isNull(v)
		case "totalTokens":
			u.TotalTokens = d.int(v)
		case "cost":
			u.Cost = d.cost(v)
		}
	}
	d.odd = d.odd || len(v) == 0 || v[0] != '{'
	return u
}

func (d *decoder) cost(v []byte) llm.Cost {
	var c llm.Cost
	for name, v := range members(v) {
		switch string(text(name)) {
		case "input":
			c.Input = d.float(v)
		case "output":
			c.Output = d.float(v)
		case "cacheRead":
			c.CacheRead = d.float(v)
		case "cacheWrite":
			c.CacheWrite = d.float(v)
		case "total":
			c.Total = d.float(v)
		case "totalFromProvider":
			b := d.bool(v)
			c.TotalFromProvider = &b
			d.odd = d.odd || isNull(v)
		}
	}
	d.odd = d.odd || len(v) == 0 || v[0] != '{'
	return c
}

func (d *decoder) content(v []byte) llm.Content {
	switch v[0] {
	case '"':
		return llm.Content{llm.NewText(d.string(v))}
	case '[':
	default:
		d.odd = true
		return nil
	}
	c := make(llm.Content, 0, 2)
	for b := range elements(v) {
		c = append(c, d.block(b))
	}
	return c
}

// block reads one content block.
func (d *decoder) block(raw []byte) llm.Block {
	switch string(blockType(raw)) {
	case "text":
		b := &llm.Text{}
		for name, v := range members(raw) {
			switch string(text(name)) {
			case "text":
				b.Text = d.string(v)
			case "textSignature":
				b.TextSignature = d.string(v)
			}
		}
		return b
	case "thinking":
		b := &llm.Thinking{}
		for name, v := range members(raw) {
			switch string(text(name)) {
			case "thinking":
				b.Thinking = d.string(v)
			case "thinkingSignature":
				b.ThinkingSignature = d.string(v)
			case "redacted":
				b.Redacted = d.bool(v)
			}
		}
		return b
	case "toolCall":
		b := &llm.ToolCall{}
		for name, v := range members(raw) {
			switch string(text(name)) {
			case "id":
				b.ID = d.string(v)
			case "name":
				b.Name = d.name(v)
			case "arguments":
				b.Arguments = jsonx.Raw(v).Clone()
			case "thoughtSignature":
				b.ThoughtSignature = d.string(v)
			case "namespace":
				b.Namespace = d.name(v)
			}
		}
		return b
	}
	b, err := llm.DecodeBlock(raw)
	d.odd = d.odd || err != nil
	return b
}

func (d *decoder) string(v []byte) string {
	t := text(v)
	d.odd = d.odd || t == nil
	return string(t)
}

// name is string for texts that repeat from message to message.
func (d *decoder) name(v []byte) string {
	t := text(v)
	d.odd = d.odd || t == nil
	if s, ok := d.names[string(t)]; ok {
		return s
	}
	s := string(t)
	if d.names == nil {
		d.names = map[string]string{}
	}
	if len(d.names) < 1000 {
		d.names[s] = s
	}
	return s
}

func (d *decoder) int(v []byte) int64 {
	n, err := strconv.ParseInt(string(v), 10, 64)
	d.odd = d.odd || err != nil
	return n
}

func (d *decoder) float(v []byte) float64 {
	f, err := strconv.ParseFloat(string(v), 64)
	d.odd = d.odd || err != nil
	return f
}

func (d *decoder) bool(v []byte) bool {
	d.odd = d.odd || string(v) != "true" && string(v) != "false"
	return string(v) == "true"
}
