package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes a checkout.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["go.mod"] = "module m\n"
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const plan = `package lifecycle

// Plan is a comment
// of two lines.
func Plan(m *Member, all []int, c chan int) bool { // 1
	if m == nil && len(all) > 0 || all == nil { // 3
		return false
	}
	for range all { // 1
		switch {
		case true, false: // 1
		default:
		}
		select {
		case <-c: // 1
		default:
		}
	}
	return f(func(m Member) bool { return m.a || m.b }) // 1
}

var text = ` + "`" + `a

b` + "`" + `

type Train struct{}

func (t *Train) all() bool { return false }
func (t *Train) two() (bool, error) { return false, nil }
func (t *Train) list() []bool { return nil }
`

// TestTable counts what is in a small checkout, by hand: 33 lines of decisions, of which 7 are
// empty or a comment; 8 branches in one function, and one in each of four.
func TestTable(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"sequencer/lifecycle/plan.go":      plan,
		"sequencer/lifecycle/plan_test.go": "package lifecycle\n",
		"sequencer/fees/fees.go":           "package fees\n\nfunc fee() {}\n", // made out of it
		"sequencer/shell.go":               "package sequencer // legacy\n",
		"sequencer/recovery/a.go":          "package recovery // a FAILOVER\n",
		"sequencer/audit/a.go":             "package audit\n",
		"sequencer/test/explorer/a.go":     "package explorer\n",
		"queues/lua/a.lua":                 "-- ahead\nreturn 1\n",
		"queues/redistest/a.go":            "package redistest\n",
		"dispatcher/a.go":                  "package dispatcher\n",
		"mina/a.go":                        "package mina\n",
		"workers/node_modules/x/a.go":      "no Go\n",
	})
	var out strings.Builder
	if err := run([]string{root}, &out); err != nil {
		t.Fatal(err)
	}
	want := `| what | is |
|---|---|
| lines of the core, Go and Lua | 39 |
| of it what a newcomer has to keep in mind | 37 |
| branches of the decisions, in sum (per line of code) | 12 (0.46) |
| functions above 15 branches there | 0 of 5 |
| files that name what a failover forgets | 1 of 7 |
| files that name trains | 2 of 7 |
| files that name legacy calls | 1 of 7 |
| predicates over what is in flight of a queue | 3 |
`
	if got := out.String(); got != want {
		t.Errorf("it is\n%s\nand not\n%s", got, want)
	}
}

// TestMovedOut: what left the core for a folder that does not count, counts.
func TestMovedOut(t *testing.T) {
	t.Parallel()
	before := tree(t, map[string]string{
		"sequencer/lifecycle/a.go": "package lifecycle\n\nfunc (t *T) stays() {}\nfunc (t *T) goes() {}\nfunc both() {}\n",
		"mina/a.go":                "package mina\n\nfunc was() {}\nfunc both() {}\n",
	})
	now := tree(t, map[string]string{
		"sequencer/lifecycle/a.go": "package lifecycle\n\nfunc (t *T) stays() {}\n",
		"mina/a.go": "package mina\n\nfunc was() {}\nfunc both() {}\n" +
			"func (t T) goes() {\n}\nfunc (t T) stays() {}\n",
	})
	var out strings.Builder
	if err := run([]string{now, before}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 5, 2 of them outside it by now |", "Moved out, in lines: `T.goes` 2.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// TestMisused: what is no checkout is said to be none.
func TestMisused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"a", "b", "c"}, {t.TempDir()}} {
		if err := run(args, os.Stdout); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
