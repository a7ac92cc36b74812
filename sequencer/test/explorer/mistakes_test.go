package explorer

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var planted = flag.String("mistakes", "", "plant the mistakes whose name matches, and see that each is found")

// A mistake is an edit of the decisions, or of the abstract store, that breaks a promise.
// world is where it is looked for.
type mistake struct{ name, world, file, old, wrong string }

// TestMistakesFit sees that each edit still fits its place.
func TestMistakesFit(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mistakes() {
		src, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(src), m.old); n != 1 {
			t.Errorf("%s: fits %d places in %s", m.name, n, m.file)
		}
		if names[m.name] {
			t.Errorf("%s: twice", m.name)
		}
		names[m.name] = true
	}
}

// TestMistakes plants each mistake by an overlay, which leaves the tree as it is, and
// explores a world of CI until it breaks a promise.
func TestMistakes(t *testing.T) {
	if *planted == "" {
		t.Skip("run with -mistakes .")
	}
	which := regexp.MustCompile(*planted)
	for _, m := range mistakes() {
		if !which.MatchString(m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) { found(t, m) })
	}
}

func found(t *testing.T, m mistake) {
	dir := t.TempDir()
	src, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(wrong, []byte(strings.Replace(string(src), m.old, m.wrong, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {at: wrong}})
	if err != nil {
		t.Fatal(err)
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "explorer.test")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", list, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it does not build: %v\n%s", err, out)
	}
	args := []string{"-test.run", "^TestWorlds$", "-test.v", "-first", "-fair", "4", "-world", m.world}
	named := func(w *World) bool { return strings.Contains(w.Name, m.world) }
	switch {
	case slices.ContainsFunc(Worlds(), named):
	case slices.ContainsFunc(Pairs(), named):
		args = append(args, "-pairs", "-batch", "2000")
	case slices.ContainsFunc(WiderWorlds(), func(w *World) bool { return named(w) && w.Prompt }):
		args = append(args, "-wide") // breadth first, as far as memory reaches
	default:
		args = append(args, "-wide", "-batch", "2000") // no world that ends is large enough
	}
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	broken := regexp.MustCompile(`world ([^\n]*): ([^\n]*)\n`).FindStringSubmatch(string(out))
	states := regexp.MustCompile(`(\d+) states together`).FindStringSubmatch(string(out))
	if err == nil || broken == nil || states == nil {
		t.Fatalf("not found: %v", err)
	}
	t.Logf("%s | %s | %s | %s", m.name, broken[1], states[1], broken[2])
}
