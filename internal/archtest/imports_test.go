package archtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// row is what a package may import: packages of lower levels, and of its own level
// those in peers. With only set, nothing of this module but that.
type row struct {
	level int
	peers []string
	only  []string
}

// layout is the architecture (docs/architecture.md): a new package needs a row. Rows
// of packages that do not exist yet are allowed.
var layout = map[string]row{
	"jsonx":   {level: 0},
	"llm":     {level: 0, peers: []string{"jsonx"}},
	"event":   {level: 0, peers: []string{"llm", "jsonx"}},
	"dialect": {level: 0},

	"atomicfile":  {level: 1},
	"fslock":      {level: 1},
	"proc":        {level: 1},
	"walk":        {level: 1},
	"grep":        {level: 1},
	"textdiff":    {level: 1},
	"frontmatter": {level: 1},
	"picture":     {level: 1},
	"jsonc":       {level: 1},
	"output":      {level: 1},
	"llm/sse":     {level: 1},
	"network":     {level: 1},
	"llm/wire":    {level: 1, peers: []string{"network"}},

	"llm/anthropic": {level: 2, only: []string{"llm", "llm/sse", "llm/wire", "jsonx"}},
	"llm/openai":    {level: 2, only: []string{"llm", "llm/sse", "llm/wire", "jsonx"}},
	"llm/responses": {level: 2, only: []string{"llm", "llm/sse", "llm/wire", "jsonx"}},
	"llm/google":    {level: 2, only: []string{"llm", "llm/sse", "llm/wire", "jsonx"}},
	"llm/bedrock":   {level: 2, only: []string{"llm", "llm/sse", "llm/wire", "jsonx"}},
	"llm/mistral":   {level: 2, only: []string{"llm", "llm/sse", "llm/wire", "jsonx"}},
	"llm/scripted":  {level: 2, only: []string{"llm", "jsonx", "jsonc"}},
	"llm/record":    {level: 2, only: []string{"llm", "llm/scripted", "jsonx"}},
	"llm/llmtest":   {level: 2},
	"model":         {level: 2},
	"model/gen":     {level: 2, peers: []string{"model"}},
	"auth":          {level: 2},
	"settings":      {level: 2},
	"trust":         {level: 2},
	"tool":          {level: 2, only: []string{"llm", "jsonx"}},
	"tool/builtin":  {level: 2, peers: []string{"tool"}},
	"session":       {level: 2},
	"prompt":        {level: 2, peers: []string{"tool"}},

	"compact": {level: 3, only: []string{"llm", "session", "jsonx"}},
	"agent":   {level: 3, only: []string{"llm", "event", "tool", "jsonx"}},

	"engine": {level: 4},

	"ext":        {level: 5, peers: []string{"ext/js", "ext/bundle", "ext/child"}},
	"ext/child":  {level: 5, peers: []string{"ext/js", "ext/bundle"}},
	"ext/bundle": {level: 5},
	"ext/js":     {level: 5, peers: []string{"ext/bundle"}},
	"export":     {level: 5},

	"rpc":    {level: 6},
	"schema": {level: 6, peers: []string{"rpc"}},

	"schema/schematest": {level: 7},

	"cli": {level: 6, peers: []string{"rpc", "schema"}},

	"cmd/isotope": {level: 7, only: []string{"cli"}},
	"archtest":    {level: 7, only: []string{}},
}

func TestImportArrows(t *testing.T) {
	for _, s := range load(t).code() {
		from, ok := layout[s.pkg]
		if !ok {
			t.Errorf("%s: package %s has no row in the layout", s.path, s.pkg)
			continue
		}
		for _, path := range s.imports() {
			dep, own := strings.CutPrefix(path, module)
			if !own {
				continue
			}
			dep = strings.TrimPrefix(dep, "internal/")
			to, ok := layout[dep]
			switch {
			case !ok:
				t.Errorf("%s imports %s, which has no row in the layout", s.path, dep)
			case dep == "llm/llmtest" || dep == "schema/schematest":
				t.Errorf("%s imports %s, which is for tests", s.path, dep)
			case from.only != nil && !slices.Contains(from.only, dep):
				t.Errorf("%s: %s may import %v only, not %s", s.path, s.pkg, from.only, dep)
			case from.only == nil && to.level >= from.level && !slices.Contains(from.peers, dep):
				t.Errorf("%s: %s (level %d) may not import %s (level %d)", s.path, s.pkg, from.level, dep, to.level)
			}
		}
	}
}

// owners says which packages may import a module from elsewhere. What is not here is
// not a dependency of the program.
var owners = map[string][]string{
	"github.com/go-json-experiment/json": {"jsonx"},
	"github.com/spf13/pflag":             {"cli"},
	"github.com/bmatcuk/doublestar":      {"walk", "model", "grep", "prompt", "tool/builtin", "cli"},
	"github.com/aymanbagabas/go-udiff":   {"textdiff"},
	"github.com/gofrs/flock":             {"fslock"},
	"github.com/google/uuid":             {"session", "engine", "proc", "rpc", "cli"},
	"go.yaml.in/yaml":                    {"frontmatter"},
	"golang.org/x/image":                 {"picture"},
	"golang.org/x/sys":                   {"proc", "atomicfile", "fslock", "session", "compact", "cli"},
	"golang.org/x/sync":                  {"*"},
	"golang.org/x/term":                  {"cli"},
	"golang.org/x/text":                  {"proc", "textdiff", "tool/builtin"},
	"github.com/aws/aws-sdk-go-v2":       {"llm/bedrock"},
	"github.com/evanw/esbuild":           {"ext/bundle"},
	"modernc.org/quickjs":                {"ext/js"},
}

func TestModuleOwners(t *testing.T) {
	for _, s := range load(t).code() {
		for _, path := range s.imports() {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(path, module) {
				continue
			}
			allowed := false
			for mod, pkgs := range owners {
				if path == mod || strings.HasPrefix(path, mod+"/") {
					allowed = slices.Contains(pkgs, s.pkg) || slices.Contains(pkgs, "*")
				}
			}
			if !allowed {
				t.Errorf("%s: %s may not import %s", s.path, s.pkg, path)
			}
		}
	}
}

// banned is what the binary must not contain, and why.
var banned = map[string]string{
	"encoding/json":                   "jsonx is the one JSON policy",
	"encoding/json/v2":                "jsonx is the one JSON policy",
	"html/template":                   "start-up time, and it keeps the linker from removing dead methods",
	"text/template":                   "start-up time, and it keeps the linker from removing dead methods",
	"net/http/pprof":                  "it registers handlers and pulls in html/template",
	"net/http/httptest":               "for tests",
	"expvar":                          "it registers handlers",
	"plugin":                          "one static binary",
	"testing":                         "for tests",
	"runtime/cgo":                     "one static binary",
	"github.com/alecthomas/chroma/v2": "it costs more start-up than all the rest",
	"github.com/yuin/goldmark":        "it costs more start-up than all the rest",
}

func TestBannedImports(t *testing.T) {
	for _, s := range load(t).files {
		for _, path := range s.imports() {
			if why := banned[path]; why != "" && (!s.test || path == "encoding/json" || path == "encoding/json/v2") {
				t.Errorf("%s imports %s: %s", s.path, path, why)
			}
		}
	}
}

// tolerated is what dependencies of ours import of the banned, and why that is harmless.
var tolerated = map[string]string{
	"encoding/json": "google/uuid imports it for a type that is not used: the linker keeps a few methods of it",
}

// TestBannedDependencies looks at all that is linked, dependencies of dependencies
// included, for each system.
func TestBannedDependencies(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "./cmd/isotope")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, &stderr)
		}
		for pkg := range strings.Lines(string(out)) {
			pkg = strings.TrimSpace(pkg)
			if why := banned[pkg]; why != "" && tolerated[pkg] == "" {
				t.Errorf("the %s binary contains %s: %s", goos, pkg, why)
			}
		}
	}
}
