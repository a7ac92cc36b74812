package queues

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"mina-sequencer/sequencer/tx"
)

// An Overview is figures of a namespace, the same at every process.
type Overview struct {
	At        time.Time // by the clock of Redis
	States    map[tx.State]int64
	Types     map[string]Load // of every type that was ever posted
	Ledgers   map[string]Load // the same of every ledger
	Queues    int64
	Processes int64 // that are alive
	Events    int64 // kept
	// Fees is what attempts that were begun today cost, in nanomina, by sender.
	Fees map[string]uint64
	// Stops are what applies to queues that come to be, in the order in which it was said.
	Stops []Stop
	// Limited are queues that SEQUENCER_UNRESOLVED_LIMIT has paused until a person resumes them, the
	// first 20 by since when; LimitedInAll is how many there are.
	Limited      []Limited
	LimitedInAll int64
	// MaxWaiting is how many may wait in all, 0 for any number.
	MaxWaiting int
}

// Crowded says in words that as many wait as may, and what to do; "" while there is room.
func (o *Overview) Crowded() (why, remedy string) {
	if waiting := o.States[tx.Waiting]; o.MaxWaiting > 0 && waiting >= int64(o.MaxWaiting) {
		return fmt.Sprintf("every post is refused, for %d transactions wait and SEQUENCER_MAX_WAITING_TOTAL allows %d", waiting,
				o.MaxWaiting), "see in which queues they wait (sequencer queue list --active), cancel what nobody wants " +
				"(sequencer txn cancel --prefix or --tenant), or raise the limit"
	}
	return "", ""
}

// A Limited queue is paused by SEQUENCER_UNRESOLVED_LIMIT, and not by a person's word.
type Limited struct {
	Queue string
	Since time.Time
}

// Why says in words why l is paused and since when.
func (l Limited) Why() string {
	return "is paused since " + l.Since.Format("2006-01-02 15:04Z") +
		": too many of its transactions in a row ended UNRESOLVED"
}

// Remedy says what ends that, and the command that does so.
func (l Limited) Remedy() (words, command string) {
	return "see what became of them (sequencer txn list --state UNRESOLVED --queue " + l.Queue +
		"), mend that, have them tried again if they shall be (sequencer txn retry --state UNRESOLVED --queue " + l.Queue +
		"), and resume the queue", "sequencer queue resume " + l.Queue
}

// A Load is what there is to do of one type.
type Load struct {
	Waiting int64 // transactions
	Ready   int64 // queues that can be bound, whose next one is of the type
	Bound   int64 // transactions
	// Oldest is when the oldest of them was received that is bound or could be;
	// zero if there is none. What stands behind another one of its queue is not
	// looked at, nor are paused queues, nor what more than 64 names have posted: of these and of
	// the nameless it is looked at the 64 queues that have been ready longest.
	Oldest time.Time
}

// Overview reads what there is to do. Its cost follows the senders, not the queues
// or transactions. Error: ErrUnavailable.
func (s *Store) Overview(ctx context.Context) (Overview, error) {
	var o Overview
	for from := 0; ; from += MaxBatch {
		v, err := s.Run(ctx, overviewScript, from, MaxBatch)
		if err != nil {
			return Overview{}, err
		}
		r := reply{name: "overview"}
		l := r.list(v)
		if from == 0 {
			o = r.overview(l)
			o.MaxWaiting = s.MaxWaitingInAll
		}
		bound := r.strings(r.at(l, 4))
		for i := 0; i+2 < len(bound); i += 3 {
			o.States[tx.Phase(bound[i]).State()]++
			o.add(bound[i+1], Load{Bound: 1, Oldest: fromMillis(r.int(bound[i+2]))})
		}
		if r.err != nil || len(bound) < 3*MaxBatch {
			return o, r.err
		}
	}
}

func (r *reply) overview(l []any) Overview {
	n := make([]int64, 8)
	for i, v := range r.list(r.at(l, 1)) {
		n[min(i, len(n)-1)] = r.int(v)
	}
	o := Overview{
		At: fromMillis(r.int(r.at(l, 0))),
		States: map[tx.State]int64{
			tx.Waiting: n[0], tx.Dispatching: 0, tx.Revision: 0, tx.Retry: 0,
			tx.Done: n[1], tx.Failed: n[2], tx.Unresolved: n[3],
		},
		Types: map[string]Load{}, Ledgers: map[string]Load{}, Queues: n[5], Processes: n[6], Events: n[7],
		Fees: map[string]uint64{}, Stops: r.stops(r.string(r.at(l, 5))),
	}
	types := r.list(r.at(l, 2))
	for i := 0; i+3 < len(types); i += 4 {
		o.add(r.string(types[i]), Load{Waiting: r.int(types[i+1]), Ready: r.int(types[i+2]),
			Oldest: fromMillis(r.int(types[i+3]))})
	}
	for sender, nanomina := range r.fields(r.at(l, 3)) {
		if sender == "*" {
			continue // the sum of the others
		}
		fee, err := strconv.ParseUint(nanomina, 10, 64)
		if err != nil {
			r.fail("a fee", nanomina)
		}
		o.Fees[sender] = fee
	}
	limited := r.list(r.at(l, 6))
	o.LimitedInAll = r.int(r.at(limited, 0))
	for i := 1; i+1 < len(limited); i += 2 {
		o.Limited = append(o.Limited, Limited{r.string(limited[i]), fromMillis(r.int(limited[i+1]))})
	}
	return o
}

// add counts a load with its type, and with its ledger if it has one.
func (o *Overview) add(kind string, more Load) {
	typ, ledger := splitKind(kind)
	o.Types[typ] = o.Types[typ].plus(more)
	if ledger != "" {
		o.Ledgers[ledger] = o.Ledgers[ledger].plus(more)
	}
}

func (l Load) plus(more Load) Load {
	if l.Oldest.IsZero() || !more.Oldest.IsZero() && more.Oldest.Before(l.Oldest) {
		l.Oldest = more.Oldest
	}
	return Load{l.Waiting + more.Waiting, l.Ready + more.Ready, l.Bound + more.Bound, l.Oldest}
}

// Flow is how many transactions passed a point of their way within a time.
type Flow struct {
	Over                            time.Duration
	Accepted, Done, Retried, Failed int64 // Failed: and UNRESOLVED
	Last                            int64 // number of the newest event
}

// flowEvents is the most events that Flow looks at.
const flowEvents = 2000

// Flow counts what happened within the last time up to over, or within less
// where more than 2,000 events happened in it, or where nothing happened before.
// Of what has just begun it is a minute. Error: ErrUnavailable.
func (s *Store) Flow(ctx context.Context, over time.Duration) (Flow, error) {
	p, err := s.ReadLog(ctx, 0, 0)
	if err != nil {
		return Flow{}, err
	}
	events, err := s.Events(ctx, max(p.First-1, p.Last-flowEvents), flowEvents)
	if err != nil {
		return Flow{}, err
	}
	node, err := s.node(ctx)
	if err != nil {
		return Flow{}, err
	}
	clock, err := node.Time(ctx).Result()
	if err != nil {
		return Flow{}, storeError("reading the time", err)
	}
	begin := clock.Add(-over)
	switch {
	case len(events) == 0:
	case len(events) == flowEvents:
		begin = later(begin, events[0].At)
	case events[0].Number == 1:
		begin = later(begin, earlier(events[0].At, clock.Add(-time.Minute)))
	}
	f := Flow{Over: clock.Sub(begin), Last: p.Last}
	for _, e := range events {
		if e.Kind != OfTransaction || e.At.Before(begin) || e.From == e.To {
			continue
		}
		switch {
		case e.From == "":
			f.Accepted++
		case e.From == tx.PhaseDelayed && e.To == tx.PhaseDispatching:
			f.Retried++
		case e.To == tx.PhaseDone:
			f.Done++
		case e.To == tx.PhaseFailed || e.To == tx.PhaseUnresolved:
			f.Failed++
		}
	}
	return f, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
