package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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
	cfg, warnings, err := read(t.Context(), env, known())
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
	_, _, err = read(t.Context(), env, known())
	if _, ok := errors.AsType[*Error](err); !ok || strings.Contains(err.Error(), "hush") ||
		!strings.Contains(err.Error(), "in SEQUENCER_API_KEYS_FILE holds an entry") {
		t.Errorf("a bad file: %v", err)
	}
}

func TestConfigHidesSecrets(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"SEQUENCER_REDIS_URL": "rediss://user:hush@h:6380/2?pool_size=7", "SEQUENCER_API_KEYS": "ci:admin:hush-hush-hush-hush",
		"SEQUENCER_WORKER_TOKEN": "hush", "SEQUENCER_MINA_URL": "https://u:hush@node:1/v1/hush/graphql?apikey=hush",
		"SEQUENCER_ARCHIVE_URL": "https://archive/hush",
	}
	cfg, _, err := read(t.Context(), env, known())
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("configuration", "config", cfg)
	for _, text := range []string{cfg.String(), log.String(), fmt.Sprint(cfg), fmt.Sprintf("%v", cfg.Redis.URL)} {
		if strings.Contains(text, "hush") {
			t.Errorf("a secret shows: %s", text)
		}
	}
	for _, want := range []string{"REDIS_URL=rediss://h:6380/2", "WORKER_TOKEN=***", "MINA_URL=node:1", "ARCHIVE_URL=archive"} {
		if !strings.Contains(cfg.String(), "SEQUENCER_"+want+"\n") {
			t.Errorf("no %s in\n%s", want, cfg)
		}
	}
	if !json.Valid(log.Bytes()) || !strings.Contains(log.String(), `"namespace":"seq"`) {
		t.Errorf("got %s", log.String())
	}
	// The same secrets next to mistakes.
	for name, value := range env {
		refused(t, name, value+" \x00,hush://hush")
	}
}

// TestConfigHidesRefusedAddresses: what may hold a password is not told where it is refused,
// be it for the password.
func TestConfigHidesRefusedAddresses(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"MINA_URL": "ftp://u:hush@node", "ARCHIVE_URL": "https://a/hush,https://b/hush",
		"SENDERS": keyA + "=http://u:hush@w", "LEDGERS": "a=sawtooth+http://u:hush@h",
		"EXPLORER_URL": "https://u:hush@x/{hash}", "CORS_ORIGINS": "https://u:hush@app.example",
	} {
		refused(t, "SEQUENCER_"+name, value)
	}
	refused(t, "SEQUENCER_SENDERS", "http://u:hush@w="+keyA) // the wrong way round
}

// refused fails where a setting is taken, or a hush of it is told.
func refused(t *testing.T, name, value string) {
	t.Helper()
	env := map[string]string{name: value}
	_, _, err := read(t.Context(), env, known())
	bad, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("%s was accepted: %v", name, err)
	}
	if text := fmt.Sprint(err, bad.Problems); !strings.Contains(text, name) || strings.Contains(text, "hush") {
		t.Errorf("%s: %s", name, text)
	}
}
