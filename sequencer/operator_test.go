package sequencer_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/audit"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestCancelBeforeTheFirstLook: a process that has bound a transaction, and has
// not looked at it when a person cancels it through another one, still does.
func TestCancelBeforeTheFirstLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Minute})
		first := w.Start() // reconciles the senders
		w.Post("claim", "first")
		w.Await("first", tx.Done, time.Hour)
		first.Stop()
		w.Post("claim", "a")
		p := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient()})
		_, err := w.Store.Heartbeat(w.Ctx, p.Process(), w.Policy.ClaimTTL, "")
		w.OK(err)
		bound, err := w.Store.Bind(w.Ctx, queues.BindRequest{
			Process: p.Process(), Types: []string{"MINT"}, Groups: []string{"shared"}, Most: 1, Grace: 5 * time.Second})
		w.OK(err)
		if len(bound) != 1 {
			t.Fatalf("bound: %+v", bound)
		}
		desk := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient()})
		if _, pending, err := desk.Cancel(w.Ctx, "a"); err != nil || !pending {
			t.Fatalf("cancelled: pending %v, %v", pending, err)
		}

		ctx, stop := context.WithCancel(w.Ctx)
		ended := make(chan error)
		go func() { ended <- p.Run(ctx) }()
		got := w.AwaitTxn("a", "final", time.Hour, func(t *tx.Transaction) bool { return t.Phase.Final() })
		if n := len(w.Effects("a")); got.State() == tx.Failed && n != 0 || got.State() == tx.Done && n != 1 {
			t.Errorf("%s with %d effects", got.State(), n)
		}
		stop()
		w.OK(<-ended)
	})
}

// TestCancelledElsewhere: a process that waits to try once more, and is not told
// that a person has ended it through another one, does not ask the chain for it.
func TestCancelledElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{})
		w.OK(w.Net.Node(0).SetFaults(devnet.Faults{Refuse: "(invalid (Invalid_proof))"}))
		p := w.Start()
		w.Post("claim", "a")
		w.Await("a", tx.Retry, time.Hour)
		desk := w.Process(harness.Links{Dial: w.Web.Dial, Redis: w.Redis.NewClient()})
		if _, _, err := desk.Cancel(w.Ctx, "a"); err != nil {
			t.Fatal(err)
		}
		w.Await("a", tx.Failed, time.Hour)
		<-time.After(time.Minute) // whatever the other does now is over
		if n := p.Chain.Watching(); n > 0 {
			t.Errorf("goes on watching %d", n)
		}
	})
}

// TestResolveBesideANamesake: what is asked of the chain for a person does not disturb
// what is watched, whatever a client has called that.
func TestResolveBesideANamesake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{})
		w.Worker(2, devworker.Options{})
		p := w.Start()
		w.Post("claim", "resolve-1")
		w.Post("other", "b")
		for _, uid := range []string{"resolve-1", "b"} {
			w.AwaitTxn(uid, "watched", time.Hour,
				func(t *tx.Transaction) bool { return t.Phase == tx.PhaseWatching })
		}
		if _, err := p.Resolve(w.Ctx, "b", false, ""); !errors.Is(err, tx.ErrContradicted) {
			t.Errorf("resolved: %v", err)
		}
		w.Await("b", tx.Done, time.Hour)
		w.Await("resolve-1", tx.Done, time.Hour)
	})
}

// TestResolveAtAnotherNonce: what a worker sent by itself is taken at a person's word by its hash, whatever
// nonce it has: Redis may have forgotten the call. What was in a block before the transaction was there is
// none of it, nor what no block has.
func TestResolveAtAnotherNonce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		account, worker := w.Worker(1, devworker.Options{Legacy: true})
		worker.Fail(devworker.Fault{UID: "a", Kind: devworker.Cut})
		lands := func(nonce uint32) string {
			w.Stranger(account, nonce, 200_000_000)
			<-time.After(5 * harness.Slot)
			all := w.Net.Effects()
			return all[len(all)-1].Hash
		}
		before := lands(0)
		w.Post("q", "a")
		its := lands(1)
		p := w.Start()
		if got := w.Await("a", tx.Unresolved, 5*time.Hour); got.Attempts[0].Nonce != 2 {
			t.Fatalf("planned: %+v", got.Attempts)
		}
		for _, hash := range []string{before, "5JnoneOfThem"} {
			if _, err := p.Resolve(w.Ctx, "a", true, hash); !errors.Is(err, tx.ErrContradicted) {
				t.Errorf("landed by %s: %v", hash, err)
			}
		}
		if _, err := p.Resolve(w.Ctx, "a", true, its); err != nil {
			t.Error(err)
		}
		if got := w.Await("a", tx.Done, time.Minute); got.Hash() != its {
			t.Errorf("DONE by %s, not %s", got.Hash(), its)
		}
		<-time.After(time.Hour)
		if n := p.Chain.Watching(); n > 0 {
			t.Errorf("the chain is asked for %d still", n)
		}
	})
}

// TestOperationsPage: every code that an explanation or an audit can answer is
// on the page for operators.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	page := read("../docs/reference.md")
	codes := func(pattern string, files ...string) []string {
		var all []string
		for _, f := range files {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(f), -1) {
				all = append(all, m[1])
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	checks := codes(`(?:\bbad\(\s*|Check: |f\.Check, f\.Detail = )"([A-Z_]+)"`,
		"audit/audit.go", "audit/batches.go", "audit/order.go", "../queues/audit.go")
	if d := cmp.Diff(slices.Sorted(maps.Keys(audit.Meanings())), checks); d != "" {
		t.Errorf("meanings against checks:\n%s", d)
	}
	all := slices.Concat(checks,
		codes(`WaitCode += "([A-Z_]+)"`, "explain/explanation.go"), codes(`Step\w+ += "([A-Z_]+)"`, "explain/explanation.go"))
	if len(all) < 50 {
		t.Fatalf("only %d codes were found: %q", len(all), all)
	}
	for _, code := range all {
		if !strings.Contains(page, "`"+code+"`") {
			t.Errorf("docs/reference.md does not speak of %s", code)
		}
	}
}

// TestActor: what a person has of a transaction is in the log with the name, also what is told
// beside others, which are nobody's, in one run of a script; and what was asked for and
// changes no state is there, too.
func TestActor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		w.Worker(1, devworker.Options{ProveTime: time.Minute})
		p := w.Start()
		w.Post("claim", "a")
		w.Await("a", tx.Dispatching, time.Hour)
		w.Post("claim", "b")
		ops, night := queues.By(w.Ctx, "ops"), queues.By(w.Ctx, "night")
		if _, pending, err := p.Cancel(ops, "a"); err != nil || !pending {
			t.Fatalf("pending %v, %v", pending, err)
		}
		_, _, err := p.Cancel(night, "b")
		w.OK(err)
		w.Await("a", tx.Failed, time.Hour)
		_, err = p.Retry(night, "b")
		w.OK(err)
		w.Await("b", tx.Done, time.Hour)
		w.OK(w.Store.Remove(ops, "a"))
		var got []string
		log, err := w.Store.ReadLog(w.Ctx, 0, 100)
		w.OK(err)
		for _, e := range log.Entries {
			if e.Actor != "" {
				got = append(got, e.ID+" "+string(e.From.State())+" "+string(e.To.State())+" "+e.Code+" "+e.Actor)
			}
		}
		want := []string{
			"a DISPATCHING DISPATCHING CANCEL_REQUESTED ops", "b WAITING FAILED CANCELLED night", "b FAILED WAITING  night",
			"a FAILED  REMOVED ops",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}
