package export

import (
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// The kinds of entries that the page tells apart. The same characters stand in
// assets/js/data.js.
const (
	kindUser         = 'u'
	kindAssistant    = 'a' // with text
	kindToolTurn     = 't' // an assistant message that only thinks and calls tools
	kindToolResult   = 'r'
	kindBash         = 'b' // a command of the user
	kindSystem       = 's'
	kindOtherRole    = 'o'
	kindCompaction   = 'c'
	kindArchived     = 'C' // a compaction of an old form, without effect
	kindBranch       = 'B'
	kindModel        = 'm'
	kindThinking     = 'h'
	kindWindow       = 'w'
	kindLabel        = 'l'
	kindName         = 'i'
	kindState        = 'x' // of an extension
	kindShown        = 'X' // message of an extension
	kindHidden       = 'y' // the same, not meant for display
	kindEdit         = 'e'
	kindUsage        = 'U'
	kindSummary      = 'S'
	kindUnknown      = '?'
	previewRunes     = 90
	maxModels        = 64
	roleBash         = "bashExecution"
	roleCustom       = "custom"
	roleBranch       = "branchSummary"
	roleCompaction   = "compactionSummary"
	outcomeUsual     = '-'
	outcomeFailed    = 'e'
	outcomeAborted   = 'a'
	outcomeCut       = 'c'
	thinkingPreview  = "Thinking"
	pictureInPreview = "[image]"
)

// description is what the index says about an entry.
type description struct {
	kind, outcome byte
	text          []byte // the first words; valid until the next call
	target        []byte // id of the entry that a label marks
}

// describer describes entries by their heads and first words. It collects the models
// on the way.
type describer struct {
	models []string // new ones of this block
	seen   map[string]bool
	buf    []byte
	lines  []byte // what was read of the session last
}

// describe describes an entry by its JSON and the message in it.
func (d *describer) describe(e session.Entry, message, raw []byte) description {
	d.buf = d.buf[:0]
	if e.Type == session.TypeMessage {
		return d.message(message)
	}
	out := description{kind: kindUnknown, outcome: outcomeUsual}
	text := func(kind byte, names ...string) description {
		out.kind = kind
		for _, name := range names {
			d.say(member(raw, name))
		}
		out.text = d.buf
		return out
	}
	switch e.Type {
	case session.TypeModelChange:
		d.model(member(raw, "provider"), member(raw, "modelId"))
		return text(kindModel, "provider", "modelId")
	case session.TypeThinkingLevelChange:
		return text(kindThinking, "thinkingLevel")
	case session.TypeSessionInfo:
		return text(kindName, "name")
	case session.TypeLabel:
		out.target = []byte(plain(member(raw, "targetId")))
		return text(kindLabel, "label")
	case session.TypeCustom:
		return text(kindState, "customType")
	case session.TypeCustomMessage:
		return d.custom(raw)
	case session.TypeBranchSummary:
		return text(kindBranch, "summary")
	case session.TypeCompaction:
		return text(kindCompaction, "tokensBefore")
	case session.TypeContextCompaction:
		return text(kindArchived, "tokensBefore")
	case session.TypeContextWindowChange:
		return text(kindWindow, "contextWindow")
	case session.TypeContextEdit:
		return text(kindEdit, "targetId")
	case session.TypeUsage:
		return text(kindUsage, "kind", "model")
	case session.TypeSessionSummary:
		return text(kindSummary, "summary")
	}
	d.buf = append(d.buf, e.Type...)
	out.text = d.buf
	return out
}

// say adds the words of a string, or a number as it stands.
func (d *describer) say(value []byte) {
	if len(d.buf) > 0 {
		d.buf = append(d.buf, ' ')
	}
	if len(value) > 0 && value[0] != '"' && value[0] != '{' && value[0] != '[' {
		d.buf = append(d.buf, value[:min(len(value), 24)]...)
		return
	}
	d.buf = words(d.buf, value, previewRunes)
}

func (d *describer) custom(raw []byte) description {
	out := description{kind: kindHidden, outcome: outcomeUsual}
	if string(member(raw, "display")) != "false" {
		out.kind = kindShown
	}
	d.say(member(raw, "customType"))
	d.buf = append(d.buf, ": "...)
	d.buf = contentPreview(d.buf, member(raw, "content"), previewRunes)
	out.text = d.buf
	return out
}

// head is what a message's members say, apart from its content.
type head struct{ role, content, stop, fault, tool, isError, provider, model []byte }

func messageHead(raw []byte) head {
	var h head
	for name, value := range members(raw) {
		switch string(name) {
		case "role":
			h.role = value
		case "content":
			h.content = value
		case "stopReason":
			h.stop = value
		case "errorMessage":
			h.fault = value
		case "toolName":
			h.tool = value
		case "isError":
			h.isError = value
		case "provider":
			h.provider = value
		case "model":
			h.model = value
		}
	}
	return h
}

func (d *describer) message(raw []byte) description {
	h := messageHead(raw)
	out := description{kind: kindOtherRole, outcome: outcomeUsual}
	switch role := plain(h.role); role {
	case llm.RoleUser:
		out.kind = kindUser
		d.buf = contentPreview(d.buf, h.content, previewRunes)
	case llm.RoleAssistant:
		return d.assistant(h)
	case llm.RoleToolResult:
		out.kind = kindToolResult
		d.say(h.tool)
		d.buf = append(d.buf, ": "...)
		d.buf = contentPreview(d.buf, h.content, previewRunes)
		if string(h.isError) == "true" {
			out.outcome = outcomeFailed
		}
	case roleBash:
		out.kind = kindBash
		d.say(member(raw, "command"))
		if code := string(member(raw, "exitCode")); code != "" && code != "0" && code != "null" {
			out.outcome = outcomeFailed
		}
		if string(member(raw, "cancelled")) == "true" {
			out.outcome = outcomeAborted
		}
	case roleCustom:
		return d.custom(raw)
	case roleBranch:
		out.kind = kindBranch
		d.say(member(raw, "summary"))
	case roleCompaction:
		out.kind = kindCompaction
		d.say(member(raw, "tokensBefore"))
	case "system":
		out.kind = kindSystem
		d.buf = contentPreview(d.buf, h.content, previewRunes)
	default:
		d.buf = append(append(d.buf, role...), ": "...)
		d.buf = contentPreview(d.buf, h.content, previewRunes)
	}
	out.text = d.buf
	return out
}

func (d *describer) assistant(h head) description {
	d.model(h.provider, h.model)
	out := description{kind: kindAssistant, outcome: outcomeUsual}
	switch llm.StopReason(plain(h.stop)) {
	case llm.StopError:
		out.outcome = outcomeFailed
	case llm.StopAborted:
		out.outcome = outcomeAborted
	case llm.StopLength:
		out.outcome = outcomeCut
	}
	d.buf = contentPreview(d.buf, h.content, previewRunes)
	if len(d.buf) == 0 {
		d.calls(h.content)
		switch {
		case len(d.buf) > 0:
			out.kind = kindToolTurn
		case len(h.fault) > 0:
			d.say(h.fault)
		case out.outcome == outcomeUsual:
			out.kind = kindToolTurn
			d.buf = append(d.buf, thinkingPreview...)
		}
	}
	out.text = d.buf
	return out
}

// calls names the tool calls of a message: "bash ls -l, read main.go".
func (d *describer) calls(content []byte) {
	for block := range elements(content) {
		if !is(member(block, "type"), "toolCall") {
			continue
		}
		if len(d.buf) > previewRunes {
			break
		}
		if len(d.buf) > 0 {
			d.buf = append(d.buf, ", "...)
		}
		d.buf = words(d.buf, member(block, "name"), 40)
		args := member(block, "arguments")
		for _, name := range []string{"command", "path", "file_path", "pattern", "query", "url"} {
			if value := member(args, name); len(value) > 2 && value[0] == '"' {
				d.buf = words(append(d.buf, ' '), value, 60)
				break
			}
		}
	}
}

// model notes a model that took part.
func (d *describer) model(provider, id []byte) {
	d.buf = append(words(d.buf[:0], provider, 100), '/')
	d.buf = words(d.buf, id, 200)
	if len(d.buf) > 1 && !d.seen[string(d.buf)] && len(d.models) < maxModels {
		d.seen[string(d.buf)] = true
		d.models = append(d.models, string(d.buf))
	}
	d.buf = d.buf[:0]
}

// contentPreview appends the first words of a content: a string, or blocks.
func contentPreview(dst, content []byte, limit int) []byte {
	if len(content) > 0 && content[0] == '"' {
		return words(dst, content, limit)
	}
	start, pictures := len(dst), 0
	for block := range elements(content) {
		switch typ := member(block, "type"); {
		case is(typ, "text"):
			if dst = words(dst, member(block, "text"), limit); len(dst) > start {
				return dst
			}
		case is(typ, "image"):
			pictures++
		}
	}
	if pictures > 0 {
		dst = append(dst, pictureInPreview...)
		if pictures > 1 {
			dst = strconv.AppendInt(append(dst, " x"...), int64(pictures), 10)
		}
	}
	return dst
}

// words appends the beginning of a raw JSON string on one line: at most limit
// characters, runs of white space as one blank, an ellipsis when there is more.
func words(dst, raw []byte, limit int) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return dst
	}
	start, n, blank := len(dst), 0, false
	for b := raw[1 : len(raw)-1]; len(b) > 0; {
		r, size := rune(b[0]), 1
		switch {
		case isPlain(b[0]) && n < limit: // a word, as nearly always
			if blank {
				dst, n, blank = append(dst, ' '), n+1, false
			}
			for most := min(len(b), max(1, limit-n)); size < most && isPlain(b[size]); {
				size++
			}
			dst, n, b = append(dst, b[:size]...), n+size, b[size:]
			continue
		case r == '\\':
			r, size = escaped(b)
		case r >= utf8.RuneSelf:
			r, size = utf8.DecodeRune(b)
		}
		b = b[size:]
		if r <= ' ' || r >= 0x7f && (unicode.IsSpace(r) || unicode.IsControl(r)) {
			blank = len(dst) > start
			continue
		}
		if n >= limit {
			return append(dst, "…"...)
		}
		if blank {
			dst, n, blank = append(dst, ' '), n+1, false
		}
		if n++; r < utf8.RuneSelf {
			dst = append(dst, byte(r))
		} else {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// isPlain reports whether a byte of a raw JSON string is a visible ASCII character that
// stands for itself.
func isPlain(c byte) bool { return c > ' ' && c < 0x7f && c != '\\' }

// is reports whether a raw JSON string is a text.
func is(raw []byte, text string) bool {
	if len(raw) == len(text)+2 {
		return string(raw[1:len(raw)-1]) == text
	}
	return len(raw) > len(text) && slices.Contains(raw, '\\') && plain(raw) == text
}

// plain returns the text of a short raw JSON string, "" for any other value.
func plain(raw []byte) string {
	if len(raw) >= 2 && raw[0] == '"' && !slices.Contains(raw, '\\') {
		return string(raw[1 : len(raw)-1])
	}
	var b []byte
	for r := range runes(raw) {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}
