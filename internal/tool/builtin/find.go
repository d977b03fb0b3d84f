package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
	"github.com/isotope-agent/isotope/internal/walk"
)

//go:embed find.md
var findDescription string

const findSchema = `{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string","description":"A glob, below the searched directory: 'src/**/*.ts'; without '/' it is matched against names at any depth ('*.ts')"},"path":{"type":"string","description":"The directory to search; the working directory by default"},"limit":{"type":"number","description":"How many results to return at most (default: 1000)"}}}`

const (
	findNothing      = "No files found matching pattern"
	findLimit        = "%d results limit reached. Use limit=%d for more, or refine pattern"
	findDefaultLimit = 1000
)

type findTool struct {
	about
	cfg Config
}

type findArgs struct {
	Pattern string   `json:"pattern"`
	Path    string   `json:"path"`
	Limit   *float64 `json:"limit"`
}

type findDetails struct {
	ResultLimitReached int         `json:"resultLimitReached,omitzero"`
	Truncation         *Truncation `json:"truncation,omitzero"`
}

// NewFind returns the tool that finds files by their names.
func NewFind(cfg Config) tool.Tool {
	return &findTool{newAbout("find", findDescription, findSchema, "Find files by a glob pattern, leaving out what .gitignore excludes"), cfg}
}

// Run implements tool.Tool.
func (t *findTool) Run(ctx context.Context, call tool.Call, _ func(tool.Result)) (tool.Result, error) {
	var args findArgs
	if err := jsonx.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, err
	}
	if err := aborted(ctx); err != nil {
		return tool.Result{}, err
	}
	root := t.cfg.resolve(orDot(args.Path))
	st, err := os.Stat(root)
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf(pathNotFound, root)
	case !st.IsDir():
		return tool.Result{}, fmt.Errorf(notADirectory, root)
	}
	wanted, err := parseFind(args.Pattern, root, runtime.GOOS == "windows")
	if err != nil {
		return tool.Result{}, err
	}
	options := walk.Options{GitAnywhere: !walk.InRepository(root), GlobalIgnore: t.cfg.globalIgnore(), Filter: wanted.filter}
	out := findOutput{limit: max(1, wholeNumber(args.Limit, findDefaultLimit))}
	err = walk.Walk(ctx, root, options, func(e walk.Entry) bool { return !wanted.match(e) || out.add(e) })
	if err != nil {
		return tool.Result{}, err
	}
	return out.result(), nil
}

// findPattern tells which entries are wanted.
type findPattern struct {
	glob  *walk.Glob
	paths bool   // the pattern is matched against paths, not names
	root  string // put in front of a path when the pattern is absolute
}

// parseFind reads a pattern. One in lower case matches whatever the case. With windows,
// where no name can have one, a backslash is a slash.
func parseFind(text, root string, windows bool) (*findPattern, error) {
	pattern := text
	if windows {
		pattern = strings.ReplaceAll(pattern, `\`, "/")
	}
	for strings.HasPrefix(pattern, "./") {
		pattern = pattern[2:]
	}
	p := &findPattern{paths: strings.Contains(pattern, "/")}
	if p.paths && (filepath.IsAbs(pattern) || strings.HasPrefix(pattern, "/")) {
		p.root = strings.TrimSuffix(filepath.ToSlash(root), "/") + "/"
	}
	var err error
	if p.glob, err = walk.ParseGlob(pattern, pattern == strings.ToLower(pattern)); err != nil {
		return nil, fmt.Errorf(globError, text, err)
	}
	return p, nil
}

func (p *findPattern) match(e walk.Entry) bool {
	switch {
	case p.paths:
		return p.glob.Match(p.root + e.Path)
	default:
		return p.glob.Match(e.Path[strings.LastIndexByte(e.Path, '/')+1:])
	}
}

// filter leaves directories out in which nothing can match.
func (p *findPattern) filter(path, _ string, dir bool) walk.Verdict {
	if dir && p.paths && !p.glob.MayContain(p.root+path) {
		return walk.Exclude
	}
	return walk.Undecided
}

// findOutput gathers paths. Beyond the size limit it only counts.
type findOutput struct {
	limit int
	text  strings.Builder
	rows  int
	size  int
	more  bool
}

// add takes a result; false means that there are enough.
func (o *findOutput) add(e walk.Entry) bool {
	if o.rows == o.limit {
		o.more = true
		return false
	}
	o.rows++
	row := validText([]byte(e.Path))
	if e.Dir {
		row += "/"
	}
	if o.size-1 <= maxBytes {
		o.text.WriteString(row)
		o.text.WriteByte('\n')
	}
	o.size += len(row) + 1
	return true
}

func (o *findOutput) result() tool.Result {
	if o.rows == 0 {
		return tool.TextResult(findNothing)
	}
	t := truncateHead(strings.TrimSuffix(o.text.String(), "\n"), noLineLimit)
	t.TotalLines, t.TotalBytes = o.rows, o.size-1
	var details findDetails
	var notices []string
	if o.more {
		details.ResultLimitReached = o.limit
		notices = append(notices, fmt.Sprintf(findLimit, o.limit, 2*o.limit))
	}
	if t.Truncated {
		details.Truncation = t
		notices = append(notices, sizeLimit)
	}
	return noticed(t.Content, notices, details)
}
