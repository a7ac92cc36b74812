package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

// A Chain is what the nodes say together, as far as it is shown.
type Chain struct {
	OK            bool // a quorum of nodes is synced
	Synced, Nodes int
	Height        uint32 // of the lowest voting tip
	TipSlot       uint32 // slotSinceGenesis of that tip
	Slot          uint32 // the current one by the clock
	SlotTime      time.Duration
	Network       string
	At            time.Time // when they were asked
	Detail        string    // why it is not OK, or why a node has no vote
}

// A Trouble is something that a person has to see to.
type Trouble struct {
	Code   string // of doctor's where it has one; else CLOCK or SENDING
	Detail string // a sentence without its full stop: what is so, and what to do
	// Queue or Sender is what it is about, "" for none, and Command the line of a shell that ends it, "" where
	// none does.
	Queue, Sender, Command string
}

// A Ledger is a ledger that takes batches, as this process knows it.
type Ledger struct {
	Name   string
	Asked  time.Time // when it was asked last; zero: nothing is known of it
	OK     bool      // it answers, and turns no batch away
	Detail string    // why it is not OK
}

const (
	// overviewLife is how long one look at the store serves everybody.
	overviewLife = 500 * time.Millisecond
	// flowWindow is the time that the rates are counted over.
	flowWindow = 5 * time.Minute
	// recentEvents are told along with it.
	recentEvents = 30
)

// An overview keeps the last look at everything.
type overview struct {
	look sync.Mutex // held while looking: others wait for what it finds
	at   time.Time
	doc  []byte
}

// getOverview tells the whole in numbers. However many ask, the store is looked
// at twice a second at most, in this process.
func (a *api) getOverview(w http.ResponseWriter, r *http.Request) error {
	o := &a.overview
	o.look.Lock()
	defer o.look.Unlock()
	if time.Since(o.at) >= overviewLife {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		doc, err := a.readOverview(ctx)
		if err != nil {
			return err
		}
		o.doc, o.at = doc, time.Now()
	}
	return send(w, http.StatusOK, slices.Clone(o.doc))
}

func (a *api) readOverview(ctx context.Context) ([]byte, error) {
	v, err := a.Store.Overview(ctx)
	if err != nil {
		return nil, err
	}
	flow, err := a.Store.Flow(ctx, flowWindow)
	if err != nil {
		return nil, err
	}
	recent, err := a.Store.ReadLog(ctx, max(0, flow.Last-recentEvents), recentEvents)
	if err != nil {
		return nil, err
	}
	pool, _, err := a.Senders.List(ctx, mostPage, "")
	if err != nil {
		return nil, err
	}
	var chain *Chain
	if a.Chain != nil {
		chain = a.Chain(ctx)
	}
	var ledgers []Ledger
	if a.Ledgers != nil {
		ledgers = a.Ledgers()
	}
	recovering := ""
	if a.Recovering != nil {
		recovering = a.Recovering()
	}
	troubles := forPerson(&v, pool)
	if a.Troubles != nil {
		troubles = append(troubles, a.Troubles()...)
	}
	doc := appendOverview(nil, &v, &flow, pool, recovering, troubles, chain, ledgers)
	o := object{doc[:len(doc)-1]}
	o.name("recent")
	slices.Reverse(recent.Entries)
	o.b = appendList(o.b, recent.Entries, func(b []byte, e queues.Entry) []byte { return append(appendFields(b, recent.Epoch, &e), '}') })
	o.close()
	return o.b, nil
}

// mostTroubles is how many queues, and how many senders, are named that wait for a person.
const mostTroubles = 10

// forPerson are the queues and the senders that wait for a person, with what ends it.
func forPerson(v *queues.Overview, pool []*senders.Sender) (all []Trouble) {
	sentence := func(what, why, remedy string) string { return what + " " + why + ". To do: " + remedy }
	if why, remedy := v.Crowded(); why != "" {
		all = append(all, Trouble{Code: codeTooManyWaiting, Detail: strings.ToUpper(why[:1]) + why[1:] + ". To do: " + remedy,
			Command: "sequencer queue list --active"})
	}
	paused := min(len(v.Limited), mostTroubles)
	for _, l := range v.Limited[:paused] {
		remedy, command := l.Remedy()
		all = append(all, Trouble{"QUEUE_PAUSED", sentence("Queue "+l.Queue, l.Why(), remedy), l.Queue, "", command})
	}
	if more := v.LimitedInAll - int64(paused); more > 0 {
		all = append(all, Trouble{Code: "QUEUE_PAUSED", Detail: fmt.Sprintf("%d more queues are paused so", more)})
	}
	held := 0
	for _, s := range pool {
		if !s.Held() {
			continue
		}
		if held++; held <= mostTroubles {
			remedy, command := s.Remedy()
			all = append(all, Trouble{"SENDER_OUT", sentence("Sender "+s.AccountID, s.Why(), remedy), "", s.AccountID, command})
		}
	}
	if more := held - mostTroubles; more > 0 {
		all = append(all, Trouble{Code: "SENDER_OUT", Detail: fmt.Sprintf("%d more senders are out of use until a person sees to it", more)})
	}
	return all
}

func appendOverview(
	b []byte, v *queues.Overview, f *queues.Flow, pool []*senders.Sender, recovering string, troubles []Trouble, c *Chain, ledgers []Ledger,
) []byte {
	o := object{b}
	o.open()
	o.time("at", v.At)
	o.name("counts")
	o.open()
	for _, state := range tx.States {
		o.number(string(state), v.States[state])
	}
	o.close()
	o.number("queues", v.Queues)
	o.time("oldestAt", oldest(v))
	o.name("rates")
	o.open()
	o.number("seconds", int64(f.Over/time.Second))
	o.number("accepted", f.Accepted)
	o.number("done", f.Done)
	o.number("retried", f.Retried)
	o.number("failed", f.Failed)
	o.close()
	o.pool(pool)
	o.stops(v.Stops)
	o.optional("recovering", recovering)
	o.name("troubles")
	o.b = appendList(o.b, troubles, func(b []byte, t Trouble) []byte {
		o := object{b}
		o.open()
		o.text("code", t.Code)
		o.text("detail", t.Detail)
		o.optional("queue", t.Queue)
		o.optional("sender", t.Sender)
		o.optional("command", t.Command)
		o.close()
		return o.b
	})
	o.name("chain")
	if c == nil {
		o.null()
	} else {
		o.chain(c)
	}
	o.ledgers(v, pool, ledgers)
	o.close()
	return o.b
}

// oldest is when the oldest transaction was received that is bound or could be.
func oldest(v *queues.Overview) time.Time {
	var first time.Time
	for _, load := range v.Types {
		if !load.Oldest.IsZero() && (first.IsZero() || load.Oldest.Before(first)) {
			first = load.Oldest
		}
	}
	return first
}

// pool counts senders: each is bound, out of use for a reason, or free. One that
// is drained is bound until it has finished.
func (o *object) pool(pool []*senders.Sender) {
	var free, bound, out int64
	reasons := map[string]int64{}
	for _, s := range pool {
		if !s.Available() {
			reasons[string(s.Reason)]++
		}
		switch {
		case s.Queue != "":
			bound++
		case s.Available():
			free++
		default:
			out++
		}
	}
	o.name("senders")
	o.open()
	o.number("free", free)
	o.number("bound", bound)
	o.number("out", out)
	o.name("reasons")
	o.open()
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		o.number(reason, reasons[reason])
	}
	o.close()
	o.close()
}

// stops are what holds for queues that come to be, by how their names begin.
func (o *object) stops(all []queues.Stop) {
	o.name("stops")
	o.b = appendList(o.b, all, func(b []byte, s queues.Stop) []byte {
		o := object{b}
		o.open()
		o.text("prefix", s.Prefix)
		o.optional("reason", s.Reason)
		o.time("since", s.Since)
		o.time("until", s.Until)
		o.optional("by", s.By)
		o.close()
		return o.b
	})
}

func (o *object) chain(c *Chain) {
	o.open()
	o.bool("ok", c.OK)
	o.number("synced", int64(c.Synced))
	o.number("nodes", int64(c.Nodes))
	o.count("height", c.Height)
	o.count("tipSlot", c.TipSlot)
	o.count("slot", c.Slot)
	o.number("slotMillis", c.SlotTime.Milliseconds())
	o.optional("network", c.Network)
	o.time("at", c.At)
	o.optional("detail", c.Detail)
	o.close()
}

// ledgers shows those that this process knows, and those that have slots or work.
func (o *object) ledgers(v *queues.Overview, pool []*senders.Sender, known []Ledger) {
	here, slots, out := map[string]Ledger{}, map[string]int64{}, map[string]int64{}
	for _, l := range known {
		here[l.Name] = l
		slots[l.Name] = 0
	}
	for name, load := range v.Ledgers {
		if load.Waiting+load.Bound > 0 {
			slots[name] = 0
		}
	}
	for _, s := range pool {
		name := senders.LedgerOf(s.AccountID)
		if name == "" {
			continue
		}
		slots[name]++
		if !s.Available() {
			out[name]++
		}
	}
	o.name("ledgers")
	o.b = appendList(o.b, slices.Sorted(maps.Keys(slots)), func(b []byte, name string) []byte {
		l, load, o := here[name], v.Ledgers[name], object{b}
		o.open()
		o.text("name", name)
		if l.Asked.IsZero() {
			o.name("ok")
			o.null()
		} else {
			o.bool("ok", l.OK)
		}
		o.number("waiting", max(0, load.Waiting))
		o.number("inFlight", load.Bound)
		o.number("slots", slots[name])
		o.number("slotsOut", out[name])
		o.time("oldestAt", load.Oldest)
		o.time("at", l.Asked)
		o.optional("detail", l.Detail)
		o.close()
		return o.b
	})
}
