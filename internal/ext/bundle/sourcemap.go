package bundle

import (
	"net/url"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// SourceMap finds the place in a source file that a place in a script was made from.
// Raw is a version 3 source map with paths relative to Dir.
type SourceMap struct {
	Dir string
	Raw []byte
}

// Position is a place in a file; lines and columns count from 1.
type Position struct {
	File      string
	Line, Col int
}

// segment maps a column of one generated line (all from 0).
type segment struct{ col, source, line, srcCol int }

// Reader is a source map that was decoded. It is safe for concurrent use.
type Reader struct {
	m    SourceMap
	once sync.Once

	sources []string
	lines   [][]segment
}

// NewReader returns a reader that decodes m when it is first asked.
func NewReader(m SourceMap) *Reader { return &Reader{m: m} }

// Find returns the source of a line and column of the script, counted from 1.
func (r *Reader) Find(line, col int) (Position, bool) {
	r.once.Do(r.decode)
	if line < 1 || line > len(r.lines) {
		return Position{}, false
	}
	segs := r.lines[line-1]
	i := sort.Search(len(segs), func(i int) bool { return segs[i].col > col-1 }) - 1
	if i < 0 || segs[i].source < 0 || segs[i].source >= len(r.sources) {
		return Position{}, false
	}
	file := filepath.FromSlash(r.sources[segs[i].source])
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.m.Dir, file)
	}
	return Position{File: file, Line: segs[i].line + 1, Col: segs[i].srcCol + 1}, true
}

func (r *Reader) decode() {
	var m struct {
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if jsonx.Unmarshal(r.m.Raw, &m) != nil {
		return
	}
	for i, p := range m.Sources {
		if plain, err := url.PathUnescape(p); err == nil {
			m.Sources[i] = plain
		}
	}
	r.sources = m.Sources
	var source, line, col int
	for text := range strings.SplitSeq(m.Mappings, ";") {
		var segs []segment
		at := 0
		for part := range strings.SplitSeq(text, ",") {
			v := vlq(part)
			if len(v) == 0 {
				continue
			}
			at += v[0]
			s := segment{col: at, source: -1}
			if len(v) >= 4 {
				source, line, col = source+v[1], line+v[2], col+v[3]
				s = segment{at, source, line, col}
			}
			segs = append(segs, s)
		}
		r.lines = append(r.lines, segs)
	}
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// vlq decodes the numbers of one segment; nil when it is malformed.
func vlq(s string) []int {
	var out []int
	value, shift := 0, 0
	for i := range len(s) {
		d := strings.IndexByte(base64Digits, s[i])
		if d < 0 || shift > 30 {
			return nil
		}
		value |= (d & 31) << shift
		if d&32 != 0 {
			shift += 5
			continue
		}
		if value&1 != 0 {
			value = -(value >> 1)
		} else {
			value >>= 1
		}
		out, value, shift = append(out, value), 0, 0
	}
	return out
}
