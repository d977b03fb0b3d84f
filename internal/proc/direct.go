package proc

import (
	"context"
	"errors"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// BashResult is the data of a bash response (seeds/000, bash). ExitCode is absent
// when the command was cancelled. FullOutputPath is absent when nothing is missing
// from Output, and null when the whole output could not be written.
type BashResult struct {
	Output         string    `json:"output"`
	ExitCode       *int      `json:"exitCode,omitzero"`
	Cancelled      bool      `json:"cancelled"`
	Truncated      bool      `json:"truncated"`
	FullOutputPath *FilePath `json:"fullOutputPath,omitzero"`
}

// FilePath is a path in JSON; null for none.
type FilePath string

// MarshalJSONTo writes the path or null.
func (p FilePath) MarshalJSONTo(enc *jsonx.Encoder) error {
	if p == "" {
		return enc.WriteValue(jsonx.Raw("null"))
	}
	return enc.WriteValue(jsonx.String(string(p)))
}

// Path returns the file with the whole output, nil when there is none: the form of
// a bashExecution message.
func (r *BashResult) Path() *string {
	if r.FullOutputPath == nil || *r.FullOutputPath == "" {
		return nil
	}
	path := string(*r.FullOutputPath)
	return &path
}

// Direct runs a command for a client: sanitised output, every piece of it given to
// delta as it arrives (channel is "stdout" or "stderr"), one after the other; a
// blocking delta holds the command back. When ctx ends or the runner is closed, the
// result says cancelled and holds the output so far. An error means that the command could not be run.
func Direct(ctx context.Context, r Runner, c Cmd, s Spill, delta func(channel, text string)) (BashResult, error) {
	out := NewCapture(s)
	var clean [2]Sanitizer
	emit := func(ch Channel, text []byte) {
		if len(text) == 0 {
			return
		}
		out.Append(text)
		delta(ch.String(), string(text))
	}
	exit, err := r.Run(ctx, c, func(k Chunk) { emit(k.Channel, clean[k.Channel].Clean(k.Data)) })
	for i := range clean {
		emit(Channel(i), clean[i].Flush())
	}
	out.Close()
	cancelled := err != nil && (ctx.Err() != nil || errors.Is(err, ErrClosed))
	if err != nil && !cancelled {
		return BashResult{}, err
	}
	tail := out.Tail()
	res := BashResult{Output: tail.Content, Cancelled: cancelled, Truncated: tail.Truncated}
	if !cancelled {
		res.ExitCode = &exit.Code
	}
	if tail.Truncated {
		path := FilePath(out.Path())
		res.FullOutputPath = &path
	}
	return res, nil
}
