package compact

import (
	"math"
	"strconv"
	"strings"
)

// Tags that protect lines from deletion, in lower case (atomic-facts.md 6.6).
const (
	keepOpen  = "<keepcontext>"
	keepClose = "</keepcontext>"
)

// A region is the text that a verbatim compaction works on, line by line. Indexes
// are from 0; what a model sees is numbered from 1.
type region struct {
	lines     []string
	protected []bool
	protCount int
}

// parseRegion splits text into lines and finds the protected ones: those between
// keepContext tags, tags included. A span belongs to one message: the next header
// ends it. Tool results protect nothing, whatever they contain.
func parseRegion(text string) *region {
	r := &region{lines: strings.Split(text, "\n")}
	r.protected = make([]bool, len(r.lines))
	open, inResult := -1, false
	for i, line := range r.lines {
		if h := header(line); h != "" {
			r.protect(open, i)
			open, inResult = -1, h == headerResult
			line = line[len(h):]
		}
		if inResult {
			continue
		}
		switch tag(line) {
		case keepOpen:
			if open < 0 {
				open = i
			}
		case keepClose:
			r.protect(open, i+1)
			open = -1
		}
	}
	r.protect(open, len(r.lines))
	return r
}

// protect marks the lines from a span's first one, -1 for none, up to end.
func (r *region) protect(from, end int) {
	for i := from; from >= 0 && i < end; i++ {
		r.protected[i] = true
		r.protCount++
	}
}

// header returns the header that a line begins with, "" for none.
func header(line string) string {
	if line == "" || line[0] != '[' {
		return ""
	}
	for _, h := range [...]string{headerUser, headerThinking, headerAnswer, headerCalls, headerResult} {
		if strings.HasPrefix(line, h) {
			return h
		}
	}
	return ""
}

// tag returns the keepContext tag that a line consists of, in lower case, "" for any
// other line.
func tag(line string) string {
	if len(line) < len(keepOpen) || strings.IndexByte(line, '<') < 0 {
		return ""
	}
	line = strings.TrimSpace(line)
	if len(line) > len(keepClose) {
		return ""
	}
	return strings.ToLower(line)
}

const (
	markerStart = "(filtered "
	markerEnd   = " lines)"
)

// marker returns how many lines a marker of an earlier compaction stands for; ok is
// false for a line that is none.
func marker(line string) (n int64, ok bool) {
	if !strings.HasPrefix(line, markerStart) || !strings.HasSuffix(line, markerEnd) || len(line) < len(markerStart)+len(markerEnd) {
		return 0, false
	}
	digits := line[len(markerStart) : len(line)-len(markerEnd)]
	if digits == "" || digits[0] == '+' || digits[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

func markerLine(n int64) string { return markerStart + strconv.FormatInt(n, 10) + markerEnd }

// A span is a range of line numbers, from 1, both ends included.
type span struct{ from, to int }

// protectedSpans returns the protected lines from the line with index offset on,
// numbered from 1 there.
func (r *region) protectedSpans(offset int) []span {
	var out []span
	for i := offset; i < len(r.lines); i++ {
		n := i - offset + 1
		switch {
		case !r.protected[i]:
		case len(out) > 0 && out[len(out)-1].to == n-1:
			out[len(out)-1].to = n
		default:
			out = append(out, span{n, n})
		}
	}
	return out
}

// remove deletes the lines that del marks, protected ones excepted, and markers that
// stand beside them. Each run of deleted lines becomes one marker that counts what
// the markers in it stood for; all other lines stay as they are.
func (r *region) remove(del []bool) (text string, stats Stats) {
	for i := range del {
		del[i] = del[i] && !r.protected[i]
	}
	fold := func(i, beside int) {
		if beside < 0 || beside >= len(del) || !del[beside] || del[i] || r.protected[i] {
			return
		}
		_, del[i] = marker(r.lines[i])
	}
	for i := range del {
		fold(i, i-1)
	}
	for i := len(del) - 1; i >= 0; i-- {
		fold(i, i+1)
	}
	stats.LinesBefore = len(r.lines)
	kept := make([]string, 0, len(r.lines))
	for i := 0; i < len(del); {
		if !del[i] {
			kept = append(kept, r.lines[i])
			i++
			continue
		}
		var count int64
		for ; i < len(del) && del[i]; i++ {
			stats.LinesDeleted++
			count = addCount(count, r.weight(i))
		}
		stats.RangeCount++
		kept = append(kept, markerLine(count))
	}
	stats.LinesKept = stats.LinesBefore - stats.LinesDeleted
	return strings.Join(kept, "\n"), stats
}

// weight is how many original lines line i stands for.
func (r *region) weight(i int) int64 {
	if n, ok := marker(r.lines[i]); ok {
		return n
	}
	return 1
}

// addCount adds two counts; a transcript can claim any number.
func addCount(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// deletable reports whether a line is left that is neither protected nor a marker.
func (r *region) deletable() bool {
	for i, line := range r.lines {
		if r.protected[i] {
			continue
		}
		if _, ok := marker(line); !ok {
			return true
		}
	}
	return false
}
