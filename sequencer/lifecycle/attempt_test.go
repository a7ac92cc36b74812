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
	"time"
)

// TestAttemptStates: the table has each state once, and no state is two things at a time.
func TestAttemptStates(t *testing.T) {
	t.Parallel()
	if len(AttemptStates) != len(attemptStates) {
		t.Errorf("%d states are listed, and %d are in the table", len(AttemptStates), len(attemptStates))
	}
	for _, s := range AttemptStates {
		row, listed := attemptStates[s]
		a := Attempt{State: s}
		is := 0
		for _, yes := range []bool{a.Open(), a.Over(), a.Pending()} {
			if yes {
				is++
			}
		}
		switch {
		case !listed, !s.Valid():
			t.Errorf("%s is not in the table", s)
		case is != 1:
			t.Errorf("%s: open %t, over %t, pending %t", s, a.Open(), a.Over(), a.Pending())
		case row.taken && !row.open, row.unmade != (row.outcome == "prepared" && s != Called):
			t.Errorf("%s: %+v", s, row)
		case s.shallow().deep() != s && s.shallow() != s, s.deep().deep() != s.deep():
			t.Errorf("%s: shallow %s, deep %s", s, s.shallow(), s.deep())
		case s.deep().Outcome() != s.Outcome(): // a client does not see it
			t.Errorf("%s is told as %s, and deep as %s", s, s.Outcome(), s.deep().Outcome())
		}
		if a.EndedAt = now; true {
			a.become(s, clock)
		}
		if want := (map[bool]time.Time{true: clock})[a.Over()]; a.EndedAt != want {
			t.Errorf("%s ended at %v", s, a.EndedAt)
		}
	}
	if AttemptState("").Valid() || AttemptState("prepared").Valid() {
		t.Error("what is no state is valid")
	}
}

// TestStateAlone: what an attempt is is read from its state and cause. No decision looks at when it
// ended, nor at the code of its error.
func TestStateAlone(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	// When it ended is asked for by who compares it with another time, or passes it on.
	may := []string{"attempt.go", "batch.go: saidSince", "explain.go: dispatching"}
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
		s, ok := e.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Last", "FirstOpen", "Attempt", "lastOut", "shallow"}, s.Sel.Name)
	}
	return false
}

// TestAttemptTable holds the table of states in the documentation against the one that decides.
func TestAttemptTable(t *testing.T) {
	t.Parallel()
	parsed, err := parser.ParseFile(token.NewFileSet(), "attempt.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	meanings := map[AttemptState]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.ValueSpec)
		if !ok || s.Type == nil || s.Comment == nil || len(s.Values) != 1 {
			return true
		}
		if of, _ := s.Type.(*ast.Ident); of != nil && of.Name == "AttemptState" {
			value := strings.Trim(s.Values[0].(*ast.BasicLit).Value, `"`)
			meanings[AttemptState(value)] = strings.TrimSpace(s.Comment.Text())
		}
		return true
	})
	yes := map[bool]string{true: "yes", false: ""}
	var b strings.Builder
	b.WriteString("| state | | told as | may land | a node had it | over |\n|---|---|---|---|---|---|\n")
	for _, s := range AttemptStates {
		row := attemptStates[s]
		if meanings[s] == "" {
			t.Errorf("%s has no meaning", s)
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s | %s | %s |\n",
			s, meanings[s], row.outcome, yes[row.open], yes[row.taken], yes[row.over])
	}
	drawnBetween(t, "<!-- attempts: written by go test ./sequencer/lifecycle -update -->\n", "<!-- end of attempts -->\n", b.String())
}
