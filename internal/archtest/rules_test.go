package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Only the writer of the protocol and the program's outermost layer know stdout.
func TestStrayOutput(t *testing.T) {
	tr := load(t)
	allowed := []string{"cmd/isotope", "rpc", "cli", "output", "model/gen"}
	for _, s := range tr.code() {
		if slices.Contains(allowed, s.pkg) {
			continue
		}
		s.selectors(func(pkg, name string, n *ast.SelectorExpr) {
			if pkg == "fmt" && strings.HasPrefix(name, "Print") || pkg == "os" && name == "Stdout" {
				t.Errorf("%s: %s.%s in package %s", tr.at(s, n.Pos()), pkg, name, s.pkg)
			}
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "print" || id.Name == "println") {
					t.Errorf("%s: %s in package %s", tr.at(s, n.Pos()), id.Name, s.pkg)
				}
			}
			return true
		})
	}
}

// clocks are the packages that may ask for the time themselves. All others take a
// clock (a default of time.Now is not a call of it).
var clocks = map[string]string{
	"proc":     "measures real processes, with the monotonic clock",
	"llm/wire": "measures real connections; a Retry-After date is compared with now",
	"cli":      "shows elapsed time on a terminal",
	"ext/js":   "scripts have the real time",
	"walk":     "bounds a real search",
}

func TestClock(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		if clocks[s.pkg] != "" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "time" && slices.Contains([]string{"Now", "Since", "Until"}, sel.Sel.Name) {
				t.Errorf("%s: time.%s in package %s", tr.at(s, n.Pos()), sel.Sel.Name, s.pkg)
			}
			return true
		})
	}
}

// Nothing runs before main but what the language itself needs.
func TestNoInit(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: func init", tr.at(s, f.Pos()))
			}
		}
	}
}

// goroutines are the packages that may start goroutines, each with what they are for;
// everything else is called by somebody who waits.
var goroutines = map[string]string{
	"proc":      "reads the pipes of children and waits for them",
	"agent":     "runs the tools of a turn beside each other",
	"engine":    "owns the session, prepares prompts, runs runs",
	"output":    "the one writer",
	"rpc":       "reads stdin beside the lane",
	"cli":       "signals, status line, stdin",
	"ext":       "runs extensions",
	"ext/js":    "runs extensions",
	"ext/child": "runs extensions",
	"walk":      "reads folders ahead",
	"grep":      "searches files beside each other",
}

func TestGoroutines(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		if goroutines[s.pkg] != "" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: go statement in package %s", tr.at(s, g.Pos()), s.pkg)
			}
			return true
		})
	}
}

// A package is named for what it is.
func TestPackageNames(t *testing.T) {
	for _, pkg := range load(t).packages() {
		last := pkg[strings.LastIndexByte(pkg, '/')+1:]
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "types", "manager", "service", "misc", "base", "shared"}, last) {
			t.Errorf("package %s says nothing by its name", pkg)
		}
	}
}

func TestPackageComments(t *testing.T) {
	tr := load(t)
	for _, pkg := range tr.packages() {
		documented := false
		for _, s := range tr.code() {
			documented = documented || s.pkg == pkg && s.file.Doc != nil
		}
		if !documented {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

// Every exported name says what it is: types, functions, methods of exported types,
// constants and variables (a comment on their group serves).
func TestDocComments(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		var above ast.Decl
		for _, d := range s.file.Decls {
			row := above != nil && tr.continues(above, d)
			above = d
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && !row && d.Name.IsExported() && exportedReceiver(d) {
					t.Errorf("%s: %s has no doc comment", tr.at(s, d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				if d.Doc != nil && d.Lparen != token.NoPos {
					continue
				}
				for _, spec := range d.Specs {
					for _, name := range undocumented(d, spec) {
						t.Errorf("%s: %s has no doc comment", tr.at(s, spec.Pos()), name)
					}
				}
			}
		}
	}
}

// continues reports whether d is the next row of a table of one-line methods of one
// name: a comment on the first says what they all are.
func (t *tree) continues(above, d ast.Decl) bool {
	a, ok1 := above.(*ast.FuncDecl)
	f, ok2 := d.(*ast.FuncDecl)
	return ok1 && ok2 && a.Name.Name == f.Name.Name && t.span(f) == 1 &&
		t.fset.Position(f.Pos()).Line == t.fset.Position(a.End()).Line+1
}

// exportedReceiver reports whether a function is none of a hidden type.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	typ := f.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if g, ok := typ.(*ast.IndexExpr); ok {
		typ = g.X
	}
	id, ok := typ.(*ast.Ident)
	return !ok || id.IsExported()
}

// undocumented returns the exported names of a spec without a comment.
func undocumented(d *ast.GenDecl, spec ast.Spec) []string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && spec.Doc == nil && d.Doc == nil && spec.Comment == nil {
			return []string{spec.Name.Name}
		}
	case *ast.ValueSpec:
		if spec.Doc != nil || d.Doc != nil || spec.Comment != nil {
			return nil
		}
		var names []string
		for _, n := range spec.Names {
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
		return names
	}
	return nil
}
