package builtin

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of what a tool shows to a model (pi-facts.md section 5).
const (
	maxLines     = 2000
	maxBytes     = 50 * 1024
	maxLineUnits = 500               // UTF-16 units of a line that grep shows
	noLineLimit  = 9007199254740991  // the largest whole number of JavaScript
	textCut      = "... [truncated]" // ends a line that grep cut
)

// Truncation tells what of a text is shown. TruncatedBy is "lines" or "bytes"; lines
// do not count an empty one after the last line feed, bytes are those of UTF-8.
type Truncation struct {
	Content               string  `json:"content"`
	Truncated             bool    `json:"truncated"`
	TruncatedBy           *string `json:"truncatedBy"`
	TotalLines            int     `json:"totalLines"`
	TotalBytes            int     `json:"totalBytes"`
	OutputLines           int     `json:"outputLines"`
	OutputBytes           int     `json:"outputBytes"`
	LastLinePartial       bool    `json:"lastLinePartial"`
	FirstLineExceedsLimit bool    `json:"firstLineExceedsLimit"`
	MaxLines              int     `json:"maxLines"`
	MaxBytes              int     `json:"maxBytes"`
}

// truncateHead keeps the whole lines of text that fit into limit lines and maxBytes
// bytes, from its beginning. Nothing is left of a text whose first line is too long.
func truncateHead(text string, limit int) *Truncation {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	t := &Truncation{Content: text, TotalLines: lines, TotalBytes: len(text), OutputLines: lines, OutputBytes: len(text), MaxLines: limit, MaxBytes: maxBytes}
	if lines <= limit && len(text) <= maxBytes {
		return t
	}
	by := "lines"
	t.Truncated, t.TruncatedBy = true, &by
	end, kept := 0, 0 // the end of the kept lines, without the last line feed
	for kept < lines && kept < limit {
		start := end
		if kept > 0 {
			start++
		}
		next := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			next = start + i
		}
		if next > maxBytes {
			by = "bytes"
			break
		}
		end = next
		kept++
	}
	t.Content, t.OutputLines, t.OutputBytes = text[:end], kept, end
	t.FirstLineExceedsLimit = kept == 0
	return t
}

// formatSize writes a number of bytes for people: 123B, 50.0KB, 1.2MB. Halves round
// up, as in JavaScript.
func formatSize(n int) string {
	const kb, mb = 1 << 10, 1 << 20
	tenths := func(unit int) string {
		t := (20*n + unit) / (2 * unit)
		return fmt.Sprintf("%d.%d", t/10, t%10)
	}
	switch {
	case n < kb:
		return fmt.Sprintf("%dB", n)
	case n < mb:
		return tenths(kb) + "KB"
	}
	return tenths(mb) + "MB"
}

// cutLine returns the first maxLineUnits UTF-16 units of a line, never half a
// character, and whether that is less than the line.
func cutLine(line string) (string, bool) {
	if len(line) <= maxLineUnits {
		return line, false
	}
	units := 0
	for i, r := range line {
		units++
		if r > 0xffff {
			units++
		}
		if units > maxLineUnits {
			return line[:i], true
		}
	}
	return line, false
}

// validText decodes bytes as UTF-8 the way browsers and Node do: each maximal part of
// a broken sequence becomes one U+FFFD.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var sb strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = brokenPrefix(b)
		}
		sb.WriteRune(r)
		b = b[n:]
	}
	return sb.String()
}

// brokenPrefix returns the length of the broken sequence at the start of b: as many
// bytes as could have begun a character.
func brokenPrefix(b []byte) int {
	c, low, high, want := b[0], byte(0x80), byte(0xbf), 0
	switch {
	case c >= 0xc2 && c <= 0xdf:
		want = 1
	case c >= 0xe0 && c <= 0xef:
		want = 2
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		want = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n <= want && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}
