package explorer

import (
	"fmt"
	"slices"
	"strings"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// Coverage counts what was met.
type Coverage struct {
	Rows    map[string]int
	Reasons map[lifecycle.Reason]int
	Kinds   map[lifecycle.Kind]int
	Answers map[lifecycle.Fault]int
	Denials map[lifecycle.Denial]int
	Orders  map[tx.OrderKind]int
	Fates   map[tx.Fate]int
	// Of ledgers: what they say of batches, and answer to posts.
	Standings map[lifecycle.BatchState]int
	Submits   map[lifecycle.SubmitOutcome]int
	// Restores are the ways in which what was forgotten was put back.
	Restores map[string]int
	Faults   [faults]int
}

// NewCoverage has met nothing yet.
func NewCoverage() *Coverage {
	return &Coverage{Rows: map[string]int{}, Reasons: map[lifecycle.Reason]int{}, Kinds: map[lifecycle.Kind]int{},
		Answers: map[lifecycle.Fault]int{}, Denials: map[lifecycle.Denial]int{}, Orders: map[tx.OrderKind]int{},
		Fates: map[tx.Fate]int{}, Restores: map[string]int{},
		Standings: map[lifecycle.BatchState]int{}, Submits: map[lifecycle.SubmitOutcome]int{}}
}

func add[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

// Add counts what another has met, too.
func (c *Coverage) Add(o *Coverage) {
	add(c.Rows, o.Rows)
	add(c.Reasons, o.Reasons)
	add(c.Kinds, o.Kinds)
	add(c.Answers, o.Answers)
	add(c.Denials, o.Denials)
	add(c.Orders, o.Orders)
	add(c.Fates, o.Fates)
	add(c.Restores, o.Restores)
	add(c.Standings, o.Standings)
	add(c.Submits, o.Submits)
	for i := range o.Faults {
		c.Faults[i] += o.Faults[i]
	}
}

func (s *State) meet(step *lifecycle.Step) {
	if s.met != nil {
		s.met.Reasons[step.Reason]++
		s.met.Kinds[step.Do.Kind]++
	}
}

func (s *State) denied(why lifecycle.Denial) {
	if s.met != nil {
		s.met.Denials[why]++
	}
}

func (c *Coverage) result(r lifecycle.Result) {
	if a, ok := r.(lifecycle.Answer); ok {
		c.Answers[a.Fault]++
	}
}

func (c *Coverage) answersOf(f string) int { return c.Answers[lifecycle.Fault(f)] }

// A change is a change of a record, as rows of the contract tell it.
type change struct {
	before, after *tx.Transaction
	step          *lifecycle.Step
}

func (c *change) from(phases ...tx.Phase) bool { return slices.Contains(phases, c.before.Phase) }
func (c *change) to(p tx.Phase) bool           { return c.after.Phase == p }
func (c *change) why(reasons ...lifecycle.Reason) bool {
	return slices.Contains(reasons, c.step.Reason)
}
func (c *change) legacy() bool { return c.before.Last() != nil && c.before.Last().Legacy }

// A row is one of the contract's table of states (§5).
type row struct {
	name  string
	holds func(c *change) bool
}

var rows = []row{
	{"an attempt succeeded in a block CONFIRMATIONS deep",
		func(c *change) bool { return c.to(tx.PhaseDone) && c.why(lifecycle.ReasonLanded) }},
	{"two-phase: the signed command is stored", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseSent) && !c.legacy()
	}},
	{"legacy: it was sent", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseSent) && c.legacy() &&
			c.why(lifecycle.ReasonAnswered)
	}},
	{"refused by every node at its first sending, mendable", func(c *change) bool {
		return c.from(tx.PhaseSent) && c.to(tx.PhaseFailing)
	}},
	{"refused by every node at its first sending, permanent", func(c *change) bool {
		return c.from(tx.PhaseSent) && c.to(tx.PhaseUnresolved)
	}},
	{"the worker finished it without a block", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseDone) && c.after.Landed == 0
	}},
	{"error that a retry may mend", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseFailing) && c.why(lifecycle.ReasonAnswered)
	}},
	{"deferred: nothing open", func(c *change) bool {
		return c.to(tx.PhaseWaiting) &&
			c.why(lifecycle.ReasonDeferred)
	}},
	{"deferred: something open", func(c *change) bool {
		return c.to(tx.PhaseDelayed) &&
			c.why(lifecycle.ReasonDeferred)
	}},
	{"cancelled while dispatching, nothing open", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseFailed) && c.why(lifecycle.ReasonCancelled)
	}},
	{"lost, two-phase: the same attempt is asked for again", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseDispatching) && c.why(lifecycle.ReasonLost)
	}},
	{"lost, two-phase: from the third loss an error", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseFailing) && c.why(lifecycle.ReasonLost)
	}},
	{"lost, legacy: outcome unknown", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseSent) && c.why(lifecycle.ReasonLost)
	}},
	{"unresolvable: nothing open", func(c *change) bool {
		return c.from(tx.PhaseDispatching) && c.to(tx.PhaseUnresolved)
	}},
	{"unresolvable: something open", func(c *change) bool {
		return c.to(tx.PhaseWatching) && c.after.Ending == tx.PhaseUnresolved
	}},
	{"the first look at the chain finds it waiting", func(c *change) bool {
		return c.from(tx.PhaseSent) && c.to(tx.PhaseWatching)
	}},
	{"raised: a new attempt, same nonce, higher fee", func(c *change) bool {
		return c.from(tx.PhaseWatching) && c.to(tx.PhaseWatching) &&
			len(c.after.Attempts) > len(c.before.Attempts)
	}},
	{"failed in a block: mendable", func(c *change) bool {
		return c.to(tx.PhaseFailing) &&
			c.ends(tx.FailedIn)
	}},
	{"failed in a block: permanent", func(c *change) bool {
		return c.to(tx.PhaseUnresolved) &&
			c.ends(tx.FailedIn)
	}},
	{"expired", func(c *change) bool { return c.to(tx.PhaseFailing) && c.ends(tx.Expired) }},
	{"its nonce spent by a command not ours", func(c *change) bool {
		return c.to(tx.PhaseFailing) &&
			c.ends(tx.Replaced)
	}},
	{"retries used up: nothing open", func(c *change) bool {
		return c.from(tx.PhaseFailing) &&
			c.to(tx.PhaseFailed)
	}},
	{"retries used up: something open", func(c *change) bool {
		return c.from(tx.PhaseFailing) && c.to(tx.PhaseWatching)
	}},
	{"other queues want the sender of its delay", func(c *change) bool {
		return c.from(tx.PhaseDelayed) && c.to(tx.PhaseWaiting) && c.why(lifecycle.ReasonYield)
	}},
	{"retries left", func(c *change) bool { return c.from(tx.PhaseFailing) && c.to(tx.PhaseDelayed) }},
	{"the sender is out of use, nothing open", func(c *change) bool {
		return c.from(tx.PhaseFailing, tx.PhaseDelayed) && c.to(tx.PhaseWaiting)
	}},
	{"the delay is over", func(c *change) bool {
		return c.from(tx.PhaseDelayed) &&
			c.to(tx.PhaseDispatching)
	}},
	{"legacy, nowhere for long: outcome unknown", func(c *change) bool {
		return c.to(tx.PhaseUnresolved) && c.why(lifecycle.ReasonAmbiguous)
	}},
	{"the last open attempt is dead, and it ends", func(c *change) bool {
		return c.from(tx.PhaseWatching) && c.to(tx.PhaseFailed)
	}},
	{"landed after FAILED or UNRESOLVED", func(c *change) bool { return c.step.Aside.Code == tx.CodeLate }},
	{"DONE, and its block is gone", func(c *change) bool { return c.step.Aside.Code == tx.CodeOrphaned }},
	{"DONE, and landed again", func(c *change) bool { return c.step.Aside.Code == tx.CodeRelanded }},
	{"reopened: back to its place", func(c *change) bool { return c.step.Aside.Code == tx.CodeReopened }},
	{"watched until FINALITY", func(c *change) bool { return c.step.Aside.Code == tx.CodeFinal }},
	{"cancelled while it waits, or between tries", func(c *change) bool {
		return c.from(tx.PhaseWaiting, tx.PhaseFailing, tx.PhaseDelayed) &&
			c.to(tx.PhaseFailed) &&
			c.why(lifecycle.ReasonCancelled)
	}},
	{"tried again by a person", func(c *change) bool {
		return c.from(tx.PhaseFailed, tx.PhaseUnresolved) && c.to(tx.PhaseWaiting)
	}},
}

// ends reports whether the change ended an attempt so.
func (c *change) ends(as tx.AttemptState) bool {
	for i := range c.before.Attempts {
		if a := c.after.Attempt(i + 1); c.before.Attempts[i].Open() && a != nil && a.Over() && a.Outcome() == as.Outcome() {
			return true
		}
	}
	return false
}

func (c *Coverage) change(_ *State, before, after *tx.Transaction, step *lifecycle.Step) {
	x := change{before, after, step}
	c.Reasons[step.Reason]++
	for i := range rows {
		if rows[i].holds(&x) {
			c.Rows[rows[i].name]++
		}
	}
}

// Table is all that was met, or not.
func (c *Coverage) Table() string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%10d row     %s\n", c.Rows[r.name], r.name)
	}
	for _, e := range c.entries() {
		fmt.Fprintf(&b, "%10d %-7s %s\n", e.n, e.kind, e.name)
	}
	return b.String()
}

type entry struct {
	kind, name string
	n          int
}

// Missed is what was never met.
func (c *Coverage) Missed() (names []string) {
	for _, r := range rows {
		if c.Rows[r.name] == 0 {
			names = append(names, "row "+r.name)
		}
	}
	for _, e := range c.entries() {
		if e.n == 0 {
			names = append(names, e.kind+" "+e.name)
		}
	}
	return names
}
