package api

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

func post(s *service, queue, uid string) {
	s.Helper()
	s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":%q,"type":"ANY","data":{},"uid":%q}`, queue, uid)).want(202)
}

// step takes a transaction to its next phase.
func (s *service) step(t *tx.Transaction, to tx.Phase, changes ...func(*queues.Change)) *tx.Transaction {
	s.Helper()
	c := &queues.Change{Before: t, After: t.Clone(), Now: time.Now()}
	c.After.Phase, c.Remove = to, queues.Never
	for _, change := range changes {
		change(c)
	}
	if _, err := s.store.Advance(context.Background(), c); err != nil {
		s.Fatal(err)
	}
	after, err := s.store.Get(context.Background(), t.UID)
	if err != nil {
		s.Fatal(err)
	}
	return after
}

// An event says in the contract's words what happened to whom.
func TestEvents(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, client *redis.Client, serve listen) {
		s := setupOn(t, client, "t")
		web := serve(t, s)
		live := web.follow("", "")
		if number(live.last) != 0 {
			t.Errorf("an empty log is at %s", live.last)
		}
		chosen := map[string]*struct {
			numbers []int
			live    *follower
			open    []*follower
		}{
			"?queue=q":            {numbers: []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 12}},
			"?uid=u":              {numbers: []int{2, 3, 4, 5, 6, 7, 8, 12}},
			"?type=ANY":           {numbers: []int{2, 3, 4, 5, 6, 7, 8, 12}},
			"?uid=B62x":           {},
			"?queue=q&type=OTHER": {},
			"?uid=u&queue=other":  {},
		}
		for query, c := range chosen {
			c.live = web.follow(query, "")
		}
		s.ask("POST", "/senders", `{"accountId":"B62x","workerUrl":"http://w"}`).want(201)
		post(s, "q", "u")
		bound := s.step(s.bind(), tx.PhaseSent)
		bound = s.step(bound, tx.PhaseWatching)
		bound = s.step(bound, tx.PhaseFailing, func(c *queues.Change) { c.Code = "EXPIRED" })
		s.step(s.step(bound, tx.PhaseDelayed), tx.PhaseFailed)
		s.ask("POST", "/queues/q/pause", `{"reason":"why"}`).want(200)
		s.ask("POST", "/queues/q/resume", "").want(200)
		s.ask("POST", "/senders/B62x/drain", "").want(200)
		s.ask("DELETE", "/transactions/u", "").want(204)
		s.ask("DELETE", "/senders/B62x", "").want(204)

		got := live.events(13)
		want := []string{
			"sender: sender=B62x code=REGISTERED",
			"transaction: uid=u queue=q type=ANY to=WAITING queueFrom=FREE queueTo=FREE",
			"transaction: uid=u queue=q type=ANY sender=B62x from=WAITING to=DISPATCHING queueFrom=FREE queueTo=BLOCKED",
			"transaction: uid=u queue=q type=ANY sender=B62x from=DISPATCHING to=REVISION queueFrom=BLOCKED queueTo=INCLUSION",
			"transaction: uid=u queue=q type=ANY sender=B62x from=REVISION to=REVISION queueFrom=INCLUSION queueTo=WAITING_INCLUSION",
			"transaction: uid=u queue=q type=ANY sender=B62x from=REVISION to=RETRY queueFrom=WAITING_INCLUSION queueTo=RETRY code=EXPIRED",
			"transaction: uid=u queue=q type=ANY sender=B62x from=RETRY to=RETRY queueFrom=RETRY queueTo=DELAY",
			"transaction: uid=u queue=q type=ANY sender=B62x from=RETRY to=FAILED queueFrom=DELAY queueTo=FREE",
			"queue: queue=q queueFrom=FREE queueTo=FREE code=PAUSED",
			"queue: queue=q queueFrom=FREE queueTo=FREE code=RESUMED",
			"sender: sender=B62x code=DRAINING",
			"transaction: uid=u queue=q type=ANY from=FAILED queueFrom=FREE queueTo=FREE code=REMOVED",
			"sender: sender=B62x code=REMOVED",
		}
		epoch := strings.TrimSuffix(live.begin(), "0")
		if diff := cmp.Diff(want, sentences(t, epoch, got)); diff != "" {
			t.Error(diff)
		}
		// The same again from the log, when what it is about has been removed.
		behind := web.follow("", live.begin())
		if diff := cmp.Diff(got, behind.events(13)); diff != "" {
			t.Error(diff)
		}
		for query, c := range chosen {
			// One has seen it happen, the other reads it in the log.
			for _, f := range []*follower{c.live, web.follow(query, live.begin())} {
				var have []int
				for _, e := range f.events(len(c.numbers)) {
					have = append(have, number(e.ID))
				}
				if diff := cmp.Diff(c.numbers, have); diff != "" {
					t.Errorf("%s: %s", query, diff)
				}
				c.open = append(c.open, f)
			}
		}
		var stopped sync.WaitGroup
		stopped.Go(func() {
			if err := web.server.Shutdown(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		defer stopped.Wait()
		for query, c := range chosen {
			for _, f := range c.open {
				if last := f.end(); last.Event != "" || last.Retry == "" || last.Comment == "" {
					t.Errorf("%s ends with %+v", query, last)
				}
				at := number(f.last)
				if at > 13 || len(c.numbers) > 0 && at < c.numbers[len(c.numbers)-1] {
					t.Errorf("%s: to come again from %s", query, f.last)
				}
			}
		}
	})
}

// sentences tells events in one line each and checks the rest of them.
func sentences(t *testing.T, epoch string, frames []frame) []string {
	t.Helper()
	var out []string
	for i, f := range frames {
		v := f.told(t)
		if f.ID != fmt.Sprint(epoch, i+1) || v.ID != f.ID {
			t.Errorf("event %d has id %s and %s", i+1, f.ID, v.ID)
		}
		if at, err := time.Parse(time.RFC3339, v.At); err != nil || at.Location() != time.UTC {
			t.Errorf("event %d at %q", i+1, v.At)
		}
		line := f.Event + ":"
		for _, field := range []struct {
			name  string
			value *string
		}{{"uid", v.UID}, {"queue", v.Queue}, {"type", v.Type}, {"sender", v.Sender}, {"from", v.From}, {"to", v.To}, {"queueFrom", v.QueueFrom}, {"queueTo", v.QueueTo}, {"code", v.Code}} {
			if field.value != nil {
				line += " " + field.name + "=" + *field.value
			}
		}
		out = append(out, line)
	}
	return out
}

// What is refused is refused with a reason, before anything is kept for it.
func TestEventsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(o *Options) { o.EventClients = 1 })
		for i := range 10 {
			post(s, "q", fmt.Sprint("u", i))
		}
		web := overPipes(t, s)
		open := web.follow("", "")
		epoch, ok := strings.CutSuffix(open.last, "10")
		if !ok {
			t.Fatalf("it begins at %s", open.last)
		}
		s.ask("GET", "/events", "").wantProblem(429, "RATE_LIMITED")
		open.close()
		synctest.Wait()

		s.ask("HEAD", "/events", "").want(200)
		for _, id := range []string{
			"x", "1", "-1", "1-", epoch, epoch + "01", epoch + "+1", epoch + "-1", epoch + "1 ", epoch + "99999999999999999999",
			"a" + epoch + "1", strings.Repeat("1", 70) + "-1",
		} {
			s.ask("GET", "/events", "", "Last-Event-ID", id).wantProblem(400, "BAD_REQUEST")
		}
		s.ask("GET", "/events", "", "Last-Event-ID", epoch+"1", "Last-Event-ID", epoch+"1").wantProblem(400, "BAD_REQUEST")
		for _, query := range []string{
			"queue=", "queue=a/b", "uid=", "uid=%20", "type=", "type=a%20b", "queue=a&queue=b", "que=a", "after=" + epoch + "1", "uid=%zz",
		} {
			s.ask("GET", "/events?"+query, "").wantProblem(400, "BAD_REQUEST")
		}
		for _, id := range []string{"7-1", epoch + "11"} {
			s.ask("GET", "/events", "", "Last-Event-ID", id).wantProblem(410, "EVENTS_GONE")
		}
	})
}
