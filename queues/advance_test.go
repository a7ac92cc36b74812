package queues_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

func testAdvanceGuards(f *fixture) {
	f.register("S")
	f.post("q", "a", "b")
	t := f.bound("a S")[0].Transaction
	old := f.get("a")
	f.ok(f.advance(t, tx.PhaseSent, withCode("X")))
	if t.Revision != 2 || t.Phase != tx.PhaseSent || t.ChangedAt.IsZero() {
		f.Errorf("after a change: %+v", t)
	}
	if err := f.advance(old, tx.PhaseFailed); !errors.Is(err, queues.ErrStale) {
		f.Errorf("decided on an old revision: %v", err)
	}
	// By its revision, and not by what this process happens to remember.
	stranger := f.open(queues.Options{Namespace: f.store.Namespace, Retention: time.Hour})
	for _, by := range [][]func(*queues.Change){{}, {person}, {withCode("X")}} {
		if _, err := stranger.Advance(f.ctx, change(old, tx.PhaseFailed, by...)); !errors.Is(err, queues.ErrStale) {
			f.Errorf("decided on an old revision, by another process: %v", err)
		}
	}
	forged := f.get("a")
	forged.Claim = other + ":1"
	if err := f.advance(forged, tx.PhaseDone); !errors.Is(err, queues.ErrFenced) {
		f.Errorf("without the claim: %v", err)
	}
	forged.Claim = ""
	if err := f.advance(forged, tx.PhaseDone); !errors.Is(err, queues.ErrFenced) {
		f.Errorf("with no claim: %v", err)
	}
	if err := f.advance(forged, tx.PhaseSent, person,
		record(func(t *tx.Transaction) { t.CancelRequested = true })); err != nil {
		f.Errorf("for a person: %v", err)
	}
	if err := f.advance(t, tx.PhaseDone); !errors.Is(err, queues.ErrStale) {
		f.Errorf("after a person changed it: %v", err)
	}
	if err := f.advance(&tx.Transaction{UID: "none"}, tx.PhaseDone); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("of none: %v", err)
	}
	got := f.get("a")
	if !got.CancelRequested || got.Phase != tx.PhaseSent || got.Claim == "" {
		f.Errorf("in the end: %+v", got)
	}
	f.to("a", tx.PhaseDone, keep)
	if got := f.get("a"); got.Claim == "" || f.sender("S").Queue != "" {
		f.Errorf("done and still watched: %+v", got)
	}
	f.to("a", tx.PhaseDone, final)
	if got := f.get("a"); got.Claim != "" || got.FinalAt.IsZero() || got.DoneAt.IsZero() {
		f.Errorf("final: %+v", got)
	}
}

func testAdvanceFields(f *fixture) {
	f.register("S")
	f.post("q", "u")
	t := f.bound("u S")[0].Transaction
	started := time.UnixMilli(1_700_000_000_123).UTC()
	a := tx.Attempt{Number: 1, Sender: "S", Nonce: 4294967295, Fee: 5_000_000_001, ValidUntil: 9, Slot: 3,
		State: tx.Planned, StartedAt: started}
	f.ok(f.advance(t, tx.PhaseDispatching, made(a), record(func(t *tx.Transaction) {
		t.Retries, t.Losses, t.Deferred, t.Ending = 2, 1, 3, tx.PhaseFailed
		t.Error = &tx.Error{Code: "1", Message: "first"}
	}), due(90*time.Second)))
	equal(f.T, "told and stored", f.get("u"), t)
	if got := f.get("u"); got.Retries != 2 || got.Losses != 1 || got.Deferred != 3 ||
		got.Ending != tx.PhaseFailed || got.Error.Message != "first" ||
		got.DueAt.IsZero() || !got.DueAt.Equal(t.DueAt) || got.Open() {
		f.Errorf("stored %+v of %+v", got, t)
	}
	equal(f.T, "attempt", f.get("u").Attempts, []tx.Attempt{a})
	a.State, a.SentSlot, a.Hash, a.Error = tx.Sent, 4, "5Jhash",
		&tx.Error{Code: "c", Message: strings.Repeat("é", 9000)}
	f.ok(f.advance(t, tx.PhaseSent, made(a), record(func(t *tx.Transaction) {
		t.SubmittedAt, t.Deferred, t.Error = started, 0, nil
	})))
	got := f.get("u")
	equal(f.T, "told and stored", got, t)
	if n := len(got.Attempts[0].Error.Message); n > 5000 || n < 4000 {
		f.Errorf("an endless message was stored with %d bytes", n)
	}
	a.Error = got.Attempts[0].Error
	equal(f.T, "attempt", got.Attempts, []tx.Attempt{a})
	if !got.Open() || got.SubmittedAt.IsZero() || got.Error != nil || !got.DueAt.IsZero() || got.Hash() != "5Jhash" {
		f.Errorf("sent: %+v", got)
	}
	a.State, a.Height, a.StateHash, a.Confirmations, a.EndedAt = tx.Included, 77, "3Nhash", 2, started
	f.ok(f.advance(t, tx.PhaseDone, made(a), final, record(func(t *tx.Transaction) {
		t.Landed, t.Done = 1, json.RawMessage(`{"blockHeight":77}`)
	})))
	got = f.get("u")
	equal(f.T, "told and stored", got, t)
	equal(f.T, "attempt", got.Attempts, []tx.Attempt{a})
	if string(got.Done) != `{"blockHeight":77}` || got.Landed != 1 || got.Open() {
		f.Errorf("done: %+v", got)
	}
	f.ok(f.advance(got, tx.PhaseWaiting, record(reopened),
		record(func(t *tx.Transaction) { t.Retries, t.Losses = 0, 0 })))
	equal(f.T, "told and stored", f.get("u"), got)
	if got.Done != nil || got.Landed != 0 || !got.DoneAt.IsZero() || !got.FinalAt.IsZero() || got.Ending != "" ||
		got.Retries != 0 || !got.Reopened {
		f.Errorf("back in its line: %+v", got)
	}
}

// testAttemptDropped: an attempt that was planned and never taken on leaves nothing
// behind, and its number is given anew.
func testAttemptDropped(f *fixture) {
	f.register("S")
	f.post("q", "a")
	t := f.bound("a S")[0].Transaction
	f.ok(f.advance(t, tx.PhaseDispatching, firstPlan))
	first := t.Attempts[0]
	f.ok(f.store.Record(f.ctx, "a", &first,
		queues.Facts{Hash: "late", NodeHash: "late", Data: json.RawMessage(`{"late":1}`)}))
	f.ok(f.advance(t, tx.PhaseWaiting, record(func(t *tx.Transaction) { t.Attempts, t.Deferred = nil, 1 })))
	equal(f.T, "told and stored", f.get("a"), t)
	if len(t.Attempts) != 0 || t.Deferred != 1 {
		f.Errorf("dropped: %+v", t)
	}
	if err := f.store.Record(f.ctx, "a", &first, queues.Facts{Hash: "later"}); !errors.Is(err, queues.ErrUnsettled) {
		f.Errorf("a fact of what was dropped: %v", err)
	}
	t = f.bound("a S")[0].Transaction
	second := tx.Attempt{Number: 1, Sender: "S", Nonce: 5, State: tx.Planned,
		StartedAt: time.UnixMilli(2).UTC()}
	f.ok(f.advance(t, tx.PhaseDispatching, made(second), record(func(t *tx.Transaction) { t.Deferred = 0 })))
	equal(f.T, "told and stored", f.get("a"), t)
	equal(f.T, "the second of its number", f.get("a").Attempts, []tx.Attempt{second})
}

// repeating runs every script twice, as go-redis does when the first answer is
// lost on its way.
type repeating struct{}

func (repeating) DialHook(next redis.DialHook) redis.DialHook { return next }
func (repeating) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (repeating) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && strings.HasPrefix(cmd.Name(), "eval") {
			return next(ctx, cmd)
		}
		return err
	}
}

func testRepeats(f *fixture) {
	f.register("S")
	o := *f.client.Options()
	twice := redis.NewClient(&o)
	f.Cleanup(func() { _ = twice.Close() })
	twice.AddHook(repeating{})
	var err error
	f.store, err = queues.Open(twice, f.store.Options)
	f.ok(err)
	f.pool = senders.New(f.store, twice)
	f.post("q", "a")
	if made := f.store.Enqueue(f.ctx, vote1("", "q", `{}`)); made.Err != nil || made.Existed ||
		made.Transaction.Sequence != 2 {
		f.Errorf("a uid made here: %+v", made)
	}
	got := f.bind(1) // the second call finds nothing free; the claim is due after its grace
	equal(f.T, "bound by the call that was answered", len(got), 0)
	t := f.get("a")
	for i, phase := range []tx.Phase{tx.PhaseSent, tx.PhaseWatching, tx.PhaseFailing,
		tx.PhaseDelayed, tx.PhaseDispatching} {
		f.ok(f.advance(t, phase))
		if t.Revision != int64(i+2) {
			f.Errorf("revision %d after %d changes and a bind", t.Revision, i+1)
		}
	}
	f.ok(f.advance(t, tx.PhaseDispatching, firstPlan))
	f.ok(f.store.Record(f.ctx, "a", &tx.Attempt{Number: 1, Sender: "S"}, queues.Facts{Hash: "h"}))
	f.ok(f.advance(t, tx.PhaseDone, tell(tx.OnSuccess, time.Hour, 0)))
	tries, err := f.store.Called(f.ctx, f.get("a"), tx.Told{Callback: tx.OnSuccess}, queues.Never)
	f.ok(err)
	equal(f.T, "tries", tries, 0)
	f.ok(f.store.Pause(f.ctx, "q", "why"))
	f.ok(f.pool.Drain(f.ctx, "S"))
	f.ok(f.pool.Resume(f.ctx, "S"))
	var log []string
	for _, e := range f.dump().events {
		log = append(log, e.Kind+" "+e.ID+" "+e.To+e.Code)
	}
	made := f.list(queues.Filter{State: tx.Waiting}, 9)[0]
	equal(f.T, "events", log, []string{
		"s S REGISTERED", "t a waiting", "t " + made + " waiting", "t a dispatching", "t a sent", "t a watching",
		"t a failing", "t a delayed", "t a dispatching", "t a done", "q q PAUSED", "s S DRAINING", "s S RESUMED",
	})
}

// testBindPlans: what was never tried is planned with the bind, if the sender's next
// nonce is the one that is known.
func testBindPlans(f *fixture) {
	f.register("S")
	f.post("q1", "a")
	f.post("q2", "b")
	f.post("q3", "c")
	f.bound("a S")
	f.to("a", tx.PhaseDone, final, nextNonce(8))
	f.post("q4", "d")
	bind := func(uid string, known map[string]uint32) *tx.Transaction {
		f.Helper()
		got, err := f.store.Bind(f.ctx, queues.BindRequest{
			Process: me, Types: []string{vote}, Groups: []string{senders.Shared}, Most: 1, Grace: time.Minute,
			Plan: tx.Attempt{Fee: 100, ValidUntil: 9, Slot: 5}, Known: known,
		})
		f.ok(err)
		if len(got) != 1 || got[0].Transaction.UID != uid {
			f.Fatalf("bound %+v, want %s", got, uid)
		}
		equal(f.T, "as stored", got[0].Transaction, f.get(uid))
		return got[0].Transaction
	}
	if b := bind("b", map[string]uint32{"S": 7, "T": 8}); len(b.Attempts) != 0 {
		f.Errorf("planned at a nonce that is not the next: %+v", b.Attempts)
	}
	f.to("b", tx.PhaseWaiting)
	c := bind("c", map[string]uint32{"S": 8, "T": 1, "U": 2, "V": 3, "W": 4, "X": 5})
	c.Attempts[0].StartedAt = time.Time{}
	equal(f.T, "planned", c.Attempts, []tx.Attempt{{Number: 1, Sender: "S", Nonce: 8, Fee: 100, ValidUntil: 9,
		Slot: 5, State: tx.Planned}})
	equal(f.T, "its fee", f.fees(), map[string]uint64{"S": 100})
	equal(f.T, "counted", c.Counted, 100)
	f.inspect()
	f.to("c", tx.PhaseDone, final)
	if d := bind("d", map[string]uint32{"ST": 8, "TS": 8, "s": 8}); len(d.Attempts) != 0 {
		f.Errorf("planned at the nonce that is known of another: %+v", d.Attempts)
	}
	f.to("d", tx.PhaseDone, final)
	if b := bind("b", map[string]uint32{"S": 8}); len(b.Attempts) != 0 {
		f.Errorf("planned although it had been bound before: %+v", b.Attempts)
	}
	f.to("b", tx.PhaseDone, final)
	// Its terms are not known where the plan is made.
	for name, with := range map[string]func(*queues.Item){
		"begins":  func(i *queues.Item) { i.NotBefore = time.UnixMilli(1) },
		"expires": func(i *queues.Item) { i.ExpiresAt = f.now().Add(long) },
		"max-fee": func(i *queues.Item) { i.MaxFee = 99 },
	} {
		item := vote1(name, "terms", `{}`)
		with(&item)
		f.ok(f.store.Enqueue(f.ctx, item).Err)
		if b := bind(name, map[string]uint32{"S": 8}); len(b.Attempts) != 0 {
			f.Errorf("planned without its terms: %+v", b.Attempts)
		}
		f.to(name, tx.PhaseDone, final)
	}
}

// firstPlan stores the plan of a first attempt.
func firstPlan(c *queues.Change) {
	made(tx.Attempt{Number: 1, Sender: "S", State: tx.Planned, StartedAt: time.UnixMilli(1).UTC()})(c)
}

func testFacts(f *fixture) {
	f.register("S")
	f.post("q", "a")
	t := f.bound("a S")[0].Transaction
	if err := f.store.Record(f.ctx, "a", &tx.Attempt{Number: 1, Sender: "S"},
		queues.Facts{Hash: "of what was forgotten"}); !errors.Is(err, queues.ErrUnsettled) {
		f.Errorf("facts of no attempt: %v", err)
	}
	f.ok(f.advance(t, tx.PhaseDispatching, firstPlan))
	f.ok(f.store.Record(f.ctx, "a", &tx.Attempt{Number: 1, Sender: "S"}, queues.Facts{}))
	f.ok(f.store.Record(f.ctx, "a", &tx.Attempt{Number: 1, Sender: "S"},
		queues.Facts{Hash: "first", Data: json.RawMessage(`{"x":1}`)}))
	f.ok(f.store.Record(f.ctx, "a", &tx.Attempt{Number: 1, Sender: "S"},
		queues.Facts{Hash: "second", NodeHash: "node"}))
	got := f.get("a").Attempts[0]
	if got.Hash != "first" || got.NodeHash != "node" || string(got.Data) != `{"x":1}` {
		f.Errorf("facts: %+v", got)
	}
	f.ok(f.advance(t, tx.PhaseWatching)) // facts do not count as a change
	if err := f.store.Record(f.ctx, "none", &tx.Attempt{Number: 1, Sender: "S"},
		queues.Facts{Hash: "h"}); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("facts of none: %v", err)
	}
}

func testSigned(f *fixture) {
	f.register("S")
	f.post("q", "a")
	t := f.bound("a S")[0].Transaction
	command := bytes.Repeat([]byte("{\"proof\":\"é\x00\"}\n"), 3000)
	if _, _, err := f.store.Signed(f.ctx, "a"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("before there are any: %v", err)
	}
	f.ok(f.advance(t, tx.PhaseDispatching, signed(1, []byte("old"))))
	f.ok(f.advance(t, tx.PhaseSent, signed(12, command)))
	n, got, err := f.store.Signed(f.ctx, "a")
	if err != nil || n != 12 || !bytes.Equal(got, command) {
		f.Errorf("signed bytes of attempt %d: %d bytes, %v", n, len(got), err)
	}
	f.ok(f.advance(t, tx.PhaseDone, func(c *queues.Change) { c.DropBytes = true }))
	if _, _, err := f.store.Signed(f.ctx, "a"); !errors.Is(err, queues.ErrNotFound) {
		f.Errorf("after they were dropped: %v", err)
	}
}

// testAdvanceResult: a result that the landed attempt's block tells is not stored once
// more; any other as it is.
func testAdvanceResult(f *fixture) {
	f.register("S")
	const inBlock = `{"blockHeight":77,"stateHash":"3Nhash"}`
	for uid, want := range map[string]struct {
		landed       int
		done, stored string
	}{
		"landed":   {1, inBlock, ""},
		"other":    {1, `{"blockHeight":78,"stateHash":"3Nhash"}`, `{"blockHeight":78,"stateHash":"3Nhash"}`},
		"finished": {0, inBlock, inBlock},
		"words":    {1, `"block"`, `"block"`},
	} {
		f.post(uid, uid)
		bound := f.bind(1)[0].Transaction
		a := tx.Attempt{Number: 1, Sender: "S", Nonce: 7, StartedAt: time.UnixMilli(1000), State: tx.Planned}
		f.ok(f.advance(bound, tx.PhaseDispatching, made(a)))
		a.State, a.Height, a.StateHash = tx.Included, 77, "3Nhash"
		f.ok(f.advance(bound, tx.PhaseDone, made(a), final, record(func(t *tx.Transaction) {
			t.Done, t.Landed = json.RawMessage(want.done), want.landed
		})))
		var record struct{ Done json.RawMessage }
		_, text, _ := strings.Cut(f.client.Get(f.ctx, f.key("x:"+uid)).Val(), "\n")
		f.ok(json.Unmarshal([]byte(text), &record))
		if string(record.Done) != want.stored {
			f.Errorf("%s: stored %q, want %q", uid, record.Done, want.stored)
		}
		if got := f.get(uid).Done; string(got) != want.done {
			f.Errorf("%s: read %q, want %q", uid, got, want.done)
		}
	}
}

// TestBindLooksAgain: what a queue's record says of its head is not believed, but compared with
// the head; where it is not so the queue is placed anew, and nothing else is bound.
func TestBindLooksAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*fixture){}
	for name, c := range map[string]struct {
		damage func(*fixture)
		want   []string
	}{
		"AnotherIsFirst": {func(f *fixture) { f.word("q:q", 11, "b") }, []string{"a S"}},
		"NobodyIsFirst":  {func(f *fixture) { f.word("q:q", 11, "") }, []string{"a S"}},
		"FirstIsGone":    {func(f *fixture) { f.word("q:q", 11, "none") }, []string{"a S"}},
		"AnotherType": {func(f *fixture) {
			f.word("q:q", 10, batch)
			f.client.ZAdd(f.ctx, f.key("ready:"+batch), z(1, "q"))
		}, []string{"a S"}},
		"AnotherSeat": {func(f *fixture) {
			f.word("q:q", 10, vote+"@7")
			f.client.ZAdd(f.ctx, f.key("round:"+vote), z(7, f.dump().hashes["q:q"]["since"]+" q"))
		}, []string{"a S"}},
		"FirstHasEnded": {func(f *fixture) {
			f.client.Set(f.ctx, f.key("x:a"), "1   failed         \n{}", 0)
		}, []string{"b S"}},
		"LineIsGone": {func(f *fixture) { f.client.Del(f.ctx, f.key("line:q")) }, nil},
		"NotReady":   {func(f *fixture) { f.word("q:q", 10, "") }, []string{"a S"}},
	} {
		cases[name] = func(f *fixture) {
			f.register("S")
			f.post("q", "a", "b")
			c.damage(f)
			f.bound(c.want...)
			line := f.client.LRange(f.ctx, f.key("line:q"), 0, -1).Val()
			equal(f.T, "the line", line, map[string][]string{"[a S]": {"b"}}[fmt.Sprint(c.want)])
			equal(f.T, "ready of the other type", f.client.ZCard(f.ctx, f.key("ready:"+batch)).Val(), 0)
		}
	}
	cases["PausedStandsReady"] = func(f *fixture) {
		f.register("S")
		f.post("q", "a")
		f.ok(f.store.Pause(f.ctx, "q", "x"))
		f.ok(f.client.ZAdd(f.ctx, f.key("ready:"+vote), z(1, "q")).Err())
		f.bound()
		equal(f.T, "ready", f.client.ZCard(f.ctx, f.key("ready:"+vote)).Val(), 0)
	}
	cases["DamagedLine"] = func(f *fixture) {
		f.register("S")
		f.post("q", "a")
		f.ok(f.client.Set(f.ctx, f.key("line:q"), "no list", 0).Err())
		_, err := f.store.Bind(f.ctx, queues.BindRequest{Process: me, Types: []string{vote},
			Groups: []string{senders.Shared}, Most: 1, Grace: time.Minute})
		if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			f.Errorf("bound from what is no line: %v", err)
		}
	}
	cases["DamagedPosted"] = func(f *fixture) {
		f.post("q", "a")
		f.ok(f.client.Set(f.ctx, f.key("t:a"), "1 2 T q", 0).Err())
		if _, err := f.store.Get(f.ctx, "a"); err == nil || !strings.Contains(err.Error(), "record of a is damaged") {
			f.Errorf("what was posted without a payload: %v", err)
		}
	}
	cases["DamagedTerms"] = func(f *fixture) {
		f.post("q", "a")
		posted := f.client.Get(f.ctx, f.key("t:a")).Val()
		first, data, _ := strings.Cut(posted, "\n")
		f.ok(f.client.Set(f.ctx, f.key("t:a"), first+" 5\n"+data, 0).Err())
		if _, err := f.store.Get(f.ctx, "a"); err == nil || !strings.Contains(err.Error(), "end the first line") {
			f.Errorf("what was posted with a word too many: %v", err)
		}
	}
	cases["NoJSON"] = func(f *fixture) {
		f.register("S")
		f.post("q", "a")
		f.bound("a S")
		_, err := f.store.Advance(f.ctx, change(f.get("a"), tx.PhaseSent,
			made(tx.Attempt{Number: 1, Sender: "S", Nonce: 3, Data: json.RawMessage("{")})))
		if _, read := f.store.Get(f.ctx, "a"); err == nil && read == nil {
			f.Error("what cannot be stored is not there, and nobody is told")
		}
	}
	cases["DamagedIndex"] = func(f *fixture) {
		f.register("S")
		f.post("q", "a")
		f.bound("a S")
		f.ok(f.client.Set(f.ctx, f.key("landed:S"), "no set", 0).Err())
		err := f.advance(f.get("a"), tx.PhaseDone, func(c *queues.Change) { c.Stands, c.Nonce = "S", 3 })
		if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			f.Errorf("stored where there is no set: %v", err)
		}
	}
	cases["DamagedQueue"] = func(f *fixture) {
		f.post("q", "a")
		f.ok(f.client.Set(f.ctx, f.key("q:q"), "damaged", 0).Err())
		err := f.store.Pause(f.ctx, "q", "x")
		if err == nil || !strings.Contains(err.Error(), "the record of queue q is damaged") {
			f.Errorf("a damaged queue: %v", err)
		}
	}
	onBackends(t, cases, false)
}

// testBindDamaged: one that cannot be read has its queue paused, and holds up nothing
// else, wherever it stands.
func testBindDamaged(f *fixture) {
	f.register("S1", "S2", "S3")
	f.post("first", "a")
	f.post("lost", "b", "behind")
	f.post("last", "c")
	f.post("line", "d", "e")
	damage := func(uid, text string) (mend func()) {
		whole := f.client.Get(f.ctx, f.key("x:"+uid)).Val()
		f.ok(f.client.Set(f.ctx, f.key("x:"+uid), text, 0).Err())
		return func() {
			if whole == "" {
				f.ok(f.client.Del(f.ctx, f.key("x:"+uid)).Err())
			} else {
				f.ok(f.client.Set(f.ctx, f.key("x:"+uid), whole, 0).Err())
			}
		}
	}
	paused := func(queue, uid string) {
		f.Helper()
		if q := f.queue(queue); !strings.Contains(q.Paused, "what is stored of "+uid+" cannot be read") {
			f.Errorf("%s: %+v", queue, q)
		}
	}
	mendB := damage("b", "damaged")
	if _, err := f.store.Get(f.ctx, "b"); err == nil || !strings.Contains(err.Error(), ": record of b is damaged: ") {
		f.Errorf("a damaged record: %v", err)
	}
	f.bound("a S1", "c S2", "d S3")
	paused("lost", "b")
	f.ok(f.store.FindOldest(f.ctx, f.queue("lost")))
	if place, err := f.store.Place(f.ctx, "behind"); err != nil || place.Ahead != 1 || place.First != "b" {
		f.Errorf("the place behind it: %+v, %v", place, err)
	}
	equal(f.T, "events", f.told("q"), []event{{Kind: "q", ID: "lost", Code: "PAUSED"}})

	mendE := damage("e", "damaged") // next in its line when d ends
	f.to("d", tx.PhaseDone)
	paused("line", "e")

	// Of two that are due, and then have to be taken over, one cannot be read.
	words, _, _ := strings.Cut(f.client.Get(f.ctx, f.key("x:a")).Val(), "\n")
	for _, text := range []string{words + "\n{", "damaged"} {
		mendA := damage("a", text)
		f.ok(f.recovery().Regain(f.ctx, me, func(string) bool { return false }))
		due := f.tick().Due
		slices.Sort(due)
		equal(f.T, "due", strings.Join(due, " "), "a c")
		equal(f.T, "bound", f.overview().Types[vote].Bound, 2)
		if text == "damaged" { // not even the script can read it
			equal(f.T, "told of once", f.tick().Due, []string{"c"})
		}
		ts, err := f.store.Claimed(f.ctx, me, due)
		f.ok(err)
		equal(f.T, "due again", f.tick().Due, []string{"c"})
		if len(ts) != 1 || ts[0].UID != "c" {
			f.Errorf("of a and c: %+v", ts)
		}
		paused("first", "a")
		if _, err := f.store.Get(f.ctx, "a"); !errors.Is(err, queues.ErrDamaged) {
			f.Errorf("reading it: %v", err)
		}
		mendA()
	}
	mendA := damage("a", "damaged")
	f.ok(f.store.Leave(f.ctx, me))
	f.heartbeat(other, time.Hour)
	taken, err := f.store.TakeOver(f.ctx, other, me, 9)
	f.ok(err)
	equal(f.T, "taken over", strings.Join(taken, " "), "c")
	mendA()
	f.ok(f.client.ZAdd(f.ctx, f.key("own:"+me), redis.Z{Member: "a"}).Err()) // as whoever mends it would
	f.heartbeat(me, time.Hour)
	mendB()
	mendE()
}

// testNoncesAcrossDigits: nonces are numbers. The next one of an account never goes down,
// and of those with which something stands the highest counts.
func testNoncesAcrossDigits(f *fixture) {
	f.register("S", "T")
	least := func(n uint32) func(*queues.Change) {
		return func(c *queues.Change) { c.Least = map[string]uint32{"S": n, "T": n} }
	}
	f.post("q", "a", "b", "c")
	f.bound("a S")
	for _, n := range [][2]uint32{{9, 9}, {10, 10}, {9, 10}, {99, 99}, {100, 100}, {20, 100}} {
		f.to("a", tx.PhaseWatching, least(n[0]))
		for _, account := range []string{"S", "T"} {
			if got := f.sender(account).Nonce; got == nil || *got != n[1] {
				f.Errorf("at least %d: %s has %v, want %d", n[0], account, got, n[1])
			}
		}
	}
	highest := func(want uint32, some bool) {
		f.Helper()
		got, any, err := f.store.HighestLanded(f.ctx, "S")
		f.ok(err)
		if got != want || any != some {
			f.Errorf("the highest that stands is %d, %t; want %d", got, any, want)
		}
	}
	stands := func(n uint32) func(*queues.Change) { return func(c *queues.Change) { c.Stands, c.Nonce = "S", n } }
	falls := func(c *queues.Change) { c.Falls = "S" }
	highest(0, false)
	f.to("a", tx.PhaseDone, keep, stands(10))
	highest(10, true)
	f.bound("b T")
	f.to("b", tx.PhaseDone, keep, stands(9))
	highest(10, true)
	f.bound("c S")
	f.to("c", tx.PhaseDone, keep, stands(101))
	highest(101, true)
	f.to("c", tx.PhaseDone, keep, falls)
	highest(10, true)
	f.to("a", tx.PhaseDone, keep, falls)
	highest(9, true)
	f.to("b", tx.PhaseDone, keep, falls)
	highest(0, false)
}
