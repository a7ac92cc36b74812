package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/packages"
)

// A goFile is one file of Go and all that can be done to it.
type goFile struct {
	source *Source
	pkg    *packages.Package
	syntax *ast.File
	bodies []*body

	unit    *Unit // the one that is looked at
	mutants []*Mutant
}

// A body is what a unit does: that of a function, or the value of a variable.
type body struct {
	unit       *Unit
	start, end int    // what stands between the braces, or the value
	result     string // what comes out of it, as it is written in a function's head
	isValue    bool
}

// mutateGo makes every mutation of a file. What the compiler would refuse is among
// them still; see compiled.
func mutateGo(pkg *packages.Package, syntax *ast.File, source *Source) *goFile {
	f := &goFile{source: source, pkg: pkg, syntax: syntax}
	in := inspector.New([]*ast.File{syntax})
	for c := range in.Root().Children() {
		for decl := range c.Children() {
			switch d := decl.Node().(type) {
			case *ast.FuncDecl:
				f.function(decl, d)
			case *ast.GenDecl:
				f.variables(decl, d)
			}
		}
	}
	return f
}

func (f *goFile) function(c inspector.Cursor, d *ast.FuncDecl) {
	// Its mutants are functions within it, in which recover would do nothing.
	if d.Body == nil || f.recovers(d.Body) {
		return
	}
	name := d.Name.Name
	if d.Recv != nil && len(d.Recv.List) == 1 {
		name = strings.Trim(f.text(d.Recv.List[0].Type), "*") + "." + name
	}
	b := &body{unit: f.newUnit(name, d), start: f.at(d.Body.Lbrace) + 1, end: f.at(d.Body.Rbrace)}
	if d.Type.Results != nil {
		b.result = f.text(d.Type.Results)
	}
	f.bodies = append(f.bodies, b)
	body, _ := c.FindNode(d.Body)
	f.walk(body)
}

func (f *goFile) variables(c inspector.Cursor, d *ast.GenDecl) {
	if d.Tok != token.VAR {
		return
	}
	for spec := range c.Children() {
		s, ok := spec.Node().(*ast.ValueSpec)
		if !ok || len(s.Values) != len(s.Names) {
			continue // a comment, no value, or one call for all of them
		}
		for i, v := range s.Values {
			b := &body{unit: f.newUnit(s.Names[i].Name, s), start: f.at(v.Pos()), end: f.at(v.End()), isValue: true}
			b.result = types.TypeString(f.pkg.TypesInfo.Defs[s.Names[i]].Type(), f.qualify)
			f.bodies = append(f.bodies, b)
			value, _ := spec.FindNode(v)
			f.walk(value)
		}
	}
}

// qualify names a package as the file does.
func (f *goFile) qualify(p *types.Package) string {
	if p == f.pkg.Types {
		return ""
	}
	for _, i := range f.syntax.Imports {
		if i.Name != nil && strings.Trim(i.Path.Value, `"`) == p.Path() {
			return i.Name.Name
		}
	}
	return p.Name()
}

func (f *goFile) newUnit(name string, n ast.Node) *Unit {
	f.unit = &Unit{Name: name, Start: f.at(n.Pos()), End: f.at(n.End())}
	return f.unit
}

func (f *goFile) at(p token.Pos) int { return f.pkg.Fset.Position(p).Offset }

func (f *goFile) text(n ast.Node) string { return f.source.Text[f.at(n.Pos()):f.at(n.End())] }

// put adds the mutant in which n is written otherwise.
func (f *goFile) put(kind string, n ast.Node, text string) {
	f.replace(kind, n.Pos(), n.End(), text)
}

func (f *goFile) replace(kind string, from, to token.Pos, text string) {
	f.mutants = append(f.mutants, &Mutant{
		File: f.source.File, Kind: kind, Start: f.at(from), End: f.at(to), New: text, Unit: f.unit, source: f.source,
	})
}

// recovers reports whether a function calls recover itself.
func (f *goFile) recovers(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if _, another := n.(*ast.FuncLit); another {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok && f.builtin(call) == "recover" {
			found = true
		}
		return !found
	})
	return found
}

// walk makes the mutations of all that stands below c.
func (f *goFile) walk(c inspector.Cursor) {
	c.Inspect(nil, func(c inspector.Cursor) bool {
		if e, ok := c.Node().(ast.Expr); ok && f.isConstant(e) {
			if !f.isHint(c) {
				f.constant(e)
			}
			return false
		}
		switch n := c.Node().(type) {
		case *ast.IfStmt:
			f.condition(n.Cond)
		case *ast.ForStmt:
			f.condition(n.Cond)
		case *ast.ReturnStmt:
			f.conditions(n.Results)
		case *ast.AssignStmt:
			f.conditions(n.Rhs)
		case *ast.BlockStmt:
			f.statements(c, n.List)
		case *ast.CommClause:
			f.statements(c, n.Body)
		case *ast.CaseClause:
			if s, ok := c.Parent().Parent().Node().(*ast.SwitchStmt); ok && s.Tag == nil {
				f.conditions(n.List)
			}
			f.statements(c, n.Body)
			f.caseBody(n)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				f.put(negated, n, f.text(n.X))
			}
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.CallExpr:
			f.call(n)
		case *ast.IndexExpr:
			f.index(n)
		}
		return true
	})
}

// isHint reports whether c says nothing but how much room to make, or is part of a type.
func (f *goFile) isHint(c inspector.Cursor) bool {
	switch p := c.Parent().Node().(type) {
	case *ast.ArrayType:
		return true
	case *ast.CallExpr:
		kind, i := c.ParentEdge()
		if kind != edge.CallExpr_Args || f.builtin(p) != "make" {
			return false
		}
		_, isMap := f.pkg.TypesInfo.TypeOf(p).Underlying().(*types.Map)
		return i == 2 || isMap
	}
	return false
}

// builtin is the name of the builtin function that is called, "" if it is none.
func (f *goFile) builtin(call *ast.CallExpr) string {
	name, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return ""
	}
	if _, ok := f.pkg.TypesInfo.Uses[name].(*types.Builtin); !ok {
		return ""
	}
	return name.Name
}
