package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer"
)

// stored is what the store knows.
type stored struct {
	senders []settings.Sender
	provers []provers.Prover
	width   int // the largest that a person has set, of the first thousand queues
}

// redis looks at the store, and returns what it knows.
func (d *doctor) redis(ctx context.Context) (known stored) {
	where := d.cfg.Redis.URL.String()
	client := d.cfg.Redis.Client()
	if client == nil {
		d.problem("REDIS_EMBEDDED", "SEQUENCER_REDIS_URL", "is empty: the store is embedded, and all of it is gone when the process ends", "name a Redis of version 7.0 or later")
		return known
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	defer func() { _ = client.Close() }()
	store, err := queues.Open(client, queues.Options{Namespace: d.cfg.Redis.Namespace,
		Replicas: int(d.cfg.Redis.Wait), MaxWaitingInAll: d.cfg.Keep.MaxWaitingInAll})
	if err != nil {
		d.problem("REDIS_AWAY", where, err.Error(), "correct SEQUENCER_NAMESPACE")
		return known
	}
	faults, err := store.Faults(ctx)
	if err != nil {
		d.problem("REDIS_AWAY", where, err.Error(), "see that it runs, and that address, user and password of SEQUENCER_REDIS_URL are right")
		return known
	}
	for _, f := range faults {
		d.problem(f.Code, where, f.Found, f.Remedy)
	}
	switch err = store.Ping(ctx); {
	case errors.Is(err, queues.ErrFull): // which is one of the faults
	case err != nil:
		d.problem("REDIS_WRITES", where, "it takes no writes: "+err.Error(), "see its log")
	case len(faults) == 0:
		d.ok("REDIS", where, "takes writes, keeps them on disk, and evicts nothing")
	}
	d.redisClock(ctx, client, where)
	known.senders = d.stored(ctx, senders.New(store, client))
	if err == nil { // a script that may write is run by no replica
		d.unservedLedgers(ctx, store)
		d.limited(ctx, store)
		d.webhooks(ctx, store)
		known.provers, known.width = d.pool(ctx, store)
	}
	return known
}

func (d *doctor) redisClock(ctx context.Context, client redis.UniversalClient, where string) {
	before := d.now()
	at, err := client.Time(ctx).Result()
	after := d.now()
	if err != nil {
		d.warn("CLOCK_REDIS", where, "its time cannot be read: "+err.Error(), "allow the command TIME")
		return
	}
	d.clock("CLOCK_REDIS", where, at, before, after, 0)
}

// clock compares a time that was told between two of ours, and cut to its
// precision, with ours.
func (d *doctor) clock(check, where string, told, before, after time.Time, precision time.Duration) {
	apart := max(told.Sub(after), before.Sub(told)-precision)
	if apart <= sequencer.ClockSlack {
		d.ok(check, where, "its clock and this machine's agree")
		return
	}
	ahead := "ahead of"
	if told.Before(before) {
		ahead = "behind"
	}
	d.problem(check, where, fmt.Sprintf("its clock is %s %s this machine's", apart.Round(time.Second), ahead),
		"set both by NTP: slots, validUntil and times shown are reckoned by them")
}

// stored returns the senders of the store, and says which are out of use.
func (d *doctor) stored(ctx context.Context, pool *senders.Pool) []settings.Sender {
	var known []settings.Sender
	for s, err := range pool.All(ctx) {
		if err != nil {
			d.problem("REDIS_AWAY", "senders", err.Error(), "see that Redis runs")
			return known
		}
		if senders.LedgerOf(s.AccountID) == "" { // a slot has no worker
			known = append(known, settings.Sender{AccountID: s.AccountID, WorkerURL: s.WorkerURL})
		}
		if !s.Available() && s.Queue == "" {
			do, command := s.Remedy()
			d.warn("SENDER_OUT", s.AccountID, s.Why()+" ("+string(s.Reason)+")", do+terminal.Prefixed(": ", command))
		}
	}
	return known
}

// limited names the queues that SEQUENCER_UNRESOLVED_LIMIT has paused, the first of them.
func (d *doctor) limited(ctx context.Context, store *queues.Store) {
	v, err := store.Overview(ctx)
	if err != nil {
		d.problem("REDIS_AWAY", "queues", err.Error(), "see that Redis runs")
		return
	}
	if why, do := v.Crowded(); why != "" {
		d.problem("TOO_MANY_WAITING", "queues", why, do)
	}
	for _, l := range v.Limited {
		do, command := l.Remedy()
		d.warn("QUEUE_PAUSED", l.Queue, l.Why(), do+": "+command)
	}
	if more := v.LimitedInAll - int64(len(v.Limited)); more > 0 {
		d.warn("QUEUE_PAUSED", "queues", fmt.Sprintf("%d more are paused so", more), "see to these first, and call the doctor again")
	}
}

// pool returns the provers that are registered, and the largest width that a queue has.
func (d *doctor) pool(ctx context.Context, store *queues.Store) (all []provers.Prover, width int) {
	all, err := provers.New(provers.Options{Store: store}).Registered(ctx)
	if err != nil {
		d.problem("REDIS_AWAY", "provers", err.Error(), "see that Redis runs")
	}
	some, _, err := store.Queues(ctx, 1000, "")
	if err != nil {
		d.problem("REDIS_AWAY", "queues", err.Error(), "see that Redis runs")
	}
	for _, q := range some {
		width = max(width, q.Width)
	}
	return all, width
}
