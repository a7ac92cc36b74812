package lifecycle

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mina-sequencer/sequencer/tx"
)

// TestStateAlone: what an attempt is is read from its state and cause. No decision looks at when it
// ended, nor at the code of its error.
func TestStateAlone(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	// When it ended is asked for by who compares it with another time, or passes it on.
	may := []string{"batch.go: saidSince"}
	set, seen := token.NewFileSet(), []string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			where := file + ": " + f.Name.Name
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				of, _ := s.X.(*ast.SelectorExpr)
				code := s.Sel.Name == "Code" && of != nil && of.Sel.Name == "Error" && ofAttempt(of.X)
				if s.Sel.Name != "EndedAt" && !code {
					return true
				}
				if slices.Contains(may, file) || slices.Contains(may, where) {
					seen = append(seen, file, where)
				} else {
					t.Errorf("%s reads %s of an attempt", where, s.Sel.Name)
				}
				return true
			})
		}
	}
	for _, m := range may {
		if !slices.Contains(seen, m) {
			t.Errorf("%s reads nothing of the kind any more", m)
		}
	}
}

// ofAttempt reports whether an expression names an attempt, as this package names them.
func ofAttempt(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return slices.Contains([]string{"a", "b", "k", "c", "in", "last", "was", "open"}, e.Name)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok {
			return f.Name == "lastOut"
		}
		s, ok := e.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Last", "FirstOpen", "Attempt", "Shallow"}, s.Sel.Name)
	}
	return false
}

// TestAttemptTable holds the table of states in the documentation against the one that decides.
func TestAttemptTable(t *testing.T) {
	t.Parallel()
	parsed, err := parser.ParseFile(token.NewFileSet(), "../tx/attempt.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	meanings := map[tx.AttemptState]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok || s.Type == nil || s.Comment == nil || len(s.Values) != 1 {
			return true
		}
		if of, _ := s.Type.(*ast.Ident); of != nil && of.Name == "AttemptState" {
			value := strings.Trim(s.Values[0].(*ast.BasicLit).Value, `"`)
			meanings[tx.AttemptState(value)] = strings.TrimSpace(s.Comment.Text())
		}
		return true
	})
	yes := map[bool]string{true: "yes", false: ""}
	var b strings.Builder
	b.WriteString("| state | | told as | may land | a node had it | over |\n|---|---|---|---|---|---|\n")
	for _, s := range tx.AttemptStates {
		a := tx.Attempt{State: s}
		if meanings[s] == "" {
			t.Errorf("%s has no meaning", s)
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s |\n",
			s, meanings[s], s.Outcome(), yes[a.Open()], yes[a.Accepted()], yes[a.Over()])
	}
	drawnBetween(t, "<!-- attempts: written by go test ./sequencer/lifecycle -update -->\n", "<!-- end of attempts -->\n", b.String())
}
