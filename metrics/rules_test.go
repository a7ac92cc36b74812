package metrics_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// monitoring is where dashboard and alerts are.
const monitoring = "../docs/monitoring"

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAlerts has Prometheus's own tool check the alerts and run their tests.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: run scripts/setup.sh", err)
	}
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = monitoring
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestEveryAlert wants each alert tested where it is quiet and where it fires, and
// told of in the page that says what to do. One for what is absent has nothing to be
// quiet about beside.
func TestEveryAlert(t *testing.T) {
	t.Parallel()
	tests, page := read(t, monitoring, "alerts_test.yml"), read(t, "..", "docs", "operations.md")
	alerts := regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`).FindAllStringSubmatch(read(t, monitoring, "alerts.yml"), -1)
	if len(alerts) < 20 {
		t.Fatalf("%d alerts", len(alerts))
	}
	for _, m := range alerts {
		name := m[1]
		if !regexp.MustCompile(`(?m)alertname: ` + name + `}$`).MatchString(tests) {
			t.Errorf("%s is not tested where it is quiet", name)
		}
		if !regexp.MustCompile(`(?m)alertname: ` + name + `\n\s+exp_alerts: \[\{`).MatchString(tests) {
			t.Errorf("%s is not tested where it fires", name)
		}
		if !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("docs/operations.md does not say what %s means", name)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(Sequencer\\w+)` \\|").FindAllStringSubmatch(page, -1) {
		if !slices.ContainsFunc(alerts, func(a []string) bool { return a[1] == m[1] }) {
			t.Errorf("docs/operations.md tells of %s, which is no alert", m[1])
		}
	}
}
