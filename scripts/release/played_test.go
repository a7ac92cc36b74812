package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/yaml"
)

// A service is what compose.yaml says of one that is needed to play it.
type service struct {
	Image       string            `json:"image"`
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"`
}

// composed are the services of compose.yaml; chartcheck holds the file against
// compose's own library.
func composed(t *testing.T) map[string]service {
	t.Helper()
	var file struct {
		Services map[string]service `json:"services"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	return file.Services
}

// testSettings: the program knows every setting that compose.yaml and the chart give
// it, and can use it.
func testSettings(t *testing.T, r madeRelease) {
	var chart struct {
		Data map[string]string `json:"data"`
	}
	golden := read(t, "chartcheck/testdata/full.golden.yaml")
	_, after, _ := strings.Cut(golden, "# mina-sequencer/templates/configmap.yaml\n")
	configMap, _, _ := strings.Cut(after, "\n---\n")
	if err := yaml.Unmarshal([]byte(configMap), &chart); err != nil {
		t.Fatal(err)
	}
	chart.Data["SEQUENCER_API_KEYS"] = "a:admin:0123456789abcdef" // both from the Secret
	chart.Data["SEQUENCER_REDIS_URL"] = "redis://redis:6379/0"
	program := r.program(t)
	for name, env := range map[string]map[string]string{
		"compose": composed(t)["sequencer-1"].Environment, "chart": chart.Data,
	} {
		// Nobody is there to be asked; what it says of the settings counts.
		cmd := exec.CommandContext(t.Context(), "unshare", "--net", program, "doctor", "--json")
		cmd.Env = []string{"HOME=/tmp"}
		for key, value := range env {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
		out, _ := cmd.Output()
		var said struct {
			Findings []struct{ Level, Check, Subject, Found string }
		}
		if err := json.Unmarshal(out, &said); err != nil || len(env) < 5 || len(said.Findings) < 3 {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		for _, f := range said.Findings {
			if (f.Check == "SETTING" || f.Check == "OPEN_API") && f.Level != "ok" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// program is the released program, out of its archive.
func (r madeRelease) program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sh(t, `tar -xzf "$2" -C "$1" --strip-components=1`, dir, r.file("_"+r.system+".tar.gz"))
	return filepath.Join(dir, "sequencer")
}

// network is where the services are played: each has a network of its own, with its
// address, on one bridge, and all know each other's names.
const network = `
mount -t tmpfs tmpfs /run; mkdir /run/netns; cp "$DIR/hosts" /run/hosts; mount --bind /run/hosts /etc/hosts
ip link set lo up; ip link add bridge type bridge; ip addr add 10.77.0.1/24 dev bridge; ip link set bridge up
join() { # NAME NUMBER
	ip netns add "$1"; ip link add "v$2" type veth peer name eth0 netns "$1"; ip link set "v$2" master bridge up
	ip -n "$1" addr add "10.77.0.$2/24" dev eth0; ip -n "$1" link set eth0 up; ip -n "$1" link set lo up
}
contained() { # ROOT VARIABLE=VALUE… -- PROGRAM ARGUMENT…
	root=$1; shift; env=(); while [ "$1" != -- ]; do env+=("$1"); shift; done; shift
	mount --bind "$root" "$root"; mount -o remount,bind,ro "$root"; mount -t tmpfs tmpfs "$root/tmp"
	mount -t tmpfs -o uid=65532,mode=0700 tmpfs "$root/var/lib/mina-sequencer"
	exec env -i "${env[@]}" "$(command -v chroot)" --userspec=65532:65532 "$root" "$@"
}
export -f contained
`

// asked is what a person does once compose is up.
const asked = `
post() { "$PROGRAM" post --url "http://sequencer-1:8080" --key "$KEY" --retries 40 "$@"; }
seq 1 12 | while read -r i; do
	echo '{"uid":"played-'$i'","queue":"claim-'$((i % 3))'","type":"CREATE_CLAIM_VOTING_ACCOUNT","data":'\
'{"claimUid":"0123456789abcdef0123456789abcdef","strategy":{"requiredVotes":1,"requiredPositives":1}}}'
done | post --batch -
for i in $(seq 1 12); do
	"$PROGRAM" txn wait "played-$i" --url "http://sequencer-2:8080" --key "$KEY" --json | grep -o '"state":"[A-Z]*"'
done
curl -s -o /dev/null -w 'without a key %{http_code}\n' http://sequencer-1:8080/api/v1/queues
curl -s -o /dev/null -w 'dashboard %{http_code}\n' http://sequencer-2:8080/
up() { curl -s http://prometheus:9090/api/v1/query --data-urlencode 'query=sum(up{job="sequencer"})' | grep -o '"2"'; }
until up; do sleep 0.5; done
curl -s http://prometheus:9090/api/v1/rules | grep -o SequencerAbsent | sort -u
`

// testPlayed runs what compose.yaml says without Docker: the files of our images
// as containers would have them, Redis and Prometheus of this machine in place of
// theirs. Grafana is left out.
func testPlayed(t *testing.T, r madeRelease) {
	dir := t.TempDir()
	hosts, script := "127.0.0.1 localhost\n", network
	number := 10
	for name, s := range composed(t) {
		if name == "grafana" {
			continue
		}
		number++
		hosts += fmt.Sprintf("10.77.0.%d %s\n", number, name)
		script += fmt.Sprintf("join %s %d\n", name, number)
		script += fmt.Sprintf("ip netns exec %s bash -euc '%s' > $DIR/%[1]s.log 2>&1 &\n", name, playedAs(t, r, dir, name, s))
	}
	for _, root := range []string{"sequencer-1", "sequencer-2", "mina", "worker"} {
		etc := filepath.Join(dir, root, "etc", "hosts")
		if err := os.WriteFile(etc, []byte(hosts), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "hosts"), []byte(hosts), 0o644); err != nil {
		t.Fatal(err)
	}
	out := sh(t, `export DIR="$1" PROGRAM="$2" KEY=try-it-on-this-machine-only
		timeout 150 unshare --mount --net --pid --fork --kill-child bash -euo pipefail -c "$3" 2>&1 ||
			{ echo FAILED; tail -n 5 "$DIR"/*.log; }`, dir, r.program(t), script+asked)
	for want, n := range map[string]int{
		`"state":"DONE"`: 12, "without a key 401": 1, "dashboard 200": 1, `"2"`: 1, "SequencerAbsent": 1, "FAILED": 0,
	} {
		if got := strings.Count(out, want); got != n {
			t.Errorf("%d times %q, want %d, in\n%s", got, want, n, out)
		}
	}
}

// playedAs is the command of a service.
func playedAs(t *testing.T, r madeRelease, dir, name string, s service) string {
	t.Helper()
	switch name {
	case "redis":
		return "cd $(mktemp -d) && exec " + strings.Join(s.Command, " ") + " --protected-mode no"
	case "prometheus":
		rules, err := filepath.Abs("../../docs/monitoring/alerts.yml")
		if err != nil {
			t.Fatal(err)
		}
		sh(t, `mkdir "$1/prom"; cp compose/prometheus.yml "$2" "$1/prom"`, dir, rules)
		return "exec prometheus --config.file=$DIR/prom/prometheus.yml --storage.tsdb.path=$DIR/prom/data"
	}
	image, _, _ := strings.Cut(s.Image, ":")
	img, err := tarball.ImageFromPath(filepath.Join(r.dir, image+"_"+testVersion+"_docker_"+archHere+".tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, name)
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	unpack(t, mutate.Extract(img), root)
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"contained", root}, file.Config.Env...)
	for key, value := range s.Environment {
		args = append(args, fmt.Sprintf("%s=%q", key, value))
	}
	args = append(append(args, "--"), file.Config.Entrypoint...)
	if s.Command == nil {
		return strings.Join(append(args, file.Config.Cmd...), " ")
	}
	return strings.Join(append(args, s.Command...), " ")
}
