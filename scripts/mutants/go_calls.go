package main

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// exchanged are the functions that find the least and the greatest.
var exchanged = map[string]string{
	"min": "max", "max": "min",
	"math.Min": "Max", "math.Max": "Min",
	"slices.Min": "Max", "slices.Max": "Min", "slices.MinFunc": "MaxFunc", "slices.MaxFunc": "MinFunc",
}

// symmetric are those for which the order of two arguments does not count.
var symmetric = map[string]bool{
	"min": true, "max": true, "math.Min": true, "math.Max": true, "math.Hypot": true, "make": true,
	"bytes.Equal": true, "slices.Equal": true, "maps.Equal": true, "reflect.DeepEqual": true, "strings.EqualFold": true,
}

func (f *goFile) call(n *ast.CallExpr) {
	if f.pkg.TypesInfo.Types[n.Fun].IsType() {
		return // a conversion
	}
	name := f.builtin(n)
	written := ast.Node(n.Fun)
	if s, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
		if fn, ok := f.pkg.TypesInfo.Uses[s.Sel].(*types.Func); ok && fn.Signature().Recv() == nil && fn.Pkg() != nil {
			name, written = fn.Pkg().Path()+"."+fn.Name(), s.Sel
		}
	}
	if other, ok := exchanged[name]; ok {
		f.put(extremes, written, other)
	}
	if !symmetric[name] {
		f.swap(n.Args)
	}
}

// swap exchanges each argument with the last one of its type before it.
func (f *goFile) swap(args []ast.Expr) {
	for j, b := range args {
		for i := j - 1; i >= 0; i-- {
			a := args[i]
			if !f.alike(a, b) {
				continue
			}
			if f.text(a) != f.text(b) {
				between := f.source.Text[f.at(a.End()):f.at(b.Pos())]
				f.replace(swapped, a.Pos(), b.End(), f.text(b)+between+f.text(a))
			}
			break
		}
	}
}

func (f *goFile) alike(a, b ast.Expr) bool {
	s, t := f.pkg.TypesInfo.TypeOf(a), f.pkg.TypesInfo.TypeOf(b)
	return s != nil && t != nil && types.Identical(s, t)
}

// index takes the last element for the first and the other way around.
func (f *goFile) index(n *ast.IndexExpr) {
	t := f.pkg.TypesInfo.TypeOf(n.X)
	if t == nil || !isSequence(t) || !isPure(n.X) {
		return
	}
	x := f.text(n.X)
	if v := f.pkg.TypesInfo.Types[n.Index].Value; v != nil && constant.Sign(v) == 0 {
		f.put(ends, n.Index, "len("+x+")-1")
	} else if i := f.text(n.Index); i == "len("+x+")-1" || i == "len("+x+") - 1" {
		f.put(ends, n.Index, "0")
	}
}

func isSequence(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Array:
		return true
	case *types.Pointer:
		_, ok := u.Elem().Underlying().(*types.Array)
		return ok
	case *types.Basic:
		return u.Info()&types.IsString != 0
	}
	return false
}

// isPure reports whether e may be written twice.
func isPure(e ast.Expr) bool {
	pure := true
	ast.Inspect(e, func(n ast.Node) bool {
		if _, ok := n.(*ast.CallExpr); ok {
			pure = false
		}
		return pure
	})
	return pure
}
