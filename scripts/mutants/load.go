package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

// A workshop holds what is mutated: the module, its subjects and all their mutants.
type workshop struct {
	root     string // of the module
	subjects []*subject
	mutants  []*Mutant
	refused  int // that the compiler would not take
}

// A subject is one that was read.
type subject struct {
	*Subject
	pkg     *packages.Package
	dir     string
	goFiles []*goFile
	scripts []*Source
	mutants []*Mutant
}

// open reads the subjects of the plan and makes every mutant of them.
func open(ctx context.Context, root string, plan []*Subject) (*workshop, error) {
	w := &workshop{root: root}
	patterns := make([]string, len(plan))
	for i, s := range plan {
		patterns[i] = "./" + filepath.ToSlash(s.Package)
	}
	mode := packages.LoadSyntax | packages.NeedModule
	pkgs, err := packages.Load(&packages.Config{Context: ctx, Dir: root, Mode: mode}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading the packages: %w", err)
	}
	for _, s := range plan {
		read := &subject{Subject: s, dir: filepath.Join(root, s.Package)}
		for _, p := range pkgs {
			if p.Dir == read.dir {
				read.pkg = p
			}
		}
		if err := w.read(read); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Package, err)
		}
		w.subjects = append(w.subjects, read)
		w.mutants = append(w.mutants, read.mutants...)
	}
	setKeys(w.mutants)
	return w, nil
}

func (w *workshop) read(s *subject) error {
	if s.pkg == nil {
		return errors.New("there is no such package")
	}
	if len(s.pkg.Errors) > 0 {
		return fmt.Errorf("it does not compile: %w", s.pkg.Errors[0])
	}
	for i, syntax := range s.pkg.Syntax {
		path := s.pkg.CompiledGoFiles[i]
		if fits, err := matches(s.Go, filepath.Base(path)); err != nil || !fits {
			if err != nil {
				return err
			}
			continue
		}
		source, err := w.source(path)
		if err != nil {
			return err
		}
		f := mutateGo(s.pkg, syntax, source)
		f.mutants = sorted(f.mutants)
		s.goFiles = append(s.goFiles, f)
	}
	if len(s.Go) > 0 && len(s.goFiles) == 0 {
		return fmt.Errorf("go: no file is called %q", s.Go)
	}
	w.refused += s.dropRefused()
	for _, f := range s.goFiles {
		s.mutants = append(s.mutants, f.mutants...)
	}
	return w.readScripts(s)
}

func (w *workshop) readScripts(s *subject) error {
	for _, pattern := range s.Lua {
		paths, err := filepath.Glob(filepath.Join(s.dir, pattern))
		if err != nil || len(paths) == 0 {
			return fmt.Errorf("lua: no file is called %s", pattern)
		}
		for _, path := range paths {
			source, err := w.source(path)
			if err != nil {
				return err
			}
			mutants, err := mutateLua(source)
			if err != nil {
				return err
			}
			s.scripts = append(s.scripts, source)
			s.mutants = append(s.mutants, sorted(mutants)...)
		}
	}
	return nil
}

func (w *workshop) source(path string) (*Source, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(w.root, path)
	if err != nil {
		return nil, err
	}
	return &Source{File: filepath.ToSlash(name), Path: path, Text: string(b)}, nil
}

func matches(patterns []string, name string) (bool, error) {
	for _, p := range patterns {
		if fits, err := filepath.Match(p, name); fits || err != nil {
			return fits, err
		}
	}
	return false, nil
}
