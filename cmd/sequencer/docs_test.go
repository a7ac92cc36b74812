package main

import (
	"io/fs"
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

// pages are all of the documentation: what stands below docs, and what each part says of itself.
func pages(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.md", "workers/*.md", "workers/*/README.md", "clients/*/README.md"} {
		more, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, more...)
	}
	return all
}

// aLink is one in Markdown, a picture too.
var aLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks: what the documentation points to is there, headings too.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	for _, page := range pages(t, root) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range aLink.FindAllStringSubmatch(string(text), -1) {
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

// TestIndex: each page of docs is found from its index.
func TestIndex(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "docs")
	index := filepath.Join(folder, "README.md")
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{index: true}
	for _, m := range aLink.FindAllStringSubmatch(string(text), -1) {
		path, _, _ := strings.Cut(m[1], "#")
		linked[filepath.Join(folder, filepath.FromSlash(path))] = true
	}
	for _, page := range pages(t, filepath.Join("..", "..")) {
		if strings.HasPrefix(page, folder+string(filepath.Separator)) && !linked[page] {
			t.Errorf("%s is not in docs/README.md", page)
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
