package session

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
)

// record is one entry in the index: 48 bytes and the bytes of its id.
type record struct {
	off    int64  // of the line in the file; with flagMem, its number in the list of lines in memory
	ms     int64  // timestamp
	id     string // points into an arena
	len    uint32 // of the line, without its end
	parent int32  // number of the parent's record, or noParent
	msg    uint32 // offset of the message in the line when it is its last member, else 0
	typ    uint16 // number in the table of type names
	role   role
	flags  uint8
}

const noParent = -1

// message returns the message in the line of a message entry.
func (r *record) message(line []byte) []byte {
	if r.msg > 0 {
		return line[r.msg : len(line)-1]
	}
	return member(line, "message")
}

const (
	flagMem   = 1 << iota // the line is in memory, not in the file
	flagDirty             // the line must be re-encoded on its way out
	flagOdd               // the texts that cannot be derived are in index.odd
)

// role is the role of a message entry, as far as the store has to know it.
type role uint8

const (
	roleNone role = iota // no message entry, or a message without a role
	roleUser
	roleAssistant
	roleToolResult
	roleSystem
	roleOther
)

var roleNames = [...]string{roleUser: "user", roleAssistant: "assistant", roleToolResult: "toolResult", roleSystem: "system"}

// Numbers of the known types in every type table.
const (
	typMessage uint16 = iota
	typModelChange
	typThinking
	typInfo
	typLabel
	typCustom
	typCustomMessage
	typBranchSummary
	typCompaction
	typWindow
	typEdit
	typUsage
	knownTypes
)

var typeNames = [knownTypes]string{
	typMessage: TypeMessage, typModelChange: TypeModelChange, typThinking: TypeThinkingLevelChange, typInfo: TypeSessionInfo,
	typLabel: TypeLabel, typCustom: TypeCustom, typCustomMessage: TypeCustomMessage, typBranchSummary: TypeBranchSummary,
	typCompaction: TypeCompaction, typWindow: TypeContextWindowChange, typEdit: TypeContextEdit, typUsage: TypeUsage,
}

// oddity holds the texts of an entry that is not the usual case: a parent that is
// not in the session, a timestamp that is no canonical ISO time.
type oddity struct{ parent, ts string }

// index is the list of entries. Views share its slices and maps: records and types
// only ever grow, behind what a view can see; everything else is replaced, not
// changed, while a view has it.
type index struct {
	recs  []record
	types []string
	odd   map[int32]oddity
	ids   idTable
	arena arena

	recsShared, oddShared bool // a view has them
}

func newIndex() index {
	return index{types: typeNames[:knownTypes:knownTypes], ids: idTable{seed: maphash.MakeSeed()}}
}

// add appends the record of a line. The parent is the nearest earlier entry of that
// id; resolve looks for later ones.
func (x *index) add(h head, off int64, n int, flags uint8) int32 {
	i := int32(len(x.recs))
	ms, canonical := parseTime(h.ts)
	r := record{off: off, len: uint32(n), parent: noParent, id: x.arena.keep(h.id), typ: x.typeNumber(h.typ), ms: ms, flags: flags}
	if r.typ == typMessage {
		r.role, r.msg = roleOf(h.role), uint32(h.message)
	}
	if h.dirty { // what is handed out is another text
		r.flags, r.msg = r.flags|flagDirty, 0
	}
	var o oddity
	if len(h.parent) > 0 && string(h.parent) != r.id {
		if r.parent = x.find(string(h.parent)); r.parent == noParent {
			o.parent = string(h.parent)
		}
	}
	if !canonical {
		o.ts = string(h.ts)
	}
	if o != (oddity{}) {
		r.flags |= flagOdd
		x.setOdd(i, o)
	}
	x.recs = append(x.recs, r)
	return i
}

func (x *index) setOdd(i int32, o oddity) {
	if x.oddShared {
		x.odd, x.oddShared = maps.Clone(x.odd), false
	}
	if x.odd == nil {
		x.odd = map[int32]oddity{}
	}
	x.odd[i] = o
}

func roleOf(name []byte) role {
	if len(name) == 0 {
		return roleNone
	}
	for r := roleUser; r <= roleSystem; r++ {
		if string(name) == roleNames[r] {
			return r
		}
	}
	return roleOther
}

func (x *index) typeNumber(name []byte) uint16 {
	for i, t := range x.types {
		if t == string(name) {
			return uint16(i)
		}
	}
	if len(x.types) > 1<<15 {
		return x.typeNumber(nil) // beyond any sense; the line itself still has its type
	}
	x.types = append(x.types, string(name))
	return uint16(len(x.types) - 1)
}

// find returns the newest entry with that id, or noParent. The common case, the
// entry before, costs one comparison.
func (x *index) find(id string) int32 {
	if n := len(x.recs); n > 0 && x.recs[n-1].id == id {
		return int32(n - 1)
	}
	return x.ids.find(x.recs, id)
}

// resolve links entries from number from on, and earlier orphans, to parents that
// stand later in the file, and cuts cycles: afterwards every chain of parents ends.
// It costs nothing when there are no orphans.
func (x *index) resolve() {
	var found []int32
	for i, o := range x.odd {
		if o.parent != "" && x.recs[i].parent == noParent {
			if p := x.ids.find(x.recs, o.parent); p != noParent && p > i {
				found = append(found, i)
			}
		}
	}
	if len(found) == 0 {
		return
	}
	if x.recsShared {
		x.recs, x.recsShared = slices.Clone(x.recs), false
	}
	for _, i := range found {
		x.recs[i].parent = x.ids.find(x.recs, x.odd[i].parent)
	}
	x.cutCycles()
}

// cutCycles makes the first entry of each cycle a root.
func (x *index) cutCycles() {
	walk := make([]int32, len(x.recs)) // number of the walk that came by, 0 for none
	for i := range x.recs {
		n := int32(i + 1)
		at := int32(i)
		for at != noParent && walk[at] == 0 {
			walk[at] = n
			at = x.recs[at].parent
		}
		if at == noParent || walk[at] != n {
			continue
		}
		first := at
		for k := x.recs[at].parent; k != at; k = x.recs[k].parent {
			first = min(first, k)
		}
		r := &x.recs[first]
		o := x.odd[first]
		o.parent = x.recs[r.parent].id
		r.parent, r.flags = noParent, r.flags|flagOdd
		x.setOdd(first, o)
	}
}

// arena keeps ids without an allocation each.
type arena struct{ b *strings.Builder }

func (a *arena) keep(id []byte) string {
	if len(id) == 0 {
		return ""
	}
	if a.b == nil || a.b.Cap()-a.b.Len() < len(id) {
		// Strings that were handed out keep the old buffer. The first one is small: most
		// sessions are.
		size := 512
		if a.b != nil {
			size = 32 << 10
		}
		a.b = &strings.Builder{}
		a.b.Grow(max(size, len(id)))
	}
	n := a.b.Len()
	a.b.Write(id)
	return a.b.String()[n:]
}

// idTable finds records by id: open addressing, 8 bytes a slot. It is filled when it
// is asked for the first time: most sessions are a single line of entries, each the
// parent of the next, and are opened without it.
type idTable struct {
	seed  maphash.Seed
	slots []uint64 // upper half: of the hash; lower half: record number + 1, 0 for a free slot
	used  int
	upTo  int // records that are in
}

const slotNumber = 1<<32 - 1

// find returns the newest record with that id, or noParent.
func (t *idTable) find(recs []record, id string) int32 {
	if id == "" {
		return noParent
	}
	for ; t.upTo < len(recs); t.upTo++ {
		t.insert(recs, t.upTo)
	}
	if len(t.slots) == 0 {
		return noParent
	}
	s := t.slots[t.slot(recs, id, maphash.String(t.seed, id))]
	return int32(s&slotNumber) - 1
}

// slot returns the slot of an id, or the free one where it belongs.
func (t *idTable) slot(recs []record, id string, hash uint64) uint64 {
	mask := uint64(len(t.slots) - 1)
	for h := hash & mask; ; h = (h + 1) & mask {
		s := t.slots[h]
		if s == 0 || s>>32 == hash>>32 && recs[s&slotNumber-1].id == id {
			return h
		}
	}
}

func (t *idTable) insert(recs []record, i int) {
	id := recs[i].id
	if id == "" {
		return
	}
	if t.used*4 >= len(t.slots)*3 {
		t.grow(recs)
	}
	hash := maphash.String(t.seed, id)
	h := t.slot(recs, id, hash)
	if t.slots[h] == 0 {
		t.used++
	}
	t.slots[h] = hash>>32<<32 | uint64(i+1) // the newest of equal ids is found
}

func (t *idTable) grow(recs []record) {
	old := t.slots
	size := max(16, 2*len(old))
	for size*3 < len(recs)*4 {
		size *= 2 // room for all at once when it is filled late
	}
	t.slots = make([]uint64, size)
	mask := uint64(size - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		h := maphash.String(t.seed, recs[s&slotNumber-1].id) & mask
		for t.slots[h] != 0 {
			h = (h + 1) & mask
		}
		t.slots[h] = s
	}
}
