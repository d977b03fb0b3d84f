package llmtest

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// A CompatFlag is one row of a protocol's table of compat flags: what one value of one
// flag changes in a request.
type CompatFlag struct {
	Name  string
	Value string // JSON
	// Prepare changes the request that the flag acts on; nil takes Protocol.Request.
	Prepare func(*llm.Request)
	// Answer is the body of the answer of a flag that acts on reading it.
	Answer string
	// Want are the changes, sorted: "-MEMBER VALUE" for what the flag removes, "+MEMBER
	// VALUE" for what it adds. Members of the body are paths as "tools.0.strict", headers
	// "header.Name", parts of the outcome "answer.PATH". Empty: the flag changes nothing.
	Want []string
}

// RunCompat shows what each compat flag of a protocol does. Flags holds a row for every
// flag that docs/models.md lists for the protocol, and for every value that it lists
// there; decoder is a pointer to what the protocol decodes flags into, whose members must
// be the flags that the page says have an effect.
func RunCompat(t *testing.T, p Protocol, decoder any, flags []CompatFlag) {
	documented := documentedFlags(t, string(p.Model.API))
	acts, values := map[string]bool{}, map[string]bool{}
	for _, f := range flags {
		t.Run(f.Name+"="+f.Value, func(t *testing.T) { p.flag(t, f) })
		acts[f.Name] = acts[f.Name] || len(f.Want) > 0
		values[f.Name+" "+strings.Trim(f.Value, `"`)] = true
	}
	known := decoded(reflect.TypeOf(decoder).Elem())
	for name, doc := range documented {
		has, row := acts[name]
		switch {
		case !row:
			t.Errorf("%s is documented and has no row", name)
		case has != doc.acts:
			t.Errorf("%s: documented with an effect: %t, shown: %t", name, doc.acts, has)
		case doc.acts && !slices.Contains(known, name):
			t.Errorf("%s has an effect, yet nothing decodes it", name)
		}
		for _, v := range doc.values {
			if row && !values[name+" "+v] {
				t.Errorf("%s: no row for the value %s", name, v)
			}
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(acts)), known) {
		if _, ok := documented[name]; !ok {
			t.Errorf("%s is not documented", name)
		}
	}
	t.Run("unknown flags", func(t *testing.T) {
		p.flag(t, CompatFlag{Name: "flagOfTheFuture", Value: `{"a":[1,null]}`})
	})
	t.Run("no flags", func(t *testing.T) {
		for _, compat := range []string{"", "null", "{}"} {
			if diff := changes(p.flatten(t, CompatFlag{}, ""), p.flatten(t, CompatFlag{}, compat)); len(diff) > 0 {
				t.Errorf("compat %s changes %q", compat, diff)
			}
		}
	})
}

// PreferStrict makes the tools of a request prefer to be strict.
func PreferStrict(req *llm.Request) {
	for i := range req.Tools {
		req.Tools[i].Sampling = llm.SamplingPrefer
	}
}

// flag compares requests with and without a flag.
func (p Protocol) flag(t *testing.T, f CompatFlag) {
	name := strconv.Quote(f.Name)
	without := p.flatten(t, f, "")
	got := changes(without, p.flatten(t, f, "{"+name+":"+f.Value+"}"))
	slices.Sort(f.Want)
	if diff := gocmp.Diff(f.Want, got, gocmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := changes(without, p.flatten(t, f, "{"+name+":null}")); len(diff) > 0 {
		t.Errorf("null is as if it were not there, and changes %q", diff)
	}
}

// flatten sends a request with compat flags and returns its members and headers by path.
// Flags that the request has already (set by prepare) are kept.
func (p Protocol) flatten(t *testing.T, f CompatFlag, compat string) map[string]string {
	t.Helper()
	req := p.Request()
	req.SessionID = "session-1"
	if f.Prepare != nil {
		f.Prepare(req)
	}
	switch {
	case compat == "":
	case len(req.Model.Compat) == 0:
		req.Model.Compat = jsonx.Raw(compat)
	default:
		var o jsonx.Object
		for _, part := range []jsonx.Raw{req.Model.Compat, jsonx.Raw(compat)} {
			if err := o.Merge(part); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := jsonx.Marshal(&o)
		if err != nil {
			t.Fatal(err)
		}
		req.Model.Compat = raw
	}
	a := &Answer{Status: 418}
	if f.Answer != "" {
		a = &Answer{Pieces: [][]byte{[]byte(f.Answer)}}
	}
	r := p.Stream(t, a, req)
	if a.Request == nil {
		t.Fatalf("compat %s: nothing was sent: %v", compat, r.Err)
	}
	out := map[string]string{}
	if f.Answer != "" {
		flattenJSON(t, "answer", jsonx.Raw(r.Text(t)), out)
	}
	flattenJSON(t, "", a.Body, out)
	for name, values := range a.Request.Header {
		switch name {
		case "Authorization", "X-Amz-Date", "X-Amz-Content-Sha256", "Content-Length": // follow the body, or the time
		default:
			out["header."+name] = strings.Join(values, ",")
		}
	}
	return out
}

func flattenJSON(t *testing.T, path string, raw jsonx.Raw, out map[string]string) {
	t.Helper()
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch raw.Kind() {
	case '{':
		members, err := jsonx.Members(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(members) > 0 {
			for _, m := range members {
				flattenJSON(t, at(m.Name), m.Value, out)
			}
			return
		}
	case '[':
		var elems []jsonx.Raw
		if err := jsonx.Unmarshal(raw, &elems); err != nil {
			t.Fatal(err)
		}
		if len(elems) > 0 {
			for i, e := range elems {
				flattenJSON(t, at(strconv.Itoa(i)), e, out)
			}
			return
		}
	}
	out[path] = string(raw)
}

// changes tells two requests apart.
func changes(before, after map[string]string) []string {
	var out []string
	for path, v := range before {
		if after[path] != v {
			out = append(out, "-"+path+" "+v)
		}
	}
	for path, v := range after {
		if before[path] != v {
			out = append(out, "+"+path+" "+v)
		}
	}
	slices.Sort(out)
	return out
}

// documentedFlag is one row of a table of docs/models.md.
type documentedFlag struct {
	acts   bool // it changes a request or the reading of an answer
	values []string
}

var quoted = regexp.MustCompile("`\"([^\"]+)\"`")

// documentedFlags reads the table of a protocol: the flags in its first column, their
// values in the second, "no effect" at the start of the last for those that change nothing.
func documentedFlags(t *testing.T, api string) map[string]documentedFlag {
	t.Helper()
	file := filepath.Join("..", "..", "..", "docs", "models.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n### `"+api+"`\n")
	if !found {
		t.Fatalf("%s has no section for %s", file, api)
	}
	section, _, _ = strings.Cut(section, "\n#")
	out := map[string]documentedFlag{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "/"), "|")
		if len(cells) < 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		name, effect := strings.Trim(cells[1], " `"), strings.TrimSpace(cells[4])
		d := documentedFlag{acts: !strings.HasPrefix(effect, "no effect")}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			d.values = append(d.values, m[1])
		}
		out[name] = d
	}
	if len(out) == 0 {
		t.Fatalf("%s lists no flags for %s", file, api)
	}
	return out
}

// decoded returns the names of a struct's JSON members, those of embedded ones too.
func decoded(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			out = append(out, decoded(f.Type)...)
		case name != "" && name != "-":
			out = append(out, name)
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return out
}
