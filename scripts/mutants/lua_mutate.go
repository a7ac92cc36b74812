package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/parse"
)

// A luaFile is a script and all that can be done to it.
type luaFile struct {
	source  *Source
	now     *Unit
	mutants []*Mutant
}

// mutateLua makes every mutation of a script.
func mutateLua(source *Source) ([]*Mutant, error) {
	f := &luaFile{source: source}
	if err := readLua(source.Text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", source.File, err)
	}
	for _, m := range f.mutants {
		mutated := source.Text[:m.Start] + m.New + source.Text[m.End:]
		if _, err := parse.Parse(strings.NewReader(mutated), source.File); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", source.File, m.Line(), m.Kind, err)
		}
	}
	return f.mutants, nil
}

func (f *luaFile) unit(name string, from, to int) { f.now = &Unit{Name: name, Start: from, End: to} }

func (f *luaFile) put(kind string, from, to int, text string) {
	f.mutants = append(f.mutants, &Mutant{
		File: f.source.File, Kind: kind, Start: from, End: to, New: text, Unit: f.now, source: f.source,
	})
}

func (f *luaFile) text(n *node) string { return f.source.Text[n.from:n.to] }

func (f *luaFile) statement(from, to int) { f.put(dropped, from, to, "do end") }

// condition negates a condition and each part of it. What is negated as a comparison
// or by taking its "not" away is left to these.
func (f *luaFile) condition(n *node) {
	x := n
	for x.op == "()" {
		x = x.kids[0]
	}
	switch x.op {
	case "not", "==", "~=", "true", "false", "nil", "number", "string":
		return
	case "and", "or":
		f.condition(x.kids[0])
		f.condition(x.kids[1])
	}
	f.put(negated, n.from, n.to, "not ("+f.text(n)+")")
}

var luaMoved = map[string]string{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "=="}

var luaConnected = map[string]string{"and": "or", "or": "and"}

func (f *luaFile) expression(n *node) {
	switch n.op {
	case "<", "<=", ">", ">=", "==", "~=":
		f.put(moved, n.opFrom, n.opTo, luaMoved[n.op])
	case "and", "or":
		f.put(connected, n.from, n.to, "("+f.operand(n.kids[0])+" "+luaConnected[n.op]+" "+f.operand(n.kids[1])+")")
	case "not":
		f.put(negated, n.from, n.to, f.text(n.kids[0])) // which binds as strongly
	case "true":
		f.put(offByOne, n.from, n.to, "false")
	case "false":
		f.put(offByOne, n.from, n.to, "true")
	case "number":
		f.number(n)
	case "call":
		f.call(n)
	}
	for _, k := range n.kids {
		f.expression(k)
	}
}

// operand is the text of n, which binds as before beside another operator.
func (f *luaFile) operand(n *node) string {
	if n.op == "and" || n.op == "or" {
		return "(" + f.text(n) + ")"
	}
	return f.text(n)
}

func (f *luaFile) number(n *node) {
	text := "(" + f.text(n) + " + 1)"
	if i, err := strconv.ParseInt(f.text(n), 10, 64); err == nil {
		text = strconv.FormatInt(i+1, 10)
	}
	f.put(offByOne, n.from, n.to, text)
}

// luaCommands are what runs a command of Redis: its name stays where it is.
var luaCommands = map[string]bool{"call": true, "pcall": true, "redis.call": true, "redis.pcall": true}

func (f *luaFile) call(n *node) {
	called, args := n.kids[0], n.kids[1:]
	switch name := f.text(called); {
	case name == "math.min":
		f.put(extremes, called.from, called.to, "math.max")
		return
	case name == "math.max":
		f.put(extremes, called.from, called.to, "math.min")
		return
	case luaCommands[name] && len(args) > 0:
		args = args[1:]
	}
	for i := 1; i < len(args); i++ {
		a, b := args[i-1], args[i]
		if f.text(a) == f.text(b) || luaComposed[a.op] || luaComposed[b.op] {
			continue
		}
		f.put(swapped, a.from, b.to, f.text(b)+f.source.Text[a.to:b.from]+f.text(a))
	}
}

// luaComposed is never of the kind of the value beside it.
var luaComposed = map[string]bool{"function": true, "table": true, "...": true}
