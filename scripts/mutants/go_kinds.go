package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// conditions negates those of the values that are conditions.
func (f *goFile) conditions(values []ast.Expr) {
	for _, v := range values {
		if t := f.pkg.TypesInfo.TypeOf(v); t != nil && isKind(t, types.IsBoolean) {
			f.condition(v)
		}
	}
}

// condition negates a condition. What is negated as a comparison or by taking its
// "!" away is left to these.
func (f *goFile) condition(e ast.Expr) {
	if e == nil || f.isConstant(e) {
		return
	}
	switch x := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return
		}
	case *ast.BinaryExpr:
		if x.Op == token.EQL || x.Op == token.NEQ {
			return
		}
	}
	f.put(negated, e, "!("+f.text(e)+")")
}

var movedOperators = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
}

func (f *goFile) binary(n *ast.BinaryExpr) {
	after := n.OpPos + token.Pos(len(n.Op.String()))
	if to, ok := movedOperators[n.Op]; ok {
		f.replace(moved, n.OpPos, after, to.String())
	}
	var other token.Token
	switch n.Op {
	case token.LAND:
		other = token.LOR
	case token.LOR:
		other = token.LAND
	default:
		return
	}
	// In parentheses: what stands around it binds as before.
	f.put(connected, n, "("+f.operand(n.X)+" "+other.String()+" "+f.operand(n.Y)+")")
	for _, e := range []ast.Expr{n.X, n.Y} {
		if x, ok := ast.Unparen(e).(*ast.BinaryExpr); !ok || x.Op != token.LAND && x.Op != token.LOR {
			f.condition(e)
		}
	}
}

// operand is the text of e, which binds as before beside another operator.
func (f *goFile) operand(e ast.Expr) string {
	if x, ok := e.(*ast.BinaryExpr); ok && (x.Op == token.LAND || x.Op == token.LOR) {
		return "(" + f.text(e) + ")"
	}
	return f.text(e)
}

func (f *goFile) isConstant(e ast.Expr) bool { return f.pkg.TypesInfo.Types[e].Value != nil }

func isKind(t types.Type, info types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}

// constant moves a constant by one, and a truth to the other. Constants that others
// have named are left alone.
func (f *goFile) constant(e ast.Expr) {
	t, v := f.pkg.TypesInfo.TypeOf(e), f.pkg.TypesInfo.Types[e].Value
	switch {
	case isKind(t, types.IsBoolean):
		if name, ok := e.(*ast.Ident); ok && f.pkg.TypesInfo.Uses[name].Parent() == types.Universe {
			f.put(offByOne, e, map[bool]string{true: "false", false: "true"}[constant.BoolVal(v)])
		}
	case !isKind(t, types.IsNumeric) || !f.isOurs(e):
	case t.String() == "time.Duration":
		f.duration(e)
	case fits(constant.BinaryOp(v, token.ADD, constant.MakeInt64(1)), t):
		f.put(offByOne, e, moveBy(f.text(e), v, 1))
	default:
		f.put(offByOne, e, moveBy(f.text(e), v, -1))
	}
}

func moveBy(text string, v constant.Value, n int64) string {
	if text == v.ExactString() && v.Kind() == constant.Int {
		return constant.BinaryOp(v, token.ADD, constant.MakeInt64(n)).ExactString()
	}
	return "(" + text + map[bool]string{true: " + 1)", false: " - 1)"}[n > 0]
}

// duration moves the numbers of a duration, or doubles it if it has none: a
// nanosecond shows nothing.
func (f *goFile) duration(e ast.Expr) {
	numbers := 0
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok {
			numbers++
			f.put(offByOne, l, moveBy(l.Value, f.pkg.TypesInfo.Types[l].Value, 1))
		}
		return true
	})
	if numbers == 0 {
		f.put(offByOne, e, "(2 * "+f.text(e)+")")
	}
}

// isOurs reports whether something of a constant is written here: a number, or a name
// that the module has given.
func (f *goFile) isOurs(e ast.Expr) bool {
	ours := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			ours = true
		case *ast.Ident:
			c, ok := f.pkg.TypesInfo.Uses[n].(*types.Const)
			if !ok || c.Pkg() == nil || f.pkg.Module == nil {
				break
			}
			ours = ours || strings.HasPrefix(c.Pkg().Path()+"/", f.pkg.Module.Path+"/")
		}
		return !ours
	})
	return ours
}

// fits reports whether a type can hold a number.
func fits(v constant.Value, t types.Type) bool {
	b := t.Underlying().(*types.Basic)
	if b.Info()&types.IsInteger == 0 || b.Info()&types.IsUntyped != 0 {
		return true
	}
	bits := int(types.SizesFor("gc", "amd64").Sizeof(b)) * 8
	if b.Info()&types.IsUnsigned == 0 {
		bits--
	}
	return constant.BitLen(v) <= bits
}

// statements drops each that can be missing, by keeping it from running: then
// nothing that it names is unused.
func (f *goFile) statements(c inspector.Cursor, list []ast.Stmt) {
	ends := isFunction(c.Parent().Node())
	for _, s := range list {
		if f.canDrop(s, ends) {
			f.drop(s.Pos(), s.End())
		}
	}
}

func (f *goFile) drop(from, to token.Pos) {
	f.replace(dropped, from, to, "if false {\n"+f.source.Text[f.at(from):f.at(to)]+"\n}")
}

// canDrop reports whether a statement can be missing; ends says that a return in its
// place ends the function anyway.
func (f *goFile) canDrop(s ast.Stmt, ends bool) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && f.doesSomething(s)
	case *ast.ReturnStmt:
		return !ends
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	case *ast.IncDecStmt, *ast.ExprStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		return true
	}
	return false
}

// doesSomething is false where names are only marked as used.
func (f *goFile) doesSomething(s *ast.AssignStmt) bool {
	for _, l := range s.Lhs {
		if name, ok := l.(*ast.Ident); !ok || name.Name != "_" {
			return true
		}
	}
	for _, r := range s.Rhs {
		if _, ok := ast.Unparen(r).(*ast.CallExpr); ok {
			return true
		}
	}
	return false
}

func isFunction(n ast.Node) bool {
	switch n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return true
	}
	return false
}

// caseBody drops all that a case does, unless that is one statement which is dropped anyway.
func (f *goFile) caseBody(n *ast.CaseClause) {
	if len(n.Body) == 0 {
		return
	}
	first, last := n.Body[0], n.Body[len(n.Body)-1]
	if b, ok := last.(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
		return
	}
	if len(n.Body) == 1 && f.canDrop(first, false) {
		return
	}
	f.drop(first.Pos(), last.End())
}
