package cli

import "github.com/isotope-agent/isotope/internal/schema"

// wantsSchema reports whether the line is the sub-command "schema": that word alone,
// first, without a mode.
func (f *flags) wantsSchema(args []string) bool {
	return len(args) > 1 && args[1] == "schema" && len(f.args) == 1 && !f.set["mode"] && !f.print
}

// schema prints the JSON Schema of the dialect's protocol.
func (a *app) schema() int {
	doc, err := schema.Document(a.dialect)
	if err != nil {
		return failed(a.std.err, err)
	}
	return written(a.std.out.Write(doc))
}
