package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/cover"
)

// build compiles each test package once, with all mutants in it, and drops those that
// the compiler refuses after all.
func (w *workshop) build(ctx context.Context, dir string, mutants []*Mutant) ([]*command, []*Mutant, error) {
	w.narrow(mutants)
	commands := w.commands(dir)
	for {
		number(mutants)
		o, err := w.overlay(dir, mutants)
		if err != nil {
			return nil, nil, err
		}
		out, err := w.compile(ctx, commands, func(c *command) []string {
			return []string{"-overlay", o.file, "-o", c.binary}
		})
		if err == nil {
			return commands, mutants, nil
		}
		gone := o.refused(w.root, out)
		if len(gone) == 0 {
			return nil, nil, fmt.Errorf("compiling the mutants: %w\n%s", err, out)
		}
		var left []*Mutant
		for _, m := range mutants {
			if !gone[m] {
				left = append(left, m)
			}
		}
		w.refused += len(mutants) - len(left)
		mutants = left
	}
}

// narrow leaves those subjects that some mutants are of.
func (w *workshop) narrow(mutants []*Mutant) {
	chosen := map[*Mutant]bool{}
	for _, m := range mutants {
		chosen[m] = true
	}
	w.subjects = slices.DeleteFunc(w.subjects, func(s *subject) bool {
		return !slices.ContainsFunc(s.mutants, func(m *Mutant) bool { return chosen[m] })
	})
}

// commands are the runs of tests of all subjects, each once.
func (w *workshop) commands(dir string) []*command {
	var all []*command
	byTests := map[Tests]*command{}
	binaries := map[string]string{}
	for _, s := range w.subjects {
		for _, t := range s.Tests {
			c := byTests[t]
			if c == nil {
				pkgDir := filepath.Join(w.root, t.Package)
				if binaries[pkgDir] == "" {
					binaries[pkgDir] = filepath.Join(dir, fmt.Sprintf("%d.test", len(binaries)))
				}
				c = &command{Tests: t, dir: pkgDir, binary: binaries[pkgDir], subjects: map[*subject]bool{}}
				byTests[t] = c
				all = append(all, c)
			}
			c.subjects[s] = true
		}
	}
	return all
}

// compile runs go test -c once for each test package.
func (w *workshop) compile(ctx context.Context, commands []*command, flags func(*command) []string) (string, error) {
	done := map[string]bool{}
	for _, c := range commands {
		if done[c.binary] {
			continue
		}
		done[c.binary] = true
		args := append([]string{"test", "-c", "-vet=off"}, flags(c)...)
		cmd := exec.CommandContext(ctx, "go", append(args, "./"+filepath.ToSlash(c.Package))...)
		cmd.Dir = w.root
		if out, err := cmd.CombinedOutput(); err != nil {
			return string(out), errors.Join(err, ctx.Err())
		} else if bytes.Contains(out, []byte("[no test files]")) {
			return string(out), fmt.Errorf("%s has no tests", c.Package)
		}
	}
	return "", nil
}

// cover runs every command on the code as it is, and notes what each reaches of the
// mutated files. What scripts do is not seen by this.
func (w *workshop) cover(ctx context.Context, dir string, commands []*command, r *runner, mutants []*Mutant) error {
	var subjects []string
	for _, s := range w.subjects {
		isOf := func(f *goFile) bool {
			return slices.ContainsFunc(mutants, func(m *Mutant) bool { return m.source == f.source })
		}
		if slices.ContainsFunc(s.goFiles, isOf) {
			subjects = append(subjects, "./"+filepath.ToSlash(s.Package))
		}
	}
	if len(subjects) == 0 {
		return nil
	}
	covered := func(c *command) string { return c.binary + ".cover" }
	out, err := w.compile(ctx, commands, func(c *command) []string {
		return []string{"-cover", "-covermode=set", "-coverpkg=" + strings.Join(subjects, ","), "-o", covered(c)}
	})
	if err != nil {
		return fmt.Errorf("compiling for coverage: %w\n%s", err, out)
	}
	for i, c := range commands {
		profile := filepath.Join(dir, fmt.Sprintf("%d.profile", i))
		run := *c
		run.binary = covered(c)
		if o := r.run(ctx, &run, 0, noLimit, "-test.coverprofile="+profile); o.err != nil || o.failed {
			return fmt.Errorf("%s fails on the code as it is: %w\n%s", c.Tests, errors.Join(o.err, ctx.Err()), o.output)
		}
		if err := w.readProfile(c, profile); err != nil {
			return err
		}
	}
	return nil
}

func (w *workshop) readProfile(c *command, path string) error {
	profiles, err := cover.ParseProfiles(path)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("what %s reaches: %w", c.Tests, err)
	}
	c.reached = map[string][]cover.ProfileBlock{}
	for _, p := range profiles {
		for _, s := range w.subjects {
			if filepath.ToSlash(filepath.Dir(p.FileName)) == s.pkg.PkgPath {
				c.reached[filepath.Join(s.dir, filepath.Base(p.FileName))] = p.Blocks
			}
		}
	}
	return nil
}

// reaches reports whether the tests come to a mutant; true where nobody knows.
func (c *command) reaches(m *Mutant) bool {
	known := false
	for _, b := range c.reached[m.source.Path] {
		line, begins := m.source.line(m.Start)
		column := m.Start - begins + 1
		after := line > b.StartLine || line == b.StartLine && column >= b.StartCol
		before := line < b.EndLine || line == b.EndLine && column < b.EndCol
		if after && before {
			if b.Count > 0 {
				return true
			}
			known = true
		}
	}
	return !known
}
