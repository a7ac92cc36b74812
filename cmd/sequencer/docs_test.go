package main

import (
	"os"
	"path/filepath"
	"testing"
)

// docs reads a page of the documentation.
func docs(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "docs"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
