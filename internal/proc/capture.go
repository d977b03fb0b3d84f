package proc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// The limits of what a client or a model is shown of a command's output
// (pi-facts.md section 4). A trailing line feed does not start another line.
const (
	MaxLines = 2000
	MaxBytes = 50 << 10
)

// keepBytes is what the window keeps at least once the limits are exceeded: as text
// it is never shorter than MaxBytes.
const keepBytes = 64 << 10

// Truncation says what part of the output Content is (pi-facts.md section 5). Sizes
// are those of the text in bytes. TruncatedBy is "lines", "bytes", or nil when
// nothing is missing.
type Truncation struct {
	Content               string  `json:"content"`
	Truncated             bool    `json:"truncated"`
	TruncatedBy           *string `json:"truncatedBy"`
	TotalLines            int64   `json:"totalLines"`
	TotalBytes            int64   `json:"totalBytes"`
	OutputLines           int     `json:"outputLines"`
	OutputBytes           int     `json:"outputBytes"`
	LastLinePartial       bool    `json:"lastLinePartial"`
	FirstLineExceedsLimit bool    `json:"firstLineExceedsLimit"`
	MaxLines              int     `json:"maxLines"`
	MaxBytes              int     `json:"maxBytes"`
	LastLineBytes         int64   `json:"-"` // the whole last line's size
}

// Capture collects a command's output in bounded memory (at most 200 KiB): its last
// lines, counters, and, from the moment the limits are exceeded, a file with all of
// it. Until then the window holds everything, so the file is complete.
type Capture struct {
	spill Spill
	file  *spillFile
	tried bool

	win       []byte
	size      int64 // bytes as they came
	textBytes int64
	lines     int64 // finished lines
	open      int64 // text bytes of the unfinished line
	lastLine  int64 // text bytes of the last finished line
}

// NewCapture returns an empty capture that spills as s says.
func NewCapture(s Spill) *Capture { return &Capture{spill: s} }

// Append adds output. Characters must not be halved between calls: see Joiner.
func (c *Capture) Append(p []byte) {
	if len(p) == 0 {
		return
	}
	c.count(p)
	if c.file == nil && !c.tried && c.exceeded() {
		c.tried = true
		if c.file = c.spill.create(); c.file != nil {
			c.file.write(c.win)
		}
	}
	if c.file != nil && !c.file.write(p) {
		c.file = nil
	}
	c.window(p)
}

func (c *Capture) count(p []byte) {
	size := textLen
	if utf8.Valid(p) {
		size = func(b []byte) int { return len(b) }
	}
	c.size += int64(len(p))
	c.textBytes += int64(size(p))
	end := bytes.LastIndexByte(p, '\n')
	if end < 0 {
		c.open += int64(size(p))
		return
	}
	c.lines += int64(bytes.Count(p, []byte{'\n'}))
	line := p[:end]
	if start := bytes.LastIndexByte(line, '\n'); start >= 0 {
		c.lastLine = int64(size(line[start+1:]))
	} else {
		c.lastLine = c.open + int64(size(line))
	}
	c.open = int64(size(p[end+1:]))
}

// window keeps the end of what came. Nothing is dropped before the limits are
// exceeded: that much text is more than the window must keep.
func (c *Capture) window(p []byte) {
	if len(p) >= keepBytes && c.exceeded() {
		c.win = append(c.win[:0], tailFrom(p, keepBytes)...)
		return
	}
	if len(c.win)+len(p) > 2*keepBytes && c.exceeded() {
		c.win = append(c.win[:0], tailFrom(c.win, keepBytes)...)
	}
	c.win = append(c.win, p...)
}

// tailFrom returns the last n bytes of b, without a halved character at the head.
func tailFrom[T string | []byte](b T, n int) T {
	if len(b) <= n {
		return b
	}
	b = b[len(b)-n:]
	for i := 0; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

func (c *Capture) totalLines() int64 {
	if c.open > 0 {
		return c.lines + 1
	}
	return c.lines
}

func (c *Capture) exceeded() bool {
	return c.textBytes > MaxBytes || c.totalLines() > MaxLines
}

// Empty reports whether nothing has come.
func (c *Capture) Empty() bool { return c.size == 0 }

// Tail returns what is shown of the output so far: all of it, or the last whole
// lines that keep the limits, without the final line feed. Of a last line that is
// longer than that its end is shown.
func (c *Capture) Tail() Truncation {
	t := Truncation{
		TotalLines: c.totalLines(), TotalBytes: c.textBytes,
		MaxLines: MaxLines, MaxBytes: MaxBytes,
		LastLineBytes: c.lastLine,
	}
	if c.open > 0 {
		t.LastLineBytes = c.open
	}
	all := text(c.win)
	if !c.exceeded() {
		t.Content, t.OutputLines, t.OutputBytes = all, int(t.TotalLines), len(all)
		return t
	}
	by := "lines"
	t.Truncated, t.TruncatedBy = true, &by
	if all[len(all)-1] == '\n' {
		all = all[:len(all)-1]
	}
	for end := len(all); end >= 0 && t.OutputLines < MaxLines; {
		start := strings.LastIndexByte(all[:end], '\n') + 1
		if len(all)-start > MaxBytes {
			break
		}
		t.Content = all[start:]
		t.OutputLines++
		end = start - 1
	}
	if t.OutputLines < MaxLines {
		by = "bytes"
	}
	if t.OutputLines == 0 {
		t.Content, t.OutputLines, t.LastLinePartial = tailFrom(all, MaxBytes), 1, true
	}
	t.OutputBytes = len(t.Content)
	return t
}

// Path returns the file that holds the whole output; "" when there is none, because
// nothing is missing from Tail or because it could not be written.
func (c *Capture) Path() string {
	if c.file == nil {
		return ""
	}
	return c.file.path
}

// Close ends the spill file. Nothing may be appended afterwards.
func (c *Capture) Close() {
	if c.file != nil && !c.file.close() {
		c.file = nil
	}
}

// omitted stands for the middle of an output that is too long for Whole.
const omitted = "\n\n[... %d bytes omitted ...]\n\n"

// Whole returns the output as text when it has at most limit bytes, else its first
// and last halves of that size with a mark between them, and true. It is called
// after Close. Without a file only the window is left of a long output.
func (c *Capture) Whole(limit int) (string, bool) {
	if !c.exceeded() {
		return text(c.win), false
	}
	if c.file == nil {
		return fmt.Sprintf(omitted, c.size-int64(len(c.win))) + text(c.win), true
	}
	f, err := os.Open(c.file.path)
	if err != nil {
		return text(c.win), true
	}
	defer f.Close()
	if c.size <= int64(limit) {
		b := make([]byte, c.size)
		n, _ := io.ReadFull(f, b)
		return text(b[:n]), false
	}
	half := limit / 2
	head := make([]byte, half)
	n, _ := io.ReadFull(f, head)
	head = head[:n-openRune(head[:n])]
	tail := c.win
	if !c.file.full {
		b := make([]byte, half+1)
		if n, _ := f.ReadAt(b, c.size-int64(len(b))); n == len(b) {
			tail = tailFrom(b, half)
		}
	}
	return text(head) + fmt.Sprintf(omitted, c.size-int64(len(head)+len(tail))) + text(tail), true
}
