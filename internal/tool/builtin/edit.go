package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/textdiff"
	"github.com/isotope-agent/isotope/internal/tool"
)

//go:embed edit.md
var editDescription string

const editSchema = `{"type":"object","required":["path","edits"],"properties":{"path":{"type":"string","description":"The file to change, absolute or below the working directory"},"edits":{"type":"array","items":{"type":"object","required":["oldText","newText"],"properties":{"oldText":{"type":"string","description":"The text to replace, exactly as it is in the file, where it must be unique"},"newText":{"type":"string","description":"The text to put in its place"}}},"description":"The replacements, all matched against the file as it is now. They must not overlap; put neighbouring changes into one"}}}`

// The texts of edit (pi-facts.md section 5). Those that differ for one edit and for
// several come in pairs.
const (
	editDone     = "Successfully replaced %d block(s) in %s."
	editNone     = "Edit tool input is invalid. edits must contain at least one replacement."
	editNoFile   = "Could not edit file: %s. %s."
	editCode     = "Error code: %s"
	editNotAFile = "It is not a regular file"
	editOverlap  = "edits[%d] and edits[%d] overlap in %s. Merge them into one edit or target disjoint regions."

	editMissing     = "Could not find the exact text in %s. The old text must match exactly including all whitespace and newlines."
	editMissingOf   = "Could not find edits[%d] in %s. The oldText must match exactly including all whitespace and newlines."
	editTwice       = "Found %d occurrences of the text in %s. The text must be unique. Please provide more context to make it unique."
	editTwiceOf     = "Found %d occurrences of edits[%d] in %s. Each oldText must be unique. Please provide more context to make it unique."
	editEmpty       = "oldText must not be empty in %s."
	editEmptyOf     = "edits[%d].oldText must not be empty in %s."
	editUnchanged   = "No changes made to %s. The replacement produced identical content. This might indicate an issue with special characters or the text not existing as expected."
	editUnchangedOf = "No changes made to %s. The replacements produced identical content."
)

type editTool struct {
	about
	cfg Config
}

type replacement struct {
	OldText string `json:"oldText"`
	NewText string `json:"newText"`
}

type editArgs struct {
	Path  string        `json:"path"`
	Edits []replacement `json:"edits"`
	// One more replacement at the top, as older tools had it.
	OldText *string `json:"oldText"`
	NewText *string `json:"newText"`
}

// NewEdit returns the tool that replaces parts of a file. It is a tool.Ordered. Its
// memory does not grow with the size of the file, as long as the text is found exactly.
func NewEdit(cfg Config) tool.Tool {
	cfg.needFiles()
	return &editTool{newAbout("edit", editDescription, editSchema, "Replace parts of a file, several in one call",
		"Change existing files with edit, all changes of one file in one call.",
		"Each oldText must be exactly as in the file and unique in it: as short as that allows, without overlaps, and without long unchanged stretches between changes.").strictly(), cfg}
}

// Run implements tool.Tool.
func (t *editTool) Run(ctx context.Context, call tool.Call, update func(tool.Result)) (tool.Result, error) {
	return t.Start(ctx, call)(update)
}

// Start implements tool.Ordered.
func (t *editTool) Start(ctx context.Context, call tool.Call) tool.RunFunc {
	var args editArgs
	if err := jsonx.Unmarshal(call.Args, &args); err != nil {
		return failing(err)
	}
	if args.OldText != nil && args.NewText != nil {
		args.Edits = append(args.Edits, replacement{*args.OldText, *args.NewText})
	}
	if len(args.Edits) == 0 {
		return failing(errors.New(editNone))
	}
	path := t.cfg.resolve(args.Path)
	return t.cfg.inTurn(ctx, path, func() (tool.Result, error) {
		diff, err := editFile(ctx, path, args.Path, args.Edits)
		if err != nil {
			return tool.Result{}, err
		}
		res := tool.TextResult(fmt.Sprintf(editDone, len(args.Edits), args.Path))
		res.Details = diff
		return res, nil
	})
}

// editFile changes the file at path, which the model called name.
func editFile(ctx context.Context, path, name string, edits []replacement) (textdiff.Diff, error) {
	f, size, err := openForEdit(path, name)
	if err != nil {
		return textdiff.Diff{}, err
	}
	defer f.Close()
	s := newSource(ctx, f, size)
	spans, err := s.place(name, edits)
	if s.err != nil {
		return textdiff.Diff{}, readError(ctx, s.err)
	}
	if err != nil {
		return textdiff.Diff{}, err
	}
	// The diff comes first: nothing can fail behind the change.
	diff := s.diff(name, spans)
	if s.err != nil {
		return textdiff.Diff{}, readError(ctx, s.err)
	}
	if err := aborted(ctx); err != nil {
		return textdiff.Diff{}, err
	}
	if s.all != nil { // an open file could not be replaced everywhere
		_ = f.Close()
	}
	return diff, replaceFile(ctx, path, func(w io.Writer) error { return s.splice(w, spans) })
}

// openForEdit opens a regular file that may be read and written.
func openForEdit(path, name string) (*os.File, int64, error) {
	refuse := func(err error) error {
		reason := err.Error()
		if code, _ := errorCode(err); code != "" {
			reason = fmt.Sprintf(editCode, code)
		}
		return &shownError{fmt.Sprintf(editNoFile, name, reason), err}
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, 0, refuse(err)
	case st.IsDir():
		return nil, 0, fileError(syscall.EISDIR, "read", "")
	case !st.Mode().IsRegular():
		return nil, 0, refuse(errors.New(editNotAFile))
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, refuse(err)
	}
	return f, st.Size(), nil
}

// span is a part of the source and what replaces it.
type span struct {
	start, end int64
	text       string
	index      int // of the edit
}

// place finds where the edits apply, in the order of the text.
func (s *source) place(name string, edits []replacement) ([]span, error) {
	one := len(edits) == 1
	text := func(single, several string, i int, args ...any) error {
		if one {
			return fmt.Errorf(single, append(args, name)...)
		}
		return fmt.Errorf(several, append(args, i, name)...)
	}
	for i, e := range edits {
		if e.OldText == "" {
			return nil, text(editEmpty, editEmptyOf, i)
		}
	}
	var spans []span
	for i, e := range edits {
		old := strings.ReplaceAll(e.OldText, "\r\n", "\n")
		m, n := s.findExact(old)
		if n == 0 {
			m, n = s.findLoose(old)
		}
		switch {
		case s.err != nil:
			return nil, s.err
		case n == 0:
			return nil, text(editMissing, editMissingOf, i)
		case n > 1:
			return nil, text(editTwice, editTwiceOf, i, n)
		}
		replaced := strings.ReplaceAll(e.NewText, "\r\n", "\n")
		spans = append(spans, span{m.start, m.end, m.head + strings.ReplaceAll(replaced, "\n", m.eol) + m.tail, i})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return int(max(-1, min(1, a.start-b.start))) })
	changed := false
	for i, sp := range spans {
		if i > 0 && spans[i-1].end > sp.start {
			return nil, fmt.Errorf(editOverlap, spans[i-1].index, sp.index, name)
		}
		changed = changed || sp.end-sp.start != int64(len(sp.text)) || string(s.slice(sp.start, sp.end)) != sp.text
	}
	if !changed && s.err == nil {
		if one {
			return nil, fmt.Errorf(editUnchanged, name)
		}
		return nil, fmt.Errorf(editUnchangedOf, name)
	}
	return spans, nil
}

// splice writes the source with the spans replaced.
func (s *source) splice(w io.Writer, spans []span) error {
	at := int64(0)
	for _, sp := range append(slices.Clone(spans), span{start: s.size, end: s.size}) {
		var err error
		s.blocks(at, sp.start, func(b []byte) {
			if err == nil {
				_, err = w.Write(b)
			}
		})
		if err == nil {
			_, err = io.WriteString(w, sp.text)
		}
		if err == nil {
			err = s.err
		}
		if err != nil {
			return err
		}
		at = sp.end
	}
	return nil
}

// maxDiffBytes bounds the text that is read to show a change: lines may be as large
// as the file.
const maxDiffBytes = 4 << 20

// diff shows the change: the lines that it touches, with some around them.
func (s *source) diff(name string, spans []span) textdiff.Diff {
	var regions []textdiff.Region
	oldLine, newLine, counted := 1, 1, s.lo
	newFeeds, size := s.feeds, int64(0)
	for i := 0; i < len(spans); {
		start, end, next := s.around(spans, i)
		if size += end - start; size > maxDiffBytes {
			return textdiff.TooLarge(int(size))
		}
		n := s.countFeeds(counted, start)
		oldLine, newLine, counted = oldLine+n, newLine+n, start
		before := s.plain(string(s.slice(start, end)))
		var after strings.Builder
		at := start
		for _, sp := range spans[i:next] {
			after.Write(s.slice(at, sp.start))
			after.WriteString(sp.text)
			at = sp.end
		}
		after.Write(s.slice(at, end))
		r := textdiff.Region{OldLine: oldLine, NewLine: newLine, Old: before, New: s.plain(after.String()), Tail: end < s.size}
		regions = append(regions, r)
		oldFeeds, addedFeeds := strings.Count(r.Old, "\n"), strings.Count(r.New, "\n")
		oldLine, newLine, counted = oldLine+oldFeeds, newLine+addedFeeds, end
		newFeeds += addedFeeds - oldFeeds
		i = next
	}
	return textdiff.Regions(name, regions, s.feeds, newFeeds)
}

// around returns the whole lines that are shown for span i, and the first span that
// is not among them.
func (s *source) around(spans []span, i int) (start, end int64, next int) {
	start = s.before(spans[i].start)
	for next = i; next < len(spans) && (next == i || s.before(spans[next].start) <= end); next++ {
		end = max(spans[next].end-1, spans[next].start)
		for range diffMargin + 1 {
			end = s.nextLine(end)
		}
	}
	return start, end, next
}

// diffMargin is the number of lines compared on each side of a change: some more than
// are shown let repeated lines be aligned well.
const diffMargin = 4 * textdiff.Context

// before returns where the lines begin that are shown in front of off.
func (s *source) before(off int64) int64 {
	start := s.lineStart(off)
	for range diffMargin {
		if start > s.lo {
			start = s.lineStart(start - 1)
		}
	}
	return start
}

// plain returns text with line feeds for line ends.
func (s *source) plain(text string) string {
	if s.eol == "\n" {
		return text
	}
	return strings.ReplaceAll(text, s.eol, "\n")
}
