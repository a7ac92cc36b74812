package main

import (
	"strings"
	"testing"
)

// fromDocs is the block of docs/production.md that is marked with a name.
func fromDocs(t *testing.T, name string) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, "../../docs/production.md"), "<!-- tested: "+name+" -->\n")
	if !found {
		t.Fatalf("docs/production.md has no block %q", name)
	}
	var block strings.Builder
	for line := range strings.Lines(after) {
		code, indented := strings.CutPrefix(line, "    ")
		if !indented && line != "\n" {
			break
		}
		block.WriteString(code)
	}
	if strings.TrimSpace(block.String()) == "" {
		t.Fatalf("the block %q is empty", name)
	}
	return block.String()
}
