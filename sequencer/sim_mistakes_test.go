package sequencer_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	plant     = flag.String("sim.mistakes", "", "plant the known mistakes whose names match, one at a time, and simulate until one shows; \".\" for all")
	plantMost = flag.Int("sim.most", 3000, "the most seeds to find a planted mistake in")
)

// A mistake is known to break a promise. It is planted by compiling a copy of
// the source in which old is replaced by what is wrong.
type mistake struct {
	name  string
	edits []edit
}

type edit struct{ file, old, wrong string }

// plantIn returns an overlay for the go command with all the mistakes planted,
// and says what does not fit.
func plantIn(t *testing.T, mistakes ...mistake) (overlay string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, m := range mistakes {
		for _, e := range m.edits {
			path := filepath.Join(root, e.file)
			text, ok := sources[path]
			if !ok {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			}
			if n := strings.Count(text, e.old); n != 1 {
				t.Errorf("%s: %s has it %d times, not once:\n%s", m.name, e.file, n, e.old)
			}
			sources[path] = strings.Replace(text, e.old, e.wrong, 1)
		}
	}
	dir := t.TempDir()
	replaced := map[string]string{}
	for path, text := range sources {
		copied := filepath.Join(dir, fmt.Sprint(len(replaced))+"-"+filepath.Base(path))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[path] = copied
	}
	b, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// TestMistakesFit: every known mistake can still be planted in the source as it
// is now, and what comes of it compiles.
func TestMistakesFit(t *testing.T) {
	t.Parallel()
	if raced {
		return // it is about edits, and takes a build
	}
	// All at once: one build is cheap, and none of them stands in another's way.
	out, err := exec.Command("go", "build", "-overlay", plantIn(t, mistakes()...), "-o", os.DevNull, "../cmd/sequencer").CombinedOutput()
	if err != nil {
		t.Errorf("the mistakes do not compile: %v\n%s", err, out)
	}
}

// TestMistakes shows that the simulation finds known mistakes: it plants them one
// at a time and counts the seeds until a promise is seen broken.
func TestMistakes(t *testing.T) {
	if *plant == "" {
		return // TestMistakesFit is the cheap half
	}
	name, err := regexp.Compile(*plant)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, m := range mistakes() {
		if !name.MatchString(m.name) {
			continue
		}
		began := time.Now()
		seeds, broken := find(t, m)
		if seeds == 0 {
			t.Errorf("%s: not found in %d seeds", m.name, *plantMost)
		}
		line := fmt.Sprintf("| %s | %d | %s |", m.name, seeds, broken)
		fmt.Fprintln(&table, line)
		fmt.Fprintf(os.Stderr, "%s  %v\n", line, time.Since(began).Round(time.Second))
	}
	fmt.Fprintf(os.Stderr, "\n| mistake | seeds | what broke |\n|---|---|---|\n%s", table.String())
}

var found = regexp.MustCompile(`(?m)^first broken after (\d+) seeds: (.*)$`)

// find simulates with a mistake planted; 0 seeds if it did not show.
func find(t *testing.T, m mistake) (seeds int, broken string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "planted.test")
	if out, err := exec.Command("go", "test", "-c", "-overlay", plantIn(t, m), "-o", binary, ".").CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", m.name, err, out)
		return 0, ""
	}
	run := exec.CommandContext(t.Context(), binary, "-test.run=^TestSimulation$", "-test.timeout=20m", "-sim.stop", "-sim.seeds="+strconv.Itoa(*plantMost))
	out, _ := run.CombinedOutput() // it is to fail
	at := found.FindSubmatch(out)
	if at == nil {
		if !strings.Contains(string(out), "PASS") {
			t.Errorf("%s: the simulation itself broke:\n%.4000s", m.name, out)
		}
		return 0, ""
	}
	seeds, _ = strconv.Atoi(string(at[1]))
	return seeds, string(at[2])
}
