package cli

import (
	"errors"

	"github.com/isotope-agent/isotope/internal/schema"
	"github.com/isotope-agent/isotope/internal/settings"
)

var errSettingsFlag = errors.New(`--settings belongs to the sub-command "schema": isotope schema --settings`)

// wantsSchema reports whether the line is the sub-command "schema": that word alone,
// first, without a mode.
func (f *flags) wantsSchema(args []string) bool {
	return len(args) > 1 && args[1] == "schema" && len(f.args) == 1 && !f.set["mode"] && !f.print
}

// schema prints the JSON Schema of the dialect's protocol, or that of settings.json.
func (a *app) schema() int {
	document := func() ([]byte, error) { return schema.Document(a.dialect) }
	if a.flags.settings {
		document = settings.Schema
	}
	doc, err := document()
	if err != nil {
		return failed(a.std.err, err)
	}
	return written(a.std.out.Write(doc))
}
