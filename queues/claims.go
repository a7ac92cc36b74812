package queues

import (
	"context"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/tx"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bound is a queue's transaction and the sender that was bound to it.
type Bound struct {
	Transaction *tx.Transaction
	Sender      string
	URL         string // of the sender's worker
	// Next is the sender's next nonce as far as it is known here; HasNext is
	// false for a sender that has not sent anything yet.
	Next    uint32
	HasNext bool
	// Width is how many of the queue may be in flight as a person has set it, 0 for not.
	Width int
}

// BindRequest says who binds what.
type BindRequest struct {
	Process string        // incarnation of the calling process
	Types   []string      // that it dispatches
	Ledger  string        // whose batches are bound; "" for what is for Mina
	Groups  []string      // of senders that it may use
	Most    int           // pairs to bind
	Grace   time.Duration // until a claim that is not taken up is due
	// Plan is what the first attempt of a transaction takes over that was never tried,
	// if it is bound to one of these senders, by the next nonces that they are known
	// to have. Nothing is planned for others, nor where that is not the next any more.
	Plan  tx.Attempt
	Known map[string]uint32
}

// Bind gives free senders to ready queues, first the sender that has rested longest. The turn
// goes round those who posted the first of such queues: each has one queue bound in a round,
// however many it has, and those without a name are one. Of the queues of one poster it is that of
// the one that has waited longest, since it became ready, or since its last transaction has ended:
// of two that are ready all the time none is more than one transaction behind the other. The
// turn stands where the last Bind of the same Types and Ledger has left it, of whatever process.
// It returns fewer than Most pairs, or none, when queues or senders run out. Its cost does not
// depend on how many queues, posters or senders there are. Error: ErrUnavailable.
func (s *Store) Bind(ctx context.Context, b BindRequest) ([]Bound, error) {
	before, after := planned(b.Plan)
	known := []byte{' '}
	for sender, next := range b.Known {
		known = fmt.Appendf(known, "%s %d ", sender, next)
	}
	args := []any{b.Process, b.Most, inMillis(b.Grace), b.Plan.Fee, before, after, known, len(b.Types), len(b.Groups)}
	args = append(args, kindsOf(b.Types, b.Ledger)...)
	for _, g := range b.Groups {
		args = append(args, g)
	}
	var out []Bound
	for more := true; more; {
		args[1] = b.Most - len(out)
		v, err := s.Run(ctx, bindScript, args...)
		if err != nil {
			s.Plan(b.Grace) // it may have bound what nobody takes up
		}
		if err != nil && len(out) > 0 {
			return out, nil // the next bind meets it again
		} else if err != nil {
			return nil, err
		}
		r := reply{name: "bind"}
		l := r.list(v)
		out = append(out, r.bound(l)...)
		more = r.int(r.at(l, 0)) == 1 && len(out) < b.Most
		s.setAside(ctx, r.damaged)
		if r.err != nil {
			return out, r.err
		}
	}
	return out, nil
}

// bound reads what bind answers.
func (r *reply) bound(pairs []any) (out []Bound) {
	for _, e := range pairs[min(1, len(pairs)):] {
		l := r.list(e)
		t := r.transaction(r.at(l, 0))
		if t == nil {
			continue
		}
		next := r.string(r.at(l, 3))
		out = append(out, Bound{
			Transaction: t, Sender: r.string(r.at(l, 1)), URL: r.string(r.at(l, 2)),
			Next: uint32(r.int(next)), HasNext: next != "", Width: int(r.int(r.at(l, 4))),
		})
	}
	return out
}

// JoinRequest says what may be bound behind what runs.
type JoinRequest struct {
	Process string
	Queue   string
	Behind  string   // uid of the last that runs
	Out     int      // how many of those that run are in no block
	Width   int      // the most that may be, where nobody has set another width for the queue
	AtOnce  bool     // those that run may be with their worker still
	Types   []string // that may join
	All     []string // that the process dispatches, and
	Groups  []string // of senders that it may use: for them a queue may wait
}

// Join binds the next transaction of a queue behind those that run, to their sender, for
// the process that drives the last of them. It returns nil where nothing can join: another
// queue may wait for a sender. Error: ErrUnavailable.
func (s *Store) Join(ctx context.Context, j JoinRequest) (*Bound, error) {
	args := []any{j.Process, j.Queue, j.Behind, j.Out, j.Width, j.AtOnce, len(j.Types), len(j.All), len(j.Groups)}
	for _, names := range [][]string{j.Types, j.All, j.Groups} {
		for _, name := range names {
			args = append(args, name)
		}
	}
	v, err := s.Run(ctx, joinScript, args...)
	if err != nil {
		s.Plan(0) // it may have joined
		return nil, err
	}
	r := reply{name: "join"}
	l := r.list(v)
	if len(l) == 0 || r.err != nil {
		return nil, r.err
	}
	t := r.transaction(r.at(l, 0))
	s.setAside(ctx, r.damaged)
	if t == nil {
		return nil, r.err
	}
	return &Bound{Transaction: t, Sender: r.string(r.at(l, 1)), URL: r.string(r.at(l, 2))}, r.err
}

// InFlight is what runs of a queue.
type InFlight struct {
	UIDs  []string // in order
	Width int      // how many may be, as a person has set it, 0 for not
	// Held: the queue is paused, or its sender out of use for more than a rest: nothing joins.
	Held bool
}

// InFlight reads what runs of a queue. Errors: ErrDamaged, ErrUnavailable.
func (s *Store) InFlight(ctx context.Context, queue string) (f InFlight, err error) {
	m, e, err := s.words(ctx, queue)
	if err != nil {
		return f, err
	}
	f = InFlight{UIDs: list(m["run"]), Width: int(e.int(m["width"])), Held: m["paused"] != ""}
	if e.err != nil {
		return f, damagedQueue(queue, e.err)
	}
	if m["sender"] == "" || f.Held {
		return f, nil
	}
	why, err := s.client.HGet(ctx, s.key("s:"+m["sender"]), "reason").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return f, storeError("reading a sender", err)
	}
	f.Held = why != "" && why != string(tx.Rested)
	return f, nil
}

// Callbacks are the uids whose callbacks a queue waits for, in the order in which they are
// to be told; none once that has taken too long, by now, the time of Redis.
// Errors: ErrDamaged, ErrUnavailable.
func (s *Store) Callbacks(ctx context.Context, queue string, now time.Time) ([]string, error) {
	m, e, err := s.words(ctx, queue)
	if err != nil {
		return nil, err
	}
	holds := fromMillis(e.int(m["hold"])).After(now)
	if e.err != nil {
		return nil, damagedQueue(queue, e.err)
	}
	if !holds {
		return nil, nil
	}
	return slices.DeleteFunc(list(m["holder"]), func(w string) bool { return w[0] == '!' }), nil
}

// words reads the record of a queue; there are none where it is gone.
func (s *Store) words(ctx context.Context, queue string) (map[string]string, *numbers, error) {
	var e numbers
	text, err := s.client.Get(ctx, s.key("q:"+queue)).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, &e, nil
	case err != nil:
		return nil, nil, storeError("reading a queue", err)
	}
	m := e.queue(text)
	if e.err != nil {
		return nil, nil, damagedQueue(queue, e.err)
	}
	return m, &e, nil
}

// setAside has the queues paused of what was bound and cannot be read, with the reason,
// until somebody has looked. It stays bound: what may have left is not known.
func (s *Store) setAside(ctx context.Context, all []damaged) {
	for _, d := range all {
		s.Log.Error("a transaction cannot be read; its queue is paused", "err", d.err)
		head, _, _ := strings.Cut(d.posted, "\n")
		queue := strings.Split(head+"   ", " ")[3]
		if err := s.Pause(ctx, queue, "what is stored of "+d.uid+" cannot be read"); err != nil {
			s.Log.Warn("a queue is not paused", "queue", queue, "err", err)
		}
	}
}

// planned is the record of a transaction whose first attempt is planned, before and
// behind the sender and the nonce, which bind.lua puts in.
func planned(plan tx.Attempt) (before, after string) {
	plan.Sender, plan.Nonce, plan.State = "", 0, tx.Planned
	if plan.StartedAt.IsZero() {
		plan.StartedAt = time.Now()
	}
	record := encodeRecord(&tx.Transaction{Attempts: []tx.Attempt{plan}})
	before, after, _ = strings.Cut(record, `"","nonce":0`)
	return before, after
}

// A Pulse is what a process learns when it renews its claims.
type Pulse struct {
	// Renewed is false if there was nothing to renew: the process is new, or was taken for dead and
	// has lost its claims.
	Renewed bool
	Dead    []string // processes whose claims have run out
	Stage
}

// Heartbeat renews all claims of a process for ttl. back is what its recovery says.
// Error: ErrUnavailable.
func (s *Store) Heartbeat(ctx context.Context, process string, ttl time.Duration, back string) (Pulse, error) {
	marked := s.marks.place()
	v, err := s.runAlone(ctx, heartbeatScript, process, inMillis(ttl), back, s.says())
	if err != nil {
		return Pulse{}, err
	}
	r := reply{name: "heartbeat"}
	l := r.list(v)
	stage := r.string(r.at(l, 3))
	p := Pulse{
		Renewed: r.int(r.at(l, 0)) == 0,
		Stage:   Stage{Server: r.string(r.at(l, 2)), Settled: stage == "settled", Turn: stage == "turn"},
	}
	if len(l) > 4 {
		p.Dead = r.strings(l[4:])
	}
	if r.err == nil {
		s.confirmer.follow(p.Server)
	}
	if r.err == nil && p.Settled {
		s.marks.sure(p.Server, marked)
	}
	return p, r.err
}

// Leave gives up all claims of a process, for others to take over at once.
// Error: ErrUnavailable.
func (s *Store) Leave(ctx context.Context, process string) error {
	_, err := s.Run(ctx, leaveScript, process)
	return err
}

// TakeOver moves at most most claims of a dead process to another one, and
// returns the uids. They are due at once. Batches are taken only for the ledgers named.
// Error: ErrUnavailable.
func (s *Store) TakeOver(ctx context.Context, process, dead string, most int,
	ledgers ...string) (taken []string, err error) {
	args := []any{process, dead, most}
	for _, l := range ledgers {
		args = append(args, l)
	}
	v, err := s.Run(ctx, takeoverScript, args...)
	r := reply{name: "takeover", err: err}
	if taken = r.strings(v); len(taken) > 0 || r.err != nil {
		s.Plan(0)
	}
	return taken, r.err
}

// Tick is what there is to do by the clock.
type Tick struct {
	Now       time.Time // by the clock of Redis
	Due       []string  // claimed uids whose phase is due
	Callbacks []string  // uids with a callback to tell
	Expired   []string  // uids that wait, and whose deadline has come
	// Next is when something is due again, Never if nothing is planned.
	Next time.Duration
}

// TickRequest says for whom.
type TickRequest struct {
	Process string
	Most    int           // of each kind
	Lease   time.Duration // for the callbacks returned
	// Grace is until a due transaction is returned again, unless it changes; Never
	// does not, 0 does at once.
	Grace time.Duration
}

// Tick ends the waits of queues and senders that are over, removes what has
// been kept long enough, and returns what the process has to look at. Its cost
// follows what is due. Error: ErrUnavailable.
func (s *Store) Tick(ctx context.Context, q TickRequest) (Tick, error) {
	v, err := s.Run(ctx, tickScript, q.Process, q.Most, inMillis(q.Lease),
		inMillis(s.keyKept()), inMillis(s.EventsKeep), inMillis(q.Grace))
	if err != nil {
		return Tick{}, err
	}
	r := reply{name: "tick"}
	l := r.list(v)
	s.signal(r.int(r.at(l, 1)))
	t := Tick{
		Now: fromMillis(r.int(r.at(l, 0))), Next: Never, Due: r.strings(r.at(l, 3)), Callbacks: r.strings(r.at(l, 4)),
		Expired: r.strings(r.at(l, 5)),
	}
	if next := r.int(r.at(l, 2)); next >= 0 {
		t.Next = time.Duration(next) * time.Millisecond
	}
	return t, r.err
}

// Postpone makes a claimed transaction that is due now due later, without a
// change of it. It does nothing if the claim has passed on, or if a change has
// planned another time meanwhile. Error: ErrUnavailable.
func (s *Store) Postpone(ctx context.Context, process, uid string, d time.Duration) error {
	_, err := s.Run(ctx, postponeScript, process, uid, inMillis(d))
	return err
}

// FindClaims sets Expires of those of ts that are claimed. Where none is it costs nothing, else one
// command. Error: ErrUnavailable.
func (s *Store) FindClaims(ctx context.Context, ts ...*tx.Transaction) error {
	if !slices.ContainsFunc(ts, func(t *tx.Transaction) bool { return t.Claim != "" }) {
		return nil
	}
	zs, err := s.client.ZRangeWithScores(ctx, s.key("procs"), 0, -1).Result()
	if err != nil {
		return storeError("reading claims", err)
	}
	for _, t := range ts {
		for _, z := range zs {
			if t.Claim != "" && z.Member == t.Owner() {
				t.Expires = fromMillis(int64(z.Score))
			}
		}
	}
	return nil
}

// Called stores what a worker said to a callback of t: that it was answered, and what, or, with again ≥ 0,
// that it is to be told again after that time. Done, Tries and At of said are the store's. It returns how
// often it was told in vain. Error: ErrUnavailable.
func (s *Store) Called(ctx context.Context, t *tx.Transaction, said tx.Told,
	again time.Duration) (tries int, err error) {
	v, err := s.Run(ctx, calledScript, t.UID, t.Queue, string(said.Callback), inMillis(again), encodeSaid(&said),
		again < 0 && len(said.Answer) > 0)
	if err != nil {
		return 0, err
	}
	r := reply{name: "called"}
	l := r.list(v)
	if wrong, is := r.at(l, 0).(string); is {
		return 0, fmt.Errorf("called %s: %s %v", t.UID, wrong, r.at(l, 1))
	}
	s.signal(r.int(r.at(l, 0)))
	return int(r.int(r.at(l, 1))), r.err
}

// PassCallback tells every process that listens to tell a callback if its worker runs there. One
// that nobody hears is due again when its lease is over. Error: ErrUnavailable.
func (s *Store) PassCallback(ctx context.Context, uid string) error {
	if err := s.client.Publish(ctx, s.key("wake"), "~"+uid).Err(); err != nil {
		return storeError("passing a callback on", err)
	}
	return nil
}

// Demand reports whether a queue of one of the types is ready, and whether a sender of one of the
// groups is free. Error: ErrUnavailable.
func (s *Store) Demand(ctx context.Context, types, groups []string) (ready, free bool, err error) {
	if len(types) == 0 || len(groups) == 0 {
		return false, false, nil
	}
	keys := func(kind string, names []string) []string {
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = s.key(kind + n)
		}
		return out
	}
	pipe := s.client.Pipeline()
	queues := pipe.Exists(ctx, append(keys("ready:", types), keys("round:", types)...)...)
	senders := pipe.Exists(ctx, keys("free:", groups)...)
	if _, err := pipe.Exec(ctx); err != nil {
		return false, false, storeError("looking for work", err)
	}
	return queues.Val() > 0, senders.Val() > 0, nil
}

// Remember stores a value under a name if there is none yet, and returns the
// one that is stored. Only the first time needs room: a Redis that is full would refuse
// even to find that there is one. Errors: ErrUnavailable, ErrFull.
func (s *Store) Remember(ctx context.Context, name, value string) (string, error) {
	key := s.key("is:" + name)
	stored, err := s.client.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		if err = s.client.SetNX(ctx, key, value, 0).Err(); err == nil {
			stored, err = s.client.Get(ctx, key).Result() // another process may have been first
		}
	}
	if err != nil {
		return "", storeError("remembering "+name, err)
	}
	return stored, nil
}

// Turn reports whether what has a name is the caller's to do for the next d: one of
// all processes at a time. Error: ErrUnavailable.
func (s *Store) Turn(ctx context.Context, name string, d time.Duration) (bool, error) {
	v, err := s.Run(ctx, turnScript, name, max(1, inMillis(d)))
	if err != nil {
		return false, err
	}
	r := reply{name: "turn"}
	return r.int(v) == 1, r.err
}

// Overtaken reports whether an earlier transaction of t's queue waits again.
// Error: ErrUnavailable.
func (s *Store) Overtaken(ctx context.Context, t *tx.Transaction) (bool, error) {
	n, err := s.client.ZCount(ctx, s.key("back:"+t.Queue), "-inf", "("+strconv.FormatInt(t.Sequence, 10)).Result()
	if err != nil {
		return false, storeError("looking at the queue", err)
	}
	return n > 0, nil
}

// HighestLanded returns the highest nonce with which a transaction stands on the
// chain for an account and may still be orphaned; false if there is none.
// Error: ErrUnavailable.
func (s *Store) HighestLanded(ctx context.Context, account string) (nonce uint32, ok bool, err error) {
	top, err := s.client.ZRevRangeWithScores(ctx, s.key("landed:"+account), 0, 0).Result()
	if err != nil {
		return 0, false, storeError("looking at a sender", err)
	}
	if len(top) == 0 {
		return 0, false, nil
	}
	return uint32(top[0].Score), true, nil
}
