package session

import (
	"bytes"
	"strconv"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Stats counts what a whole file records, every branch of it, with the names of
// get_session_stats. Messages of role system count nowhere.
type Stats struct {
	UserMessages      int     `json:"userMessages"`
	AssistantMessages int     `json:"assistantMessages"`
	ToolCalls         int     `json:"toolCalls"`
	ToolResults       int     `json:"toolResults"`
	TotalMessages     int     `json:"totalMessages"`
	Tokens            Tokens  `json:"tokens"`
	Cost              float64 `json:"cost"` // US dollars
}

// Tokens are sums over all recorded usage: of messages, tools, summaries and usage
// entries. Total is the sum of the other four.
type Tokens struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Total      int64 `json:"total"`
}

// Stats returns the counts. Views of one session continue each other's work: only
// entries that are new since the last call are read.
func (v *View) Stats() (Stats, error) {
	v.cache.mu.Lock()
	defer v.cache.mu.Unlock()
	c := v.cache
	var st Stats
	from := 0
	if c.upTo <= len(v.recs) {
		st, from = c.stats, c.upTo
	}
	r := v.reader()
	defer r.close()
	for i := from; i < len(v.recs); i++ {
		rec := &v.recs[i]
		if rec.typ == typMessage && rec.role != roleSystem {
			st.TotalMessages++
		}
		if !mayHaveUsage(rec) {
			if rec.role == roleUser {
				st.UserMessages++
			}
			continue
		}
		raw, err := r.outline(rec)
		if err != nil {
			return Stats{}, err
		}
		st.add(rec, raw)
	}
	if len(v.recs) > c.upTo {
		c.stats, c.upTo = st, len(v.recs)
	}
	return st, nil
}

// mayHaveUsage keeps the bodies of most entries unread.
func mayHaveUsage(rec *record) bool {
	switch rec.typ {
	case typMessage:
		return rec.role == roleAssistant || rec.role == roleToolResult
	case typModelChange, typThinking, typInfo, typLabel, typCustom, typCustomMessage, typWindow, typEdit:
		return false
	}
	return true
}

func (st *Stats) add(rec *record, raw []byte) {
	switch rec.role {
	case roleAssistant:
		st.AssistantMessages++
	case roleToolResult:
		st.ToolResults++
	}
	if rec.typ != typMessage {
		st.use(member(raw, "usage"))
		return
	}
	for name, value := range members(rec.message(raw)) {
		switch {
		case is(name, "usage"):
			st.use(value)
		case rec.role == roleAssistant && is(name, "content") && bytes.Contains(value, []byte("toolCall")):
			for block := range elements(value) {
				if string(blockType(block)) == "toolCall" {
					st.ToolCalls++
				}
			}
		}
	}
}

func (st *Stats) use(usage []byte) {
	t := &st.Tokens
	for name, value := range members(usage) {
		switch string(text(name)) {
		case "input":
			t.Input += number(value)
		case "output":
			t.Output += number(value)
		case "cacheRead":
			t.CacheRead += number(value)
		case "cacheWrite":
			t.CacheWrite += number(value)
		case "cost":
			if f, err := strconv.ParseFloat(string(member(value, "total")), 64); err == nil {
				st.Cost += f
			}
		}
	}
	t.Total = t.Input + t.Output + t.CacheRead + t.CacheWrite
}

// number reads a JSON number as an integer, 0 for anything else.
func number(value []byte) int64 {
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(string(value), 64); err == nil && f > -1e18 && f < 1e18 {
		return int64(f)
	}
	return 0
}

// A ForkMessage is a user message that a fork can start before.
type ForkMessage struct {
	EntryID string `json:"entryId"`
	Text    string `json:"text"`
}

// ForkMessages returns the user messages with text, of all branches, in the order of
// the file.
func (v *View) ForkMessages() ([]ForkMessage, error) {
	out := []ForkMessage{}
	r := v.reader()
	defer r.close()
	for i := range v.recs {
		rec := &v.recs[i]
		if rec.role != roleUser || rec.id == "" {
			continue
		}
		raw, err := r.line(rec)
		if err != nil {
			return nil, err
		}
		if t := contentText(member(rec.message(raw), "content")); t != "" {
			out = append(out, ForkMessage{EntryID: rec.id, Text: t})
		}
	}
	return out, nil
}

// contentText joins the text blocks of a content, which may be a bare string.
func contentText(content []byte) string {
	if s := text(content); s != nil {
		return string(s)
	}
	var all []byte
	for block := range elements(content) {
		if string(blockType(block)) == "text" {
			all = append(all, text(member(block, "text"))...)
		}
	}
	return string(all)
}

// LastAssistantText returns the text of the last answer in the context, without
// space around it; ok is false when there is none. Answers without text that did
// not end normally (aborted, failed, only tool calls) are passed over; one that
// ended normally is the last answer even without text.
func (v *View) LastAssistantText() (answer string, ok bool, err error) {
	p, err := v.project()
	if err != nil {
		return "", false, err
	}
	r := v.reader()
	defer r.close()
	for k := len(p.items) - 1; k >= 0; k-- {
		i := p.items[k].rec
		if v.recs[i].role != roleAssistant {
			continue
		}
		raw, err := r.line(&v.recs[i])
		if err != nil {
			return "", false, err
		}
		message := p.items[k].edited(v.recs[i].message(raw))
		if message == nil {
			continue
		}
		t := bytes.TrimSpace([]byte(contentText(member(message, "content"))))
		if len(t) == 0 && string(text(member(message, "stopReason"))) != string(llm.StopEnd) {
			continue
		}
		return string(t), len(t) > 0, nil
	}
	return "", false, nil
}
