package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// A report is what a run has shown.
type report struct {
	results    []*result
	equivalent map[string]string
	total      int // mutants there are
	refused    int
	took       time.Duration
}

// survivors are those that nothing noticed and that do not stand as equivalent.
func (r *report) survivors() []*result {
	return r.which(func(x *result) bool {
		_, listed := r.equivalent[x.Key]
		return !listed && (x.state == survived || x.state == unreached)
	})
}

// refuted stand as equivalent, and a test tells them from the code.
func (r *report) refuted() []*result {
	return r.which(func(x *result) bool {
		_, listed := r.equivalent[x.Key]
		return listed && x.state == killed
	})
}

func (r *report) which(fits func(*result) bool) []*result {
	var some []*result
	for _, x := range r.results {
		if fits(x) {
			some = append(some, x)
		}
	}
	slices.SortStableFunc(some, func(a, b *result) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Start, b.Start))
	})
	return some
}

// write tells of survivors, then of every file, and sums up in the last line.
func (r *report) write(w io.Writer) {
	for _, x := range r.survivors() {
		fmt.Fprintf(w, "%s:%d: %s: %s\n%s    key: %s\n\n", x.File, x.Line(), x.Kind, x.state, x.Diff(), x.Key)
	}
	for _, x := range r.refuted() {
		fmt.Fprintf(w, "%s:%d: it stands as equivalent, and %s kills it\n    key: %s\n\n", x.File, x.Line(), x.by, x.Key)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "file\tmutants\tkilled\tsurvived\tequivalent\tnot run\tscore\t")
	all := score{file: "all"}
	for _, s := range r.scores() {
		s.line(table)
		all.add(s)
	}
	all.line(table)
	_ = table.Flush() // to the same w as the lines around it
	fmt.Fprintf(w, "\n%d of %d mutants tried in %v, %d that do not compile left out\n",
		len(r.results)-all.notRun, r.total, r.took.Round(time.Second), r.refused)
	if n := len(r.which(func(x *result) bool { return x.late })); n > 0 {
		fmt.Fprintf(w, "%d were killed for taking too long, as they also may where the machine is busy\n", n)
	}
	fmt.Fprintf(w, "killed %d of %d, %d survived, %d equivalent, %d not run\n",
		all.killed, all.mutants, all.survived, all.equivalent, all.notRun)
}

// A score counts what became of the mutants of a file.
type score struct {
	file                                          string
	mutants, killed, survived, equivalent, notRun int
}

func (r *report) scores() []*score {
	byFile := map[string]*score{}
	var all []*score
	for _, x := range r.results {
		s := byFile[x.File]
		if s == nil {
			s = &score{file: x.File}
			byFile[x.File] = s
			all = append(all, s)
		}
		_, listed := r.equivalent[x.Key]
		s.mutants++
		switch {
		case x.state == killed:
			s.killed++
		case listed:
			s.equivalent++
		case x.state == notRun:
			s.notRun++
		default:
			s.survived++
		}
	}
	slices.SortFunc(all, func(a, b *score) int { return cmp.Compare(a.file, b.file) })
	return all
}

func (s *score) add(o *score) {
	s.mutants += o.mutants
	s.killed += o.killed
	s.survived += o.survived
	s.equivalent += o.equivalent
	s.notRun += o.notRun
}

// line writes how many of those that could be killed were.
func (s *score) line(w io.Writer) {
	percent := "-"
	if judged := s.killed + s.survived; judged > 0 {
		percent = fmt.Sprintf("%.1f %%", 100*float64(s.killed)/float64(judged))
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n",
		s.file, s.mutants, s.killed, s.survived, s.equivalent, s.notRun, percent)
}
