package sequencer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// A bazaar is a world in which others trade, and whose processes go by what they pay.
type bazaar struct {
	*harness.World
	asked         atomic.Int64 // requests of processes to the node
	sizes, offers atomic.Int64 // looks at the pool
	mu            sync.Mutex
	weighs        map[string]int // account updates, by uid
}

// at is what others pay for each unit of weight, about.
const at = 30_000_000

func newBazaar(t *testing.T, arrivals float64) *bazaar {
	return newBazaarProving(t, arrivals, 20*time.Second)
}

func newBazaarProving(t *testing.T, arrivals float64, proves time.Duration) *bazaar {
	p := harness.Policy()
	p.FeeAuto, p.FeeMin, p.FeeTarget = true, 10_000_000, 2
	b := &bazaar{weighs: map[string]int{}}
	// Each slot has its block: where several in a row had none, a fee is raised for the delay.
	b.World = harness.NewWith(t, devnet.Config{Nodes: 1, Seed: 4, SlotTime: 90 * time.Second, FillRate: 1}, p)
	b.Worker(1, devworker.Options{
		ProveTime: proves, Updates: func(uid string) int {
			b.mu.Lock()
			defer b.mu.Unlock()
			return max(b.weighs[uid], 1)
		},
	})
	m := &devnet.Market{
		Seed: 7, Arrivals: func(uint32) float64 { return arrivals }, Stays: 40,
		Pays: func(r *rand.Rand, _ uint32) float64 { return at * (0.9 + 0.2*r.Float64()) },
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := b.Net.Trade(m); err != nil {
				t.Error(err)
			}
			harness.Until(ctx, 90*time.Second)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return b
}

// open starts a process whose requests to the node are counted.
func (b *bazaar) open() *harness.Process {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == "node0:80" {
			b.asked.Add(1)
		}
		return b.Web.Dial(ctx, network, addr)
	}
	b.Meter = sequencer.Meter{Looked: func(offers bool) {
		b.sizes.Add(1)
		if offers {
			b.offers.Add(1)
		}
	}}
	return b.Launch(harness.Links{Dial: dial, Redis: b.Redis.NewClient(), Ended: func(error) {}})
}

// onLook is called before the node says how much waits in its pool; it does not if that is false.
func (b *bazaar) onLook(t *testing.T, first func(http.ResponseWriter) bool) {
	node := b.Net.Node(0)
	b.Web.Serve(t, "node0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "transactionPoolSize") && !first(w) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		node.ServeHTTP(w, r)
	}))
}

// weighing says how many account updates a transaction will have, and posts it.
func (b *bazaar) weighing(updates int, queue, uid string) {
	b.mu.Lock()
	b.weighs[uid] = updates
	b.mu.Unlock()
	b.Post(queue, uid)
}

// TestMarket: where others fill the blocks, a transaction pays what they made it pay for what
// it weighs: signed again, before it leaves, where that is other than its type did.
func TestMarket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBazaar(t, 16)
		harness.Until(b.Ctx, 30*time.Minute) // the pool fills
		b.open()
		b.weighing(8, "q", "first")
		x := b.Await("first", tx.Done, 3*time.Hour)
		// Nobody had signed its type: it was supposed to weigh 8, and weighs 9.
		paid := func(x *tx.Transaction, n, weight int) {
			t.Helper()
			a := x.Attempt(n)
			if a == nil || a.Weight != weight || a.Quote.Weight != weight || a.Quote.Why != fees.Pool ||
				a.Fee != a.Quote.Fee || a.Fee < uint64(weight)*at*9/10 || a.Fee > uint64(weight)*at*5/4 {
				t.Errorf("%s, attempt %d: %+v", x.UID, n, x.Attempts)
			}
		}
		paid(x, 2, 9)
		b.weighing(8, "q", "same")
		paid(b.Await("same", tx.Done, 3*time.Hour), 1, 9)
		b.weighing(16, "q", "heavier")
		x = b.Await("heavier", tx.Done, 3*time.Hour)
		paid(x, 2, 17)
		if was := x.Attempts[0]; was.Error == nil || was.Error.Code != tx.CodeRepriced || was.Hash != "" ||
			was.Weight != 17 {
			t.Errorf("never left: %+v", was)
		}
		b.weighing(1, "q", "lighter")
		paid(b.Await("lighter", tx.Done, 3*time.Hour), 2, 2)
		// One proof each. What misses its block may be outbid and raised: that signs again too.
		resigned := 0
		for uid, wrong := range map[string]bool{"first": true, "same": false, "heavier": true, "lighter": true} {
			for i, a := range b.Get(uid).Attempts {
				repriced := a.Error != nil && a.Error.Code == tx.CodeRepriced
				if repriced != (wrong && i == 0) || !repriced && a.Quote.Weight != a.Weight {
					t.Errorf("%s, attempt %d: %+v", uid, i+1, a)
				}
			}
			resigned += len(b.Get(uid).Attempts) - 1
		}
		calls := b.Workers[devnet.Key(1)].Calls()
		if calls[devworker.Prove] != 4 || calls[devworker.Resign] != resigned {
			t.Errorf("4 proofs, and %d signed again: %v", resigned, calls)
		}
		if e := b.Effects("first", "same", "heavier", "lighter"); len(e) != 4 {
			t.Errorf("took effect: %v", e)
		}
	})
}

// TestRepricedAfterALanding: what was proved behind another is signed again for its weight with
// that proof, although the other has landed meanwhile: that changes nothing of what it is made upon.
func TestRepricedAfterALanding(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBazaarProving(t, 16, 8*time.Minute)
		b.Policy.Width = 2
		b.Overlap = map[string]dispatcher.Mode{"MINT": dispatcher.Chained}
		harness.Until(b.Ctx, 30*time.Minute)
		b.open()
		b.weighing(8, "q", "first")
		b.weighing(16, "q", "second")
		b.Await("first", tx.Done, 3*time.Hour)
		if x := b.Get("second"); len(x.Attempts) != 1 || x.Attempts[0].Base == "" || x.Phase != tx.PhaseDispatching {
			t.Fatalf("it is not being proved behind the first: %+v", x)
		}
		x := b.Await("second", tx.Done, 3*time.Hour)
		was := x.Attempts[0]
		if was.Error == nil || was.Error.Code != tx.CodeRepriced || x.Attempts[1].Base != was.Base {
			t.Errorf("signed again upon what it was made upon: %+v", x.Attempts)
		}
		if calls := b.Workers[devnet.Key(1)].Calls(); calls[devworker.Prove] != 2 {
			t.Errorf("one proof each: %v", calls)
		}
	})
}

// TestMarketCosts: the node is asked for the size of its pool once a slot at most, and for
// the pool only where more waits than a block takes, however many processes there are.
func TestMarketCosts(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	for name, c := range map[string]struct {
		arrivals float64
		busy     bool
	}{"quiet": {2, false}, "busy": {16, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBazaar(t, c.arrivals)
				harness.Until(b.Ctx, 30*time.Minute)
				b.open()
				b.open()
				const minutes = 120
				for i := range 60 {
					b.Post("q", fmt.Sprint("t", i)) // more than there is time for
				}
				harness.Until(b.Ctx, minutes*time.Minute)
				asked, sizes, offers := b.asked.Load(), b.sizes.Load(), b.offers.Load()
				t.Logf("requests to the node in a minute: %.2f, of them %.2f for the size of the pool, %.2f for all of it",
					float64(asked)/minutes, float64(sizes)/minutes, float64(offers)/minutes)
				if most := int64(minutes/1.5) + 2; sizes > most || sizes < most/2 {
					t.Errorf("the size of the pool was asked for %d times in %d minutes", sizes, minutes)
				}
				if c.busy && offers < sizes*9/10 || !c.busy && offers > sizes/10 {
					t.Errorf("%d of %d looks went on to all of the pool", offers, sizes)
				}
				x := b.Await("t0", tx.Done, time.Second)
				if why := x.Attempts[0].Quote.Why; why == fees.Pool != c.busy {
					t.Errorf("paid %d for %q", x.Attempts[0].Fee, why)
				}
			})
		})
	}
}

// TestMarketUnknown: where no node says what waits, a fee is what it would be by default, and
// rises by the factor.
func TestMarketUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBazaar(t, 0)
		b.onLook(t, func(w http.ResponseWriter) bool {
			http.Error(w, "unknown field", http.StatusBadRequest)
			return false
		})
		b.open()
		b.Post("q", "t")
		x := b.Await("t", tx.Done, 3*time.Hour)
		if a := x.Attempts[0]; a.Fee != b.Policy.Fee || a.Quote.Why != fees.Unknown {
			t.Errorf("%+v", a)
		}
	})
}

// TestMarketAwaited: what is planned first goes by the pool, also where the node takes its time
// to show it, whatever has a process bind meanwhile, and whichever process it is that looks.
func TestMarketAwaited(t *testing.T) {
	t.Parallel()
	for idle := time.Duration(0); idle < 6*time.Second; idle += 1500 * time.Millisecond {
		t.Run(fmt.Sprint("idle=", idle), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBazaar(t, 16)
				b.onLook(t, func(http.ResponseWriter) bool {
					<-time.After(1800 * time.Millisecond)
					return true
				})
				harness.Until(b.Ctx, 30*time.Minute)
				b.open()
				b.open()
				harness.Until(b.Ctx, idle)
				b.Post("q", "t")
				x := b.Await("t", tx.Done, 3*time.Hour)
				if why := x.Attempts[0].Quote.Why; why != fees.Pool {
					t.Errorf("planned for %q", why)
				}
			})
		})
	}
}
