package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/sequencer/test/lane"
)

const judged = "scripts/mutants/testdata/judged"

// judge tries all mutants of the fixture with some of its tests.
func judge(t *testing.T, tests, equivalents string) *report {
	t.Helper()
	r, err := tryFixture(t, tests, equivalents)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryFixture(t *testing.T, tests, equivalents string) (*report, error) {
	t.Helper()
	dir := t.TempDir()
	plan := `[{"package": "` + judged + `", "go": ["*.go"], "lua": ["lua/*.lua"],
		"tests": [{"package": "` + judged + `", "run": "` + tests + `"}]},
		{"package": "` + kinds + `", "go": ["*.go"], "tests": [{"package": "` + kinds + `"}]}]`
	o := &options{
		root: moduleRoot(t), jobs: 2,
		only: "^" + judged + "/", // the other has no tests, which is found when one of its mutants is chosen
		plan: filepath.Join(dir, "plan.json"), equivalents: filepath.Join(dir, "equivalent.txt"),
	}
	for name, text := range map[string]string{o.plan: plan, o.equivalents: equivalents} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return o.try(t.Context(), io.Discard)
}

// keyOf finds a mutant of the fixture.
func keyOf(t *testing.T, unit, old string) string {
	t.Helper()
	w, err := open(t.Context(), moduleRoot(t), []*Subject{{Package: judged, Go: []string{"*.go"}}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(w.mutants, func(m *Mutant) bool { return m.Unit.Name == unit && m.old() == old })
	return w.mutants[i].Key
}

// short tells results without what varies.
func short(results []*result) []string {
	var all []string
	for _, x := range results {
		text := strings.TrimPrefix(x.File, judged+"/") + " " + x.Unit.Name + ": " + flat(x.old())
		if x.state == unreached {
			text += ", unreached"
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// A good test kills all but what changes nothing, which is listed, and what it does not
// come to.
func TestGoodTests(t *testing.T) {
	lane.All(t, "make mutants-sample, which every change gets, runs the same")
	t.Parallel()
	const why = "\n    Of two that are equal either is the greater.\n"
	equal := keyOf(t, "Greatest", ">")
	if _, err := tryFixture(t, "TestGood", strings.Replace(equal, "Greatest", "Greater", 1)+why); err == nil ||
		!strings.Contains(err.Error(), "judge it anew") {
		t.Errorf("an entry of a function that is gone: %v", err)
	}
	r := judge(t, "TestGood", equal+why)
	want := []string{
		"judged.go Script: panic(err), unreached",
		"judged.go Unused: !a, unreached",
	}
	if diff := cmp.Diff(want, short(r.survivors())); diff != "" {
		t.Fatalf("survivors (- wanted, + found):\n%s", diff)
	}
	ways := map[string]bool{}
	for _, x := range r.results {
		if x.state == killed {
			ways[x.by] = true
		}
	}
	named := func(x *result) bool { return x.Unit.Name == "tally.add" && x.state == killed }
	if !slices.ContainsFunc(r.results, named) {
		t.Error("no mutant of the method add was killed under its name")
	}
	if !ways[judged+" TestGood"] {
		t.Errorf("TestGood killed none; these did: %v", ways)
	}
	var out strings.Builder
	r.write(&out)
	for _, want := range []string{
		judged + "/judged.go:14: statement dropped: survived, no test comes to it\n",
		"      \tif err != nil {\n    - \t\tpanic(err)\n      \t}\n    key: " + judged + "/judged.go Script ",
		judged + "/judged.go:51: condition negated: survived, no test comes to it\n",
		"    - func Unused(a bool) bool { return !a }\n    + func Unused(a bool) bool { return a }\n",
		"killed 21 of 24, 2 survived, 1 equivalent, 0 not run\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks\n%s\nit is\n%s", want, out.String())
		}
	}
}

// A weak test lets most survive. Of those that stand as equivalent, one that a test
// tells from the code is refuted, another is not held against the tests.
func TestWeakTests(t *testing.T) {
	lane.All(t, "make mutants-sample, which every change gets, runs the same")
	t.Parallel()
	r := judge(t, "TestWeak", "")
	var weak, equal string
	for _, x := range r.results {
		switch {
		case x.state == killed:
			weak = x.Key
		case x.Unit.Name == "Greatest" && x.old() == ">":
			equal = x.Key
		}
	}
	if _, err := tryFixture(t, "TestNone", ""); err == nil || !strings.Contains(err.Error(), "there are no such tests") {
		t.Errorf("a test that is not there: %v", err)
	}
	if n := len(r.survivors()); n < len(r.results)/2 || weak == "" || equal == "" {
		t.Fatalf("%d of %d survived a test that looks at little", n, len(r.results))
	}
	r.equivalent = map[string]string{equal: "Of two that are equal either is the greater.", weak: "A guess."}
	if got := r.refuted(); len(got) != 1 || got[0].Key != weak {
		t.Errorf("refuted: %v", short(got))
	}
	for _, x := range r.survivors() {
		if x.Key == equal {
			t.Errorf("%s stands as equivalent, and is told", x.Key)
		}
	}
}

func TestEquivalents(t *testing.T) {
	t.Parallel()
	mutants := make([]*Mutant, 40)
	for i := range mutants {
		mutants[i] = &Mutant{Key: "a.go f 12345678 +" + strings.Repeat("1", i+1) + ": x"}
	}
	one, two, three := mutants[0].Key, mutants[1].Key, mutants[2].Key
	tests := []struct{ name, list, want string }{
		{"none", "# nothing\n\n", ""},
		{"two", one + "\n    It is\n    so.\n\n" + two + "\n\tToo.\n", ""},
		{"edited", strings.Replace(one, "12345678", "87654321", 1) + "\n  It was so.\n", "judge it anew"},
		{"no invariant", one + "\n" + two + "\n  Too.\n", "which invariant"},
		{"twice", one + "\n  So.\n" + one + "\n  So.\n", "stands here twice"},
		{"no key", "  So.\n", "below the key"},
		{"too many", one + "\n  So.\n" + two + "\n  So.\n" + three + "\n  So.\n", "more than 5 %"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "equivalent.txt")
			if err := os.WriteFile(path, []byte(tt.list), 0o600); err != nil {
				t.Fatal(err)
			}
			why, err := readEquivalents(path)
			if err == nil {
				err = checkEquivalents(why, mutants)
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if tt.name == "two" && why[one] != "It is so." {
				t.Errorf("the invariant is %q", why[one])
			}
		})
	}
}

// The same seed chooses the same sample; all in changed files are chosen beside it; and
// what stands as equivalent is tried only with all.
func TestChoose(t *testing.T) {
	t.Parallel()
	w := &workshop{}
	for i := range 100 {
		w.mutants = append(w.mutants, &Mutant{File: "a.go", Key: string(rune('A' + i))})
	}
	listed := map[string]string{"B": "So."}
	keys := func(o options) string {
		t.Helper()
		chosen, err := o.choose(t.Context(), w, listed)
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, m := range chosen {
			all.WriteString(m.Key)
		}
		return all.String()
	}
	first := keys(options{sample: 20, seed: 1})
	if again := keys(options{sample: 20, seed: 1}); again != first || len([]rune(first)) != 20 {
		t.Errorf("one seed chose %q and %q", first, again)
	}
	if other := keys(options{sample: 20, seed: 2}); other == first {
		t.Errorf("two seeds chose %q", first)
	}
	if all := keys(options{}); len([]rune(all)) != 100 {
		t.Errorf("%d of 100 were chosen", len([]rune(all)))
	}
	if most := keys(options{sample: 1000}); len([]rune(most)) != 99 || strings.Contains(most, "B") {
		t.Errorf("a sample has what stands as equivalent: %q", most)
	}
	if only := keys(options{only: "^[AB]$"}); len(only) != 2 {
		t.Errorf("of A and B %q were chosen", only)
	}
	if _, err := (&options{root: ".", changed: "no-such-commit"}).choose(t.Context(), w, nil); err == nil {
		t.Error("a commit that is not there has no changes")
	}
}

// What differs from a commit is named from the root of the module, wherever the
// repository begins.
func TestChangedFiles(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	root := filepath.Join(repository, "module")
	git := func(args ...string) {
		t.Helper()
		who := []string{"-c", "user.name=a", "-c", "user.email=a@b.c"}
		cmd := exec.CommandContext(t.Context(), "git", append(who, args...)...)
		cmd.Dir = repository
		// Whoever runs this may do so from a hook of another repository.
		dir := filepath.Join(repository, ".git")
		cmd.Env = append(os.Environ(), "GIT_DIR="+dir, "GIT_INDEX_FILE="+filepath.Join(dir, "index"),
			"GIT_WORK_TREE="+repository)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(text string, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("one", "p/a.go", "p/b.go", "p/c.go", "../outside.go")
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "One")
	git("tag", "v1")
	write("two", "p/a.go", "../outside.go")
	git("commit", "-qam", "Two")
	write("three", "p/c.go")
	got, err := (&options{root: root, changed: "v1"}).changedFiles(t.Context())
	if diff := cmp.Diff(map[string]bool{"p/a.go": true, "p/c.go": true}, got); err != nil || diff != "" {
		t.Errorf("changed since v1: %v\n%s", err, diff)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const good = `{"package": "a", "go": ["*.go"], "tests": [{"package": "a"}]}`
	for text, want := range map[string]string{
		`[` + good + `]`:               "",
		`[]`:                           "no subject",
		`[` + good + `, ` + good + `]`: "subject 2: package: a has one already",
		`[{"go": ["*.go"], "tests": [{"package": "a"}]}]`:    "package: name its directory",
		`[{"package": "a", "tests": [{"package": "a"}]}]`:    "go, lua: name the files",
		`[{"package": "a", "go": ["*.go"]}]`:                 "tests: name those",
		`[{"package": "a", "go": ["*.go"], "tests": [{}]}]`:  "tests: package",
		`[{"package": "a", "gone": ["*.go"], "tests": []}]`:  "unknown field",
		`[{"package": "a", "go": "*.go", "tests": [{}]}]`:    "cannot unmarshal",
		`[{"package": "a", "go": ["*.go"], "tests": [{}]}, `: "EOF",
	} {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readPlan(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
