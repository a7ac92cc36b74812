//go:build unix

package processes

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// nodeHangs: of three nodes one takes connections and never answers, or answers late.
// All is done once and in order, and the figures beside each other say what it costs:
// go test ./cmd/sequencer/test/processes -run TestProcesses/NodeHangs -v
func nodeHangs(t *testing.T, bin binaries) {
	lane.All(t, `TestSilentQuestion and TestNodesDiffer in simulated time`)
	r := newRig(t, bin, "hangs", map[string]string{"SEQUENCER_MINA_TIMEOUT": "5s"})
	chain := r.run("three nodes", bin.sequencer, nil, "devnet", "--addr", redistest.FreeAddr(t, 3), "--nodes", "3",
		"--slot", "500ms", "--fill", "1", "--k", "20000")
	urls := r.await(chain, regexp.MustCompile(`GraphQL   (\S+)`))
	r.env["SEQUENCER_MINA_URL"] = urls
	nodes := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(urls, -1)
	r.node = nodes[0]
	third := nodes[2]
	r.eventually(patience, "the first slots are over", func() bool {
		var state struct{ Slot uint32 }
		return r.call(http.MethodGet, "http://"+r.node+"/control/state", "", &state) == http.StatusOK && state.Slot > 0
	})
	for n := range uint64(3) {
		r.worker(n+1, "--prove-time", "300ms")
	}
	scenes := []struct{ name, fault string }{
		{"all answer", `{}`}, {"one hangs", `{"hang":true}`}, {"one takes 2 s for each answer", `{"delayMs":2000}`},
	}
	took := make([]time.Duration, len(scenes))
	for round := range 2 { // in turns, for the machine has moods
		for i, scene := range scenes {
			r.at(third, "heal", "")
			r.at(third, "faults", scene.fault)
			s := r.serve(fmt.Sprintf("serve %d.%d", round, i), nil)
			began := time.Now()
			var uids []string
			for k := range 12 {
				uid := fmt.Sprintf("%d-%d-%d", round, i, k)
				r.post(s, fmt.Sprintf("q%d", k%4), uid)
				uids = append(uids, uid)
			}
			for _, uid := range uids {
				r.eventually(patience, uid+" is done", func() bool { return r.phase(uid) == tx.PhaseDone })
			}
			d := time.Since(began)
			took[i] += d
			t.Logf("%s: twelve transactions took %.1f s", scene.name, d.Seconds())
			s.kill()
		}
	}
	for i, scene := range scenes[1:] {
		t.Logf("%s: %.2f times as long", scene.name, float64(took[i+1])/float64(took[0]))
	}
	r.at(third, "heal", "")
	r.serve("the last", nil)
	r.allDone()
}

// at has one of several nodes do something.
func (r *rig) at(node, what, body string) {
	r.Helper()
	before := r.node
	r.node = node
	r.control(what, body)
	r.node = before
}
