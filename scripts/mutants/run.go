package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/tools/cover"
)

// A command is a test binary and the tests to run of it.
type command struct {
	Tests
	dir      string
	binary   string
	subjects map[*subject]bool
	took     time.Duration // on the code as it is
	reached  map[string][]cover.ProfileBlock
}

// An outcome is what became of one run.
type outcome struct {
	failed bool
	by     string // the test that failed
	late   bool   // it took longer than it may
	output string
	took   time.Duration
	err    error // it could not be run, or nobody waits for it any more
}

// A runner runs commands, jobs at a time.
type runner struct {
	jobs  int
	procs int // for each
	tmp   string
}

const (
	noLimit = time.Hour
	// patience is how many times as long a mutant may take as the code as it is.
	patience = 10
	// start is what a process may take for itself.
	start = 2 * time.Second
)

// run runs a command with one mutant, 0 for none, until a test fails, and ends all that
// it leaves over.
func (r *runner) run(ctx context.Context, c *command, mutant int, limit time.Duration, flags ...string) outcome {
	tmp, err := os.MkdirTemp(r.tmp, "run")
	if err != nil {
		return outcome{err: err}
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the directory above goes in the end
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// -test.failfast lets tests that run in parallel go on; -test.v has each tell at once.
	args := slices.Concat([]string{"-test.failfast", "-test.v", "-test.run=" + c.Run}, flags, strings.Fields(c.Args))
	cmd := exec.CommandContext(limited, c.binary, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp,
		fmt.Sprint(switchVariable, "=", mutant), fmt.Sprint("GOMAXPROCS=", r.procs))
	out := &output{}
	if mutant > 0 {
		out.failed = cancel
	}
	cmd.Stdout, cmd.Stderr = out, out
	// A group of its own, with whatever servers the test starts.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = start
	began := time.Now()
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be nobody left
	}
	return c.judge(ctx, limited, limit, out, outcome{took: time.Since(began), err: err})
}

// judge says what the end of a run means.
func (c *command) judge(ctx, limited context.Context, limit time.Duration, out *output, o outcome) outcome {
	o.output = out.begin.String()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		o.err = ctx.Err()
	case out.killer != "":
		o.failed, o.by, o.err = true, c.Package+" "+out.killer, nil
	case limited.Err() != nil:
		o.failed, o.late, o.err = true, true, nil
		o.by = fmt.Sprintf("the limit of %v for %s", limit.Round(time.Second), c.Tests)
	case errors.As(o.err, &exit):
		o.failed, o.by, o.err = true, "the end of "+c.String(), nil
	case errors.Is(o.err, exec.ErrWaitDelay):
		o.err = nil
	}
	return o
}

// output looks for the first test that fails, and keeps the beginning.
type output struct {
	begin  bytes.Buffer
	line   []byte // that has not ended
	killer string
	failed func() // is called when one has; nil to let the rest go on
}

var failedTest = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)

// Write is called by one at a time.
func (o *output) Write(p []byte) (int, error) {
	const most = 64 << 10
	_, _ = o.begin.Write(p[:min(len(p), max(0, most-o.begin.Len()))]) // never fails
	for _, b := range p {
		if b != '\n' {
			o.line = append(o.line, b)
			continue
		}
		if m := failedTest.FindSubmatch(o.line); m != nil && o.killer == "" {
			o.killer = string(m[1])
			if o.failed != nil {
				o.failed()
			}
		}
		o.line = o.line[:0]
	}
	return len(p), nil
}

// measure runs every command on the code as it is, which has to pass.
func (r *runner) measure(ctx context.Context, commands []*command) error {
	for _, c := range commands {
		o := r.run(ctx, c, 0, noLimit)
		if o.err != nil {
			return o.err
		}
		if o.failed {
			return fmt.Errorf("%s fails on the code as it is:\n%s", c.Tests, o.output)
		}
		if strings.Contains(o.output, "no tests to run") {
			return fmt.Errorf("%s: there are no such tests", c.Tests)
		}
		c.took = o.took
	}
	slices.SortStableFunc(commands, func(a, b *command) int { return int(a.took - b.took) })
	return nil
}

// A state is what became of a mutant.
type state string

const (
	killed    state = "killed"
	survived  state = "survived"
	unreached state = "survived, no test comes to it"
	notRun    state = "not run"
)

// A result is what became of a mutant, and which test saw to it.
type result struct {
	*Mutant
	state state
	by    string
	late  bool // it was killed for taking too long
}

// all runs mutants in their order, until ctx ends.
func (r *runner) all(ctx context.Context, w *workshop, cs []*command, mutants []*Mutant, tell func(*result)) []*result {
	results := make([]*result, len(mutants))
	next := make(chan int)
	var wg sync.WaitGroup
	var telling sync.Mutex
	for range r.jobs {
		wg.Go(func() {
			for i := range next {
				results[i] = r.one(ctx, mutants[i], w.tests(cs, mutants[i]))
				telling.Lock()
				tell(results[i])
				telling.Unlock()
			}
		})
	}
	for i := range mutants {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// tests are those commands that are to notice a mutant.
func (w *workshop) tests(commands []*command, m *Mutant) []*command {
	var of []*command
	for _, c := range commands {
		for s := range c.subjects {
			if slices.Contains(s.mutants, m) {
				of = append(of, c)
			}
		}
	}
	return of
}

// one runs the tests that reach a mutant, the cheapest first, until one fails.
func (r *runner) one(ctx context.Context, m *Mutant, commands []*command) *result {
	end := &result{Mutant: m, state: unreached}
	for _, c := range commands {
		if !c.reaches(m) {
			continue
		}
		o := r.run(ctx, c, m.N, patience*c.took+start)
		switch {
		case o.err != nil:
			return &result{Mutant: m, state: notRun, by: o.err.Error()}
		case o.failed:
			return &result{Mutant: m, state: killed, by: o.by, late: o.late}
		}
		end.state = survived
	}
	return end
}
