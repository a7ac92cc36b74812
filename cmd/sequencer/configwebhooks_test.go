package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

// webhookFiles are files that must stop the start.
func webhookFiles(dir string) (paths []string) {
	for _, text := range []string{
		"", "{}", "[", `[{"id":"a"}]`, `[{"id":"a","url":"https://x","secret":"short"}]`,
		`[{"id":"a","url":"http://x","secret":"` + webhookSecret + `"}]`,
		`[{"id":"a","url":"https://x","secret":"` + webhookSecret + `","more":1}]`,
		`[{"id":"a","url":"https://x","secret":"` + webhookSecret + `"},{"id":"a","url":"https://y","secret":"` + webhookSecret + `"}]`,
		strings.Repeat(" ", 1<<20+1),
	} {
		file, err := os.CreateTemp(dir, "webhooks-*.json")
		if err != nil {
			panic(err)
		}
		if _, err := file.WriteString(text); err != nil {
			panic(err)
		}
		_ = file.Close()
		paths = append(paths, file.Name())
	}
	return append(paths, filepath.Join(dir, "none.json"), dir)
}

// TestWebhookFile: the file is told once, and again when it has changed and can be used.
func TestWebhookFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "webhooks.json")
	age := time.Hour
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		age -= time.Minute
		if at := time.Now().Add(-age); os.Chtimes(path, at, at) != nil {
			t.Fatal("the time of the file is not set")
		}
	}
	entry := func(id string) string {
		return `[{"id":"` + id + `","url":"https://x","secret":"` + webhookSecret + `"}]`
	}
	write(entry("a"))
	cfg, warnings, err := loadConfig(t.Context(), map[string]string{"SEQUENCER_WEBHOOKS_FILE": path}, needs{})
	if err != nil || len(warnings) > 0 || strings.Contains(cfg.String(), webhookSecret) {
		t.Fatal(err, warnings, cfg)
	}
	ask := cfg.Webhook.File.source()
	wants := func(id string, failed bool) {
		t.Helper()
		all, changed, err := ask()
		if changed != (id != "") || (err != nil) != failed || changed && (len(all) != 1 || all[0].ID != id) {
			t.Errorf("%v, %v, %v, want %q", all, changed, err, id)
		}
	}
	wants("a", false)
	wants("", false)
	write(entry("b"))
	wants("b", false)
	wants("", false)
	write("half")
	wants("", true)
	wants("", false)
	write(entry("c"))
	wants("c", false)
}
