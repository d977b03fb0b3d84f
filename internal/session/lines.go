package session

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Size returns the length of entry i in bytes, as it stands in the file.
func (v *View) Size(i int) int {
	r := &v.recs[i]
	if r.flags&flagMem != 0 {
		return len(v.mem[r.off])
	}
	return int(r.len)
}

// Head returns the head of entry i as Entry does, without its Timestamp, the one field
// that has to be made.
func (v *View) Head(i int) Entry {
	r := &v.recs[i]
	e := Entry{Index: i, ID: r.id, Type: v.types[r.typ], Time: r.ms}
	if r.role != roleNone && r.role != roleOther {
		e.Role = roleNames[r.role]
	}
	if r.parent != noParent {
		e.ParentID, e.HasParent = v.recs[r.parent].id, true
	} else if r.flags&flagOdd != 0 {
		e.ParentID = v.odd[int32(i)].parent
	}
	return e
}

// Message returns the message in raw, the JSON of entry i; nil when it has none.
func (v *View) Message(i int, raw jsonx.Raw) jsonx.Raw { return v.recs[i].message(raw) }

// AppendLines appends the JSON of the entries from one number up to another, which is
// not among them, a line each, and returns the extended buffer. Entries that stand one
// behind the other in the file cost one read.
func (v *View) AppendLines(dst []byte, from, to int) ([]byte, error) {
	r := v.reader()
	defer r.close()
	for i := from; i < to; {
		if n := v.adjacent(i, to); n > 0 {
			first, last := &v.recs[i], &v.recs[i+n-1]
			size := int(last.off-first.off) + int(last.len)
			dst = slices.Grow(dst, size+1)
			part := dst[len(dst) : len(dst)+size]
			if err := r.read(part, first.off); err != nil {
				return dst, err
			}
			dst = append(dst[:len(dst)+size], '\n')
			i += n
			continue
		}
		raw, err := r.line(&v.recs[i])
		if err != nil {
			return dst, err
		}
		start := len(dst)
		dst = append(append(dst, raw...), '\n')
		for line := dst[start : len(dst)-1]; ; { // a line end can only be white space
			k := bytes.IndexByte(line, '\n')
			if k < 0 {
				break
			}
			line[k] = ' '
			line = line[k+1:]
		}
		i++
	}
	return dst, nil
}

// adjacent returns how many entries from number i on, and before to, lie in the file
// with nothing but a line feed between them, and go out as they stand there.
func (v *View) adjacent(i, to int) int {
	n := 0
	for ; i < to && v.recs[i].flags&(flagMem|flagDirty) == 0; i++ {
		if n > 0 && v.recs[i].off != v.recs[i-1].off+int64(v.recs[i-1].len)+1 {
			break
		}
		n++
	}
	return n
}

// read fills buf from the file.
func (r *reader) read(buf []byte, off int64) error {
	if err := r.open(); err != nil {
		return err
	}
	if err := readAll(r.f, buf, off); err != nil {
		return r.failed(off, err)
	}
	return nil
}

// open takes hold of the file.
func (r *reader) open() error {
	if r.f != nil {
		return nil
	}
	if r.src == nil {
		return fmt.Errorf("reading an entry: the session has no file")
	}
	f, err := r.src.acquire()
	if err != nil {
		return err
	}
	r.f = f
	return nil
}

// failed is the error of a read of an entry.
func (r *reader) failed(off int64, err error) error {
	return fmt.Errorf("reading an entry at offset %d of %s: %w", off, r.src.path, err)
}

// readAll fills buf; a file that became shorter while it was read is an error.
func readAll(f io.ReaderAt, buf []byte, off int64) error {
	got, err := f.ReadAt(buf, off)
	if got == len(buf) {
		return nil
	}
	return cutShort(err)
}

// cutShort is the error of a read that got less than the file had.
func cutShort(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
