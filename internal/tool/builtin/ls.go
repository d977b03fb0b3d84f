package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
)

//go:embed ls.md
var lsDescription string

const lsSchema = `{"type":"object","properties":{"path":{"type":"string","description":"The directory to list; the working directory by default"},"limit":{"type":"number","description":"How many entries to return at most (default: 500)"}}}`

const (
	lsEmpty        = "(empty directory)"
	lsUnreadable   = "Cannot read directory: %w"
	lsLimit        = "%d entries limit reached. Use limit=%d for more"
	lsDefaultLimit = 500
)

type lsTool struct {
	about
	cfg Config
}

type lsArgs struct {
	Path  string   `json:"path"`
	Limit *float64 `json:"limit"`
}

type lsDetails struct {
	EntryLimitReached int         `json:"entryLimitReached,omitzero"`
	Truncation        *Truncation `json:"truncation,omitzero"`
}

// NewLs returns the tool that lists directories.
func NewLs(cfg Config) tool.Tool {
	return &lsTool{newAbout("ls", lsDescription, lsSchema, "List what is in a directory"), cfg}
}

// Run implements tool.Tool.
func (t *lsTool) Run(ctx context.Context, call tool.Call, _ func(tool.Result)) (tool.Result, error) {
	var args lsArgs
	if err := jsonx.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, err
	}
	if err := aborted(ctx); err != nil {
		return tool.Result{}, err
	}
	dir := t.cfg.resolve(orDot(args.Path))
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf(pathNotFound, dir)
	case !st.IsDir():
		return tool.Result{}, fmt.Errorf(notADirectory, dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return tool.Result{}, fmt.Errorf(lsUnreadable, fileError(err, "scandir", dir))
	}
	return list(dir, entries, max(1, wholeNumber(args.Limit, lsDefaultLimit))), aborted(ctx)
}

func list(dir string, entries []fs.DirEntry, limit int) tool.Result {
	type row struct {
		key   sortKey
		entry fs.DirEntry
	}
	rows := make([]row, len(entries))
	for i, e := range entries {
		rows[i] = row{newSortKey(e.Name()), e}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return a.key.compare(b.key) })
	var shown []string
	reached := false
	for _, r := range rows {
		if len(shown) >= limit {
			reached = true
			break
		}
		isDir := r.entry.IsDir()
		if r.entry.Type()&fs.ModeSymlink != 0 {
			st, err := os.Stat(filepath.Join(dir, r.entry.Name()))
			if err != nil {
				continue // it leads to nothing
			}
			isDir = st.IsDir()
		}
		name := validText([]byte(r.entry.Name()))
		if isDir {
			name += "/"
		}
		shown = append(shown, name)
	}
	if len(shown) == 0 {
		return tool.TextResult(lsEmpty)
	}
	text := truncateHead(strings.Join(shown, "\n"), noLineLimit)
	var details lsDetails
	var notices []string
	if reached {
		details.EntryLimitReached = limit
		notices = append(notices, fmt.Sprintf(lsLimit, limit, 2*limit))
	}
	if text.Truncated {
		details.Truncation = text
		notices = append(notices, sizeLimit)
	}
	return noticed(text.Content, notices, details)
}

// sortKey orders names as people expect: punctuation, digits, letters; case does not
// matter, and accents only between names that are alike otherwise.
type sortKey struct{ base, name string }

// asciiOrder is the order of ASCII in the root collation of Unicode.
const asciiOrder = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

func newSortKey(name string) sortKey {
	name = strings.ToLower(name)
	base := make([]byte, 0, len(name))
	for _, r := range norm.NFD.String(name) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r < utf8.RuneSelf:
			base = append(base, byte(1+strings.IndexByte(asciiOrder, byte(r))))
		default:
			base = utf8.AppendRune(base, r)
		}
	}
	return sortKey{string(base), name}
}

func (k sortKey) compare(o sortKey) int {
	if c := strings.Compare(k.base, o.base); c != 0 {
		return c
	}
	return strings.Compare(k.name, o.name)
}
