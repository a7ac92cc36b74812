package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kinds = "scripts/mutants/testdata/kinds"

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// wanted reads what stands behind the lines of a fixture.
func wanted(t *testing.T, path string) map[int][]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]string{}
	for i, l := range strings.Split(string(b), "\n") {
		if _, list, ok := strings.Cut(l, ` want "`); ok {
			want[i+1] = strings.Split(strings.TrimSuffix(list, `"`), `" "`)
			slices.Sort(want[i+1])
		}
	}
	return want
}

var wants = regexp.MustCompile(`(?m)// want .*$`)

func described(mutants []*Mutant, file string) map[int][]string {
	got := map[int][]string{}
	for _, m := range mutants {
		if m.File != file {
			continue
		}
		text := m.Kind + ": " + flat(wants.ReplaceAllString(m.old(), ""))
		if m.Kind != dropped {
			text += " => " + flat(m.New)
		}
		got[m.Line()] = append(got[m.Line()], text)
		slices.Sort(got[m.Line()])
	}
	return got
}

// Every mutation is made once where it is wanted, and none beside.
func TestKinds(t *testing.T) {
	t.Parallel()
	plan := []*Subject{{Package: kinds, Go: []string{"*.go"}, Lua: []string{"*.lua"}, Tests: []Tests{{Package: kinds}}}}
	w, err := open(t.Context(), moduleRoot(t), plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kinds.go", "kinds.lua"} {
		want := wanted(t, "testdata/kinds/"+name)
		if diff := cmp.Diff(want, described(w.mutants, kinds+"/"+name)); diff != "" {
			t.Errorf("%s, line by line (- wanted, + made):\n%s", name, diff)
		}
	}
	// The two returns after which refused would end without a result.
	if w.refused != 2 {
		t.Errorf("%d were refused, want 2", w.refused)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	key := func(text, name string) string {
		t.Helper()
		mutants, err := mutateLua(&Source{File: "a.lua", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		setKeys(mutants)
		i := slices.IndexFunc(mutants, func(m *Mutant) bool { return m.Unit.Name == name })
		if i < 0 {
			t.Fatalf("no mutant in %s of %s", name, text)
		}
		return mutants[i].Key
	}
	const f = "local function f(a)\n  return a < 1\nend\n"
	plain := key(f, "f")
	if moved := key("-- more\nlocal b = 3\n"+f, "f"); moved != plain {
		t.Errorf("lines were moved, and %q became %q", plain, moved)
	}
	if edited := key(strings.Replace(f, "end", "\nend", 1), "f"); edited == plain {
		t.Errorf("an edit of the function leaves %q", edited)
	}
	mutants, err := mutateLua(&Source{File: "a.lua", Text: "f(1)\nf(1)\n"})
	if err != nil {
		t.Fatal(err)
	}
	setKeys(mutants)
	seen := map[string]bool{}
	for _, m := range mutants {
		if seen[m.Key] {
			t.Errorf("two are called %s", m.Key)
		}
		seen[m.Key] = true
	}
}

func TestScanLua(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"a.b = 0x1F..'x\\'y'", "name . name = number .. string"},
		{"--[==[ a ]] ]==] x --[ b\ny", "name name"},
		{"1e-3 .5 3..4 a...", "number number number .. number name ..."},
		{"[[a]] [=[b]]]=] t[1]", "string string name [ number ]"},
		{"not a ~= b", "not name ~= name"},
	}
	for _, tt := range tests {
		words, err := scanLua(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		var got []string
		for _, w := range words[:len(words)-1] {
			got = append(got, w.kind)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
	for _, text := range []string{"'a", "'a\n'", "a ? b", "a ="} {
		if err := readLua(text, silent{}); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

// FuzzLua holds the reader against gopher-lua: what that takes apart is mutated
// without complaint, and what it refuses ends with an error, not with a panic.
func FuzzLua(f *testing.F) {
	paths, err := filepath.Glob("../../queues/lua/*.lua")
	if err != nil || len(paths) == 0 {
		f.Fatal("no scripts", err)
	}
	for _, path := range append(paths, "testdata/kinds/kinds.lua") {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		mutants, err := mutateLua(&Source{File: "a.lua", Text: text})
		if err != nil {
			return
		}
		for _, m := range mutants {
			if m.Start < m.Unit.Start || m.End > m.Unit.End || m.Start >= m.End {
				t.Errorf("%s from %d to %d of %+v", m.Kind, m.Start, m.End, m.Unit)
			}
		}
	})
}
