package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An overlay has the go command compile the mutants. The tree stays as it is.
type overlay struct {
	dir     string
	file    string // for go test -overlay
	files   map[string]*rendered
	replace map[string]string
}

// overlay renders mutants, which are numbered, into dir.
func (w *workshop) overlay(dir string, mutants []*Mutant) (*overlay, error) {
	o := &overlay{
		dir: dir, file: filepath.Join(dir, "overlay.json"), files: map[string]*rendered{}, replace: map[string]string{},
	}
	for _, s := range w.subjects {
		if err := o.add(s, mutants); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Package, err)
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": o.replace})
	if err != nil {
		return nil, err
	}
	return o, os.WriteFile(o.file, b, 0o600)
}

func (o *overlay) add(s *subject, mutants []*Mutant) error {
	texts := map[string]string{}
	for _, f := range s.goFiles {
		r := f.render(slices.DeleteFunc(slices.Clone(mutants), func(m *Mutant) bool { return m.source != f.source }))
		o.files[f.source.Path] = r
		texts[f.source.Path] = r.text.String()
	}
	if len(s.scripts) > 0 {
		if err := s.divert(texts); err != nil {
			return err
		}
	}
	texts[filepath.Join(s.dir, "zz_mutants.go")] = s.switchFile(mutants)
	for path, text := range texts {
		name := filepath.Join(o.dir, strconv.Itoa(len(o.replace))+"-"+filepath.Base(path))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
		o.replace[path] = name
	}
	return nil
}

// divert has the package read its scripts by way of the switch.
func (s *subject) divert(texts map[string]string) error {
	found := false
	for i, syntax := range s.pkg.Syntax {
		path := s.pkg.CompiledGoFiles[i]
		for n := range ast.Preorder(syntax) {
			call, ok := n.(*ast.CallExpr)
			if !ok || !s.readsEmbedded(call) {
				continue
			}
			found = true
			if _, ok := texts[path]; !ok {
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				texts[path] = string(b)
			}
			read := types.ExprString(call.Fun)
			texts[path] = strings.ReplaceAll(texts[path], read+"(", theScripts+"("+read+", ")
		}
	}
	if !found {
		return errors.New("lua: nothing here calls ReadFile of an embed.FS, so its scripts cannot be exchanged")
	}
	return nil
}

func (s *subject) readsEmbedded(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "ReadFile" {
		return false
	}
	t := s.pkg.TypesInfo.TypeOf(sel.X)
	return t != nil && strings.TrimPrefix(t.String(), "*") == "embed.FS"
}

// switchFile holds the switch, and the mutants of scripts.
func (s *subject) switchFile(mutants []*Mutant) string {
	var b strings.Builder
	fmt.Fprintf(&b, `package %[1]s

import (
	"os"
	"strconv"
)

var %[2]s = func() int { n, _ := strconv.Atoi(os.Getenv(%[4]q)); return n }()

func %[3]s(read func(string) ([]byte, error), name string) ([]byte, error) {
	b, err := read(name)
	if m, ok := mutantsOfScripts_[%[2]s]; ok && err == nil && m.name == name {
		b = []byte(string(b[:m.from]) + m.text + string(b[m.to:]))
	}
	return b, err
}

var mutantsOfScripts_ = map[int]struct{ name string; from, to int; text string }{
`, s.pkg.Name, theSwitch, theScripts, switchVariable)
	for _, m := range mutants {
		if slices.Contains(s.scripts, m.source) {
			name, _ := filepath.Rel(s.dir, m.source.Path) // both are absolute
			fmt.Fprintf(&b, "\t%d: {%q, %d, %d, %q},\n", m.N, filepath.ToSlash(name), m.Start, m.End, m.New)
		}
	}
	return b.String() + "}\n"
}

// switchVariable is the environment variable that chooses the mutant.
const switchVariable = "MUTANT"

var compilerError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):(\d+): `)

// refused finds the mutants of which the compiler complains.
func (o *overlay) refused(root, output string) map[*Mutant]bool {
	gone := map[*Mutant]bool{}
	for _, at := range compilerError.FindAllStringSubmatch(output, -1) {
		path := at[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		r := o.files[path]
		if r == nil {
			continue
		}
		line, _ := strconv.Atoi(at[2]) // digits
		column, _ := strconv.Atoi(at[3])
		offset := column - 1
		for l := range strings.Lines(r.text.String()) {
			if line--; line == 0 {
				break
			}
			offset += len(l)
		}
		if m := r.mutantAt(offset); m != nil {
			gone[m] = true
		}
	}
	return gone
}
