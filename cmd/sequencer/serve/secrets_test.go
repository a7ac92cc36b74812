package serve

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
		} else if err := os.WriteFile(path, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f.look(logger); len(taken) != step.want {
			t.Fatalf("at %q: taken %q, log:\n%s", step.text, taken, &log)
		}
	}
	if !slices.Equal(taken, []string{"new", "new", "better"}) || strings.Count(log.String(), "level=WARN") != 2 {
		t.Errorf("taken %q, log:\n%s", taken, &log)
	}
}
