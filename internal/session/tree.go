package session

import (
	"bufio"
	"io"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// WriteTree writes the session as an array of its roots, in the order of the file.
// A node is {"entry", "children", "label"?, "labelTimestamp"?}; children are sorted
// by time. It is written as it is walked, without recursion: depth has no limit and
// memory holds 12 bytes an entry.
func (v *View) WriteTree(w io.Writer) error {
	r := v.reader()
	defer r.close()
	marks, err := labels(v.recs, v.types, r)
	if err != nil {
		return err
	}
	t := treeWriter{v: v, r: r, marks: marks, out: bufio.NewWriterSize(w, 64<<10)}
	t.arrange()
	if err := t.write(); err != nil {
		return err
	}
	return t.out.Flush()
}

type treeWriter struct {
	v     *View
	r     *reader
	marks map[string]label
	out   *bufio.Writer
	first []int32 // first[i]..first[i+1] are the places of i's children in kids; 0 is the top
	kids  []int32
}

// arrange sorts the entries under their parents. Place p of first belongs to entry
// p-1.
func (t *treeWriter) arrange() {
	recs := t.v.recs
	t.first = make([]int32, len(recs)+2)
	for i := range recs {
		t.first[recs[i].parent+2]++
	}
	for p := 1; p < len(t.first); p++ {
		t.first[p] += t.first[p-1]
	}
	t.kids = make([]int32, len(recs))
	next := slices.Clone(t.first)
	for i := range recs {
		p := recs[i].parent + 1
		t.kids[next[p]] = int32(i)
		next[p]++
	}
	byTime := func(a, b int32) int {
		switch {
		case recs[a].ms < recs[b].ms:
			return -1
		case recs[a].ms > recs[b].ms:
			return 1
		}
		return 0
	}
	for p := 1; p < len(t.first)-1; p++ {
		if kids := t.kids[t.first[p]:t.first[p+1]]; len(kids) > 1 {
			slices.SortStableFunc(kids, byTime)
		}
	}
}

// write walks the tree. The stack of open nodes is the chain of parents itself; next
// holds the place of the next child of each.
func (t *treeWriter) write() error {
	next := slices.Clone(t.first)
	t.out.WriteByte('[')
	for node := int32(noParent); ; {
		p := node + 1
		if at := next[p]; at < t.first[p+1] {
			next[p]++
			if at > t.first[p] {
				t.out.WriteByte(',')
			}
			node = t.kids[at]
			raw, err := t.r.line(&t.v.recs[node])
			if err != nil {
				return err
			}
			t.out.WriteString(`{"entry":`)
			t.out.Write(raw)
			if _, err := t.out.WriteString(`,"children":[`); err != nil {
				return err // the client is gone
			}
			continue
		}
		t.out.WriteByte(']')
		if node == noParent {
			return nil
		}
		if m, ok := t.marks[t.v.recs[node].id]; ok {
			t.out.WriteString(`,"label":`)
			t.out.Write(jsonx.String(m.text))
			t.out.WriteString(`,"labelTimestamp":`)
			t.out.Write(jsonx.String(m.ts))
		}
		t.out.WriteByte('}')
		node = t.v.recs[node].parent
	}
}
