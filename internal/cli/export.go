package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/isotope-agent/isotope/internal/export"
	"github.com/isotope-agent/isotope/internal/session"
)

// exportFile is --export FILE [OUT]: a session file as a page, or as JSON Lines when
// OUT ends in .jsonl. Without OUT the page lies in the working folder.
func (a *app) exportFile() int {
	path := a.fromStart([]string{a.flags.export})[0]
	cfg := a.sessionConfig()
	cfg.ReadOnly = true
	store, err := session.Open(path, cfg)
	if err != nil {
		return failed(a.std.err, err)
	}
	out := filepath.Join(a.started, export.DefaultName(a.dialect.Name, path))
	if len(a.flags.args) > 0 {
		out = a.fromStart(a.flags.args[:1])[0]
	}
	err = export.File(out, store.View(), export.Options{Dialect: a.dialect.Name, Now: time.Now()})
	if closed := store.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return failed(a.std.err, err)
	}
	return written(fmt.Fprintln(a.std.out, "Exported to: "+out))
}
