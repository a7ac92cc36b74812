package sequencer_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/sequencer/audit"
)

// TestOperationsPage: every code that an explanation or an audit can answer is
// on the page for operators.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page := read("../docs/operations.md")
	codes := func(pattern string, files ...string) []string {
		var all []string
		for _, f := range files {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(f), -1) {
				all = append(all, m[1])
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	checks := codes(`(?:\bbad\(\s*|Check: |f\.Check, f\.Detail = )"([A-Z_]+)"`, "audit/audit.go", "../queues/audit.go")
	if d := cmp.Diff(slices.Sorted(maps.Keys(audit.Meanings())), checks); d != "" {
		t.Errorf("meanings against checks:\n%s", d)
	}
	all := slices.Concat(checks,
		codes(`WaitCode += "([A-Z_]+)"`, "lifecycle/explanation.go"), codes(`Step\w+ += "([A-Z_]+)"`, "lifecycle/explain.go"))
	if len(all) < 50 {
		t.Fatalf("only %d codes were found: %q", len(all), all)
	}
	for _, code := range all {
		if !strings.Contains(page, "`"+code+"`") {
			t.Errorf("docs/operations.md does not speak of %s", code)
		}
	}
}
