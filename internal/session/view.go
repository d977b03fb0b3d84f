package session

import (
	"iter"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A View is a session at one moment: the entries it had and the current one. It
// never changes and may be read by any number of goroutines, also while the store
// is appended to and after it was closed, as long as its file exists. Making one
// costs nothing that grows with the session.
type View struct {
	recs   []record
	types  []string
	odd    map[int32]oddity
	mem    []jsonx.Raw
	src    *source
	leaf   int32
	header Header
	name   string
	path   string
	cache  *cache
}

// cache is shared by the views of one index and holds what later views continue.
type cache struct {
	mu    sync.Mutex // guards all fields
	stats Stats
	upTo  int // entries that stats covers
	count countMemo
}

// View returns the session as it is now. The owner calls it.
func (s *Store) View() *View {
	s.idx.recsShared, s.idx.oddShared = true, true
	return &View{
		recs: s.idx.recs[:len(s.idx.recs):len(s.idx.recs)], types: s.idx.types, odd: s.idx.odd, mem: s.mem, src: s.src,
		leaf: s.leaf, header: s.header, name: s.name, path: s.path, cache: s.cache,
	}
}

// Len returns the number of entries.
func (v *View) Len() int { return len(v.recs) }

// LeafID returns the id of the current entry, "" before every entry.
func (v *View) LeafID() string {
	if v.leaf == noParent {
		return ""
	}
	return v.recs[v.leaf].id
}

// Name returns the name of the session, "" for none.
func (v *View) Name() string { return v.name }

// Path returns the path of the session file, "" for a session in memory.
func (v *View) Path() string { return v.path }

// Header returns the header of the session.
func (v *View) Header() Header { return v.header }

// Entry returns the head of entry i.
func (v *View) Entry(i int) Entry {
	e, r := v.Head(i), &v.recs[i]
	if r.flags&flagOdd != 0 {
		e.Timestamp = v.odd[int32(i)].ts
	}
	if e.Timestamp == "" && r.ms != 0 {
		e.Timestamp = formatTime(r.ms)
	}
	return e
}

// Index returns the number of the newest entry of that id, or -1. It looks through
// the index from its end.
func (v *View) Index(id string) int {
	if id == "" {
		return -1
	}
	for i := len(v.recs) - 1; i >= 0; i-- {
		if v.recs[i].id == id {
			return i
		}
	}
	return -1
}

func (v *View) reader() *reader { return &reader{src: v.src, mem: v.mem} }

// Raw returns the JSON of entry i. The caller owns it.
func (v *View) Raw(i int) (jsonx.Raw, error) {
	r := v.reader()
	defer r.close()
	raw, err := r.line(&v.recs[i])
	if err != nil {
		return nil, err
	}
	return raw.Clone(), nil
}

// Text returns the text of entry i, a message or an extension's message: its text
// blocks joined.
func (v *View) Text(i int) (string, error) {
	r := v.reader()
	defer r.close()
	raw, err := r.line(&v.recs[i])
	if err != nil {
		return "", err
	}
	if v.recs[i].typ == typMessage {
		return contentText(member(v.recs[i].message(raw), "content")), nil
	}
	return contentText(member(raw, "content")), nil
}

// Entries yields the JSON of the entries behind the one with the id since, in the
// order of the file; of all with "". An id that is not there is an
// *EntryNotFoundError. What is yielded is valid until the next step of the loop; it
// is read in pieces, so that no session is ever in memory as a whole.
func (v *View) Entries(since string) (iter.Seq2[jsonx.Raw, error], error) {
	from := 0
	if since != "" {
		i := v.Index(since)
		if i < 0 {
			return nil, &EntryNotFoundError{ID: since, since: true}
		}
		from = i + 1
	}
	return v.Raws(func(yield func(int) bool) {
		for i := from; i < len(v.recs) && yield(i); i++ {
		}
	}), nil
}

// Raws yields the JSON of the entries of these numbers. Neighbours cost least. A value is
// valid until the next one is asked for.
func (v *View) Raws(numbers iter.Seq[int]) iter.Seq2[jsonx.Raw, error] {
	return func(yield func(jsonx.Raw, error) bool) {
		r := v.reader()
		defer r.close()
		for i := range numbers {
			raw, err := r.line(&v.recs[i])
			if !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

// Path of the current branch, root first, as record numbers.
func (v *View) branch() []int32 { return branchOf(v.recs, v.leaf) }

func branchOf(recs []record, leaf int32) []int32 {
	n := 0
	for i := leaf; i != noParent; i = recs[i].parent {
		n++
	}
	path := make([]int32, n)
	for i := leaf; i != noParent; i = recs[i].parent {
		n--
		path[n] = i
	}
	return path
}

// Branch returns the heads of the entries from the root to the current one.
func (v *View) Branch() []Entry {
	path := v.branch()
	out := make([]Entry, len(path))
	for k, i := range path {
		out[k] = v.Entry(int(i))
	}
	return out
}

// label is the mark on an entry and the time it was set.
type label struct {
	text, ts string
	order    int // of the marks of a session, by when each entry got its current one first
}

// labels resolves the marks of all entries: the last one of an entry counts, an
// empty one takes it away.
func labels(recs []record, types []string, r *reader) (map[string]label, error) {
	out := map[string]label{}
	for i := range recs {
		if recs[i].typ != typLabel {
			continue
		}
		raw, err := r.line(&recs[i])
		if err != nil {
			return nil, err
		}
		target := string(text(member(raw, "targetId")))
		mark := string(text(member(raw, "label")))
		if mark == "" {
			delete(out, target)
			continue
		}
		order := i
		if old, ok := out[target]; ok {
			order = old.order
		}
		out[target] = label{text: mark, ts: string(text(member(raw, "timestamp"))), order: order}
	}
	return out, nil
}
