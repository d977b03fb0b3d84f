package session

import (
	"errors"
	"regexp"

	"github.com/google/uuid"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

const (
	typeHeader     = "session"
	currentVersion = 3
)

// ErrInvalidID is the error for a session id that a caller gave.
var ErrInvalidID = errors.New("Session id must be non-empty, contain only alphanumeric characters, '-', '_', and '.', and start and end with an alphanumeric character")

var validID = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// A Header is the first line of a session file.
type Header struct {
	Version       int    // 1 when the line has none
	ID            string // of the session
	Timestamp     string // of its creation, ISO 8601
	Cwd           string // working directory, "" when unknown
	ParentSession string // file it was forked from, "" for none
	Internal      bool   // made by a workflow, not shown to users
	Raw           jsonx.Raw
}

// ValidateID returns ErrInvalidID for a session id that may not be used.
func ValidateID(id string) error {
	if !validID.MatchString(id) {
		return ErrInvalidID
	}
	return nil
}

// newHeader builds the header of a new session, with a new id (a version 7 UUID)
// when cfg has none.
func newHeader(cfg *Config) (Header, error) {
	h := Header{Version: currentVersion, ID: cfg.ID, Timestamp: formatTime(cfg.Now().UnixMilli()), Cwd: cfg.Cwd, ParentSession: cfg.ParentSession}
	if cfg.ID == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return h, err
		}
		h.ID = id.String()
	} else if err := ValidateID(cfg.ID); err != nil {
		return h, err
	}
	h.Raw = h.encode()
	return h, nil
}

func (h *Header) encode() jsonx.Raw {
	b, err := jsonx.Marshal(struct {
		Type          string `json:"type"`
		Version       int    `json:"version"`
		ID            string `json:"id"`
		Timestamp     string `json:"timestamp"`
		Cwd           string `json:"cwd"`
		ParentSession string `json:"parentSession,omitzero"`
	}{typeHeader, h.Version, h.ID, h.Timestamp, h.Cwd, h.ParentSession})
	if err != nil { // five strings and a number
		panic(err)
	}
	return b
}

// parseHeader takes a line that scanLine accepted for a header when its type is
// "session" and its id a string.
func parseHeader(line []byte, hd head) (Header, bool) {
	if string(hd.typ) != typeHeader || hd.id == nil {
		return Header{}, false
	}
	if hd.dirty {
		line = clean(line)
	}
	h := Header{
		Version:       1,
		ID:            string(hd.id),
		Timestamp:     string(hd.ts),
		Cwd:           string(text(member(line, "cwd"))),
		ParentSession: string(text(member(line, "parentSession"))),
		Internal:      isInternal(line),
		Raw:           append(jsonx.Raw{}, line...),
	}
	if v := member(line, "version"); v != nil {
		var n float64
		if jsonx.Unmarshal(v, &n) == nil && n >= 0 && n < 1<<31 {
			h.Version = int(n)
		}
	}
	return h, true
}

// isInternal says whether the header belongs to a workflow: the mark counts only
// with a complete description of it.
func isInternal(line []byte) bool {
	if string(member(line, "internal")) != "true" {
		return false
	}
	w := member(line, "workflow")
	for _, name := range []string{"runId", "stageId", "stageName"} {
		if len(text(member(w, name))) == 0 {
			return false
		}
	}
	return true
}
