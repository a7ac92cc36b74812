package queues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/tx"
	"slices"
	"strconv"
	"strings"
)

// A Finding is something that contradicts something else.
type Finding struct {
	Check  string // which rule is broken; docs/reference.md lists them
	UID    string // "" if it is not about a transaction
	Queue  string
	Sender string
	Detail string

	kind, index, name string // to look at it again
}

// Same reports whether two findings are of the same rule about the same thing.
func (f *Finding) Same(o *Finding) bool {
	return f.Check == o.Check && f.UID == o.UID && f.Queue == o.Queue && f.Sender == o.Sender
}

// A Record is a transaction as an audit reads it: without its payload.
type Record struct {
	*tx.Transaction
	Signed bool // the bytes of an open attempt are stored
}

const (
	auditStep = 100  // looked at in one script, or fewer: audit.lua says
	scanStep  = 1000 // keys or members asked for at a time
)

// Audit compares what is stored with itself: every record, queue, sender and
// index. It reads in small steps, changes nothing, and hands the transactions
// over as it comes to them, some of them more than once. On a live system a
// finding may be of something that was just changing: Reaudit looks again.
// Error: ErrUnavailable.
func (s *Store) Audit(ctx context.Context, see func([]Record) error) ([]Finding, error) {
	a := audit{store: s, ctx: ctx, see: see, pending: map[string][]string{}}
	client, err := s.node(ctx) // all keys are there
	if err != nil {
		return nil, err
	}
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, s.prefix+"*", scanStep).Result()
		if err != nil {
			return nil, storeError("scanning", err)
		}
		for _, key := range keys {
			if err := a.key(strings.TrimPrefix(key, s.prefix)); err != nil {
				return nil, err
			}
		}
		if cursor = next; cursor == 0 {
			return a.found, a.flush(0)
		}
	}
}

// Reaudit looks again at what findings are about, and returns what it finds
// there now. Findings of others are looked at by their transaction, and the
// transactions of all handed over. Error: ErrUnavailable.
func (s *Store) Reaudit(ctx context.Context, findings []Finding, see func([]Record) error) ([]Finding, error) {
	a := audit{store: s, ctx: ctx, see: see, pending: map[string][]string{}}
	for _, f := range findings {
		var err error
		switch {
		case f.kind == "m":
			err = a.look("m", f.index, f.name)
		case f.kind != "":
			err = a.look(f.kind, f.name)
		case f.UID != "":
			err = a.look("t", f.UID)
		}
		if err != nil {
			return nil, err
		}
	}
	return a.found, a.flush(0)
}

type audit struct {
	store   *Store
	ctx     context.Context
	see     func([]Record) error
	pending map[string][]string // arguments of the next script, by kind
	found   []Finding
}

// key puts what a key stands for on the list of what is looked at.
func (a *audit) key(key string) error {
	kind, name, _ := strings.Cut(key, ":")
	switch kind {
	case "t", "q", "s":
		return a.look(kind, name)
	case "x", "b", "line":
		return a.look("m", kind, name)
	case "queues", "active", "paused", "senders", "ready", "round", "free", "own", "st", "bound", "past", "back":
		for cursor := uint64(0); ; {
			members, next, err := a.store.client.ZScan(a.ctx, a.store.key(key), cursor, "", scanStep).Result()
			if err != nil {
				return storeError("scanning "+kind, err)
			}
			for i := 0; i < len(members); i += 2 {
				if err := a.look("m", key, members[i]); err != nil {
					return err
				}
			}
			if cursor = next; cursor == 0 {
				return nil
			}
		}
	case "page":
		uids, err := a.store.client.LRange(a.ctx, a.store.key(key), 0, 2*pageSize).Result()
		if err != nil {
			return storeError("reading "+key, err)
		}
		for _, uid := range uids {
			if err := a.look("m", key, uid); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *audit) look(kind string, names ...string) error {
	a.pending[kind] = append(a.pending[kind], names...)
	return a.flush(auditStep)
}

// flush looks at what is pending, of each kind with at least so many.
func (a *audit) flush(least int) error {
	for _, kind := range []string{"t", "q", "s", "m"} {
		for names := a.pending[kind]; len(names) > 0 && len(names) >= least; names = a.pending[kind] {
			n := min(len(names), auditStep)
			args := []any{kind}
			for _, name := range names[:n] {
				args = append(args, name)
			}
			v, err := a.store.Run(a.ctx, auditScript, args...)
			if err != nil {
				return err
			}
			taken, err := a.take(kind, v)
			if err != nil {
				return err
			}
			a.pending[kind] = slices.Clone(names[taken:])
		}
	}
	return nil
}

// take takes an answer, and returns of how many names it tells.
func (a *audit) take(kind string, v any) (names int, err error) {
	r := reply{name: "audit"}
	var records []Record
	answers := r.list(v)
	if names = len(answers); kind == "m" {
		names *= 2
	}
	if names == 0 {
		r.fail("something of each", v)
	}
	for _, e := range answers {
		l := r.list(e)
		name := r.string(r.at(l, 0))
		switch kind {
		case "t":
			if rec := a.transaction(&r, name, l); rec.Transaction != nil {
				records = append(records, rec)
			}
		case "q":
			a.queue(name, r.string(r.at(l, 1)), r.fields(r.at(l, 2)))
			a.train(&r, name, r.list(r.at(l, 3)))
		case "s":
			a.sender(name, r.fields(r.at(l, 1)), r.fields(r.at(l, 2)))
		case "m":
			a.member(name, r.string(r.at(l, 1)), r.string(r.at(l, 2)) != "", r.int(r.at(l, 3)) == 1, r.string(r.at(l, 4)))
		}
	}
	if r.err == nil && len(records) > 0 && a.see != nil {
		return names, a.see(records)
	}
	return names, r.err
}

// transaction compares a record with the indexes and with its queue.
func (a *audit) transaction(r *reply, uid string, l []any) Record {
	is := stored{posted: r.string(r.at(l, 1)), text: r.string(r.at(l, 2)), facts: r.fields(r.at(l, 3))}
	more, changed := r.fields(r.at(l, 4)), is.text != ""
	if is.posted == "" {
		return Record{} // gone meanwhile; what is left of it is found by its keys
	}
	t, err := is.decode(uid)
	if err != nil {
		a.found = append(a.found, Finding{Check: "RECORD", UID: uid, Detail: err.Error(), kind: "t", name: uid})
		return Record{}
	}
	bad := func(check, format string, args ...any) {
		a.found = append(a.found, Finding{Check: check, UID: uid, Queue: t.Queue,
			Detail: fmt.Sprintf(format, args...), kind: "t", name: uid})
	}
	want := stateIndex(t.State())
	if stands := strings.TrimSpace(more["states"]); stands != want {
		bad("STATE_INDEX", "it is %s and stands in: %s", t.State(), cmp.Or(stands, "no index"))
	}
	seq, past := strconv.FormatInt(t.Sequence, 10), more["past"]
	if changed != (past != "") || past != "" && past != seq {
		bad("PAST_INDEX", "it has changed: %t; its sequence is %s, the index has %q", changed, seq, past)
	}
	var e numbers
	taken := t.Sequence <= e.int(more["popped"])
	if back := more["back"] != ""; back != (t.Phase == tx.PhaseWaiting && taken) {
		bad("LINE", "it is %s, was taken from the line: %t, and stands among those that came back: %t",
			t.State(), taken, back)
	}
	if t.Claim != "" && (more["own"] == "" || more["proc"] == "") {
		bad("CLAIM", "it is claimed by a process that nobody can take it over from")
	}
	if t.Phase.Bound() {
		switch {
		case t.Claim == "":
			bad("CLAIM", "it is %s, and no process has it", t.State())
		case !slices.Contains(list(more["run"]), uid):
			bad("QUEUE_RUN", "it is %s, and its queue runs %s", t.State(), cmp.Or(more["run"], "nothing"))
		case more["with"] != t.Sender || more["registered"] == "1" && more["bound"] != t.Queue:
			bad("SENDER_BOUND", "it has sender %s, its queue %q, and that sender is bound to %q",
				t.Sender, more["with"], more["bound"])
		}
	}
	open := 0
	for i := range t.Attempts {
		if t.Attempts[i].Open() {
			open++
		}
	}
	if e.int(more["open"]) != int64(open) {
		bad("OPEN_COUNT", "it counts %s open attempts, there are %d", cmp.Or(more["open"], "no"), open)
	}
	if t.Callback != "" && more["told"] == "" {
		bad("CALLBACK", "%s is to be told, and nobody will", t.Callback)
	}
	return Record{t, more["bytes"] == "1"}
}

// queue compares a queue's record with what runs and what waits.
func (a *audit) queue(name, text string, more map[string]string) {
	if text == "" {
		return
	}
	var e numbers
	q := e.queue(text)
	if len(more) == 0 {
		e.keep(errors.New("no script can read it"))
	}
	bad := func(check, format string, args ...any) {
		a.found = append(a.found, Finding{Check: check, Queue: name, Sender: q["sender"],
			Detail: fmt.Sprintf(format, args...), kind: "q", name: name})
	}
	if e.err != nil {
		bad("RECORD", "%v", e.err)
		return
	}
	if more["listed"] == "" {
		bad("LISTED", "the queue is not among the queues")
	}
	active := q["run"] != "" || e.int(q["waiting"]) > 0
	for _, l := range []struct {
		name string
		want bool
	}{{"active", active}, {"oldest", active}, {"paused", q["paused"] != ""}} {
		if (more[l.name] != "") != l.want {
			bad("LISTED", "that it belongs to the %s is %t; it stands there at %q", l.name, l.want, more[l.name])
		}
	}
	if run := q["run"]; run != "" || q["sender"] != "" {
		if !tx.Phase(more["phase"]).Bound() || more["runs"] != name || more["by"] != q["sender"] {
			bad("QUEUE_RUN", "it runs %q with %q; that one is %q with %q", run, q["sender"], more["phase"], more["by"])
		}
		if more["registered"] == "1" && more["bound"] != name {
			bad("SENDER_BOUND", "it has sender %s, which is bound to %q", q["sender"], more["bound"])
		}
	}
	for _, field := range []string{"waiting", "done", "failed", "unresolved", "back"} {
		if more[field] != "" && more[field] != q[field] {
			bad("COUNT", "it counts %s %s, there are %s", q[field], field, more[field])
		}
	}
	if more["ordered"] == "0" {
		bad("LINE", "its line is out of order")
	}
	now, due := e.int(more["now"]), more["due"]
	free := q["run"] == "" && q["paused"] == "" && e.int(q["hold"]) <= now
	switch ready := free && more["first"] != ""; {
	case !ready && (q["ready"] != "" || more["score"] != "") && (more["first"] != "" || more["short"] == "1"):
		bad("READY", "it cannot run, and stands ready for %s", q["ready"])
	case ready && q["ready"] == "" && due != "": // the next tick does it
	case ready && (q["ready"] != more["type"] || more["score"] == "" || q["first"] != more["first"]):
		bad("READY", "%s could run, which is of %s; it stands ready for %q at %q, with %q",
			more["first"], more["type"], q["ready"], more["score"], q["first"])
	}
}

// train checks that what is in flight of a queue, where that is several, is one train.
// A record that cannot be read is found by itself.
func (a *audit) train(r *reply, queue string, run []any) {
	var last, open *tx.Transaction // the one before, and the last that may land
	apart := 0
	for _, member := range run {
		is := stored{posted: r.string(r.at(r.list(member), 1)), text: r.string(r.at(r.list(member), 2))}
		t, err := is.decode(r.string(r.at(r.list(member), 0)))
		if err != nil {
			return
		}
		bad := func(format string, args ...any) {
			a.found = append(a.found, Finding{Check: "TRAIN", Queue: queue, Sender: t.Sender, kind: "q", name: queue,
				Detail: t.UID + " is in flight " + fmt.Sprintf(format, args...)})
		}
		apart++
		switch {
		case !t.Phase.Bound() || t.Queue != queue:
			bad("as %s of queue %s", t.State(), t.Queue)
		case last != nil && (t.Sender != last.Sender || t.Owner() != last.Owner() || t.Sequence < last.Sequence):
			bad("with %s, by %q, behind %s, with %s, by %q", t.Sender, t.Owner(), last.UID, last.Sender, last.Owner())
		case open != nil && t.Open() && int(t.FirstOpen().Nonce)-int(open.FirstOpen().Nonce) != apart:
			bad("at nonce %d, %d places behind %s at nonce %d", t.FirstOpen().Nonce, apart, open.UID, open.FirstOpen().Nonce)
		}
		if last = t; t.Open() {
			open, apart = t, 0
		}
	}
}

// sender compares a sender with its queue and the free set.
func (a *audit) sender(account string, s, more map[string]string) {
	if s["group"] == "" { // what is known of an account that is not registered
		return
	}
	bad := func(check, format string, args ...any) {
		a.found = append(a.found, Finding{Check: check, Queue: s["queue"], Sender: account,
			Detail: fmt.Sprintf(format, args...), kind: "s", name: account})
	}
	if more["listed"] == "" {
		bad("LISTED", "the sender is not among the senders")
	}
	bound, free := s["queue"] != "", more["free"] != ""
	switch {
	case bound && more["with"] != account:
		bad("SENDER_BOUND", "it is bound to a queue whose sender is %q", more["with"])
	case bound && !tx.Phase(more["phase"]).Bound():
		bad("SENDER_BOUND", "it is bound to a queue that runs nothing")
	case free && (bound || s["reason"] != ""):
		bad("SENDER_FREE", "it is offered although it is bound to %q, out of use for %q", s["queue"], s["reason"])
	case !free && !bound && s["reason"] == "":
		bad("SENDER_FREE", "nothing speaks against it, and it is not offered: it has leaked")
	case s["until"] != "" && more["due"] == "":
		bad("SENDER_FREE", "its rest is never ended")
	}
}

// member compares one entry of an index with what it stands for.
func (a *audit) member(index, name string, there, owned bool, says string) {
	if !there {
		return
	}
	kind, of, _ := strings.Cut(index, ":")
	f := Finding{Check: "LEFTOVER", kind: "m", index: index, name: name}
	switch kind {
	case "queues", "active", "paused", "ready", "line":
		f.Queue = strings.TrimPrefix(name, "#")
	case "round":
		_, f.Queue, _ = strings.Cut(name, " ")
	case "senders", "free":
		f.Sender = name
	default:
		f.UID = name
	}
	if kind == "past" || kind == "back" {
		f.Queue = of
	}
	var e numbers
	switch {
	case !owned:
		f.Detail = index + " names it, and it is gone"
	case (kind == "ready" || kind == "round") && says != of, kind == "st" && string(tx.Phase(says).State()) != of,
		kind == "bound" && !tx.Phase(says).Bound(),
		kind == "own" && says != "" && !strings.HasPrefix(says, of+":"),
		kind == "back" && says != string(tx.PhaseWaiting), kind == "free" && says != "":
		f.Check, f.Detail = "STRAY", fmt.Sprintf("%s names it, its own record says %q", index, says)
	case kind == "page" && strconv.FormatInt(e.int(says)/pageSize, 10) != of:
		f.Check, f.Detail = "STRAY", fmt.Sprintf("%s names it, its sequence is %s", index, says)
	default:
		return
	}
	a.found = append(a.found, f)
}
