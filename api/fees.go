package api

import (
	"cmp"
	"net/http"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/fees"
)

// getFees tells what others pay for a place in a block, what ours would pay now, and what
// was spent.
func (a *api) getFees(w http.ResponseWriter, r *http.Request) error {
	var last *fees.Look
	var types []fees.TypeFee
	var err error
	if a.Fees != nil {
		if last, types, err = a.Fees(r.Context()); err != nil {
			return err
		}
	}
	spent, err := a.Store.Spent(r.Context())
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendFees(nil, last, cmp.Or(a.BlockZkapps, fees.BlockTakes), types, spent))
}

func appendFees(b []byte, last *fees.Look, takes int, types []fees.TypeFee, spent []queues.Spent) []byte {
	o := object{b}
	o.open()
	o.name("pool")
	if last == nil {
		o.null()
	} else {
		o.look(last, takes)
	}
	o.name("types")
	o.b = appendList(o.b, types, func(b []byte, t fees.TypeFee) []byte {
		o := object{b}
		o.open()
		o.text("type", t.Type)
		o.count("weight", uint32(max(t.Weight, 0)))
		o.nanomina("fee", t.Quote.Fee)
		o.optional("why", string(t.Quote.Why))
		o.amount("feePerWeight", t.Quote.PerWeight)
		o.close()
		return o.b
	})
	o.name("spent")
	o.b = appendList(o.b, spent, func(b []byte, s queues.Spent) []byte {
		o := object{b}
		o.open()
		o.text("day", s.Day.UTC().Format(time.DateOnly))
		o.optional("sender", s.Sender)
		o.optional("queue", s.Queue)
		o.nanomina("fee", s.Fee)
		o.close()
		return o.b
	})
	o.close()
	return o.b
}

// look is what a pool showed: what others pay for each unit of weight at the end of each of
// the next blocks, if nobody came any more.
func (o *object) look(l *fees.Look, takes int) {
	o.open()
	o.time("at", l.At)
	o.number("size", int64(l.Size))
	o.number("capacity", int64(takes))
	o.name("ranks")
	o.b = append(o.b, '[')
	for i := 1; i < len(l.Ranks); i += 2 { // they go by half blocks
		if i > 1 {
			o.b = append(o.b, ',')
		}
		o.open()
		o.number("blocks", int64(i/2+1))
		o.nanomina("feePerWeight", l.Ranks[i])
		o.close()
	}
	o.b = append(o.b, ']')
	o.close()
}

// estimate is what the fee of an attempt was estimated from, null where it goes by no
// market.
func (o *object) estimate(q *fees.Quote) {
	o.name("estimate")
	if q.Why == "" {
		o.null()
		return
	}
	o.open()
	o.nanomina("fee", q.Fee)
	o.amount("feePerWeight", q.PerWeight)
	o.number("weight", int64(q.Weight))
	o.text("why", string(q.Why))
	o.close()
}
