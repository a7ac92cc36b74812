package devworker_test

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/dispatcher/devworker"
)

// behind is the call of another transaction on top of what was made before it.
func behind(uid string, nonce uint32, on ...dispatcher.Ahead) dispatcher.Call {
	c := call(1, nonce, 100_000_000)
	c.UID, c.Ahead = uid, on
	return c
}

func pending(uid string, nonce uint32, r dispatcher.Result) dispatcher.Ahead {
	return dispatcher.Ahead{UID: uid, Nonce: nonce, Hash: r.Hash, Signed: r.Signed}
}

// onChain returns a bench whose worker reads the chain.
func onChain(t *testing.T) *bench {
	t.Helper()
	b := setup(t, devworker.Options{})
	server := httptest.NewServer(b.chain)
	t.Cleanup(server.Close)
	url := server.URL + "/graphql"
	made := setup(t, devworker.Options{
		State: devworker.StateFrom(url, server.Client()), Payer: devworker.PayerFrom(url, server.Client()),
	})
	made.chain, made.node = b.chain, b.node
	return made
}

// Three of one payer, each made on what the one before it leaves, take effect.
func TestAhead(t *testing.T) {
	t.Parallel()
	b := onChain(t)
	one := b.prove(t, behind("u1", 0))
	two := b.prove(t, behind("u2", 1, pending("u1", 0, one)))
	three := b.prove(t, behind("u3", 2, pending("u1", 0, one), pending("u2", 1, two)))
	if two.On != updatesBut(t, one) || three.On != updatesBut(t, two) {
		t.Errorf("on %q and %q", two.On, three.On)
	}
	send := func(r dispatcher.Result) {
		t.Helper()
		if _, err := b.node.Send(t.Context(), r.Signed); err != nil {
			t.Fatal(err)
		}
	}
	send(one)
	again := behind("u3", 2, pending("u2", 1, two)) // the first has landed meanwhile
	again.Attempt.Number = 2
	if r := b.prove(t, again); updatesBut(t, r) != updatesBut(t, three) {
		t.Error("a predecessor that has landed changes the state")
	}
	send(two)
	send(three)
	state := "0"
	for i, e := range b.chain.Effects() {
		if !e.OK {
			t.Errorf("%s failed", e.Hash)
		}
		state = devworker.NextState(state, []string{"u1", "u2", "u3"}[i])
	}
	if a, _ := b.chain.Account(devworker.ZkApp("q")); a.State[0] != state {
		t.Errorf("state %s, want %s", a.State[0], state)
	}
}

// updatesBut is what a command does, without its proof.
func updatesBut(t *testing.T, r dispatcher.Result) string {
	t.Helper()
	digest, err := dispatcher.EffectsOf(r.Signed)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestAheadRefused(t *testing.T) {
	t.Parallel()
	b := onChain(t)
	one := b.prove(t, behind("u1", 0))
	for name, c := range map[string]dispatcher.Call{
		"a gap before it": behind("u2", 2, pending("u1", 0, one)),
		"a gap ahead":     behind("u2", 2, pending("u1", 0, one), pending("u1", 0, one)),
		"no nonce later":  behind("u2", 0, pending("u1", 0, one)),
	} {
		if got := summary(b.remote.Prove(t.Context(), b.at, c)); got != "retryable 400, nothing sent" {
			t.Errorf("%s: %s", name, got)
		}
	}
	_, err := b.remote.Prove(t.Context(), b.at, behind("u2", 8, pending("u1", 7, one)))
	if e, ok := errors.AsType[*dispatcher.BusyError](err); !ok || e.RetryAfter != 5*time.Second {
		t.Errorf("a gap behind the ledger's nonce: %v", err)
	}
	stale := b.prove(t, behind("u9", 1)) // on the chain's state, so it fails behind the first
	for _, r := range []dispatcher.Result{one, stale} {
		if _, err := b.node.Send(t.Context(), r.Signed); err != nil {
			t.Fatal(err)
		}
	}
	if got := summary(b.remote.Prove(t.Context(), b.at, behind("u2", 2, pending("u9", 1, stale)))); got != "worker busy for 5s" {
		t.Errorf("behind one that failed in a block: %s", got)
	}
	other := pending("u1", 0, one)
	other.Hash = "5Jother"
	if got := summary(b.remote.Prove(t.Context(), b.at, behind("u2", 1, other))); got != "worker busy for 5s" {
		t.Errorf("behind one whose nonce another has spent: %s", got)
	}
	b.prove(t, behind("u2", 1, pending("u1", 0, one)))
}

func TestAheadRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t, devworker.Options{})
	one, dearer := b.prove(t, behind("u1", 0)), b.prove(t, call(2, 0, 200_000_000))
	first := b.prove(t, behind("u2", 1, pending("u1", 0, one)))
	second := b.prove(t, behind("u2", 1, pending("u1", 0, dearer)))
	if first.Hash != second.Hash || second.On != updatesBut(t, dearer) {
		t.Errorf("hash %s on %s, want %s on %s", second.Hash, second.On, first.Hash, updatesBut(t, dearer))
	}
	if landed := b.prove(t, behind("u2", 1)); landed.Hash != first.Hash || landed.On != "" {
		t.Errorf("hash %s on %q, want %s", landed.Hash, landed.On, first.Hash)
	}
	b.Fail(devworker.Fault{Kind: devworker.Wrong, Field: devworker.WrongOn})
	if _, err := b.remote.Prove(t.Context(), b.at, behind("u3", 1, pending("u1", 0, one))); summary(dispatcher.Result{}, err) != "retryable WORKER_MISMATCH, nothing sent" {
		t.Errorf("another on: %v", err)
	}
	b = setup(t, devworker.Options{NoAhead: true})
	if _, err := b.remote.Prove(t.Context(), b.at, behind("u2", 1, pending("u1", 0, one))); summary(dispatcher.Result{}, err) != "retryable WORKER_MISMATCH, nothing sent" {
		t.Errorf("a worker that builds on the chain alone: %v", err)
	}
}
