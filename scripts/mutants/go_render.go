package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// rendered is a file that holds mutants, each where it can be told by its place.
type rendered struct {
	text   strings.Builder
	ranges []textRange
}

type textRange struct {
	from, to int
	mutant   *Mutant
}

// mutantAt is the mutant that stands at a place, nil if there is none.
func (r *rendered) mutantAt(offset int) *Mutant {
	for _, x := range r.ranges {
		if x.from <= offset && offset <= x.to {
			return x.mutant
		}
	}
	return nil
}

// render writes a file in which every function holds its mutants: a whole copy of what
// it does for each, of which the switch takes one. So whatever an edit makes of types,
// constants and names, it is compiled as if it stood alone.
func (f *goFile) render(mutants []*Mutant) *rendered {
	byUnit := map[*Unit][]*Mutant{}
	for _, m := range mutants {
		byUnit[m.Unit] = append(byUnit[m.Unit], m)
	}
	slices.SortFunc(f.bodies, func(a, b *body) int { return a.start - b.start })
	r := &rendered{}
	written := 0
	for _, b := range f.bodies {
		inside := within(byUnit[b.unit], b)
		if len(inside) == 0 {
			continue
		}
		r.text.WriteString(f.source.Text[written:b.start])
		f.renderBody(r, b, inside)
		written = b.end
	}
	r.text.WriteString(f.source.Text[written:])
	return r
}

func within(mutants []*Mutant, b *body) []*Mutant {
	var inside []*Mutant
	for _, m := range mutants {
		if b.start <= m.Start && m.End <= b.end {
			inside = append(inside, m)
		}
	}
	return inside
}

func (f *goFile) renderBody(r *rendered, b *body, mutants []*Mutant) {
	original := f.source.Text[b.start:b.end]
	opening, closing := "return func() "+b.result+" {", "\n}()\n"
	switch {
	case b.isValue:
		fmt.Fprintf(&r.text, "func() %s {", b.result)
		opening, closing = "return ", "\n"
	case b.result == "":
		opening, closing = "func() {", "\n}(); return\n"
	}
	fmt.Fprintf(&r.text, " switch %s {\n", theSwitch)
	for _, m := range mutants {
		fmt.Fprintf(&r.text, "case %d: ", m.N)
		from := r.text.Len()
		r.text.WriteString(opening + f.source.Text[b.start:m.Start] + m.New + f.source.Text[m.End:b.end] + closing)
		r.ranges = append(r.ranges, textRange{from, r.text.Len(), m})
	}
	r.text.WriteString("}; ")
	if b.isValue {
		original = "return " + original + "\n}()"
	}
	r.text.WriteString(original)
}

// Names that no package has.
const (
	theSwitch  = "mutantThatRuns_"
	theScripts = "mutantOfScript_"
)

// dropRefused takes out what the compiler would refuse, such as a function that would
// end without a result, and says how many they were.
func (s *subject) dropRefused() int {
	before := 0
	for _, f := range s.goFiles {
		before += len(f.mutants)
		number(f.mutants)
	}
	for refused := s.refusals(); len(refused) > 0; refused = s.refusals() {
		s.drop(refused)
	}
	after := 0
	for _, f := range s.goFiles {
		after += len(f.mutants)
	}
	return before - after
}

func (s *subject) drop(gone map[*Mutant]bool) {
	isGone := func(m *Mutant) bool { return gone[m] }
	s.mutants = slices.DeleteFunc(s.mutants, isGone)
	for _, f := range s.goFiles {
		f.mutants = slices.DeleteFunc(f.mutants, isGone)
	}
}

func number(mutants []*Mutant) {
	for i, m := range mutants {
		m.N = i + 1
	}
}

// refusals type-checks the package with all of its mutants in it.
func (s *subject) refusals() map[*Mutant]bool {
	fset := token.NewFileSet()
	byName := map[string]*rendered{}
	files := []*ast.File{parsed(fset, "switch.go", "package "+s.pkg.Name+"\nvar "+theSwitch+" int\n")}
	refused := map[*Mutant]bool{}
	for i, path := range s.pkg.CompiledGoFiles {
		at := slices.IndexFunc(s.goFiles, func(f *goFile) bool { return f.source.Path == path })
		if at < 0 {
			files = append(files, s.parseAgain(fset, i))
			continue
		}
		f := s.goFiles[at]
		r := f.render(f.mutants)
		byName[path] = r
		files = append(files, parsed(fset, path, r.text.String()))
	}
	conf := types.Config{Importer: s, Sizes: s.pkg.TypesSizes, Error: func(err error) {
		e, ok := err.(types.Error) //nolint:errorlint // never wrapped, by its documentation // always, by its documentation
		if !ok {
			return
		}
		p := fset.Position(e.Pos)
		if r := byName[p.Filename]; r != nil {
			if m := r.mutantAt(p.Offset); m != nil {
				refused[m] = true
			}
		}
	}}
	_, _ = conf.Check(s.pkg.PkgPath, fset, files, nil) // each error has been told
	return refused
}

func (s *subject) parseAgain(fset *token.FileSet, i int) *ast.File {
	f, _ := parser.ParseFile(fset, s.pkg.CompiledGoFiles[i], nil, parser.SkipObjectResolution)
	return f
}

// parsed reads what was rendered. Every edit stands in the place of a whole node, so
// it can be read; if not, the compiler says so.
func parsed(fset *token.FileSet, name, text string) *ast.File {
	f, _ := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	return f
}

// Import finds the types of what the package imports: those that it was read with.
func (s *subject) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := s.pkg.Imports[path]; p != nil && p.Types != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("%s is not imported", path)
}
