package queues_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/test/explorer"
	"mina-sequencer/sequencer/tx"
)

// fee is so much that Redis would write two of them with an exponent, if it were let.
const fee = 70_000_000_000_001

// A view is a transaction as somebody has read it, here and there: they differ in the
// tokens of claims.
type view struct{ real, want *tx.Transaction }

// A drawn change is the same one for both stores.
type drawn struct {
	real *queues.Change
	want explorer.Change
}

// An answer is what a store says, in words, with transactions and times.
type answer struct {
	Text string
	Txns []*tx.Transaction
	At   time.Time
}

func says(format string, args ...any) answer { return answer{Text: fmt.Sprintf(format, args...)} }

// said is the answer of the real store to a change.
func (m *model) said(t *tx.Transaction, err error) answer {
	var costly *queues.FeeLimitError
	switch {
	case err == nil && t == nil:
		return answer{Text: "ok"}
	case err == nil:
		return answer{Text: "ok", Txns: []*tx.Transaction{t}}
	case errors.As(err, &costly):
		return answer{Text: fmt.Sprintf("costly: all %v %s, spent %d", costly.All, costly.Budget, int64(costly.Spent)),
			At: m.clock().Add(costly.Left)} // twice asked, it is of the second time
	}
	for e, text := range map[error]string{
		queues.ErrStale: "stale", queues.ErrFenced: "fenced", queues.ErrUnsettled: "unsettled",
		queues.ErrOvertaken: "overtaken", queues.ErrFollowed: "followed", queues.ErrUsed: "used",
		queues.ErrNotFound: "gone", queues.ErrNotFinal: "busy", queues.ErrUnavailable: unavailable.Text,
		senders.ErrExists: "exists", senders.ErrBound: "busy",
	} {
		if errors.Is(err, e) {
			return says("%s", text)
		}
	}
	return says("error: %v", err)
}

// advance makes a change in the explorer's store.
func (m *model) advance(d *drawn) answer {
	r := m.want.Record(d.want.Before.UID)
	var was *tx.Transaction
	again := false
	if r != nil {
		was, again = r.Txn, r.Op == d.want.Op
	}
	t, denied, err := m.want.Advance(&d.want)
	m.begins() // also of what the next change of the same run takes away again
	switch {
	case errors.Is(err, explorer.ErrStale):
		return says("stale")
	case errors.Is(err, explorer.ErrFenced):
		return says("fenced")
	case errors.Is(err, explorer.ErrUnsettled):
		return says("unsettled")
	case errors.Is(err, explorer.ErrFollowed):
		return says("followed")
	case errors.Is(err, explorer.ErrGone):
		return says("gone")
	case denied != nil && denied.Why == lifecycle.Overtaken:
		return says("overtaken")
	case denied != nil && denied.Why == lifecycle.Used:
		return says("used")
	case denied != nil:
		a := says("costly: all %v %s, spent %d", denied.Everybody, denied.Budget, int64(denied.Spent))
		a.At = m.now.Add(denied.Left)
		return a
	}
	if !again {
		m.moved(was, t, d)
	}
	m.heeds() // before the next change of the same run, too
	t = m.whole(t)
	t.Told = d.real.After.Told // as it was read; what was told since, the next read has
	return answer{Text: "ok", Txns: []*tx.Transaction{t}}
}

// moved keeps what stands beside the explorer's store: who is to look when.
func (m *model) moved(was, t *tx.Transaction, d *drawn) {
	c, callback, queue := d.real, "c:"+t.UID, "q:"+t.Queue
	if process := explorer.Owner(was.Claim); was.Claim != "" {
		switch {
		case c.Person:
			m.look(process, t.UID)
		case t.Claim != "":
			m.owe(process, t.UID, t.DueAt)
		default:
			delete(m.own[process], t.UID)
		}
	} else if t.Claim != "" {
		m.owe(explorer.Owner(t.Claim), t.UID, m.now)
	}
	if was.Phase != t.Phase && !was.Phase.Bound() {
		delete(m.due, "x:"+t.UID)
	}
	if was.Phase == tx.PhaseDone && t.Phase != was.Phase {
		delete(m.due, callback)
	}
	switch {
	case c.Tell != "":
		m.due[queue], m.due[callback] = m.queueOf(t.Queue).Hold, m.now.Add(lease)
	case c.Before.Callback != "" && c.After.Callback == "":
		delete(m.due, callback)
	}
	if c.Hold > 0 {
		m.due[queue] = m.queueOf(t.Queue).Hold
	}
	if m.queueOf(t.Queue).Till.IsZero() {
		delete(m.due, "p:"+t.Queue)
	}
	if t.Phase == tx.PhaseWaiting && !t.ExpiresAt.IsZero() {
		m.due["d:"+t.UID] = t.ExpiresAt
	}
	if c.Remove >= 0 {
		m.due["x:"+t.UID] = m.now.Add(c.Remove)
	}
}

// change makes one change, of what was just read or long ago.
func (m *model) change() bool {
	d := m.drawChange()
	if d == nil {
		return false
	}
	m.do(0, func(s *queues.Store, _ *senders.Pool) answer {
		return m.said(s.Advance(m.ctx, d.real))
	}, func() answer { return m.advance(d) })
	return true
}

// changes are some in one run.
func (m *model) changes() bool {
	var all []*drawn
	for range 2 + m.rand.IntN(3) {
		if d := m.drawChange(); d != nil {
			all = append(all, d)
		}
	}
	if len(all) < 2 {
		return false
	}
	m.leaving = true // by one, for what another takes back
	defer func() { m.leaving = false }()
	join := func(answers []answer) (joined answer) {
		for _, a := range answers {
			joined.Text += a.Text + "; "
			joined.Txns = append(joined.Txns, a.Txns...)
			joined.At = latest(joined.At, a.At)
		}
		return joined
	}
	m.do(0, func(s *queues.Store, _ *senders.Pool) answer {
		answers := make([]answer, len(all))
		calls := make([]func(), len(all))
		for i, d := range all {
			calls[i] = func() { answers[i] = m.said(s.Advance(m.ctx, d.real)) }
		}
		s.Together(calls...)
		if !slices.ContainsFunc(answers, func(a answer) bool { return a.Text != unavailable.Text }) {
			return unavailable
		}
		return join(answers)
	}, func() answer {
		answers := make([]answer, len(all))
		for i, d := range all {
			answers[i] = m.advance(d)
		}
		return join(answers)
	})
	return true
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

var policy = &lifecycle.Policy{
	Retention: 3 * hour, CallbackWait: callbackWait, SettleDepth: 2, Finality: 4, Confirmations: 1,
}

// drawChange draws a change that some code might make; nil if there is nothing to change.
func (m *model) drawChange() *drawn {
	v, any := m.latest(func(t *tx.Transaction) bool { return t.Phase.Bound() || m.draw(6) })
	if !any || v.want.Phase == tx.PhaseWaiting && !m.draw(3) {
		return nil
	}
	if m.draw(6) {
		v = one(m, m.views[v.want.UID]...)
	}
	t := v.want
	to, person := m.target(t)
	edit := m.drawEdit(t, to)
	m.ops++
	c := &queues.Change{Before: v.real, After: v.real.Clone(), Now: m.clock(), Wait: callbackWait, Lease: lease}
	c.Person = person
	m.drawAside(c, t)
	edit(c.After)
	if c.Bytes != nil {
		c.Bytes.Number = max(1, len(c.After.Attempts))
	}
	if m.draw(2) {
		c.Moves = lifecycle.Effects(c.Before, c.After, &c.Aside, policy)
	} else {
		m.drawMoves(c)
	}
	after := t.Clone()
	edit(after)
	m.note("%s rev %d %s>%s%s", t.UID, t.Revision, t.Phase, to, map[bool]string{true: " by a person"}[person])
	var budgets []explorer.Allowance
	for _, b := range c.Budgets {
		budgets = append(budgets, explorer.Allowance(b))
	}
	return &drawn{c, explorer.Change{
		Before: t, After: after, Aside: c.Aside, Moves: c.Moves, Op: fmt.Sprint("op", m.ops),
		LimitSender: c.Limits.Sender, Limit: c.Limits.All, Budgets: budgets,
	}}
}

// target is where a change takes a transaction, and whether a person makes it.
func (m *model) target(t *tx.Transaction) (to tx.Phase, person bool) {
	const waiting, done = tx.PhaseWaiting, tx.PhaseDone
	const failed, unresolved = tx.PhaseFailed, tx.PhaseUnresolved
	switch {
	case t.Phase == waiting:
		return one(m, waiting, failed, failed), true
	case t.Phase.Bound():
		if m.draw(3) {
			return t.Phase, m.draw(3)
		}
		return one(m, append([]tx.Phase{done, done, unresolved, waiting, t.Phase}, tx.Phases...)...), m.draw(6)
	}
	return one(m, t.Phase, waiting, done, failed, unresolved), t.Claim == "" || m.draw(4)
}

// drawEdit draws what a change makes of a record.
func (m *model) drawEdit(t *tx.Transaction, to tx.Phase) func(*tx.Transaction) {
	var edits []func(*tx.Transaction)
	now, times, nonce, last := m.clock(), 1+m.rand.IntN(4), uint32(m.rand.IntN(5)), t.Last()
	mine := last != nil && last.Sender == t.Sender
	switch n := m.rand.IntN(8); {
	case n < 2 && t.Sender != "" && (t.Phase.Bound() || to.Bound()):
		edits = append(edits, func(t *tx.Transaction) {
			t.Attempts = append(t.Attempts, tx.Attempt{
				Number: len(t.Attempts) + 1, Sender: t.Sender, Nonce: nonce, Fee: uint64(times) * fee,
				State: tx.Planned, StartedAt: now,
				Slot: nonce + 7, ValidUntil: nonce + 9,
			})
		})
	case n < 4 && mine:
		outcome := one(m, tx.Expired, tx.Included, tx.FailedIn, tx.Refused)
		edits = append(edits, func(t *tx.Transaction) { t.Last().State, t.Last().EndedAt = outcome, now })
	case n < 6 && mine:
		outcome := one(m, tx.Signed, tx.Sent, tx.Pooled, tx.Unknown)
		hash := one(m, "", fmt.Sprint("hash", nonce))
		edits = append(edits, func(t *tx.Transaction) {
			t.Last().State, t.Last().EndedAt, t.Last().Hash = outcome, time.Time{}, hash
		})
	case n < 7:
		ending := one(m, "", tx.PhaseFailed)
		edits = append(edits, func(t *tx.Transaction) {
			t.Retries, t.Losses, t.Ending = int(nonce), times, ending
			t.Error = &tx.Error{Code: "CODE", Message: fmt.Sprint("message ", nonce)}
		})
	case last != nil:
		edits = append(edits, func(t *tx.Transaction) {
			t.Landed, t.Last().Height, t.Last().StateHash = len(t.Attempts), nonce+20, "state"
		})
	}
	due := m.hours()
	callback := t.Callback
	if to != t.Phase && to.Final() && m.draw(2) {
		callback = one(m, tx.OnSuccess, tx.OnFailure)
	} else if m.draw(4) {
		callback = ""
	}
	final := to == tx.PhaseDone && m.draw(2)
	return func(t *tx.Transaction) {
		t.Phase, t.DueAt, t.Callback = to, time.Time{}, callback
		if due > 0 {
			t.DueAt = now.Add(due)
		}
		if final {
			t.DoneAt, t.FinalAt = now, now
		}
		for _, e := range edits {
			e(t)
		}
	}
}

// drawAside draws what goes with a change.
func (m *model) drawAside(c *queues.Change, t *tx.Transaction) {
	a := &c.Aside
	nonce := uint32(m.rand.IntN(6))
	a.Code = one(m, "", "", "", "CODE")
	if m.draw(12) {
		a.Rest = &lifecycle.Rest{
			For: one(m, queues.Never, m.hours()), Why: m.reason(), By: one(m, "", "", "somebody", lifecycle.ByDoubt),
			Detail: one(m, "", "in words"),
		}
		if a.Rest.Why == tx.StoppedNonce {
			a.Rest.By = "" // a process says so for all
		}
		if m.draw(2) {
			a.Rest.Above = new(uint32(m.rand.IntN(6)))
		}
	}
	if m.draw(6) {
		a.Absolved = m.account()
	}
	if m.draw(14) {
		a.Hold = m.hours()
	}
	switch m.rand.IntN(5) {
	case 0:
		a.NextNonce = &nonce
	case 1:
		a.ForgetNonce = m.draw(2)
	case 2:
		a.Least = map[string]uint32{m.account(): nonce, "S9": nonce + 1}
	}
	if m.draw(6) {
		a.Follows = new(uint32(m.rand.IntN(6)))
	}
	if p := one(m, me, other); m.draw(3) && !m.procs[p].IsZero() {
		a.Process = p
	}
	a.LandedWith = &nonce
	switch m.rand.IntN(6) {
	case 0:
		a.Bytes = &lifecycle.BytesRead{Command: []byte(strings.Repeat("command ", int(nonce)))}
	case 1:
		a.DropBytes = true
	}
	if m.draw(3) {
		c.Limits = queues.FeeLimits{Sender: fee * one[uint64](m, 0, 3, 6), All: fee * one[uint64](m, 0, 4, 9)}
	}
	if m.draw(3) {
		c.Budgets = []queues.Budget{{Name: "q:x", Most: fee * one[uint64](m, 0, 3, 6)},
			{Name: "k:y", Most: fee * one[uint64](m, 0, 5)}}
		c.Budgets = c.Budgets[m.rand.IntN(2):]
	}
}

func (m *model) reason() tx.SenderReason {
	return one(m, tx.Rested, tx.Draining, tx.StoppedNonce, tx.LowBalance,
		tx.WrongAccount,
		tx.WrongNetwork, tx.OutcomeUnknown)
}

// drawMoves draws what the rules of the domain might say.
func (m *model) drawMoves(c *queues.Change) {
	to := c.After.Phase
	c.Moves = lifecycle.Moves{
		Attempt: len(c.After.Attempts), Keep: to != tx.PhaseWaiting && m.draw(2),
		Confirm: m.draw(4), InOrder: m.draw(2), Last: true, Remove: queues.Never,
	}
	if c.After.Callback != "" && (to.Final() || m.draw(4)) {
		c.Tell = c.After.Callback
	}
	switch account := m.account(); m.rand.IntN(4) {
	case 0:
		c.Stands, c.Nonce = account, uint32(m.rand.IntN(6))
	case 1:
		c.Falls = account
	}
	if to.Final() && m.draw(4) {
		c.Remove = m.hours()
	}
}
