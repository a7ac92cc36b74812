package monitoring

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/demo"
	"mina-sequencer/cmd/sequencer/test/inprocess"
	"mina-sequencer/queues/redistest"
)

// folder holds what the documentation gives to Prometheus and Grafana.
var folder = filepath.Join("..", "..", "..", "..", "docs", "monitoring")

func docs(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMonitoring has a Prometheus scrape a demo and asks it all that the dashboard
// asks: every query is answered, and so is every name in an alert.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	out, _, ended := inprocess.Demo(t, demo.Command, "--addr", "127.0.0.1:0")
	select {
	case <-out.Seen("Serving until Ctrl-C"):
	case code := <-ended:
		t.Fatalf("the demo ended with %d\n%s", code, out)
	}
	at := regexp.MustCompile(`curl -s http://(\S+)/api/v1/queues`).FindStringSubmatch(out.String())
	if at == nil {
		t.Fatalf("no address in\n%s", out)
	}
	addEndpoint(t, at[1])
	p := startPrometheus(t, at[1])
	for what, query := range dashboardQueries(t) {
		p.answers(what, query)
	}
	asked := regexp.MustCompile(`(?m)^ +description: .*$`).ReplaceAllString(docs(t, "alerts.yml"), "")
	names := regexp.MustCompile(`sequencer_[a-z_]+`).FindAllString(asked, -1)
	if len(names) < 20 {
		t.Fatalf("%d names in the alerts", len(names))
	}
	for _, name := range names {
		p.answers("an alert", "count("+name+")")
	}
	// Prometheus has evaluated them itself, too.
	p.until("the alerts are evaluated", func() bool {
		var rules struct {
			Groups []struct {
				Rules []struct{ Name, Health string }
			}
		}
		p.get("/api/v1/rules", nil, &rules)
		n := 0
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Fatalf("%s cannot be evaluated", r.Name)
				}
				if r.Health == "ok" {
					n++
				}
			}
		}
		return n >= 20
	})
}

// addEndpoint adds a webhook endpoint that cannot be reached, and has something to tell it: its
// figures are there.
func addEndpoint(t *testing.T, addr string) {
	t.Helper()
	c, err := client.New(client.Options{URL: "http://" + addr})
	if err == nil {
		_, err = c.AddWebhook(t.Context(), client.NewWebhook{ID: "none", URL: "https://hooks.invalid"})
	}
	if err == nil { // the last event of the round may have been before
		_, err = c.PauseQueue(t.Context(), "plan-autumn", "to see")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dashboardQueries are the queries of the dashboard by panel, as Grafana sends them.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(docs(t, "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{}
	filled := strings.NewReplacer("$__rate_interval", "1m", "$job", "sequencer")
	for _, panel := range dashboard.Panels {
		for i, target := range panel.Targets {
			queries[fmt.Sprintf("%s (%d)", panel.Title, i+1)] = filled.Replace(target.Expr)
		}
	}
	if len(queries) < 50 {
		t.Fatalf("%d queries in the dashboard", len(queries))
	}
	return queries
}

// prometheus is a server that scrapes one address.
type prometheus struct {
	*testing.T
	base string
}

func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("%v: run scripts/setup.sh", err)
	}
	alerts, err := filepath.Abs(filepath.Join(folder, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf(`global: {scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 2s}
rule_files: [%q]
scrape_configs: [{job_name: sequencer, static_configs: [{targets: [%q]}]}]
`, alerts, target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for try := 0; ; try++ {
		address := redistest.FreeAddr(t, 1)
		cmd := exec.CommandContext(t.Context(), binary, "--config.file="+filepath.Join(dir, "prometheus.yml"),
			"--storage.tsdb.path="+filepath.Join(dir, fmt.Sprint("data", try)), "--web.listen-address="+address, "--log.level=error")
		ended := make(chan struct{})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { defer close(ended); _ = cmd.Wait() }() // it ends with the test, killed
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
		p := &prometheus{t, "http://" + address}
		up := false
		p.until("Prometheus is ready", func() bool {
			select {
			case <-ended: // the port was taken meanwhile
				return true
			default:
			}
			up = p.ready()
			return up
		})
		if up || try == 5 {
			return p
		}
	}
}

func (p *prometheus) ready() bool {
	req, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.base+"/-/ready", nil)
	if err != nil {
		p.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (p *prometheus) get(path string, query url.Values, data any) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.base+path+"?"+query.Encode(), nil)
	if err != nil {
		p.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Status != "success" {
		p.Fatalf("%s %s: %s %v", path, query, answer.Error, err)
	}
}

// answers wants at least one series for a query.
func (p *prometheus) answers(what, query string) {
	p.Helper()
	p.until(what+" is answered: "+query, func() bool {
		var data struct{ Result []any }
		p.get("/api/v1/query", url.Values{"query": {query}}, &data)
		return len(data.Result) > 0
	})
}

func (p *prometheus) until(what string, done func() bool) {
	p.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if done() {
			return
		}
	}
	p.Fatalf("not within two minutes: %s", what)
}
