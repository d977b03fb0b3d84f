package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/tool"
)

//go:embed bash.md
var bashDescription string

const bashSchema = `{"type":"object","properties":{` +
	`"command":{"type":"string","description":"The command line to run; may span several lines."},` +
	`"timeout":{"type":"number","description":"Seconds after which the command is killed. No limit when left out."}` +
	`},"required":["command"]}`

// Texts that clients and models see (pi-facts.md section 5).
const (
	bashNoCommand  = "bash needs a command: the text to run"
	bashNoOutput   = "(no output)"
	bashExitCode   = "Command exited with code %d"
	bashAborted    = "Command aborted"
	bashTimedOut   = "Command timed out after %s seconds"
	bashLeftBehind = ". The shell itself had exited with code %d after %.1f seconds; what it left in the background kept writing output until then."
	bashBadTimeout = "Invalid timeout: must be a finite number of seconds"
	bashMaxTimeout = "Invalid timeout: maximum is 2147483.647 seconds"

	bashTailLines   = "[Showing lines %d-%d of %d"
	bashTailBytes   = bashTailLines + " (50.0KB limit)"
	bashTailPartial = "[Showing last %s of line %d (line is %s)"
	bashTailPath    = ". Full output: %s"
)

const (
	// bashUpdateEvery is the least time between two updates that carry output.
	bashUpdateEvery = 100 * time.Millisecond
	// bashWholeLimit is the size of the output in structuredContent, in bytes.
	bashWholeLimit = 1 << 20
	bashTimeoutMax = math.MaxInt32 // milliseconds
)

var errBashTimeout = errors.New("command timed out")

// BashConfig is what the bash tool works with. Cwd is absolute. Env returns what is
// added to the inherited environment for the next command (who the agent is, the
// session it runs in), nil for nothing; it is called once a command. BinDir is put
// first in PATH, "" for none. EnvPrefix is the prefix of the variables that describe
// the session, for the system prompt; "" leaves that guideline out. Spill returns
// where a long output goes; nil writes none. Now is the clock, time.Now when nil.
type BashConfig struct {
	Cwd       string
	Runner    proc.Runner
	Shell     proc.Shell
	Env       func() []string
	BinDir    string
	EnvPrefix string
	Spill     func() proc.Spill
	Now       func() time.Time
}

// NewBash returns the tool that runs shell commands.
func NewBash(cfg BashConfig) tool.Tool {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	var guidelines []string
	if cfg.EnvPrefix != "" {
		guidelines = append(guidelines, "Commands find the current session and model in the environment variables "+cfg.EnvPrefix+"_*.")
	}
	return &bashTool{
		about: newAbout("bash", bashDescription, bashSchema, "Run shell commands: build, test, version control, anything the system offers", guidelines...).strictly(),
		cfg:   cfg,
	}
}

type bashTool struct {
	about
	cfg BashConfig
}

type bashArgs struct {
	Command *string   `json:"command"`
	Timeout jsonx.Raw `json:"timeout"`
}

type bashDetails struct {
	Truncation     *proc.Truncation `json:"truncation"`
	FullOutputPath *string          `json:"fullOutputPath"`
}

type bashStructured struct {
	Output          string  `json:"output"`
	Truncated       bool    `json:"truncated"`
	FullOutputPath  string  `json:"full_output_path,omitzero"`
	ExitCode        int     `json:"exit_code"`
	WallTimeSeconds float64 `json:"wall_time_seconds"`
}

// bashError is a call that was cut short: its text holds the output.
type bashError struct {
	text  string
	cause error
}

func (e *bashError) Error() string { return e.text }
func (e *bashError) Unwrap() error { return e.cause }

// Opening implements tool.Opener: an update without content says that the command
// has begun.
func (t *bashTool) Opening() (tool.Result, bool) { return tool.Result{Content: llm.Content{}}, true }

// Run implements tool.Tool. Updates carry the end of the output so far. An aborted
// call is an error that wraps the cause of ctx; its text holds the output.
func (t *bashTool) Run(ctx context.Context, call tool.Call, update func(tool.Result)) (tool.Result, error) {
	var args bashArgs
	if err := jsonx.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, fmt.Errorf("reading the arguments of bash: %w", err)
	}
	if args.Command == nil {
		return tool.Result{}, errors.New(bashNoCommand)
	}
	limit, err := bashTimeout(args.Timeout)
	if err != nil {
		return tool.Result{}, err
	}
	runCtx := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		runCtx, cancel = context.WithTimeoutCause(ctx, limit, errBashTimeout)
		defer cancel()
	}
	var spill proc.Spill
	if t.cfg.Spill != nil {
		spill = t.cfg.Spill()
	}
	out := newBashOutput(spill, update, t.cfg.Now)
	started := t.cfg.Now()
	exit, err := t.cfg.Runner.Run(runCtx, t.command(*args.Command), out.add)
	wall := t.cfg.Now().Sub(started)
	tail := out.finish()
	if err != nil {
		return tool.Result{}, bashFailure(ctx, err, exit, limit, bashTail(tail, out.capture.Path()))
	}
	return bashResult(out.capture, tail, exit.Code, wall), nil
}

func (t *bashTool) command(line string) proc.Cmd {
	env := proc.Env{BinDir: t.cfg.BinDir}
	if t.cfg.Env != nil {
		env.Set = t.cfg.Env()
	}
	return proc.Cmd{Command: line, Shell: t.cfg.Shell, Dir: t.cfg.Cwd, Env: env.Environ(os.Environ())}
}

// bashTimeout returns the time limit; 0 for none.
func bashTimeout(raw jsonx.Raw) (time.Duration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, nil
	}
	// ErrRange leaves an infinity, which is refused below.
	seconds, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsInf(seconds, 0), math.IsNaN(seconds), seconds <= 0:
		return 0, errors.New(bashBadTimeout)
	case seconds*1000 > bashTimeoutMax:
		return 0, errors.New(bashMaxTimeout)
	}
	return max(time.Duration(seconds*float64(time.Second)), 1), nil
}

// bashFailure is the error of a command that was cut short or could not be run.
func bashFailure(ctx context.Context, err error, exit proc.Exit, limit time.Duration, text string) error {
	var status string
	switch {
	case ctx.Err() != nil || errors.Is(err, proc.ErrClosed):
		status = bashAborted
	case errors.Is(err, errBashTimeout):
		status = fmt.Sprintf(bashTimedOut, strconv.FormatFloat(limit.Seconds(), 'f', -1, 64))
		if exit.Exited {
			status += fmt.Sprintf(bashLeftBehind, exit.Code, exit.After.Seconds())
		}
	default:
		return err
	}
	return &bashError{text: bashStatus(text, status), cause: err}
}

func bashResult(out *proc.Capture, tail proc.Truncation, code int, wall time.Duration) tool.Result {
	text := bashTail(tail, out.Path())
	if strings.TrimSpace(text) == "" { // providers refuse blank text
		text = bashNoOutput
	}
	whole, cut := out.Whole(bashWholeLimit)
	data := bashStructured{Output: whole, Truncated: cut, ExitCode: code, WallTimeSeconds: math.Round(wall.Seconds()*10) / 10}
	if cut {
		data.FullOutputPath = out.Path()
	}
	if code != 0 {
		text = bashStatus(text, fmt.Sprintf(bashExitCode, code))
	}
	res := tool.TextResult(text)
	res.StructuredContent = data
	res.IsError = code != 0
	if tail.Truncated {
		res.Details = bashDetailsOf(tail, out.Path())
	}
	return res
}

func bashDetailsOf(tail proc.Truncation, path string) bashDetails {
	var d bashDetails
	if tail.Truncated {
		d.Truncation = &tail
	}
	if path != "" {
		d.FullOutputPath = &path
	}
	return d
}

func bashStatus(text, status string) string {
	if text == "" {
		return status
	}
	return text + "\n\n" + status
}

// bashTail returns what is shown of the output, with a notice of what is missing.
func bashTail(t proc.Truncation, path string) string {
	if !t.Truncated {
		return t.Content
	}
	var notice string
	first := t.TotalLines - int64(t.OutputLines) + 1
	switch {
	case t.LastLinePartial:
		notice = fmt.Sprintf(bashTailPartial, formatSize(t.OutputBytes), t.TotalLines, formatSize(int(t.LastLineBytes)))
	case *t.TruncatedBy == "lines":
		notice = fmt.Sprintf(bashTailLines, first, t.TotalLines, t.TotalLines)
	default:
		notice = fmt.Sprintf(bashTailBytes, first, t.TotalLines, t.TotalLines)
	}
	if path != "" {
		notice += fmt.Sprintf(bashTailPath, path)
	}
	return t.Content + "\n\n" + notice + "]"
}

// bashOutput collects a command's output and sends updates: the first piece of
// output at once, then at most one update in bashUpdateEvery.
type bashOutput struct {
	capture *proc.Capture
	update  func(tool.Result)
	now     func() time.Time

	// lock guards everything below. It is a channel because it is held while update
	// blocks, which a test's fake clock must be able to wait for.
	lock   chan struct{}
	joins  [2]proc.Joiner
	timer  *time.Timer
	timers sync.WaitGroup
	last   time.Time // of the last update with output
	dirty  bool
}

func newBashOutput(s proc.Spill, update func(tool.Result), now func() time.Time) *bashOutput {
	return &bashOutput{capture: proc.NewCapture(s), update: update, now: now, lock: make(chan struct{}, 1)}
}

func (o *bashOutput) add(k proc.Chunk) {
	o.lock <- struct{}{}
	defer func() { <-o.lock }()
	p := o.joins[k.Channel].Join(k.Data)
	if len(p) == 0 {
		return
	}
	o.capture.Append(p)
	o.dirty = true
	if o.timer != nil {
		return
	}
	if wait := bashUpdateEvery - o.now().Sub(o.last); wait > 0 {
		o.timers.Add(1)
		o.timer = time.AfterFunc(wait, o.tick)
		return
	}
	o.send()
}

// tick runs on the timer's goroutine.
func (o *bashOutput) tick() {
	defer o.timers.Done()
	o.lock <- struct{}{}
	defer func() { <-o.lock }()
	o.timer = nil
	o.send()
}

func (o *bashOutput) send() {
	if !o.dirty {
		return
	}
	o.dirty = false
	o.last = o.now()
	tail := o.capture.Tail()
	res := tool.TextResult(tail.Content)
	res.Details = bashDetailsOf(tail, o.capture.Path())
	o.update(res)
}

// finish sends what was not sent yet and ends the capture.
func (o *bashOutput) finish() proc.Truncation {
	o.lock <- struct{}{}
	for i := range o.joins {
		if rest := o.joins[i].Flush(); len(rest) > 0 {
			o.capture.Append(rest)
			o.dirty = true
		}
	}
	if o.timer != nil && o.timer.Stop() {
		o.timers.Done()
	}
	o.send()
	o.capture.Close()
	tail := o.capture.Tail()
	<-o.lock
	o.timers.Wait()
	return tail
}
