package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeFile(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
}

// secretFiles are names of files that cannot be used, and of one that could but for the
// variable that is set beside it.
func secretFiles(dir, beside string) []string {
	empty, good, large := filepath.Join(dir, "empty"), filepath.Join(dir, "good"), filepath.Join(dir, "large")
	writeFile(empty, "\n")
	writeFile(good, "good")
	writeFile(large, strings.Repeat("x", 1<<20+1))
	return []string{"/none/secret", dir, empty, large, good + " " + beside}
}

// TestSecretsFromFiles: a file stands for its variable, and its content is told no more
// than that of the variable.
func TestSecretsFromFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{}
	for name, text := range map[string]string{
		"REDIS_URL": "redis://:hush@h:1/2\n", "API_KEYS": "a:read:hush-hush-hush-h1\nb:submit@q:hush-hush-hush-h2\n", "WORKER_TOKEN": " hush ",
	} {
		env["SEQUENCER_"+name+"_FILE"] = filepath.Join(dir, name)
		writeFile(filepath.Join(dir, name), text)
	}
	cfg, warnings, err := loadConfig(t.Context(), env, known())
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if len(cfg.HTTP.APIKeys) != 2 || cfg.Senders.WorkerToken != "hush" || cfg.Redis.URL.Options().DB != 2 {
		t.Errorf("got\n%s", cfg)
	}
	if text := cfg.String(); strings.Contains(text, "hush") || !strings.Contains(text, "a:read:***,b:submit@q:***") {
		t.Errorf("got\n%s", text)
	}
	writeFile(env["SEQUENCER_API_KEYS_FILE"], "a:read:hush,b")
	_, _, err = loadConfig(t.Context(), env, known())
	if _, ok := errors.AsType[*configError](err); !ok || strings.Contains(err.Error(), "hush") ||
		!strings.Contains(err.Error(), "in SEQUENCER_API_KEYS_FILE holds an entry") {
		t.Errorf("a bad file: %v", err)
	}
}

// TestSecretsReadAgain: what a file holds is taken when it is whole and can be used.
func TestSecretsReadAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	var taken []string
	f := &watchedFile{variable: "X_FILE", path: path, used: "old", take: func(text string) error {
		if text == "bad" {
			return errors.New("bad")
		}
		taken = append(taken, text)
		return nil
	}}
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	for _, step := range []struct {
		text string // "-" for no file
		want int    // taken in all
	}{
		{"old", 0}, {"ne", 0}, {"new", 0}, {"new", 1}, {"new", 1}, {"", 1}, {"-", 1}, {"-", 1}, {"new", 1}, {"new", 2},
		{"bad", 2}, {"bad", 2}, {"bad", 2}, {"better\n", 2}, {"better", 3},
	} {
		if step.text == "-" {
			_ = os.Remove(path)
		} else {
			writeFile(path, step.text)
		}
		if f.look(logger); len(taken) != step.want {
			t.Fatalf("at %q: taken %q, log:\n%s", step.text, taken, &log)
		}
	}
	if !slices.Equal(taken, []string{"new", "new", "better"}) || strings.Count(log.String(), "level=WARN") != 2 {
		t.Errorf("taken %q, log:\n%s", taken, &log)
	}
}
