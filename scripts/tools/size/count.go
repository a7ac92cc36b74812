package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A file is one of the product's, in Go or Lua; name is its path from the root.
type file struct {
	name string
	text []byte
	tree *ast.File // nil in Lua
}

// A checkout is all of them, by name.
type checkout struct {
	files []file
	set   *token.FileSet
}

// A function is one that is declared, with the literals in it.
type function struct {
	name            string // Type.name
	lines, branches int
}

func read(root string) (checkout, error) {
	c := checkout{set: token.NewFileSet()}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return c, fmt.Errorf("%s is no checkout: %w", root, err)
	}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		ext := path.Ext(name)
		if !product(name) || ext != ".go" && ext != ".lua" {
			return nil
		}
		f := file{name: name}
		if f.text, err = os.ReadFile(at); err == nil && ext == ".go" {
			f.tree, err = parser.ParseFile(c.set, name, f.text, parser.SkipObjectResolution)
		}
		c.files = append(c.files, f)
		return err
	})
	return c, err
}

func (c checkout) chosen(which func(file) bool) (files []file) {
	for _, f := range c.files {
		if which(f) {
			files = append(files, f)
		}
	}
	return files
}

// lines are all lines of the files, empty ones and comments too, as wc counts them.
func (c checkout) lines(which func(file) bool) (n int) {
	for _, f := range c.chosen(which) {
		n += bytes.Count(f.text, []byte("\n"))
	}
	return n
}

// bare are the lines of Go with more than a comment on them.
func (c checkout) bare(which func(file) bool) (n int) {
	for _, f := range c.chosen(which) {
		if f.tree == nil {
			continue
		}
		set := token.NewFileSet()
		at := set.AddFile(f.name, set.Base(), len(f.text))
		code := map[int]bool{}
		var s scanner.Scanner
		s.Init(at, f.text, nil, 0)
		for {
			pos, tok, text := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok == token.SEMICOLON && text == "\n" {
				continue
			}
			for line := range 1 + strings.Count(text, "\n") { // of a raw string
				code[at.Line(pos)+line] = true
			}
		}
		n += len(code)
	}
	return n
}

func (c checkout) functions(which func(file) bool) (all []function) {
	for _, f := range c.chosen(which) {
		if f.tree == nil {
			continue
		}
		for _, d := range f.tree.Decls {
			if d, is := d.(*ast.FuncDecl); is {
				all = append(all, function{
					name:     nameOf(d),
					lines:    1 + c.set.Position(d.End()).Line - c.set.Position(d.Pos()).Line,
					branches: branchesOf(d),
				})
			}
		}
	}
	return all
}

// branchesOf is the cyclomatic complexity: one for the function, and one for each if, for, range,
// case and communication (not for a default), && and ||, of the literals in it as well.
func branchesOf(d *ast.FuncDecl) int {
	n := 1
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	return typeName(d.Recv.List[0].Type) + "." + d.Name.Name
}

// typeName is what a type is called without its package, and what a pointer or a list is of.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.ArrayType:
		return typeName(x.Elt)
	case *ast.Ellipsis:
		return typeName(x.Elt)
	case *ast.IndexExpr:
		return typeName(x.X)
	}
	return ""
}

// naming is how many files of the core name one of the words.
func (c checkout) naming(words []string) (n int) {
	for _, f := range c.chosen(file.core) {
		text := strings.ToLower(string(f.text))
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) }) {
			n++
		}
	}
	return n
}

// predicates is how many functions of the decisions, literals among them, tell one truth and
// nothing else of members, by receiver or parameter.
func (c checkout) predicates() (n int) {
	for _, f := range c.chosen(file.decides) {
		if f.tree == nil {
			continue
		}
		ast.Inspect(f.tree, func(x ast.Node) bool {
			var of []*ast.Field
			var kind *ast.FuncType
			switch x := x.(type) {
			case *ast.FuncDecl:
				if kind = x.Type; x.Recv != nil {
					of = x.Recv.List
				}
			case *ast.FuncLit:
				kind = x.Type
			default:
				return true
			}
			of = append(slices.Clone(of), kind.Params.List...)
			if isTruth(kind.Results) &&
				slices.ContainsFunc(of, func(f *ast.Field) bool { return slices.Contains(members, typeName(f.Type)) }) {
				n++
			}
			return true
		})
	}
	return n
}

// isTruth reports whether a function has one truth to tell.
func isTruth(results *ast.FieldList) bool {
	if results == nil || len(results.List) != 1 || len(results.List[0].Names) > 1 {
		return false
	}
	kind, is := results.List[0].Type.(*ast.Ident)
	return is && kind.Name == "bool"
}

// movedOut are the functions outside the core that stood in it before, by their names: the core
// has none of that name any more, and there was none outside.
func (c checkout) movedOut(before checkout) (all []function) {
	notCore := func(f file) bool { return !f.core() }
	has := func(c checkout, which func(file) bool) map[string]bool {
		names := map[string]bool{}
		for _, f := range c.functions(which) {
			names[f.name] = true
		}
		return names
	}
	in, was, wasOut := has(c, file.core), has(before, file.core), has(before, notCore)
	for _, f := range c.functions(notCore) {
		if was[f.name] && !in[f.name] && !wasOut[f.name] {
			all = append(all, f)
		}
	}
	return all
}
