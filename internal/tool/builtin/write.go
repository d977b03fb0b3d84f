package builtin

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
)

//go:embed write.md
var writeDescription string

const writeSchema = `{"type":"object","required":["path","content"],"properties":{"path":{"type":"string","description":"The file to write, absolute or below the working directory"},"content":{"type":"string","description":"All that the file is to contain"}}}`

const writeDone = "Successfully wrote to %s"

type writeTool struct {
	about
	cfg Config
}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// NewWrite returns the tool that writes whole files. It is a tool.Ordered.
func NewWrite(cfg Config) tool.Tool {
	cfg.needFiles()
	return &writeTool{newAbout("write", writeDescription, writeSchema, "Create a file or replace all of its content", "Use write for new files and for complete rewrites only.").strictly(), cfg}
}

// needFiles makes a queue when the configuration has none.
func (c *Config) needFiles() {
	if c.Files == nil {
		c.Files = new(tool.Queue)
	}
}

// inTurn returns a function that runs change when all earlier changes of the file are
// done. The place is taken now.
func (c *Config) inTurn(ctx context.Context, path string, change func() (tool.Result, error)) tool.RunFunc {
	place := c.Files.Reserve(realPath(path))
	return func(func(tool.Result)) (tool.Result, error) {
		defer place.Release()
		if err := place.Wait(ctx); err != nil {
			return tool.Result{}, err
		}
		return change()
	}
}

// failing returns a run that only fails.
func failing(err error) tool.RunFunc {
	return func(func(tool.Result)) (tool.Result, error) { return tool.Result{}, err }
}

// Run implements tool.Tool.
func (t *writeTool) Run(ctx context.Context, call tool.Call, update func(tool.Result)) (tool.Result, error) {
	return t.Start(ctx, call)(update)
}

// Start implements tool.Ordered.
func (t *writeTool) Start(ctx context.Context, call tool.Call) tool.RunFunc {
	var args writeArgs
	if err := jsonx.Unmarshal(call.Args, &args); err != nil {
		return failing(err)
	}
	path := t.cfg.resolve(args.Path)
	return t.cfg.inTurn(ctx, path, func() (tool.Result, error) {
		if err := makeParents(path); err != nil {
			return tool.Result{}, err
		}
		err := replaceFile(ctx, path, func(w io.Writer) error {
			_, err := io.WriteString(w, args.Content)
			return err
		})
		if err != nil {
			return tool.Result{}, err
		}
		return tool.TextResult(fmt.Sprintf(writeDone, args.Path)), nil
	})
}

// makeParents makes the directories above a file.
func makeParents(path string) error {
	dir := filepath.Dir(path)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		return nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && pe.Path == dir && !isDir(dir) && exists(dir) {
		return fileError(fs.ErrExist, "mkdir", dir)
	}
	return fileError(err, "mkdir", dir)
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
