package compact

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

var errMalformed = errors.New("not a list of line ranges")

// parseRanges reads a planner's answer: one "start,end" a line, ASCII decimals
// without sign, leading zeros or spaces, one newline allowed at the end. Anything
// else makes the whole answer unusable. Of an answer that was cut, the last line is
// dropped even if it looks complete (atomic-facts.md 6.8).
func parseRanges(text string, cut bool) ([]span, error) {
	if cut {
		i := strings.LastIndexByte(text, '\n')
		if i < 0 {
			return nil, nil
		}
		text = text[:i]
	} else {
		text = strings.TrimSuffix(text, "\n")
	}
	var out []span
	for line := range strings.SplitSeq(text, "\n") {
		from, to, ok := strings.Cut(line, ",")
		a, okA := lineNumber(from)
		b, okB := lineNumber(to)
		if !ok || !okA || !okB {
			return nil, errMalformed
		}
		out = append(out, span{a, b})
	}
	return out, nil
}

// maxLineNumber stands for every larger number.
const maxLineNumber = 1 << 30

// lineNumber reads a canonical decimal.
func lineNumber(s string) (int, bool) {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int(c-'0'), maxLineNumber)
	}
	return n, true
}

// merge returns ranges in order, within 1 to last, none touching another.
func merge(ranges []span, last int) []span {
	valid := make([]span, 0, len(ranges))
	for _, s := range ranges {
		if s.from > s.to {
			s.from, s.to = s.to, s.from
		}
		s.from, s.to = max(s.from, 1), min(s.to, last)
		if s.from <= s.to {
			valid = append(valid, s)
		}
	}
	slices.SortFunc(valid, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := valid[:0]
	for _, s := range valid {
		if n := len(out); n > 0 && s.from <= out[n-1].to+1 {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// marks returns which lines of r to delete: ranges, as numbered from the line with
// index offset on, and all lines before that. usable is how many of the ranges'
// lines are not protected.
func (r *region) marks(ranges []span, offset int) (del []bool, usable int) {
	del = make([]bool, len(r.lines))
	for i := range offset {
		del[i] = true
	}
	for _, s := range merge(ranges, len(r.lines)-offset) {
		for i := s.from - 1 + offset; i < s.to+offset; i++ {
			del[i] = true
			if !r.protected[i] {
				usable++
			}
		}
	}
	return del, usable
}
