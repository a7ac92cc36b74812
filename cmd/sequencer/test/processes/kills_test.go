//go:build unix

package processes

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/tx"
)

var (
	kills     = flag.Int("kills", 12, "how many processes are killed at random moments")
	killsSeed = flag.Uint64("kills.seed", 1, "decides on those moments")
	poolKills = flag.Int("kills.pool", 0, "how many of each are killed of a pool, a signer and the sequencers; 0: as the lane has it")
	killsIn   = flag.Int("kills.width", 3, "how many of a queue are in flight meanwhile")
)

// killedAtRandom: two sequencers under load are killed with -9 at random moments
// and started again at once, over a chain that drops, fails and reorganises.
// Everything accepted is done once and in order.
func killedAtRandom(t *testing.T, bin binaries) {
	began := time.Now()
	rng := rand.New(rand.NewPCG(*killsSeed, 0))
	r := newRig(t, bin, "random", map[string]string{
		"SEQUENCER_CONFIRMATIONS": "3", "SEQUENCER_WIDTH": strconv.Itoa(*killsIn), "SEQUENCER_OVERLAP": "MINT=chained",
	})
	for n := range uint64(5) {
		r.worker(n+1, "--prove-time", "120ms")
	}
	r.worker(6, "--prove-time", "20ms", "--legacy")
	l := r.load(*killsSeed)
	places := []*program{r.place(l, 0), r.place(l, 1)}
	counts, chain := map[tx.Phase]int{}, map[string]int{}
	for range *kills {
		l.work(time.Duration(rng.IntN(800)) * time.Millisecond)
		if what := r.disturbChain(rng); what != "" {
			chain[what]++
		}
		i := rng.IntN(len(places))
		places[i].kill()
		l.gone(i)
		for phase, n := range l.look() {
			if phase != tx.PhaseDone {
				counts[phase] += n
			}
		}
		places[i] = r.place(l, i)
	}
	killed := time.Since(began)
	l.finish()
	var under []string
	for phase, n := range counts {
		under = append(under, fmt.Sprintf("%d× %s, %s", n, phase.State(), phase.Queue()))
	}
	slices.Sort(under)
	t.Logf("seed %d: %d kills with -9 in %v, %d transactions, %d posts repeated, %d times a person was asked, chain %v, over after %v; under way at the kills: %s",
		*killsSeed, *kills, killed.Round(time.Second), len(r.posted), l.repeats, len(r.strayed), chain, time.Since(began).Round(time.Second),
		strings.Join(under, "; "))
}

// place starts a sequencer that the load finds as soon as it listens.
func (r *rig) place(l *load, place int) *program {
	r.Helper()
	p := r.run(fmt.Sprintf("serve %d", place), r.bin.sequencer, r.settings(nil), "serve")
	listens := regexp.MustCompile(`msg=serving addr=(\S+)`)
	l.done.Go(func() {
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for {
			if found := p.out.find(listens); found != nil {
				l.mu.Lock()
				defer l.mu.Unlock()
				select {
				case <-p.ended: // and the next one may be there already
				default:
					l.apis[place] = "http://" + found[1] + "/api/v1"
				}
				return
			}
			select {
			case <-p.ended:
				return
			case <-again.C:
			}
		}
	})
	return p
}

// disturbChain has something happen to the chain once in a while: less deep than
// what is promised holds.
func (r *rig) disturbChain(rng *rand.Rand) (what string) {
	r.Helper()
	node := "http://" + r.node + "/control/"
	switch rng.IntN(6) {
	case 0:
		r.control("fail-next", `{"count":1,"reasons":["Account_app_state_0_precondition_unsatisfied"]}`)
		return "failed in a block"
	case 1:
		var state devnet.State
		if r.call(http.MethodGet, node+"state", "", &state) != http.StatusOK || len(state.Pooled) == 0 {
			return ""
		}
		// It may have found its block meanwhile.
		status, _, err := exchange(http.MethodPost, node+"drop", fmt.Sprintf(`{"hash":%q}`, state.Pooled[rng.IntN(len(state.Pooled))]))
		r.ok(err)
		if status != http.StatusOK {
			return ""
		}
		return "dropped"
	case 2:
		r.control("reorg", fmt.Sprintf(`{"depth":%d,"empty":%v}`, 1+rng.IntN(2), rng.IntN(2) == 0))
		return "reorganised"
	}
	return ""
}

// audit has the service check itself.
func (r *rig) audit() {
	r.Helper()
	p := r.run("audit", r.bin.sequencer, r.env, "audit")
	if code := r.exitCodeOf(p); code != command.ExitOK {
		r.Errorf("sequencer audit ended with %d: %s", code, p.out.lines(20))
	}
}
