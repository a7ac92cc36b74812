package chartcheck

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose reads compose.yaml, and what is laid over it, as docker compose does.
func compose(t *testing.T, over ...string) *types.Project {
	t.Helper()
	version := cli.WithEnv([]string{"SEQUENCER_VERSION=1.2.3"})
	options, err := cli.NewProjectOptions(append([]string{"../../../compose.yaml"}, over...), version)
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// TestCompose: compose takes it; what it mounts is there; nothing is offered to
// other machines; there are two sequencers.
func TestCompose(t *testing.T) {
	t.Parallel()
	sequencers := 0
	for name, s := range compose(t).Services {
		if strings.HasPrefix(name, "sequencer-") {
			sequencers++
			if s.StopGracePeriod == nil || s.Environment["SEQUENCER_REDIS_URL"] == nil {
				t.Errorf("%s: %+v", name, s)
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: the port %s is open to others", name, port.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if sequencers != 2 {
		t.Errorf("%d sequencers", sequencers)
	}
}

// TestComposeProvers: over it, both sequencers are told of the provers that are there, which
// have the token and no account; what has the accounts signs.
func TestComposeProvers(t *testing.T) {
	t.Parallel()
	plain, services := compose(t).Services, compose(t, "../compose/provers.yaml").Services
	var provers []string
	for name, s := range services {
		command := strings.Join(s.Command, " ")
		if strings.Contains(command, "--prover=") {
			provers = append(provers, "http://"+name+":3000")
			if strings.Contains(command, "--account") || *s.Environment["WORKER_TOKEN"] != *plain["worker"].Environment["WORKER_TOKEN"] {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	slices.Sort(provers)
	for _, name := range []string{"sequencer-1", "sequencer-2"} {
		if got := *services[name].Environment["SEQUENCER_PROVERS"]; got != strings.Join(provers, ",") || len(provers) != 3 {
			t.Errorf("%s is told of %q, and there are %q", name, got, provers)
		}
		if *services[name].Environment["SEQUENCER_SENDERS"] != *plain[name].Environment["SEQUENCER_SENDERS"] {
			t.Errorf("%s has other senders", name)
		}
	}
	if command := services["worker"].Command; !slices.Contains(command, "--signs") || command[len(command)-1] != plain["worker"].Command[2] {
		t.Errorf("the worker is started as %q", command)
	}
}

// TestScrape: Prometheus' settings name the sequencers and a key that they take.
func TestScrape(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "compose", "prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range compose(t).Services {
		keys := s.Environment["SEQUENCER_API_KEYS"]
		if keys == nil {
			continue
		}
		key := (*keys)[strings.LastIndex(*keys, ":")+1:]
		if !strings.Contains(string(data), name+":8080") || !strings.Contains(string(data), "credentials: "+key+"}") {
			t.Errorf("%s is not scraped, or not with its key", name)
		}
	}
}
