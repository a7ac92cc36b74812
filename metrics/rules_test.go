package metrics_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// said are the annotations of an alert that are the same whenever it fires.
var said = regexp.MustCompile(`(?m)^ +(description|runbook_url): (.*)\n`)

// TestAlerts has Prometheus's own tool check the alerts and run their tests, which name
// the annotations that tell of one firing, and none of the others.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("%v: run scripts/setup.sh", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"alerts.yml":      said.ReplaceAllString(read(t, monitoring, "alerts.yml"), ""),
		"alerts_test.yml": read(t, monitoring, "alerts_test.yml"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := filepath.Abs(filepath.Join(monitoring, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", whole}, {"test", "rules", "alerts_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestEveryAlert wants each alert tested where it is quiet and where it fires, and told of
// on the page that says what to do, in the words that it carries. One for what is absent
// has nothing to be quiet about beside.
func TestEveryAlert(t *testing.T) {
	t.Parallel()
	tests := read(t, monitoring, "alerts_test.yml")
	page := map[string]string{}
	for _, section := range strings.Split(read(t, "..", "docs", "alerts.md"), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		page[name] = plain(text)
	}
	alerts := strings.Split(read(t, monitoring, "alerts.yml"), "- alert: ")[1:]
	if len(alerts) < 20 {
		t.Fatalf("%d alerts", len(alerts))
	}
	for _, alert := range alerts {
		name, text, _ := strings.Cut(alert, "\n")
		if !regexp.MustCompile(`(?m)alertname: ` + name + `}$`).MatchString(tests) {
			t.Errorf("%s is not tested where it is quiet", name)
		}
		if !regexp.MustCompile(`(?m)alertname: ` + name + `\n\s+exp_alerts: \[\{`).MatchString(tests) {
			t.Errorf("%s is not tested where it fires", name)
		}
		found := map[string]string{}
		for _, m := range said.FindAllStringSubmatch(text, -1) {
			found[m[1]] = m[2]
		}
		want := map[string]string{
			"description": strconv.Quote(page[name]), "runbook_url": "docs/alerts.md#" + strings.ToLower(name),
		}
		if d := cmp.Diff(want, found); page[name] == "" || d != "" {
			t.Errorf("%s carries not what docs/alerts.md says of it:\n%s", name, d)
		}
		delete(page, name)
	}
	for name := range page {
		t.Errorf("docs/alerts.md tells of %s, which is no alert", name)
	}
}

// plain is Markdown as it is read out.
func plain(text string) string {
	text = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(text, "$1")
	return strings.Join(strings.Fields(strings.NewReplacer("`", "", "*", "").Replace(text)), " ")
}
