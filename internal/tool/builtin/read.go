package builtin

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/picture"
	"github.com/isotope-agent/isotope/internal/tool"
)

//go:embed read.md
var readDescription string

const readSchema = `{"type":"object","required":["path"],"properties":{"path":{"type":"string","description":"The file to read, absolute or below the working directory"},"offset":{"type":"number","description":"Number of the first line to show, from 1"},"limit":{"type":"number","description":"How many lines to show at most"}}}`

// The texts of read (pi-facts.md section 5).
const (
	readBeyond    = "Offset %s is beyond end of file (%d lines total)"
	readHugeLine  = "[Line %d is %s, exceeds 50.0KB limit. Use bash: sed -n '%dp' %s | head -c %d]"
	readMore      = "\n\n[%d more lines in file. Use offset=%d to continue.]"
	readCutLines  = "\n\n[Showing lines %d-%d of %d. Use offset=%d to continue.]"
	readCutBytes  = "\n\n[Showing lines %d-%d of %d (50.0KB limit). Use offset=%d to continue.]"
	readImage     = "Read image file [%s]"
	maxImageBytes = 256 << 20
)

type readTool struct {
	about
	cfg Config
}

type readArgs struct {
	Path   string   `json:"path"`
	Offset *float64 `json:"offset"`
	Limit  *float64 `json:"limit"`
}

type readDetails struct {
	Truncation              *Truncation `json:"truncation,omitzero"`
	ImageUnsupportedByModel string      `json:"imageUnsupportedByModel,omitzero"`
}

// readPicture is the structured content of a picture that was read.
type readPicture struct {
	Type     string `json:"type"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	Note     string `json:"note"`
}

// NewRead returns the tool that reads text files and pictures. Its memory does not
// grow with the size of a text.
func NewRead(cfg Config) tool.Tool {
	return &readTool{newAbout("read", readDescription, readSchema, "Show the content of a file", "Look at files with read, not with cat or sed.").strictly(), cfg}
}

// Run implements tool.Tool.
func (t *readTool) Run(ctx context.Context, call tool.Call, _ func(tool.Result)) (tool.Result, error) {
	var args readArgs
	if err := jsonx.Unmarshal(call.Args, &args); err != nil {
		return tool.Result{}, err
	}
	if err := aborted(ctx); err != nil {
		return tool.Result{}, err
	}
	path := t.cfg.resolveRead(args.Path)
	in, size, err := openInput(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	defer in.Close()
	buffered := bufio.NewReaderSize(in, 4<<10)
	head, err := buffered.Peek(picture.SniffLen)
	if err != nil && err != io.EOF {
		return tool.Result{}, readError(ctx, err)
	}
	if mimeType := picture.Sniff(head); mimeType != "" {
		return t.picture(ctx, buffered, mimeType, size)
	}
	return readText(ctx, buffered, size, args)
}

// input is an open file whose reads end when the context does.
type input struct {
	*os.File
	ctx  context.Context
	left int64 // bytes of a regular file that were there when it was opened; -1: until the end
	fifo bool
	got  bool
	stop func() bool
}

// openInput opens a file without waiting, whatever it is. size is that of a regular
// file, else 0.
func openInput(ctx context.Context, path string) (*input, int64, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, 0, fileError(err, "access", path)
	}
	if st.IsDir() {
		return nil, 0, fileError(syscall.EISDIR, "read", "")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		operation := "open"
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			operation = "access"
		}
		return nil, 0, fileError(err, operation, path)
	}
	in := &input{File: f, ctx: ctx, left: -1, fifo: st.Mode()&fs.ModeNamedPipe != 0}
	size := int64(0)
	if st.Mode().IsRegular() && st.Size() > 0 { // 0 may be a file of the system that has something to say
		size = st.Size()
		in.left = size
	}
	in.stop = context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) }) // only pipes and the like can wait
	return in, size, nil
}

// Close implements io.Closer.
func (in *input) Close() error {
	in.stop()
	return in.File.Close()
}

// Read implements io.Reader. A pipe that nobody writes to yet is waited for.
func (in *input) Read(p []byte) (int, error) {
	const retry = 10 * time.Millisecond
	if in.left == 0 {
		return 0, io.EOF
	}
	if in.left > 0 && int64(len(p)) > in.left {
		p = p[:in.left]
	}
	for {
		if err := aborted(in.ctx); err != nil {
			return 0, err
		}
		n, err := in.File.Read(p)
		if n > 0 {
			in.got = true
			if in.left > 0 {
				in.left -= int64(n)
			}
			return n, nil
		}
		if err != io.EOF || !in.fifo || in.got {
			return 0, err
		}
		select {
		case <-in.ctx.Done():
		case <-time.After(retry):
		}
	}
}

func readError(ctx context.Context, err error) error {
	if cause := aborted(ctx); cause != nil {
		return cause
	}
	return fileError(err, "read", "")
}

func (t *readTool) picture(ctx context.Context, in io.Reader, mimeType string, size int64) (tool.Result, error) {
	failed := func(note string) (tool.Result, error) {
		text := fmt.Sprintf(readImage, mimeType) + "\n" + note
		return tool.Result{Content: llm.Content{llm.NewText(text)}, StructuredContent: text}, nil
	}
	if size > maxImageBytes {
		return failed(picture.NoteTooLarge)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxImageBytes))
	if err != nil {
		return tool.Result{}, readError(ctx, err)
	}
	p, err := picture.Process(data, mimeType, picture.Options{KeepSize: t.cfg.KeepImageSize != nil && t.cfg.KeepImageSize()})
	if err != nil {
		return failed(err.Error())
	}
	text := fmt.Sprintf(readImage, p.MimeType)
	for _, note := range p.Notes {
		text += "\n" + note
	}
	encoded := base64.StdEncoding.EncodeToString(p.Data)
	res := tool.Result{
		Content:           llm.Content{llm.NewText(text), llm.NewImage(encoded, p.MimeType)},
		StructuredContent: readPicture{"image", encoded, p.MimeType, text},
	}
	if t.cfg.Model != nil {
		if m := t.cfg.Model(); m != nil && !takesPictures(m) {
			res.Details = readDetails{ImageUnsupportedByModel: m.ID}
		}
	}
	return res, aborted(ctx)
}

func takesPictures(m *llm.Model) bool {
	for _, kind := range m.Input {
		if kind == "image" {
			return true
		}
	}
	return false
}

func readText(ctx context.Context, in io.Reader, size int64, args readArgs) (tool.Result, error) {
	s := newSelector(max(0, wholeNumber(args.Offset, 1)-1))
	if args.Limit != nil {
		s.limit(max(0, wholeNumber(args.Limit, 0)))
	}
	block := int64(64 << 10)
	if size > 0 {
		block = min(block, size)
	}
	buf := make([]byte, block)
	for {
		n, err := in.Read(buf)
		s.add(buf[:n])
		if err == io.EOF {
			break
		}
		if err != nil {
			return tool.Result{}, readError(ctx, err)
		}
	}
	lines, t := s.finish()
	if s.start >= lines {
		return tool.Result{}, fmt.Errorf(readBeyond, strconv.FormatFloat(*args.Offset, 'f', -1, 64), lines)
	}
	first := s.start + 1
	text := t.Content
	var details any
	switch {
	case t.FirstLineExceedsLimit:
		text = fmt.Sprintf(readHugeLine, first, formatSize(s.firstBytes), first, args.Path, maxBytes)
		details = readDetails{Truncation: t}
	case t.Truncated:
		last := first + t.OutputLines - 1
		notice := readCutLines
		if *t.TruncatedBy == "bytes" {
			notice = readCutBytes
		}
		text += fmt.Sprintf(notice, first, last, lines, last+1)
		details = readDetails{Truncation: t}
	case s.end < lines:
		text += fmt.Sprintf(readMore, lines-s.end, s.end+1)
	}
	return tool.Result{Content: llm.Content{llm.NewText(text)}, Details: details, StructuredContent: text}, nil
}
