package main

import (
	"errors"
	"fmt"
)

// A node is an expression of Lua and where it stands. op is its operator, the kind of
// its word, or "call", "index", "table", "function", "()".
type node struct {
	op       string
	from, to int
	opFrom   int // where the operator stands
	opTo     int
	kids     []*node // of a call: what is called, then the arguments
}

// A luaReader reads a script whose mistakes others have looked for, and tells of what
// can be mutated as it goes.
type luaReader struct {
	text  string
	words []word
	i     int
	tell  luaTeller
}

// A luaTeller is told what a luaReader comes upon.
type luaTeller interface {
	// unit begins what stands at the top of the script; "" for what has no name.
	unit(name string, from, to int)
	expression(*node)
	condition(*node)
	statement(from, to int)
}

var errLua = errors.New("unexpected Lua")

// readLua reads all of a script. Units are told before what is in them.
func readLua(text string, tell luaTeller) (err error) {
	words, err := scanLua(text)
	if err != nil {
		return err
	}
	defer func() {
		if e, ok := recover().(error); ok {
			if !errors.Is(e, errLua) {
				panic(e)
			}
			err = e
		}
	}()
	l := &luaReader{text: text, words: words, tell: silent{}}
	for !l.is(luaEnd) {
		// Once for where it ends, and once more for what is in it.
		begin, name := l.i, l.nameOfUnit()
		l.tell = silent{}
		l.statement(false)
		tell.unit(name, words[begin].from, words[l.i-1].to)
		l.i, l.tell = begin, tell
		l.statement(false)
	}
	return nil
}

type silent struct{}

func (silent) unit(string, int, int) {}
func (silent) expression(*node)      {}
func (silent) condition(*node)       {}
func (silent) statement(int, int)    {}

func (l *luaReader) kind() string { return l.words[l.i].kind }

func (l *luaReader) is(kinds ...string) bool {
	for _, k := range kinds {
		if l.kind() == k {
			return true
		}
	}
	return false
}

func (l *luaReader) take(kind string) word {
	w := l.words[l.i]
	if w.kind != kind {
		panic(fmt.Errorf("%w: %s where %q was expected", errLua, flat(l.text[w.from:]), kind))
	}
	l.i++
	return w
}

func (l *luaReader) skip(kind string) bool {
	if !l.is(kind) {
		return false
	}
	l.i++
	return true
}

func (l *luaReader) nameOfUnit() string {
	i := l.i
	if l.words[i].kind == "local" {
		i++
	}
	if l.words[i].kind != "function" {
		return "chunk"
	}
	return l.text[l.words[i+1].from:l.words[i+1].to]
}

// block reads up to the word that ends it. inside: it is part of a function's way, not
// all of it.
func (l *luaReader) block(inside bool) {
	for !l.is("end", "else", "elseif", "until", luaEnd) {
		l.statement(inside)
	}
}

func (l *luaReader) statement(inside bool) {
	from := l.words[l.i].from
	switch l.kind() {
	case ";":
		l.i++
	case "if":
		l.ifStatement()
	case "while":
		l.i++
		l.tell.condition(l.told())
		l.take("do")
		l.block(true)
		l.take("end")
	case "do":
		l.i++
		l.block(inside)
		l.take("end")
	case "for":
		l.forStatement()
	case "repeat":
		l.i++
		l.block(true)
		l.take("until")
		l.tell.condition(l.told())
	case "function":
		l.i++
		for l.take("name"); l.skip(".") || l.skip(":"); {
			l.take("name")
		}
		l.function()
	case "local":
		l.local()
	case "return":
		l.i++
		if !l.is("end", "else", "elseif", "until", luaEnd, ";") {
			l.list()
		}
		if inside {
			l.tell.statement(from, l.words[l.i-1].to)
		}
	case "break":
		l.i++
		l.tell.statement(from, l.words[l.i-1].to)
	default:
		l.simple()
	}
}

func (l *luaReader) ifStatement() {
	for l.i++; ; l.i++ {
		l.tell.condition(l.told())
		l.take("then")
		l.block(true)
		if !l.is("elseif") {
			break
		}
	}
	if l.skip("else") {
		l.block(true)
	}
	l.take("end")
}

func (l *luaReader) forStatement() {
	l.i++
	for l.take("name"); l.skip(","); {
		l.take("name")
	}
	if !l.skip("=") {
		l.take("in")
	}
	l.list()
	l.take("do")
	l.block(true)
	l.take("end")
}

func (l *luaReader) local() {
	l.i++
	if l.skip("function") {
		l.take("name")
		l.function()
		return
	}
	for l.take("name"); l.skip(","); {
		l.take("name")
	}
	if l.skip("=") {
		l.list()
	}
}

// simple reads a call or an assignment, which can be missing.
func (l *luaReader) simple() {
	from := l.words[l.i].from
	for l.tell.expression(l.suffixed()); l.skip(","); {
		l.tell.expression(l.suffixed())
	}
	if l.skip("=") {
		l.list()
	}
	l.tell.statement(from, l.words[l.i-1].to)
}

// function reads from the parameters on.
func (l *luaReader) function() {
	for l.take("("); !l.is(")", luaEnd); {
		l.i++
	}
	l.take(")")
	l.block(false)
	l.take("end")
}

// list reads expressions and tells of each.
func (l *luaReader) list() {
	for l.told(); l.skip(","); {
		l.told()
	}
}

func (l *luaReader) told() *node {
	n := l.expression(0)
	l.tell.expression(n)
	return n
}
