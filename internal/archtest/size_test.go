package archtest

import (
	"go/ast"
	"testing"
)

const (
	maxFileLines     = 500
	maxFunctionLines = 60
	maxMethods       = 3 // of an interface
)

// longFiles may be longer than maxFileLines, for the reason given.
var longFiles = map[string]string{}

// longFunctions (file:name) may be longer than maxFunctionLines, for the reason given.
var longFunctions = map[string]string{}

// wideInterfaces (file:name) may have more methods than maxMethods, for the reason
// given.
var wideInterfaces = map[string]string{}

func TestFileLength(t *testing.T) {
	for _, s := range load(t).code() {
		if s.generated() || longFiles[s.path] != "" {
			continue
		}
		if n := lines(t, s.path); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", s.path, n, maxFileLines)
		}
	}
}

// TestFunctionLength passes over functions whose body is one table: a switch or a
// composite literal that makes up almost all of it.
func TestFunctionLength(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		if s.generated() {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || longFunctions[s.path+":"+f.Name.Name] != "" {
				continue
			}
			n := tr.span(f)
			if n > maxFunctionLines && n-tr.table(f.Body) > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, more than %d", tr.at(s, f.Pos()), f.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

// span returns how many lines a node takes.
func (t *tree) span(n ast.Node) int {
	return t.fset.Position(n.End()).Line - t.fset.Position(n.Pos()).Line + 1
}

// table returns the lines of the body's largest table: a switch whose cases are short,
// or a literal.
func (t *tree) table(body *ast.BlockStmt) int {
	const shortCase = 6
	largest := 0
	ast.Inspect(body, func(n ast.Node) bool {
		var cases *ast.BlockStmt
		switch n := n.(type) {
		case *ast.CompositeLit:
			largest = max(largest, t.span(n))
			return true
		case *ast.SwitchStmt:
			cases = n.Body
		case *ast.TypeSwitchStmt:
			cases = n.Body
		default:
			return true
		}
		for _, c := range cases.List {
			if t.span(c) > shortCase {
				return true
			}
		}
		largest = max(largest, t.span(cases))
		return true
	})
	return largest
}

func TestInterfaceWidth(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		ast.Inspect(s.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if i, ok := spec.Type.(*ast.InterfaceType); ok && len(i.Methods.List) > maxMethods && wideInterfaces[s.path+":"+spec.Name.Name] == "" {
				t.Errorf("%s: %s has %d methods, more than %d", tr.at(s, spec.Pos()), spec.Name.Name, len(i.Methods.List), maxMethods)
			}
			return true
		})
	}
}

// An exception that nothing needs any more is to be taken out.
func TestExceptionsAreNeeded(t *testing.T) {
	tr := load(t)
	here := map[string]bool{}
	for _, s := range tr.code() {
		here[s.path] = lines(t, s.path) > maxFileLines
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				here[s.path+":"+d.Name.Name] = d.Body != nil && tr.span(d) > maxFunctionLines
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						i, ok := ts.Type.(*ast.InterfaceType)
						here[s.path+":"+ts.Name.Name] = ok && len(i.Methods.List) > maxMethods
					}
				}
			}
		}
	}
	for _, table := range []map[string]string{longFiles, longFunctions, wideInterfaces} {
		for name, reason := range table {
			if !here[name] {
				t.Errorf("the exception for %s is not needed", name)
			}
			if len(reason) < 10 {
				t.Errorf("the exception for %s has no reason", name)
			}
		}
	}
}
