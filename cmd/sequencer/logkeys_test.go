package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A logCall is one line that some code may write.
type logCall struct {
	at      token.Position
	message string // "" if it is none that stays the same
	keys    []string
	about   bool // it says all there is to say of a transaction
}

// logCalls finds them in the code of the program.
func logCalls(t *testing.T) []logCall {
	t.Helper()
	var calls []logCall
	files := token.NewFileSet()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && (d.Name() == "workers" || d.Name() == "scripts" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if c, ok := logCallOf(call); ok {
					c.at = files.Position(call.Pos())
					calls = append(calls, c)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

var logMethods = map[string]int{ // and where their message stands
	"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1, "LogAttrs": 2,
}

func logCallOf(call *ast.CallExpr) (c logCall, ok bool) {
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod {
		return c, false
	}
	at, known := logMethods[method.Sel.Name]
	if !known || !isLogger(method.X) || len(call.Args) <= at {
		return c, false
	}
	c.message, _ = literal(call.Args[at])
	rest := call.Args[at+1:]
	if len(rest) == 1 && call.Ellipsis.IsValid() {
		if keys, isCall := rest[0].(*ast.CallExpr); isCall {
			c.about = name(keys.Fun) == "about"
			rest = keys.Args[1:]
		}
	}
	if method.Sel.Name == "LogAttrs" {
		for _, attr := range rest {
			if made, isCall := attr.(*ast.CallExpr); isCall && len(made.Args) > 0 {
				c.add(made.Args[0])
			}
		}
		return c, true
	}
	for i := 0; i < len(rest); i += 2 {
		c.add(rest[i])
	}
	return c, true
}

func (c *logCall) add(key ast.Expr) {
	text, _ := literal(key)
	c.keys = append(c.keys, text)
}

// isLogger goes by the name: log, s.Log, w.o.Log.
func isLogger(x ast.Expr) bool { return strings.EqualFold(name(x), "log") }

func name(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

func literal(x ast.Expr) (string, bool) {
	if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s, err := strconv.Unquote(lit.Value)
		return s, err == nil
	}
	return "", false
}

// TestLogKeys: what a log is searched by means the same in every line, and a line
// about a transaction says all of it.
func TestLogKeys(t *testing.T) {
	t.Parallel()
	fixed := []string{"txn", "queue", "sender", "type", "attempt", "hash", "state"}
	others := map[string]string{ // words for the same
		"uid": "txn", "tx": "txn", "transaction": "txn", "id": "txn", "account": "sender", "accountId": "sender", "kind": "type",
		"number": "attempt", "phase": "state", "error": "err",
	}
	page := docs(t, "reference.md")
	for _, key := range append(fixed, "code", "err", "request_id", "trace_id", "held_back") {
		if !strings.Contains(page, "| `"+key+"` |") {
			t.Errorf("docs/reference.md does not say what %s is", key)
		}
	}
	calls := logCalls(t)
	if len(calls) < 30 {
		t.Fatalf("%d calls found", len(calls))
	}
	plain := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	for _, c := range calls {
		if c.message == "" && !strings.HasSuffix(c.at.Filename, "serve.go") && !strings.HasSuffix(c.at.Filename, "demo.go") { // those pass warnings on
			t.Errorf("%s: the message is no constant: repeats of it cannot be held back", c.at)
		}
		if c.about {
			continue
		}
		for _, key := range c.keys {
			if right := others[key]; right != "" {
				t.Errorf("%s: %s is called %s", c.at, key, right)
			}
			if !plain.MatchString(key) {
				t.Errorf("%s: the key %q is no plain word", c.at, key)
			}
		}
		if slices.Contains(c.keys, "txn") {
			for _, key := range fixed {
				if !slices.Contains(c.keys, key) {
					t.Errorf("%s: a line about a transaction without its %s", c.at, key)
				}
			}
		}
	}
}
