package responses

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// slot is an output item that is being streamed.
type slot struct {
	kind    kind
	index   int // output_index, -1 for none
	itemID  string
	content int // content index
	ended   bool

	pieces   jsonx.Pieces
	grown    bool   // text has come
	id, name string // of a call
	callID   string
	text     []byte // a call's arguments or a custom tool's input so far
	whole    bool   // text is all there is
	late     jsonx.Raw
	thinking *string // a reasoning item's text, while its signature waits
}

// slots tells the items apart that events speak of: by output_index, by item_id when
// that is missing (field report 109), else it is the last open one of the kind. Ids
// alone would not do: some servers send another one with every event.
type slots struct {
	all     []*slot
	byIndex map[int]*slot
	byItem  map[string]*slot
}

func (ss *slots) add(sl *slot) {
	if ss.byIndex == nil {
		ss.byIndex, ss.byItem = map[int]*slot{}, map[string]*slot{}
	}
	ss.all = append(ss.all, sl)
	if sl.index >= 0 {
		ss.byIndex[sl.index] = sl
	}
	if sl.itemID != "" {
		ss.byItem[sl.itemID] = sl
	}
}

// find returns the open slot of kind k for an index and item id, nil for none.
func (ss *slots) find(k kind, index int, itemID jsonx.Raw) *slot {
	if sl := ss.byIndex[index]; index >= 0 && sl != nil {
		return sl.open(k)
	}
	if len(itemID) > 2 {
		if sl := ss.byItem[string(itemID[1:len(itemID)-1])]; sl != nil {
			return sl.open(k)
		}
	}
	for i := len(ss.all) - 1; i >= 0; i-- {
		if sl := ss.all[i].open(k); sl != nil && (index < 0 || sl.index < 0) {
			return sl
		}
	}
	return nil
}

func (sl *slot) open(k kind) *slot {
	if sl.ended || sl.kind != k {
		return nil
	}
	return sl
}

func indexOf(raw jsonx.Raw) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return -1
	}
	return n
}

// added begins an item, unless it is open already.
func (s *stream) added(it *item, index int) *slot {
	k := it.kind()
	if sl := s.known(it, k, index); sl != nil {
		return sl
	}
	sl := &slot{kind: k, index: index, itemID: text(it.ID)}
	s.slots.add(sl)
	switch k {
	case kindThinking:
		sl.content = s.NewBlock()
		s.Emit(llm.Event{Kind: llm.EventThinkingStart, Index: sl.content})
	case kindText:
		sl.content = s.NewBlock()
		s.Emit(llm.Event{Kind: llm.EventTextStart, Index: sl.content})
		s.grow(sl, jsonx.String(texts(it.Content, "")))
	case kindCall, kindCustom:
		sl.content = s.NewBlock()
		sl.id, sl.name, sl.callID = it.toolCallID(), text(it.Name), text(it.CallID)
		s.calls++
		s.Emit(llm.Event{Kind: llm.EventToolCallStart, Index: sl.content, ID: sl.id, Name: sl.name})
		s.extend(sl, it.argument())
	}
	return sl
}

// known returns the open slot of an item that was added before. Here an id counts
// more than being the last of a kind: another id is another item.
func (s *stream) known(it *item, k kind, index int) *slot {
	if sl := s.slots.byIndex[index]; index >= 0 && sl != nil {
		return sl.open(k)
	}
	if id := text(it.ID); id != "" {
		if sl := s.slots.byItem[id]; sl != nil {
			return sl.open(k)
		}
		if index >= 0 {
			return nil
		}
	}
	if callID := text(it.CallID); callID != "" {
		for _, sl := range s.slots.all {
			if sl.callID == callID {
				return sl.open(k)
			}
		}
	}
	return nil
}

// argument is the text that a call's item carries.
func (it *item) argument() jsonx.Raw {
	if it.kind() == kindCustom {
		return it.Input
	}
	if len(it.Arguments) > 0 && it.Arguments[0] == '{' { // an object where its text belongs
		if compact, err := jsonx.Compact(it.Arguments); err == nil {
			return jsonx.String(string(compact))
		}
	}
	return it.Arguments
}

// grow adds a piece of text to a block.
func (s *stream) grow(sl *slot, raw jsonx.Raw) {
	d := sl.pieces.Next(raw)
	if d == "" {
		return
	}
	sl.grown = true
	e := llm.Event{Kind: llm.EventTextDelta, Index: sl.content, Delta: d}
	switch sl.kind {
	case kindThinking:
		e.Kind = llm.EventThinkingDelta
	case kindCall:
		e.Kind = llm.EventToolCallDelta
		sl.text = append(sl.text, d...)
	case kindCustom:
		e.Kind, e.Delta = llm.EventToolCallDelta, quoted(d)
		if len(sl.text) == 0 {
			e.Delta = customOpen + e.Delta
		}
		sl.text = append(sl.text, d...)
	}
	s.Emit(e)
}

// A custom tool has free text as its input; its arguments are {"input": text}.
const (
	customOpen  = `{"input":"`
	customClose = `"}`
)

// quoted returns text as it stands inside a JSON string.
func quoted(s string) string {
	q := jsonx.String(s)
	return string(q[1 : len(q)-1])
}

// extend completes a call's text with the whole of it as the server states it.
func (s *stream) extend(sl *slot, whole jsonx.Raw) {
	if len(whole) <= 2 || whole[0] != '"' {
		return
	}
	full := text(whole)
	if rest, ok := strings.CutPrefix(full, string(sl.text)); ok {
		s.grow(sl, jsonx.String(rest))
	} else {
		sl.text = []byte(full) // differs from the deltas: said at the end
		sl.grown = false
	}
}

// done ends an item.
func (s *stream) done(it *item, index int) {
	k := it.kind()
	sl := s.known(it, k, index)
	if sl == nil {
		if sl = s.doneElsewhere(it, k, index); sl == nil {
			return
		}
	}
	s.finish(sl, it)
}

// finish ends a slot with its item as it is done.
func (s *stream) finish(sl *slot, it *item) {
	switch sl.kind {
	case kindThinking:
		s.doneThinking(sl, it)
	case kindText:
		e := llm.Event{Kind: llm.EventTextEnd, Index: sl.content, Signature: it.textSignature()}
		if full := texts(it.Content, ""); full != "" {
			e.Replace = &full
		}
		sl.ended = true
		s.Emit(e)
	case kindCall, kindCustom:
		s.extend(sl, it.argument())
		if sl.name == "" {
			sl.name = text(it.Name)
		}
		s.endCall(sl)
	default:
		sl.ended = true
	}
}

// doneElsewhere returns the slot of an item that is done though it was never added:
// the last open one of its kind when events carry no index, else a new one. It is nil
// for an item that was done before.
func (s *stream) doneElsewhere(it *item, k kind, index int) *slot {
	if sl := s.slots.byIndex[index]; index >= 0 && sl != nil && sl.ended && sl.kind == k {
		return nil
	}
	if sl := s.slots.byItem[text(it.ID)]; sl != nil && sl.ended {
		return nil
	}
	if index < 0 && k != kindCall && k != kindCustom {
		if sl := s.slots.find(k, index, nil); sl != nil {
			return sl
		}
	}
	return s.added(it, index)
}

func (s *stream) doneThinking(sl *slot, it *item) {
	full := texts(it.Summary, "\n\n")
	if full == "" {
		full = texts(it.Content, "\n\n")
	}
	if full != "" {
		sl.thinking = &full
	}
	if s.lateSignatures && !present(it.EncryptedContent) {
		sl.late = bytes.Clone(it.raw) // the end of the response may have the rest
		return
	}
	s.endThinking(sl, thinkingSignature(it.raw, nil))
}

func (s *stream) endThinking(sl *slot, signature string) {
	sl.ended = true
	s.Emit(llm.Event{Kind: llm.EventThinkingEnd, Index: sl.content, Signature: signature, Replace: sl.thinking})
}

// endCall ends a call's block.
func (s *stream) endCall(sl *slot) {
	sl.ended = true
	e := llm.Event{Kind: llm.EventToolCallEnd, Index: sl.content, ID: sl.id, Name: sl.name}
	switch {
	case sl.kind == kindCustom && sl.grown:
		s.Emit(llm.Event{Kind: llm.EventToolCallDelta, Index: sl.content, Delta: customClose})
	case sl.kind == kindCustom:
		full := customOpen + quoted(string(sl.text)) + customClose
		e.Replace = &full
	case !sl.grown && len(sl.text) > 0:
		full := string(sl.text)
		e.Replace = &full
	}
	s.Emit(e)
}
