// Package textdiff owns how a change of a text is shown: the display diff with line
// numbers, and the unified patch, both with four lines of context.
//
// It must not know files or tools. Functions may be called concurrently. Work and
// memory follow the size of the changed regions, not that of the text.
package textdiff

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// Context is the number of unchanged lines shown on each side of a change.
const Context = 4

// maxRegionBytes bounds what is compared and shown: a changed line of a file without
// line feeds is as large as the file.
const maxRegionBytes = 4 << 20

// Diff shows a change (pi-facts.md section 5, edit). FirstChangedLine is the number,
// from 1, of the first line that is new or, when lines were only removed, of the one
// behind them.
type Diff struct {
	Display          string `json:"diff"`
	Patch            string `json:"patch"`
	FirstChangedLine int    `json:"firstChangedLine,omitzero"`
}

// Region is a part of a text that changed: whole lines, with up to Context unchanged
// ones (or more) on each side. OldLine and NewLine are the numbers, from 1, of the
// first lines. Tail reports that the old text goes on behind the region.
type Region struct {
	OldLine, NewLine int
	Old, New         string
	Tail             bool
}

// Strings compares two texts that may differ anywhere.
func Strings(name, before, after string) Diff {
	prefix, suffix := commonPrefix(before, after), 0
	suffix = commonSuffix(before[prefix:], after[prefix:])
	start, end := prefix, len(before)-suffix
	for range Context {
		start = lineStart(before, start)
		end = lineEnd(before, end)
	}
	line := strings.Count(before[:start], "\n") + 1
	r := Region{line, line, before[start:end], after[start : len(after)-(len(before)-end)], end < len(before)}
	return Regions(name, []Region{r}, strings.Count(before, "\n"), strings.Count(after, "\n"))
}

// commonPrefix returns the length of the whole lines that both texts begin with.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == len(a) && i == len(b) {
		return i
	}
	return strings.LastIndexByte(a[:i], '\n') + 1
}

// commonSuffix returns the length of the whole lines that both texts end with.
func commonSuffix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	whole := func(s string) bool { return i == len(s) || s[len(s)-1-i] == '\n' }
	if whole(a) && whole(b) {
		return i
	}
	tail := a[len(a)-i:]
	k := strings.IndexByte(tail, '\n')
	if k < 0 {
		return 0
	}
	return len(tail) - k - 1
}

// lineStart returns the start of the line in front of the one that starts at i.
func lineStart(s string, i int) int {
	if i == 0 {
		return 0
	}
	return strings.LastIndexByte(s[:i-1], '\n') + 1
}

// lineEnd returns the end of the line that starts at i.
func lineEnd(s string, i int) int {
	if k := strings.IndexByte(s[i:], '\n'); k >= 0 {
		return i + k + 1
	}
	return len(s)
}

// line is one line of a diff: kept ' ', removed '-' or added '+'.
type line struct {
	op       byte
	old, new int // the number in each text, or that of the next line there
	text     string
}

// Regions shows the changed regions of a text, which are in order and do not overlap.
// The counts are those of the line feeds of both texts.
func Regions(name string, regions []Region, oldFeeds, newFeeds int) Diff {
	size := 0
	for _, r := range regions {
		size += len(r.Old) + len(r.New)
	}
	if size > maxRegionBytes {
		return TooLarge(size)
	}
	var lines []line
	for _, r := range regions {
		lines = appendLines(lines, r)
	}
	hunks := group(lines)
	if len(hunks) == 0 {
		return Diff{}
	}
	last := lines[len(lines)-1]
	tail := regions[len(regions)-1].Tail || hunks[len(hunks)-1].end < len(lines) && last.op == ' '
	d := Diff{Display: display(lines, hunks, len(strconv.Itoa(max(oldFeeds, newFeeds)+1)), tail), Patch: patch(name, lines, hunks)}
	for _, l := range lines {
		if l.op != ' ' {
			d.FirstChangedLine = l.new
			break
		}
	}
	return d
}

// appendLines adds the lines of a region, compared.
func appendLines(lines []line, r Region) []line {
	before, after := splitLines(r.Old), splitLines(r.New)
	oldLine, newLine, at := r.OldLine, r.NewLine, 0
	add := func(op byte, texts []string) {
		for _, text := range texts {
			lines = append(lines, line{op, oldLine, newLine, text})
			if op != '+' {
				oldLine++
			}
			if op != '-' {
				newLine++
			}
		}
	}
	for _, d := range lcs.DiffLines(before, after) {
		add(' ', before[at:d.Start])
		add('-', before[d.Start:d.End])
		add('+', after[d.ReplStart:d.ReplEnd])
		at = d.End
	}
	add(' ', before[at:])
	return lines
}

// splitLines returns the lines of a text with their line feeds.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	return lines[:len(lines)-1+min(1, len(lines[len(lines)-1]))]
}

// hunk is a range of lines that are shown together.
type hunk struct{ start, end int }

// group returns the hunks: changes with their context, those that touch as one.
func group(lines []line) []hunk {
	var hunks []hunk
	for i, l := range lines {
		if l.op == ' ' {
			continue
		}
		start, end := i, i+1
		for start > 0 && i-start < Context && adjacent(lines[start-1], lines[start]) {
			start--
		}
		for end < len(lines) && end-i <= Context && adjacent(lines[end-1], lines[end]) {
			end++
		}
		if n := len(hunks) - 1; n >= 0 && (start < hunks[n].end || start == hunks[n].end && adjacent(lines[start-1], lines[start])) {
			hunks[n].end = max(hunks[n].end, end)
		} else {
			hunks = append(hunks, hunk{start, end})
		}
	}
	return hunks
}

// adjacent reports whether b follows a without a gap in the text.
func adjacent(a, b line) bool {
	next := a.old
	if a.op != '+' {
		next++
	}
	return b.old == next
}

func display(lines []line, hunks []hunk, width int, tail bool) string {
	var sb strings.Builder
	gap := " " + strings.Repeat(" ", width) + " ..."
	put := func(s string) {
		if sb.Len() > 0 {
			sb.WriteByte('\n')
		}
		sb.WriteString(s)
	}
	for i, h := range hunks {
		if i > 0 || lines[h.start].old > 1 {
			put(gap)
		}
		for _, l := range lines[h.start:h.end] {
			number := l.old
			if l.op == '+' {
				number = l.new
			}
			put(fmt.Sprintf("%c%*d %s", l.op, width, number, strings.TrimSuffix(l.text, "\n")))
		}
	}
	if tail {
		put(gap)
	}
	return sb.String()
}

func patch(name string, lines []line, hunks []hunk) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "--- %s\n+++ %s\n", name, name)
	for _, h := range hunks {
		part := lines[h.start:h.end]
		oldCount, newCount := 0, 0
		for _, l := range part {
			if l.op != '+' {
				oldCount++
			}
			if l.op != '-' {
				newCount++
			}
		}
		oldStart, newStart := part[0].old, part[0].new
		if oldCount == 0 { // an empty range is named by the line in front of it
			oldStart--
		}
		if newCount == 0 {
			newStart--
		}
		fmt.Fprintf(&sb, "@@ -%d,%d +%d,%d @@\n", oldStart, oldCount, newStart, newCount)
		for _, l := range part {
			sb.WriteByte(l.op)
			sb.WriteString(l.text)
			if !strings.HasSuffix(l.text, "\n") {
				sb.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	return sb.String()
}

// TooLarge stands for the diff of a change whose lines hold too many bytes to show.
func TooLarge(size int) Diff {
	return Diff{Display: fmt.Sprintf("[diff left out: the changed lines hold %d bytes]", size)}
}
