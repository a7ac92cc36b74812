package main

import "fmt"

// How strongly the operators of Lua bind, to the left and to the right.
var luaBinds = map[string][2]int{
	"or": {1, 1}, "and": {2, 2},
	"<": {3, 3}, ">": {3, 3}, "<=": {3, 3}, ">=": {3, 3}, "~=": {3, 3}, "==": {3, 3},
	"..": {5, 4}, "+": {6, 6}, "-": {6, 6}, "*": {7, 7}, "/": {7, 7}, "%": {7, 7}, "^": {10, 9},
}

const luaUnary = 8

// expression reads one whose operators bind more strongly than least.
func (l *luaReader) expression(least int) *node {
	left := l.operand()
	for {
		w := l.words[l.i]
		binds, ok := luaBinds[w.kind]
		if !ok || binds[0] <= least {
			return left
		}
		l.i++
		right := l.expression(binds[1])
		left = &node{op: w.kind, from: left.from, to: right.to, opFrom: w.from, opTo: w.to, kids: []*node{left, right}}
	}
}

func (l *luaReader) operand() *node {
	w := l.words[l.i]
	switch w.kind {
	case "not", "-", "#":
		l.i++
		x := l.expression(luaUnary)
		return &node{op: w.kind, from: w.from, to: x.to, opFrom: w.from, opTo: w.to, kids: []*node{x}}
	case "number", "string", "true", "false", "nil", "...":
		l.i++
		return &node{op: w.kind, from: w.from, to: w.to}
	case "function":
		l.i++
		l.function()
		return &node{op: "function", from: w.from, to: l.words[l.i-1].to}
	case "{":
		return l.table()
	}
	return l.suffixed()
}

// suffixed reads a name or parentheses, and the indexes and calls behind it.
func (l *luaReader) suffixed() *node {
	w := l.words[l.i]
	n := &node{op: w.kind, from: w.from, to: w.to}
	switch w.kind {
	case "name":
		l.i++
	case "(":
		l.i++
		n.op, n.kids = "()", []*node{l.expression(0)}
		n.to = l.take(")").to
	default:
		panic(fmt.Errorf("%w: %s where a value was expected", errLua, flat(l.text[w.from:])))
	}
	for {
		switch l.kind() {
		case ".":
			l.i++
			n = &node{op: "index", from: n.from, to: l.take("name").to, kids: []*node{n}}
		case "[":
			l.i++
			n = &node{op: "index", from: n.from, kids: []*node{n, l.expression(0)}}
			n.to = l.take("]").to
		case ":":
			l.i++
			n = &node{op: "index", from: n.from, to: l.take("name").to, kids: []*node{n}}
		case "(":
			n = l.call(n)
		case "string":
			s := l.take("string")
			n = &node{op: "call", from: n.from, to: s.to, kids: []*node{n, {op: "string", from: s.from, to: s.to}}}
		case "{":
			t := l.table()
			n = &node{op: "call", from: n.from, to: t.to, kids: []*node{n, t}}
		default:
			return n
		}
	}
}

func (l *luaReader) call(f *node) *node {
	l.take("(")
	n := &node{op: "call", from: f.from, kids: []*node{f}}
	if !l.is(")") {
		n.kids = append(n.kids, l.expression(0))
		for l.skip(",") {
			n.kids = append(n.kids, l.expression(0))
		}
	}
	n.to = l.take(")").to
	return n
}

func (l *luaReader) table() *node {
	n := &node{op: "table", from: l.take("{").from}
	for !l.is("}") {
		switch {
		case l.is("["):
			l.i++
			n.kids = append(n.kids, l.expression(0))
			l.take("]")
			l.take("=")
		case l.is("name") && l.words[l.i+1].kind == "=":
			l.i += 2
		}
		n.kids = append(n.kids, l.expression(0))
		if !l.skip(",") && !l.skip(";") {
			break
		}
	}
	n.to = l.take("}").to
	return n
}
