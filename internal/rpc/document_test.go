package rpc_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
	"github.com/isotope-agent/isotope/internal/schema"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
)

const protocolDocument = "../../docs/protocol.md"

// TestProtocolDocument: docs/protocol.md is what the table of commands, the types and
// their comments, and the conversations say. go test ./internal/rpc -run
// TestProtocolDocument -update writes it.
func TestProtocolDocument(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing runs at the same time here")
	}
	d := newDocument(t)
	got := d.write()
	if *update {
		if err := os.WriteFile(protocolDocument, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(protocolDocument)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("docs/protocol.md is old; run the test with -update (-want +got):\n%s", diff)
	}
}

// document writes the page.
type document struct {
	t        *testing.T
	defs     map[string]*jsonschema.Schema
	comments map[string]string // of types
	requests map[string]string // command: a line that succeeds
	answers  map[string]string // definition: a record
	out      strings.Builder
}

func newDocument(t *testing.T) *document {
	isotope, _ := dialect.Named(dialect.Isotope)
	d := &document{
		t: t, defs: schematest.Of(t, isotope).Root.Defs, comments: typeComments(t),
		requests: map[string]string{}, answers: map[string]string{},
	}
	d.readExamples()
	return d
}

// typeComments reads the comments of all exported types.
func typeComments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range []string{"engine", "rpc", "event", "llm", "session", "auth", "compact", "model", "proc", "prompt", "tool", "trust"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				g, ok := decl.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, spec := range g.Specs {
					s := spec.(*ast.TypeSpec)
					text := g.Doc.Text() + s.Doc.Text()
					if _, ok := out[s.Name.Name]; !ok {
						out[s.Name.Name] = strings.Join(strings.Fields(text), " ")
					}
					out[dir+"."+s.Name.Name] = strings.Join(strings.Fields(text), " ")
				}
			}
		}
	}
	return out
}

// readExamples takes the shortest request of each command that succeeds, its answer, and
// the shortest record of each event.
func (d *document) readExamples() {
	err := filepath.WalkDir("testdata", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".txtar") {
			return err
		}
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return err
		}
		sent := map[string]string{}
		for _, f := range archive.Files {
			for line := range strings.Lines(string(f.Data)) {
				line = strings.TrimSpace(line)
				var r map[string]any
				if jsonx.Unmarshal([]byte(line), &r) != nil {
					continue
				}
				switch {
				case f.Name == "stdin":
					sent[fmt.Sprint(r["id"])+" "+fmt.Sprint(r["type"])] = line
				case f.Name == "stdout":
					d.example(r, line, sent[fmt.Sprint(r["id"])+" "+fmt.Sprint(r["command"])])
				}
			}
		}
		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, pair := range rareResponses() {
		var r map[string]any
		if err := jsonx.Unmarshal([]byte(pair[1]), &r); err != nil {
			d.t.Fatal(err)
		}
		d.example(r, pair[1], pair[0])
	}
	for name, lines := range examples(d.t) {
		if d.answers[name] == "" && !strings.HasPrefix(name, schema.ResponsePrefix) {
			d.answers[name] = lines[0]
		}
	}
}

// example keeps a record when it is the best so far: short, but not empty.
func (d *document) example(r map[string]any, line, request string) {
	name := schematest.Name(r)
	best, ok := d.answers[name]
	worth := func(line string) int {
		if r["type"] == "response" && r["id"] == nil || strings.Contains(line, `[]`) || strings.Contains(line, `{}`) || strings.Contains(line, `:null`) {
			return len(line) + 10_000
		}
		return len(line)
	}
	if ok && (worth(best) < worth(line) || worth(best) == worth(line) && best <= line) {
		return
	}
	if r["type"] == "response" && r["success"] == true && request == "" {
		return // one that shows both is better
	}
	d.answers[name] = line
	if command, ok := strings.CutPrefix(name, schema.ResponsePrefix); ok {
		d.requests[command] = request
	}
}

const documentHead = `# The protocol

One JSON object a line, ended by LF, on standard input (commands) and standard output (responses and events). This page is
made from the program itself; ` + "`isotope schema --dialect NAME`" + ` prints the same as a JSON Schema.

Every command may have an ` + "`id`" + ` of any JSON value, which comes back with its one response. Members that a command does not know
are ignored. A member that is missing or of another form fails the command with an error that names it; nothing is done then.

Classes: *ordinary* commands run in order, one after the other. *Getters* never wait. *Interrupts* act on every line before them
and never wait. Commands *beside* the lane start in order and are answered when they are done. Only session replacement and
` + "`reload`" + ` hold ordinary commands back.
`

func (d *document) write() string {
	d.out.WriteString(documentHead)
	d.out.WriteString("\n## Commands\n")
	for _, c := range rpc.Commands() {
		d.command(c)
	}
	fmt.Fprintf(&d.out, "\n### Failures\n\nA command that fails, and a line that is none, is answered so:\n\n```json\n%s\n```\n",
		short(d.answers[schema.ResponsePrefix+schema.FailedResponse]))
	d.out.WriteString("\n## Events\n")
	for _, e := range event.All() {
		name := fmt.Sprintf("%T", e)
		fmt.Fprintf(&d.out, "\n### %s\n\n%s\n", e.Kind(), d.comment(strings.TrimPrefix(name, "event.")))
		if _, ok := e.(event.ExtensionUIRequest); ok {
			d.uiMethods()
			continue
		}
		d.members(d.defs[schema.EventPrefix+e.Kind()], "type")
		d.json(d.answers[schema.EventPrefix+e.Kind()])
		if _, ok := e.(event.MessageUpdate); ok {
			fmt.Fprintf(&d.out, "\nWith `--snapshots` or `ISOTOPE_SNAPSHOTS=1`: %s\n", d.comment("MessageSnapshot"))
			d.members(d.defs[schema.SnapshotEvent], "type")
			d.json(d.answers[schema.SnapshotEvent])
		}
	}
	d.out.WriteString("\n## Types\n")
	for _, name := range slices.Sorted(maps.Keys(d.defs)) {
		if name[0] >= 'A' && name[0] <= 'Z' || strings.Contains(name, ".") && name[strings.Index(name, ".")+1] < 'a' {
			fmt.Fprintf(&d.out, "\n### %s\n\n%s\n", name, d.comment(name))
			d.members(d.defs[name])
		}
	}
	return d.out.String()
}

// uiMethods writes the methods of extension_ui_request.
func (d *document) uiMethods() {
	answered := map[string]bool{auth.MethodPrompt: true, auth.MethodSelect: true, auth.MethodCode: true}
	for _, m := range event.UIMethods() {
		answered[m.Name] = m.Answered
	}
	for _, m := range d.defs[schema.EventPrefix+"extension_ui_request"].AnyOf {
		def := strings.TrimPrefix(m.Ref, "#/$defs/")
		method := strings.TrimPrefix(def, schema.UIPrefix)
		how := "No answer is expected."
		if answered[method] {
			how = "Answered by `extension_ui_response`."
		}
		fmt.Fprintf(&d.out, "\n#### %s\n\n%s\n", method, how)
		d.members(d.defs[def], "type", "id", "method")
		d.json(d.answers[def])
	}
}

func (d *document) command(c rpc.Command) {
	fmt.Fprintf(&d.out, "\n### %s\n\n%s Class: %s.\n", c.Name, c.Summary, c.Class)
	d.members(d.defs[schema.CommandPrefix+c.Name], "id", "type")
	if data := d.defs[schema.ResponsePrefix+c.Name].Properties["data"]; data != nil {
		fmt.Fprintf(&d.out, "\nData: %s.\n", form(data))
	}
	if request := d.requests[c.Name]; request != "" {
		d.json(request)
	}
	d.json(d.answers[schema.ResponsePrefix+c.Name])
}

// comment is that of a type, without its name in front.
func (d *document) comment(name string) string {
	text := d.comments[name]
	if text == "" {
		d.t.Errorf("the type %s has no comment", name)
	}
	plain := name[strings.LastIndexByte(name, '.')+1:]
	if rest, ok := strings.CutPrefix(text, plain+": "); ok && rest != "" {
		return strings.ToUpper(rest[:1]) + rest[1:]
	}
	return text
}

// members writes a table of the members of an object.
func (d *document) members(s *jsonschema.Schema, but ...string) {
	if s == nil {
		d.t.Error("there is no definition")
		return
	}
	if len(s.AnyOf) > 0 {
		fmt.Fprintf(&d.out, "\nOne of: %s.\n", form(s))
		return
	}
	head := "\n| member | form | |\n|---|---|---|\n"
	for _, name := range propertyOrder(s) {
		p := s.Properties[name]
		if slices.Contains(but, name) {
			continue
		}
		d.out.WriteString(head)
		head = ""
		need := ""
		if !slices.Contains(s.Required, name) {
			need = "optional. "
		}
		fmt.Fprintf(&d.out, "| `%s` | %s | %s%s |\n", name, strings.ReplaceAll(form(p), "|", "\\|"), need, doc(p))
	}
}

// propertyOrder is the order in which the members are written.
func propertyOrder(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return s.PropertyOrder
	}
	var optional []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, name) {
			optional = append(optional, name)
		}
	}
	return slices.Concat(s.Required, optional)
}

func doc(s *jsonschema.Schema) string {
	if s.Description == "" && len(s.AnyOf) > 0 {
		return s.AnyOf[0].Description
	}
	return s.Description
}

// form says in a few words what a schema allows.
func form(s *jsonschema.Schema) string {
	switch {
	case s.Ref != "":
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(strings.ReplaceAll(name, ".", "")))
	case s.Const != nil:
		return fmt.Sprintf("`%v`", *s.Const)
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, w := range s.Enum {
			words[i] = fmt.Sprintf("`%v`", w)
		}
		return strings.Join(words, " ")
	case len(s.AnyOf) > 0:
		var forms []string
		for _, a := range s.AnyOf {
			forms = append(forms, form(a))
		}
		return strings.Join(forms, " or ")
	case s.Items != nil:
		return "array of " + form(s.Items)
	case len(s.Types) > 0:
		return strings.Join(s.Types, " or ")
	case s.Type == "object" && len(s.Properties) > 0:
		var names []string
		for _, name := range propertyOrder(s) {
			names = append(names, fmt.Sprintf("`%s`", name))
		}
		return "object with " + strings.Join(names, ", ")
	case s.Type != "":
		return s.Type
	}
	return "any value"
}

func (d *document) json(line string) {
	if line == "" {
		return
	}
	fmt.Fprintf(&d.out, "\n```json\n%s\n```\n", short(line))
}

// short cuts a long example.
func short(line string) string {
	const most = 700
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + " …"
	}
	return line
}
