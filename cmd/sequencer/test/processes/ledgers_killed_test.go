//go:build unix

package processes

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"mina-sequencer/ledger/devledger"
	"mina-sequencer/sequencer/test/lane"
)

// A batchPlan has an eighth of all calls go wrong, in every way that ledgers are known for,
// and one batch of thirty-two refused when it is executed.
func batchPlan(c devledger.Call) *devledger.Fault {
	h := fnv.New64a()
	fmt.Fprint(h, c.Ledger, c.On, c.Batches[:min(1, len(c.Batches))], c.N)
	dice := h.Sum64()
	if dice%8 > 0 {
		return nil
	}
	all := batchTroubles(c)
	return &all[dice/8%uint64(len(all))]
}

func batchTroubles(c devledger.Call) []devledger.Fault {
	if c.On == devledger.Status {
		return []devledger.Fault{{Answer: devledger.Cut}, {Answer: devledger.Hang}, {Status: 503}, {Answer: devledger.Unknown}}
	}
	all := []devledger.Fault{
		{Answer: devledger.Cut}, {Answer: devledger.Hang}, {Status: 503}, {Status: 500}, {Status: 504},
		{Drop: true, Answer: devledger.Cut}, {Drop: true, Answer: devledger.Hang}, {Drop: true, Status: 502},
		{Delay: 300 * time.Millisecond, Status: 504}, {Delay: 400 * time.Millisecond, Answer: devledger.Cut},
		{Delay: 2 * time.Second, Answer: devledger.Hang},
		{Drop: true, Status: 429}, {Drop: true, Status: 404}, {Drop: true, Status: 401},
	}
	if c.Ledger == devledger.KindSawtooth {
		all = append(all, devledger.Fault{Drop: true, Status: 408, Code: 19}, devledger.Fault{Status: 503, Code: 17},
			devledger.Fault{Drop: true, Status: 503, Code: 18}, devledger.Fault{Status: 500, Code: 20})
	}
	return all
}

// An effect of a batch, by the ledger's own count.
type tookEffect struct {
	times int
	place int // of the first among all of its ledger
}

func (r *ledgerRig) effects() map[string]tookEffect {
	all := map[string]tookEffect{}
	for _, effects := range [][]devledger.Effect{r.sawtooth.Effects(), r.splinter.Effects()} {
		for i, e := range effects {
			seen, there := all[e.Batch]
			if !there {
				seen.place = i
			}
			seen.times++
			all[e.Batch] = seen
		}
	}
	return all
}

// postAll posts in the order of each queue, to whichever process is there, until it has an
// answer, and now and then once more.
func (r *ledgerRig) postAll(ledgers []string, queues, each int, api func() string) error {
	for i := range each {
		for q := range queues {
			ledger, queue := ledgers[q%len(ledgers)], fmt.Sprintf("q%d", q)
			uid := fmt.Sprintf("%s-%d", queue, i)
			payload := "set"
			if (i*queues+q)%31 == 5 {
				payload = "INVALID"
				r.refused[uid] = true
			}
			body := r.body(ledger, queue, uid, payload)
			again := (i+q)%7 == 0 // though it has an answer
			for end := time.Now().Add(patience); ; rest(context.Background(), 10*time.Millisecond) {
				status, text, err := exchange(http.MethodPost, api()+"/transactions", body)
				if err == nil && (status == http.StatusOK || status == http.StatusAccepted && !again) {
					break
				}
				if err == nil && status != http.StatusAccepted && status != http.StatusServiceUnavailable {
					return fmt.Errorf("posting %s: %d %s", uid, status, text)
				}
				if time.Now().After(end) {
					return fmt.Errorf("posting %s: no answer", uid)
				}
			}
			r.posted = append(r.posted, posting{queue, uid})
		}
	}
	return nil
}

// batchesKilled: six hundred batches over two ledgers and twenty queues, an eighth of all
// calls in trouble, and two processes killed with -9 at thirty moments. Each is committed
// once, in the order of its queue; what nobody can know a person says.
func batchesKilled(t *testing.T, bin binaries) {
	lane.All(t, `Batches, and KilledAtRandom`)
	const queues, each, moments = 20, 30, 30
	began := time.Now()
	rng := rand.New(rand.NewPCG(*killsSeed, 9))
	r := newLedgerRig(t, bin, "killed-batches", nil)
	r.sawtooth.SetPlan(batchPlan)
	r.splinter.SetPlan(batchPlan)
	places := []*serving{r.serve("serve 0", nil), r.serve("serve 1", nil)}
	var mu sync.Mutex
	turn := 0
	api := func() string {
		mu.Lock()
		defer mu.Unlock()
		turn++
		return places[turn%len(places)].api
	}
	posted := make(chan error, 1)
	go func() { posted <- r.postAll([]string{"saw", "scab"}, queues, each, api) }()
	for i := range moments {
		rest(t.Context(), time.Duration(100+rng.IntN(700))*time.Millisecond)
		mu.Lock()
		killed := places[i%2]
		mu.Unlock()
		killed.kill()
		again := r.serve(fmt.Sprintf("serve %d", i%2), nil)
		mu.Lock()
		places[i%2] = again
		mu.Unlock()
	}
	r.ok(<-posted)
	killed := time.Since(began)
	for _, l := range []devledger.Ledger{r.sawtooth, r.splinter} {
		l.SetPlan(nil)
		l.Heal()
	}
	strayed, invalid := map[string]bool{}, 0
	for _, p := range r.posted {
		switch shown := r.settled(places[0], p.uid, strayed); {
		case r.refused[p.uid]:
			invalid++
			if shown.State != "UNRESOLVED" || shown.Error == nil || shown.Error.Code != "INVALID" ||
				shown.Error.Message != "the payload says that it is invalid" {
				t.Errorf("%s is %s: %+v", p.uid, shown.State, shown.Error)
			}
		case shown.State != "DONE":
			t.Errorf("%s is %s: %+v", p.uid, shown.State, shown.Error)
		}
	}
	r.onceInOrder(strayed)
	r.audit()
	t.Logf("%d batches, %d refused by the ledger, %d times a person said that one is not there; %d kills in %v, over after %v",
		len(r.posted), invalid, len(strayed), moments, killed.Round(time.Second), time.Since(began).Round(time.Second))
}

// onceInOrder: what was posted took effect once, by the ledgers' own count, and in the order
// of its queue but for what a person had posted again.
func (r *ledgerRig) onceInOrder(strayed map[string]bool) {
	r.Helper()
	effects, last := r.effects(), map[string]int{}
	for _, p := range r.posted {
		e := effects[r.ids[p.uid]]
		want := 1
		if r.refused[p.uid] {
			want = 0
		}
		if e.times != want {
			r.Errorf("%s took effect %d times, not %d", p.uid, e.times, want)
		}
		if want == 0 || strayed[p.uid] {
			continue
		}
		if before, some := last[p.queue]; some && e.place < before {
			r.Errorf("%s took effect before an earlier one of its queue", p.uid)
		}
		last[p.queue] = e.place
	}
}
