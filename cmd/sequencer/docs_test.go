package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// TestLinks: what the documentation points to is there, headings too.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "workers", "*", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = append(append(pages, more...), filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"),
		filepath.Join(root, "workers", "README.md"))
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			path, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			linked, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); err != nil && (statErr != nil || !info.IsDir()) {
				t.Errorf("%s points to %s: %v", page, m[1], err)
			} else if heading != "" && !hasHeading(string(linked), heading) {
				t.Errorf("%s points to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// hasHeading finds a heading by the name that it has in a link.
func hasHeading(page, name string) bool {
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for line := range strings.Lines(page) {
		if title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); is && strings.HasPrefix(line, "#") {
			if strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-") == name {
				return true
			}
		}
	}
	return false
}
