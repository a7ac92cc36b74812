package sequencer_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

var tenantSeeds = flag.Uint64("tenants.seeds", 40,
	"how many seeds two tenants share the service in; 216 have each kind of bad posts beside each")

// The kinds of posts of a tenant that makes only bad ones: the words of its uids.
var badKinds = []string{"hopeless", "errs", "kills", "lost", "refused", "misproved"}

// badly is what a worker does when it comes to a bad post.
func badly(w *devworker.Worker) func(c devworker.Call) *devworker.Fault {
	return func(c devworker.Call) *devworker.Fault {
		if c.Kind != devworker.Prove {
			return nil
		}
		switch kind, _, _ := bytes.Cut([]byte(c.UID), []byte("-")); string(kind) {
		case "hopeless":
			return &hopeless
		case "errs":
			return &devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "an assertion failed"}
		case "lost":
			return &devworker.Fault{Kind: devworker.Cut}
		case "kills":
			time.AfterFunc(10*time.Second, w.Restart)
			return &devworker.Fault{Kind: devworker.Die}
		}
		return nil
	}
}

// refusing has the node refuse the bad posts for what is in them.
func refusing(w *harness.World, uids []string) {
	words := map[string]string{
		"refused": "(invalid Mismatched_authorization_kind)", "misproved": `(invalid (Invalid_proof \"In progress\"))`,
	}
	refusals := map[string]string{}
	for _, uid := range uids {
		memo, err := mina.EncodeMemo(lifecycle.Memo("test", uid))
		w.OK(err)
		for kind, text := range words {
			if len(uid) > len(kind) && uid[:len(kind)] == kind {
				refusals[memo] = `{"data":null,"errors":[{"message":"Couldn't send zkApp command: ` + text + `"}]}`
			}
		}
	}
	w.Web.Serve(w, "node0", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		for memo, answer := range refusals {
			if bytes.Contains(body, []byte("sendZkapp(")) && bytes.Contains(body, []byte(memo)) {
				_, _ = io.WriteString(rw, answer)
				return
			}
		}
		w.Net.Node(0).ServeHTTP(rw, r)
	}))
}

// together runs the good posts of a seed, and beside them bad ones, one for ten, and returns how
// long the good ones took.
func together(t *testing.T, seed uint64, withBad bool) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1, Seed: seed})
		var accounts []string
		for n := range uint64(3) {
			account, worker := w.Worker(n+1, devworker.Options{ProveTime: time.Minute})
			worker.Script(badly(worker))
			accounts = append(accounts, account)
		}
		var good, bad []string
		for n := range 30 {
			good = append(good, fmt.Sprint("good-", n))
		}
		kinds := uint64(len(badKinds))
		for n, which := 0, seed*7919; n < 3; n, which = n+1, which/kinds { // each 216 seeds have all threes of kinds
			bad = append(bad, fmt.Sprint(badKinds[which%kinds], "-", n))
		}
		refusing(w, bad)
		w.Start()
		began := time.Now()
		if withBad {
			for n, uid := range bad { // before all others
				w.Post(fmt.Sprint("theirs", n), uid)
			}
		}
		for n, uid := range good {
			w.Post(fmt.Sprint("ours", n%6), uid)
		}
		for _, uid := range good {
			if done := w.Await(uid, tx.Done, 48*time.Hour); done.Retries > 0 && !withBad {
				t.Errorf("%s: %d retries", uid, done.Retries)
			}
		}
		took = time.Since(began)
		if !withBad {
			return
		}
		for _, uid := range bad {
			ends := w.AwaitTxn(uid, "ended", 48*time.Hour, func(t *tx.Transaction) bool { return t.State().Final() })
			if n := len(ends.Attempts); ends.State() == tx.Done || n > 1+w.Policy.MaxRetries {
				t.Errorf("%s is %s after %d attempts", uid, ends.State(), n)
			}
		}
		for _, account := range accounts {
			s, err := w.Pool.Get(w.Ctx, account)
			w.OK(err)
			if s.Reason != "" && s.Until.IsZero() {
				t.Errorf("seed %d with %v: %s is %s: %s", seed, bad, account, s.Reason, s.Detail)
			}
		}
	})
	return took
}

// TestTwoTenants: one tenant posts what fails in every way that a payload can bring about, before
// another one's posts, a tenth as many. Those are all done within 1.5 times of what they take alone,
// and no sender is out of use for good.
func TestTwoTenants(t *testing.T) {
	lane.NoRace(t, "hours of simulated time")
	t.Parallel()
	seeds := *tenantSeeds
	if lane.Sampled() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			alone, beside := together(t, seed, false), together(t, seed, true)
			if ratio := float64(beside) / float64(alone); ratio > 1.5 {
				t.Errorf("%v, and %v alone: %.2f times", beside, alone, ratio)
			}
			t.Logf("%v, and %v alone", beside, alone)
		})
	}
}
