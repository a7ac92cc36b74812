package explorer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestVocabulary holds what is counted against the words that the decisions have.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{"Reason": "reason", "Kind": "effect", "Fault": "answer", "Denial": "denial",
		"OrderKind": "order",
		"Fate":      "fate", "BatchState": "batch", "SubmitOutcome": "post"}
	var counted []string
	for _, e := range NewCoverage().entries() {
		counted = append(counted, e.kind+" "+e.name)
	}
	files, err := filepath.Glob("../../lifecycle/*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	look := func(node ast.Node) bool {
		v, ok := node.(*ast.ValueSpec)
		if !ok || v.Type == nil || len(v.Values) != 1 {
			return true
		}
		typ, ok := v.Type.(*ast.Ident)
		lit, is := v.Values[0].(*ast.BasicLit)
		if !ok || !is || kinds[typ.Name] == "" {
			return true
		}
		word, err := strconv.Unquote(lit.Value)
		if err != nil || word == "" {
			return true
		}
		n++
		if !slices.Contains(counted, kinds[typ.Name]+" "+word) {
			t.Errorf("%s %q is not counted", kinds[typ.Name], word)
		}
		return true
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			ast.Inspect(file, look)
		}
	}
	if n < 60 {
		t.Errorf("only %d words found", n)
	}
}
