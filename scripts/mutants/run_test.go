package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripted is a command whose binary is a shell script.
func scripted(t *testing.T, text string) *command {
	t.Helper()
	path := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return &command{Tests: Tests{Package: "p", Run: "T"}, dir: ".", binary: path}
}

func TestRun(t *testing.T) {
	t.Parallel()
	const forEver, fails = "sleep 3000 & wait", "echo '--- FAIL: TestA'; "
	tests := []struct {
		name, script string
		mutant       int
		limit        time.Duration
		failed       bool
		by           string
	}{
		{"passes", "echo '--- PASS: TestA'", 1, noLimit, false, ""},
		{"the switch", "test $MUTANT = 7", 7, noLimit, false, ""},
		{"the arguments", `test "$*" = "-test.failfast -test.v -test.run=T"`, 1, noLimit, false, ""},
		{"fails, with more to come", "echo '    --- FAIL: TestA/b (0.00s)'; " + forEver, 1, noLimit, true, "p TestA/b"},
		{"dies", "exit 2", 1, noLimit, true, "the end of p -run 'T'"},
		{"hangs", forEver, 1, 50 * time.Millisecond, true, "the limit of 0s for p -run 'T'"},
		{"fails as it is, and tells all", fails + "echo '--- FAIL: TestB'; exit 1", 0, noLimit, true, "p TestA"},
		{"tells all", "yes | head -c 99999; echo; " + fails + forEver, 1, noLimit, true, "p TestA"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &runner{jobs: 1, procs: 1, tmp: t.TempDir()}
			o := r.run(t.Context(), scripted(t, tt.script), tt.mutant, tt.limit)
			if o.err != nil || o.failed != tt.failed || o.by != tt.by || o.late != (tt.limit != noLimit) {
				t.Errorf("failed %v by %q, %v; want %v by %q", o.failed, o.by, o.err, tt.failed, tt.by)
			}
			if left, err := os.ReadDir(r.tmp); err != nil || len(left) > 0 {
				t.Errorf("left over: %v %v", left, err)
			}
		})
	}
	o := (&runner{procs: 1, tmp: t.TempDir()}).run(t.Context(), &command{binary: "/no/such", dir: "."}, 1, noLimit)
	if o.err == nil || o.failed {
		t.Errorf("a binary that is not there: %+v", o)
	}
}

// The code as it is has to pass, and there have to be tests.
func TestMeasure(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"true": "", "echo wrong; exit 1": "wrong", "echo testing: warning: no tests to run": "no such tests",
	} {
		r := &runner{procs: 1, tmp: t.TempDir()}
		err := r.measure(t.Context(), []*command{scripted(t, script)})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}

// When the time is over, what was not tried is not said to have survived, and what was
// killed until then stays so.
func TestBudget(t *testing.T) {
	t.Parallel()
	source := &Source{}
	w := &workshop{mutants: []*Mutant{{N: 1, source: source}, {N: 2, source: source}, {N: 3, source: source}}}
	s := &subject{mutants: w.mutants}
	c := scripted(t, `if [ $MUTANT = 1 ]; then exit 1; fi; sleep 3000 & wait`)
	c.took, c.subjects = noLimit, map[*subject]bool{s: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := func(*result) { cancel() } // after the first
	results := (&runner{jobs: 1, procs: 1, tmp: t.TempDir()}).all(ctx, w, []*command{c}, w.mutants, stop)
	for i, want := range []state{killed, notRun, notRun} {
		if got := results[i].state; got != want {
			t.Errorf("mutant %d: %s, want %s", i+1, got, want)
		}
	}
}
