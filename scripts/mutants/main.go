// Mutants makes every small mistake there is in some packages, and sees that a test
// notices each: a condition negated, a comparison or a constant moved, a statement
// dropped, two arguments swapped. All are compiled once, by an overlay that leaves the
// tree as it is, each behind a switch that the test binary reads when it starts.
//
// It exits with 1 if one survives that equivalent.txt does not list.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options say which mutants are tried, and how.
type options struct {
	root        string // of the module
	plan        string
	equivalents string
	sample      int
	seed        uint64
	changed     string
	only        string
	budget      time.Duration
	jobs        int
	verbose     bool
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the root of the module")
	flag.StringVar(&o.plan, "plan", "scripts/mutants/plan.json", "what is mutated, and which tests are to notice")
	flag.StringVar(&o.equivalents, "equivalent", "scripts/mutants/equivalent.txt", "what changes nothing, and why")
	flag.IntVar(&o.sample, "sample", 0, "try so many, chosen by -seed; 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "chooses the sample")
	flag.StringVar(&o.changed, "changed", "", "try all in the files that differ from this commit")
	flag.StringVar(&o.only, "only", "", "of these, try those whose key matches this expression")
	flag.DurationVar(&o.budget, "budget", 0, "try no more when this time is over; 0 for no limit")
	flag.IntVar(&o.jobs, "j", runtime.NumCPU(), "how many to try at a time")
	flag.BoolVar(&o.verbose, "v", false, "tell which test kills each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := o.try(ctx, os.Stderr)
	if r != nil {
		r.write(os.Stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(2) //nolint:gocritic // nothing else is deferred
	case len(r.survivors())+len(r.refuted()) > 0:
		os.Exit(1)
	}
}

// try makes, compiles and runs the mutants. Where it was stopped there is a report of
// what was done until then beside the error; the budget is no error.
func (o *options) try(ctx context.Context, progress io.Writer) (*report, error) {
	began := time.Now()
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, err
	}
	plan, err := readPlan(o.plan)
	if err != nil {
		return nil, err
	}
	equivalent, err := readEquivalents(o.equivalents)
	if err != nil {
		return nil, err
	}
	w, err := open(ctx, root, plan)
	if err != nil {
		return nil, err
	}
	if err := checkEquivalents(equivalent, w.mutants); err != nil {
		return nil, fmt.Errorf("%s: %w", o.equivalents, err)
	}
	chosen, err := o.choose(ctx, w, equivalent)
	if err != nil {
		return nil, err
	}
	limited := ctx
	if o.budget > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, began.Add(o.budget))
		defer cancel()
	}
	r := &report{equivalent: equivalent, total: len(w.mutants)}
	r.results, err = o.run(limited, w, chosen, progress)
	over := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	switch {
	case over && r.results == nil:
		return nil, fmt.Errorf("%v were over before the first was tried: give more with -budget", o.budget)
	case err != nil && r.results == nil:
		return nil, err
	case over:
		err = nil
	}
	r.refused, r.took = w.refused, time.Since(began)
	return r, err
}

// choose picks the mutants to try. What stands as equivalent is tried, to see whether
// it is, when all are.
func (o *options) choose(ctx context.Context, w *workshop, equivalent map[string]string) ([]*Mutant, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	all := o.sample == 0 && o.changed == ""
	var from []*Mutant
	for _, m := range w.mutants {
		if _, listed := equivalent[m.Key]; only.MatchString(m.Key) && (all || !listed) {
			from = append(from, m)
		}
	}
	// By a digest of each, so that a change of the code leaves the rest of a sample as it was.
	rank := func(m *Mutant) string {
		return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d %s", o.seed, m.Key)))
	}
	slices.SortFunc(from, func(a, b *Mutant) int { return strings.Compare(rank(a), rank(b)) })
	if all {
		return from, nil
	}
	changed, err := o.changedFiles(ctx)
	if err != nil {
		return nil, err
	}
	n := min(o.sample, len(from))
	chosen := from[:n:n]
	for _, m := range from[n:] {
		if changed[m.File] {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

func (o *options) changedFiles(ctx context.Context) (map[string]bool, error) {
	if o.changed == "" {
		return nil, nil
	}
	cmd := exec.CommandContext(ctx, "git", "diff", "--name-only", "--relative", "--end-of-options", o.changed, "--", ".")
	cmd.Dir = o.root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("-changed %s: git diff: %w", o.changed, err)
	}
	files := map[string]bool{}
	for name := range strings.Lines(string(out)) {
		files[strings.TrimSuffix(name, "\n")] = true
	}
	return files, nil
}

// run compiles the mutants, sees that the tests pass without them, and tries each.
func (o *options) run(ctx context.Context, w *workshop, chosen []*Mutant, progress io.Writer) (_ []*result, err error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	jobs := min(max(1, o.jobs), len(chosen))
	r := &runner{jobs: jobs, procs: max(1, runtime.NumCPU()/jobs), tmp: dir}
	fmt.Fprintf(progress, "compiling %d of %d mutants\n", len(chosen), len(w.mutants))
	commands, mutants, err := w.build(ctx, dir, chosen)
	if err != nil {
		return nil, err
	}
	if err := r.measure(ctx, commands); err != nil {
		return nil, err
	}
	if err := w.cover(ctx, dir, commands, r, mutants); err != nil {
		return nil, err
	}
	for _, c := range commands {
		fmt.Fprintf(progress, "%s takes %v\n", c.Tests, c.took.Round(time.Millisecond))
	}
	results := r.all(ctx, w, commands, mutants, o.teller(progress, len(mutants)))
	for _, x := range results {
		if x.state == notRun && ctx.Err() == nil {
			return results, fmt.Errorf("%s: %s", x.Key, x.by)
		}
	}
	return results, ctx.Err()
}

// teller tells how far it has come: of each mutant, or now and then.
func (o *options) teller(w io.Writer, total int) func(*result) {
	done, last := 0, time.Now()
	return func(x *result) {
		done++
		if o.verbose {
			fmt.Fprintf(w, "%s:%d: %s: %s %s\n    %s\n", x.File, x.Line(), x.Kind, x.state, x.by, x.Key)
		} else if time.Since(last) > 10*time.Second {
			last = time.Now()
			fmt.Fprintf(w, "%d of %d\n", done, total)
		}
	}
}
