package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

// events tells what happens from now on, or from where a client has left off, as
// Server-Sent Events.
func (a *api) events(w http.ResponseWriter, r *http.Request) error {
	v := a.viewOf(w)
	filter, err := eventFilterOf(r)
	if err != nil {
		return err
	}
	id, err := lastEventID(r)
	if err != nil {
		return err
	}
	oldest := r.URL.Query().Get("from")
	if oldest != "" && oldest != "oldest" {
		return badRequest("from must be oldest, or left out.")
	}
	seat, crowded := a.feed.enter(callerOf(w).name)
	if seat == nil {
		return &problem{
			Status: http.StatusTooManyRequests, Code: codeRateLimited, Title: "Too many clients follow the events",
			Detail: "This process serves no more of them at a time, and with this key its share. Ask another one, or later.", After: 5 * time.Second,
		}
	}
	defer a.feed.leave(seat)
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	p, err := a.Store.ReadLog(ctx, 0, 0)
	if err != nil {
		return err
	}
	if filter.uid, err = v.follows(ctx, filter.uid); err != nil {
		return err
	}
	filter.who = v.caller
	s := &stream{
		feed: a.feed, filter: filter, sees: v.name + " " + strings.Join(v.within, "|"), name: v.name, crowded: crowded,
		granted: func() bool { return a.grants(r, v.caller) },
		w:       w, control: http.NewResponseController(w), at: p.Last, known: -1,
		group: rand.N(wakeGroups),
	}
	if id != nil {
		if p.Doubted { // what has its number by now may be another event
			return queues.ErrUnsettled
		}
		if err := id.in(p); err != nil {
			return err
		}
		s.at, s.known = id.number, id.number
	} else if oldest != "" {
		s.at = p.First - 1
	}
	s.past = oldest != ""
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not wait for more
	if r.Method == http.MethodHead {
		return nil
	}
	limitSendBuffer(r.Context())
	s.tail = a.feed.attach(p)
	s.epoch = p.Epoch
	_ = s.run(r.Context()) // nobody is left to tell
	return nil
}

// grants reports whether who asks may still read, and sees just what it saw, by the same uids.
func (a *api) grants(r *http.Request, as caller) bool {
	who := a.Keys.identify(r)
	return a.Keys.open() || who.scope >= Read && slices.Equal(who.within, as.within) && who.space() == as.space()
}

// An eventFilter chooses events; "" lets everything through, and so does who sees all.
type eventFilter struct {
	queue, uid, kind, actor string
	who                     caller
}

// some reports whether not everything is let through.
func (f eventFilter) some() bool {
	return f.queue != "" || f.uid != "" || f.kind != "" || f.actor != "" || len(f.who.within) > 0
}

// only reports whether all is let through that a key for some queues sees.
func (f eventFilter) only() bool {
	return f.queue == "" && f.uid == "" && f.kind == "" && f.actor == "" && len(f.who.within) > 0
}

func eventFilterOf(r *http.Request) (eventFilter, error) {
	q := r.URL.Query()
	f := eventFilter{queue: q.Get("queue"), uid: q.Get("uid"), kind: q.Get("type"), actor: q.Get("actor")}
	switch {
	case q.Has("queue") && !queues.ValidName(f.queue):
		return f, badRequest("queue " + wantName + ".")
	case q.Has("uid") && !uidPattern.MatchString(f.uid):
		return f, badRequest("uid " + wantUID + ".")
	case q.Has("type") && !dispatcher.ValidType(f.kind):
		return f, badRequest("type must be the name of a type.")
	case q.Has("actor") && !queues.ValidUID(f.actor):
		return f, badRequest("actor must be the name of a key: it %s.", wantUID)
	}
	return f, nil
}

func (f eventFilter) match(e *queues.Entry) bool {
	return (f.queue == "" || f.queue == eventQueue(e)) && (f.kind == "" || f.kind == e.Type) &&
		(f.actor == "" || f.actor == e.Actor) &&
		(f.uid == "" || f.uid == e.ID && e.Kind == queues.OfTransaction) && f.who.within.Admit(eventQueue(e))
}

// within reports whether anything in a chunk may match.
func (f eventFilter) within(c *chunk) bool {
	for _, name := range []string{f.queue, f.uid, f.kind, f.actor} {
		if _, ok := c.names[name]; !ok {
			return false
		}
	}
	return true
}

func eventQueue(e *queues.Entry) string {
	if e.Kind == queues.OfQueue {
		return e.ID
	}
	return e.Queue
}

// A position names an event: <epoch>-<number>.
type position struct {
	epoch  string
	number int64
}

// lastEventID returns what a client has got, nil if it begins anew.
func lastEventID(r *http.Request) (*position, error) {
	const name = "Last-Event-ID"
	values := r.Header.Values(name)
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return nil, nil
	}
	bad := badRequest("%s must be the id of an event as it was sent, <epoch>-<number>, given once. Leave it out to begin now.", name)
	if id := positionOf(values[0]); id != nil && len(values) == 1 {
		return id, nil
	}
	return nil, bad
}

// positionOf reads the id of an event; nil if it is none.
func positionOf(id string) *position {
	i := strings.LastIndexByte(id, '-')
	if i < 0 || len(id) > 64 {
		return nil
	}
	epoch, text := id[:i], id[i+1:]
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text || n < 0 || !digits(epoch) {
		return nil
	}
	return &position{epoch, n}
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// in says why the log cannot be read from a position on.
func (id *position) in(p queues.LogPart) error {
	gone := func(why string) error {
		return &problem{
			Status: http.StatusGone, Code: codeEventsGone, Title: "The events behind this id are gone",
			Detail: why + " Follow without Last-Event-ID, and then read the state of what you know.",
		}
	}
	switch {
	case id.epoch != p.Epoch:
		return gone("The store has lost events since, and counts them anew.")
	case id.number < p.First-1:
		return gone(fmt.Sprintf("The log begins with %s-%d.", p.Epoch, p.First))
	case id.number > p.Last: // it was given out all the same: a failover that forgot it keeps the epoch at first
		return gone(fmt.Sprintf("The log ends with %s-%d: the store has lost events since.", p.Epoch, p.Last))
	}
	return nil
}

func appendID(b []byte, epoch string, number int64) []byte {
	return strconv.AppendInt(append(append(b, epoch...), '-'), number, 10)
}

var eventNames = map[queues.EventKind]string{
	queues.OfTransaction: "transaction", queues.OfQueue: "queue", queues.OfSender: "sender",
}

// appendEvent appends an event as it is sent to those who follow them.
func appendEvent(b []byte, epoch string, e *queues.Entry) []byte {
	b = append(appendID(append(b, "id: "...), epoch, e.Number), "\nevent: "...)
	b = append(append(b, eventNames[e.Kind]...), "\ndata: "...)
	return append(appendFields(b, epoch, e), "}\n\n"...)
}

// appendFields appends the object of an event, without its end. From and to are states of
// the transaction; they are equal where only its queue moved on, as queueFrom and queueTo tell.
func appendFields(b []byte, epoch string, e *queues.Entry) []byte {
	uid := ""
	if e.Kind == queues.OfTransaction {
		uid = e.ID
	}
	o := object{b}
	o.open()
	o.name("id")
	o.b = append(appendID(append(o.b, '"'), epoch, e.Number), '"')
	o.time("at", e.At)
	o.optional("uid", uid)
	o.optional("queue", eventQueue(e))
	o.optional("type", e.Type)
	o.optional("sender", e.Sender)
	o.optional("from", string(e.From.State()))
	o.optional("to", string(e.To.State()))
	o.optional("queueFrom", string(e.QueueFrom))
	o.optional("queueTo", string(e.QueueTo))
	o.count("attempt", uint32(e.Attempt))
	o.optional("code", e.Code)
	o.optional("actor", e.Actor)
	return o.b
}

// Webhook is how the bodies of webhooks are written: an event as those who follow them get it, with
// its transaction as a key of some queues sees it. Hosts are those of Options.
func Webhook(hosts ...string) webhooks.Render {
	v := newVeil(hosts)
	return webhooks.Render{
		Event: func(epoch string, e *queues.Entry) []byte { return appendFields(nil, epoch, e) },
		Transaction: func(event []byte, t *tx.Transaction) []byte {
			o := object{event}
			o.name("transaction")
			if t == nil {
				o.null()
			} else {
				o.b = v.transaction(o.b, t)
			}
			o.close()
			return o.b
		},
	}
}
