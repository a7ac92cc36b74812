package queues

import (
	"context"
	"mina-sequencer/sequencer/lifecycle"
	"strconv"
	"time"
)

// An Overview is figures of a namespace, the same at every process.
type Overview struct {
	At        time.Time // by the clock of Redis
	States    map[lifecycle.State]int64
	Types     map[string]Load // of every type that was ever posted
	Queues    int64
	Processes int64 // that are alive
	Events    int64 // kept
	Astray    int64 // transactions found again after a failover, that wait for their place
	// Fees is what attempts that were begun today cost, in nanomina, by sender.
	Fees map[string]uint64
}

// A Load is what there is to do of one type.
type Load struct {
	Waiting int64 // transactions
	Ready   int64 // queues that can be bound, whose next one is of the type
	Bound   int64 // transactions
	// Oldest is when the oldest of them was received that is bound or could be;
	// zero if there is none. What stands behind another one of its queue is not
	// looked at, nor are paused queues.
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
		}
		bound := r.strings(r.at(l, 4))
		for i := 0; i+2 < len(bound); i += 3 {
			o.States[lifecycle.Phase(bound[i]).State()]++
			load := o.Types[bound[i+1]]
			load.Bound++
			load.see(r.int(bound[i+2]))
			o.Types[bound[i+1]] = load
		}
		if r.err != nil || len(bound) < 3*MaxBatch {
			return o, r.err
		}
	}
}

func (r *reply) overview(l []any) Overview {
	n := make([]int64, 9)
	for i, v := range r.list(r.at(l, 1)) {
		n[min(i, len(n)-1)] = r.int(v)
	}
	o := Overview{
		At:     fromMillis(r.int(r.at(l, 0))),
		States: map[lifecycle.State]int64{lifecycle.Waiting: n[0], lifecycle.Dispatching: 0, lifecycle.Revision: 0, lifecycle.Retry: 0, lifecycle.Done: n[1], lifecycle.Failed: n[2], lifecycle.Unresolved: n[3]},
		Types:  map[string]Load{}, Queues: n[5], Processes: n[6], Events: n[7], Astray: n[8], Fees: map[string]uint64{},
	}
	types := r.list(r.at(l, 2))
	for i := 0; i+3 < len(types); i += 4 {
		load := Load{Waiting: r.int(types[i+1]), Ready: r.int(types[i+2])}
		load.see(r.int(types[i+3]))
		o.Types[r.string(types[i])] = load
	}
	for sender, nanomina := range r.fields(r.at(l, 3)) {
		fee, err := strconv.ParseUint(nanomina, 10, 64)
		if err != nil {
			r.fail("a fee", nanomina)
		}
		o.Fees[sender] = fee
	}
	return o
}

func (l *Load) see(received int64) {
	if at := fromMillis(received); received > 0 && (l.Oldest.IsZero() || at.Before(l.Oldest)) {
		l.Oldest = at
	}
}
