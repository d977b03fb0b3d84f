package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/isotope-agent/isotope/"
	root   = "../.."
)

// testPackages are those that only tests use.
var testPackages = []string{"internal/llm/llmtest", "internal/schema/schematest"}

// source is one Go file of the module, whatever system it is for.
type source struct {
	path string // slashed, from the root of the module
	pkg  string // the folder, without "internal/"
	test bool
	file *ast.File
}

// tree is all Go files of the module.
type tree struct {
	fset  *token.FileSet
	files []*source
}

var parseTree = sync.OnceValues(func() (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || name == "tools" || path != root && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(t.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		dir := rel[:max(0, strings.LastIndexByte(rel, '/'))]
		t.files = append(t.files, &source{
			path: rel, pkg: strings.TrimPrefix(dir, "internal/"),
			test: strings.HasSuffix(name, "_test.go") || slices.Contains(testPackages, dir), file: file,
		})
		return nil
	})
	return t, err
})

// load returns the module's files.
func load(t *testing.T) *tree {
	t.Helper()
	tr, err := parseTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.files) < 20 {
		t.Fatalf("only %d Go files found", len(tr.files))
	}
	return tr
}

// code returns the files that are no tests.
func (t *tree) code() []*source {
	return slices.DeleteFunc(slices.Clone(t.files), func(s *source) bool { return s.test })
}

// packages returns the folders with code, sorted.
func (t *tree) packages() []string {
	var out []string
	for _, s := range t.code() {
		out = append(out, s.pkg)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// imports returns the import paths of a file.
func (s *source) imports() []string {
	var out []string
	for _, i := range s.file.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil {
			out = append(out, path)
		}
	}
	return out
}

// generated reports whether a file says that it was generated.
func (s *source) generated() bool { return ast.IsGenerated(s.file) }

// at returns a place in a file for a message.
func (t *tree) at(s *source, pos token.Pos) string {
	return s.path + ":" + strconv.Itoa(t.fset.Position(pos).Line)
}

// selectors calls f for every use of name from an imported package: pkg.name.
func (s *source) selectors(f func(pkg, name string, n *ast.SelectorExpr)) {
	names := map[string]string{} // the name in the file -> the import path
	for _, i := range s.file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = path
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && names[id.Name] != "" {
				f(names[id.Name], sel.Sel.Name, sel)
			}
		}
		return true
	})
}

// lines counts the lines of a file.
func lines(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}
