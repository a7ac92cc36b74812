//go:build unix

package processes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/lane"
)

const (
	provers     = 3
	chainedKeys = 2 // senders, and queues of chained transactions
)

// poolKilled: provers that build, a signer and two sequencers are killed with -9 at random moments, and
// started again at once, while queues of chained transactions are proved side by side. All is done once
// and in order; each kill of a prover throws away one proof at most, one of a sequencer or a signer none.
func poolKilled(t *testing.T, bin binaries) {
	n := *poolKills
	if n == 0 {
		n = 3
		if !lane.Sampled() {
			n = 100
		}
	}
	rng := rand.New(rand.NewPCG(*killsSeed, 1))
	r := newRig(t, bin, "pool", map[string]string{
		"SEQUENCER_CONFIRMATIONS": "3", "SEQUENCER_WIDTH": "4", "SEQUENCER_OVERLAP": "MINT=chained",
		"SEQUENCER_DISPATCH_TIMEOUT": "1m", // longer than any takes to be started again
		"SEQUENCER_VALID_SLOTS":      "250",
	})
	var keys, urls, senders []string
	for i := range uint64(chainedKeys) {
		keys = append(keys, devnet.Key(i+1))
	}
	addrs := map[string]string{} //, by name
	start := func(name string, args ...string) *program {
		args = append(args, "--node", "http://"+r.node+"/graphql")
		if addrs[name] != "" {
			args = append(args, "--addr", addrs[name])
		}
		p := r.run(name, r.bin.worker, nil, args...)
		addrs[name] = r.await(p, regexp.MustCompile(`http://([^/\s]+)`))
		return p
	}
	signer := func() *program { return start("signer", "--signs", "--account", strings.Join(keys, ",")) }
	prover := func(i int) *program {
		return start(fmt.Sprint("prover ", i), "--prover", "MINT", "--state", "--prove-time", "150ms")
	}
	signs := signer()
	for _, key := range keys {
		senders = append(senders, key+"=http://"+addrs["signer"]+"/"+key)
	}
	var proves []*program
	for i := range provers {
		proves = append(proves, prover(i))
		urls = append(urls, "http://"+addrs[proves[i].name])
	}
	r.env["SEQUENCER_SENDERS"], r.env["SEQUENCER_PROVERS"] = strings.Join(senders, ","), strings.Join(urls, ",")

	began := func() int { return r.printed("prover ", "proving ") }
	for round, kind := range []string{"signer", "sequencer", "prover"} {
		was, posted, at := began(), len(r.posted), time.Now()
		l := r.loadOf(*killsSeed+uint64(round), kind, chainedKeys, 6*chainedKeys)
		serving := []*program{r.place(l, 0), r.place(l, 1)}
		for range n {
			next := began() + 1 + rng.IntN(2*provers) // whatever the machine has to do
			r.eventually(patience, "more proofs are begun", func() bool { l.look(); return began() >= next })
			rest(t.Context(), time.Duration(rng.IntN(200))*time.Millisecond)
			switch kind {
			case "signer":
				signs.kill()
				signs = signer()
			case "sequencer":
				i := rng.IntN(len(serving))
				serving[i].kill()
				l.gone(i)
				serving[i] = r.place(l, i)
			case "prover":
				i := rng.IntN(len(proves))
				proves[i].kill()
				proves[i] = prover(i)
			}
		}
		l.finish()
		for i, p := range serving {
			p.kill()
			l.gone(i)
		}
		made := len(r.posted) - posted
		thrown, most := began()-was-made, 0
		if kind == "prover" {
			most = n
		}
		t.Logf("%d kills of a %s in %v: %d transactions, %d proofs thrown away", n, kind, time.Since(at).Round(time.Second), made, thrown)
		if thrown > most {
			t.Errorf("%d kills of a %s threw %d proofs away, want at most %d", n, kind, thrown, most)
			for _, p := range r.posted[posted:] {
				if n := r.printed("prover ", "proving "+p.uid+"\n"); n > 1 {
					t.Logf("%s was proved %d times", p.uid, n)
					r.tellOf(p.uid)
				}
			}
		}
	}
}

// tellOf prints what helps to understand what became of a transaction.
func (r *rig) tellOf(uid string) {
	for _, a := range r.get(uid).Attempts {
		r.Logf("  attempt %d: %s %s %v", a.Number, a.State, a.Cause, a.Error)
	}
	for _, p := range r.programs {
		for line := range strings.SplitSeq(p.out.lines(1<<30), "\n") {
			if strings.Contains(line, uid) && !strings.Contains(line, "msg=request") {
				r.Logf("  %s: %s", p.name, line)
			}
		}
	}
}

// printed counts what programs whose names begin so have printed, dead ones too.
func (r *rig) printed(name, word string) (n int) {
	for _, p := range r.programs {
		if strings.HasPrefix(p.name, name) {
			p.out.mu.Lock()
			n += bytes.Count(p.out.b, []byte(word))
			p.out.mu.Unlock()
		}
	}
	return n
}
