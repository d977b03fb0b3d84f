package compact

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// A Diagnostic is what is worth knowing of one request for a verbatim compaction: a
// failure, a cut answer that was used, or the success of a borrowed model. It holds
// the answer as it came, but neither the request nor anything secret.
type Diagnostic struct {
	Category Category
	Message  string

	model    *llm.Model
	response string
	stop     llm.StopReason
	usage    *llm.Usage
}

// Kind returns the kind of the file: diagnostic, recovery or success.
func (d *Diagnostic) Kind() string {
	switch d.Category {
	case CategoryRecovered:
		return "recovery"
	case CategorySuccess:
		return "success"
	}
	return "diagnostic"
}

// diagnosticFile is the content of the file.
type diagnosticFile struct {
	Version    int             `json:"version"`
	Timestamp  string          `json:"timestamp"`
	Category   Category        `json:"category"`
	Message    string          `json:"message,omitzero"`
	Model      diagnosticModel `json:"model"`
	StopReason llm.StopReason  `json:"stopReason,omitzero"`
	Usage      *llm.Usage      `json:"usage,omitzero"`
	Response   *string         `json:"response,omitzero"`
}

type diagnosticModel struct {
	Provider      string `json:"provider"`
	ID            string `json:"id"`
	API           string `json:"api"`
	ContextWindow int64  `json:"contextWindow"`
	MaxTokens     int64  `json:"maxTokens"`
}

// diagnosticTries is how many names are tried before giving up.
const diagnosticTries = 4

// WriteDiagnostic writes d beside a session file, readable by its owner only, and
// returns the path. newID makes an id for the name (a version 7 UUID). It never
// replaces a file. A session in memory has no place for one: sessionFile "" is an
// error. Callers go on when it fails.
func WriteDiagnostic(sessionFile string, d *Diagnostic, now time.Time, newID func() string) (string, error) {
	if sessionFile == "" {
		return "", fmt.Errorf("writing a compaction diagnostic: the session has no file")
	}
	content, err := jsonx.MarshalIndent(d.file(now))
	if err != nil {
		return "", fmt.Errorf("writing a compaction diagnostic: %w", err)
	}
	base := strings.TrimSuffix(filepath.Base(sessionFile), ".jsonl")
	for range diagnosticTries {
		name := fmt.Sprintf("%s-compaction-%s-%d-%s.json", base, d.Kind(), now.UnixMilli(), newID())
		path := filepath.Join(filepath.Dir(sessionFile), name)
		if err = writeNew(path, append(content, '\n')); err == nil {
			return path, nil
		}
		if !os.IsExist(err) {
			break
		}
	}
	return "", fmt.Errorf("writing a compaction diagnostic: %w", err)
}

func (d *Diagnostic) file(now time.Time) diagnosticFile {
	f := diagnosticFile{
		Version: 1, Timestamp: isoTime(now), Category: d.Category, Message: d.Message, StopReason: d.stop, Usage: d.usage,
	}
	if d.usage != nil {
		f.Response = &d.response
	}
	if m := d.model; m != nil {
		f.Model = diagnosticModel{m.Provider, m.ID, m.API, m.ContextWindow, m.MaxTokens}
	}
	return f
}

// writeNew writes a file that must not exist; a part of it is not left behind.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		os.Remove(path)
	}
	return err
}

// isoTime writes a time as session files do.
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
