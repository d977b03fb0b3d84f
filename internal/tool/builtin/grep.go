package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/grep"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
	"github.com/isotope-agent/isotope/internal/walk"
)

//go:embed grep.md
var grepDescription string

const grepSchema = `{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string","description":"What to look for: a regular expression, or plain text with literal"},"path":{"type":"string","description":"The directory or file to search; the working directory by default"},"glob":{"type":"string","description":"Only files that match this glob, below path: 'src/**/*.ts'; without '/' it is matched against names ('*.ts'); a leading '!' excludes"},"ignoreCase":{"type":"boolean","description":"Whether case does not matter (default: false)"},"literal":{"type":"boolean","description":"Whether pattern is plain text (default: false)"},"context":{"type":"number","description":"How many lines to show before and after each match (default: 0)"},"limit":{"type":"number","description":"How many matches to return at most (default: 100)"}}}`

// The texts of the searching tools (pi-facts.md section 5).
const (
	pathNotFound  = "Path not found: %s"
	notADirectory = "Not a directory: %s"
	globError     = "error parsing glob '%s': %s"

	grepNothing   = "No matches found"
	grepLimit     = "%d matches limit reached. Use limit=%d for more, or refine pattern"
	grepLongLines = "Some lines truncated to 500 chars. Use read tool to see full lines"
	sizeLimit     = "50.0KB limit reached"

	grepDefaultLimit = 100
)

type grepTool struct {
	about
	cfg Config
}

type grepArgs struct {
	Pattern    string   `json:"pattern"`
	Path       string   `json:"path"`
	Glob       string   `json:"glob"`
	IgnoreCase bool     `json:"ignoreCase"`
	Literal    bool     `json:"literal"`
	Context    *float64 `json:"context"`
	Limit      *float64 `json:"limit"`
}

type grepDetails struct {
	MatchLimitReached int         `json:"matchLimitReached,omitzero"`
	Truncation        *Truncation `json:"truncation,omitzero"`
	LinesTruncated    bool        `json:"linesTruncated,omitzero"`
}

// NewGrep returns the tool that searches the content of files.
func NewGrep(cfg Config) tool.Tool {
	return &grepTool{newAbout("grep", grepDescription, grepSchema, "Search the content of files for a pattern, leaving out what .gitignore excludes"), cfg}
}

// Run implements tool.Tool.
func (t *grepTool) Run(ctx context.Context, call tool.Call, _ func(tool.Result)) (tool.Result, error) {
	var args grepArgs
	if err := jsonx.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, err
	}
	if err := aborted(ctx); err != nil {
		return tool.Result{}, err
	}
	root := t.cfg.resolve(orDot(args.Path))
	st, err := os.Stat(root)
	if err != nil {
		return tool.Result{}, fmt.Errorf(pathNotFound, root)
	}
	m, err := grep.Compile(grep.Query{Pattern: args.Pattern, Literal: args.Literal, IgnoreCase: args.IgnoreCase})
	if err != nil {
		return tool.Result{}, err
	}
	opt := grep.Options{Context: max(0, wholeNumber(args.Context, 0)), Limit: max(1, wholeNumber(args.Limit, grepDefaultLimit))}
	out := &grepOutput{limit: opt.Limit}
	if st.IsDir() {
		err = t.directory(ctx, m, root, args.Glob, opt, out)
	} else {
		name := filepath.Base(root)
		out.more, err = grep.File(ctx, m, root, opt, func(l grep.Line) { out.line(name, l) })
		if err != nil {
			err = fileError(err, "open", root)
		}
	}
	if err != nil {
		return tool.Result{}, err
	}
	return out.result(), nil
}

// directory searches the files below root.
func (t *grepTool) directory(ctx context.Context, m *grep.Matcher, root, glob string, opt grep.Options, out *grepOutput) error {
	options := walk.Options{GlobalIgnore: t.cfg.globalIgnore()}
	if glob != "" {
		filter, err := parseFilter(glob)
		if err != nil {
			return err
		}
		options.Filter = filter
	}
	list := func(ctx context.Context, yield func(string) bool) error {
		return walk.Walk(ctx, root, options, func(e walk.Entry) bool { return !e.Type.IsRegular() || yield(e.Full) })
	}
	skip := len(strings.TrimSuffix(root, "/")) + 1
	more, err := grep.Files(ctx, m, list, opt, func(name string, l grep.Line) { out.line(name[skip:], l) })
	out.more = more
	return err
}

// parseFilter reads the glob argument: files that match it are searched even when an
// ignore file excludes them, others are not.
func parseFilter(glob string) (func(path, name string, dir bool) walk.Verdict, error) {
	negated, rest := "", glob
	if strings.HasPrefix(glob, "!") {
		negated, rest = "!", glob[1:]
	}
	for strings.HasPrefix(rest, "./") {
		rest = rest[2:]
	}
	rules, err := walk.ParseFilter(negated + rest)
	if err != nil {
		return nil, fmt.Errorf(globError, glob, err)
	}
	includes := rules.Includes()
	return func(path, name string, dir bool) walk.Verdict {
		v := rules.Verdict(path, name, dir)
		if v == walk.Undecided && includes && !dir {
			return walk.Exclude
		}
		return v
	}, nil
}

// globalIgnore returns the user's ignore file for all repositories.
func (c *Config) globalIgnore() string {
	if c.Home == "" {
		return ""
	}
	return filepath.Join(c.Home, ".config", "git", "ignore")
}

func orDot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

// grepOutput gathers the lines that are shown. Beyond the size limit it only counts.
type grepOutput struct {
	limit   int
	text    []byte
	rows    int
	size    int // of all rows, each with a line feed
	matches int
	cut     bool // some line was too long
	more    bool // there are matches beyond the limit
}

func (o *grepOutput) line(name string, l grep.Line) {
	// What cannot be shown of a line need not be decoded.
	const enough = 4 * maxLineUnits
	raw := l.Text
	if n := len(raw); n > 0 && raw[n-1] == '\r' {
		raw = raw[:n-1]
	}
	if len(raw) > enough {
		raw = raw[:enough]
	}
	text, cut := cutLine(validText(raw))
	if cut {
		text += textCut
		o.cut = true
	}
	sep := byte('-')
	if l.Match {
		sep = ':'
		o.matches++
	}
	before := len(o.text)
	o.text = append(o.text, name...)
	o.text = append(o.text, sep)
	o.text = strconv.AppendInt(o.text, int64(l.Number), 10)
	o.text = append(o.text, sep, ' ')
	o.text = append(o.text, text...)
	o.text = append(o.text, '\n')
	o.rows++
	full := o.size-1 > maxBytes
	o.size += len(o.text) - before
	if full {
		o.text = o.text[:before]
	}
}

func (o *grepOutput) result() tool.Result {
	if o.matches == 0 {
		return tool.TextResult(grepNothing)
	}
	t := truncateHead(strings.TrimSuffix(string(o.text), "\n"), noLineLimit)
	t.TotalLines, t.TotalBytes = o.rows, o.size-1
	var details grepDetails
	var notices []string
	if o.more {
		details.MatchLimitReached = o.limit
		notices = append(notices, fmt.Sprintf(grepLimit, o.limit, 2*o.limit))
	}
	if t.Truncated {
		details.Truncation = t
		notices = append(notices, sizeLimit)
	}
	if o.cut {
		details.LinesTruncated = true
		notices = append(notices, grepLongLines)
	}
	return noticed(t.Content, notices, details)
}

// noticed returns a text with notices behind it, and details when there are notices.
func noticed(text string, notices []string, details any) tool.Result {
	res := tool.Result{}
	if len(notices) > 0 {
		text += "\n\n[" + strings.Join(notices, ". ") + "]"
		res.Details = details
	}
	res.Content = llm.Content{llm.NewText(text)}
	return res
}
