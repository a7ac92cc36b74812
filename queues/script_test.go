package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/tx"
)

// Changes that share a run stand each for itself: one that is stale, one of a
// record that is damaged, and the claims of others do not hold up the rest.
func TestSharedRun(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]*redis.Client{"miniredis": redistest.Mini(t).Client,
		"redis": redistest.Start(t).Client} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s, err := Open(client, Options{Namespace: "shared", Retention: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			calls := make([]scriptCall, 40)
			for i := range calls {
				a := s.Enqueue(ctx, Item{Queue: "q", Type: "T", Data: json.RawMessage(`{}`)})
				if a.Err != nil {
					t.Fatal(a.Err)
				}
				calls[i] = scriptCall{advanceScript, s.arguments(failed(a.Transaction)), make(chan scriptAnswer, 1)}
				switch i {
				case 3:
					calls[i].args[4] = 7 // a revision that is not there
				case 5:
					if err := client.Set(ctx, s.key("x:"+a.Transaction.UID), "damaged", 0).Err(); err != nil {
						t.Fatal(err)
					}
				case 20:
					calls[i].args[5] = "another's:1"
				}
			}
			if err := advanceScript.Load(ctx, client).Err(); err != nil {
				t.Fatal(err)
			}
			before := scriptsRun(t, client)
			s.runAll(context.WithoutCancel(ctx), calls)
			for i, c := range calls {
				a := <-c.done
				if a.err != nil {
					t.Fatal(i, a.err)
				}
				l, _ := a.value.([]any)
				want := map[int]string{3: "stale", 5: "error", 20: "fenced"}[i]
				if want == "" {
					want = "ok"
				}
				if len(l) == 0 || l[0] != want {
					t.Errorf("change %d: %v, want %s", i, l, want)
				}
				if text, _ := l[len(l)-1].(string); want == "error" && !strings.Contains(text, "is damaged") {
					t.Errorf("the error is %q", text)
				}
			}
			if name == "redis" {
				if n := scriptsRun(t, client) - before; n != 3 {
					t.Errorf("40 changes took %d runs, want 3", n)
				}
			}
			// A damaged record is told as what it is, not as an outage.
			damaged := &tx.Transaction{UID: calls[5].args[0].(string), Queue: "q", Type: "T",
				Phase: tx.PhaseWaiting}
			if _, err := s.Advance(ctx, failed(damaged)); err == nil || errors.Is(err, ErrUnavailable) {
				t.Errorf("a damaged record: %v", err)
			}
		})
	}
}

// TestWords: of what a change says beside the record, that which stands behind a word is heard
// whatever that word is.
func TestWords(t *testing.T) {
	t.Parallel()
	words := map[string][]any{
		"confirm": nil, "trusts": nil, "in-order": nil, "last": nil, "broke": {2}, "single": {2}, "clean": {2},
		"limits": {0, 0}, "budget": {"q:q", 0}, "keep": nil, "claim": {"P"}, "tell": {"on-failure", 1, 1}, "told": nil,
		"hold": {1},
		"rest": {1, "RESTED", "", ""}, "above": {9}, "follows": {9}, "next": {7}, "least": {"S", 1}, "bytes": {"x"},
		"stands": {"S", 1}, "falls": {"S"}, "remove": {1}, "expires": {1}, "unresolved": {3},
	}
	t.Run("miniredis", func(t *testing.T) {
		s, err := Open(redistest.Mini(t).Client, Options{Namespace: "words", Retention: time.Hour})
		if err == nil {
			_, err = s.Heartbeat(t.Context(), "P", time.Hour, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		for word, with := range words {
			a := s.Enqueue(t.Context(), Item{Queue: word, Type: "T", Data: json.RawMessage(`{}`)})
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			args := append(append(s.arguments(failed(a.Transaction)), word), with...)
			if _, err := s.Run(t.Context(), advanceScript, append(args, "hold", 3_600_000)...); err != nil {
				t.Fatal(word, err)
			}
			q, err := s.Queue(t.Context(), word)
			if err != nil || time.Until(q.NextAt) < 50*time.Minute {
				t.Errorf("behind %s %v it is not heard that the queue is held: %+v, %v", word, with, q, err)
			}
		}
	})
}

// TestRepeatedWakes: whoever makes a change once more, for its answer got lost, is told again that a
// bind may be possible.
func TestRepeatedWakes(t *testing.T) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		s, err := Open(redistest.Mini(t).Client, Options{Namespace: "again", Retention: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		item := Item{Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}
		a, b := s.Enqueue(t.Context(), item), s.Enqueue(t.Context(), item)
		if a.Err != nil || b.Err != nil {
			t.Fatal(a.Err, b.Err)
		}
		args := s.arguments(failed(a.Transaction))
		for range 2 {
			v, err := s.Run(t.Context(), advanceScript, args...)
			if l, _ := v.([]any); err != nil || len(l) < 2 || l[0] != "ok" || l[1] != int64(1) {
				t.Errorf("answered %v, %v", v, err)
			}
		}
	})
}

// TestWakeOfSeveral: of changes that share a run one that makes a bind possible is told to the
// others, whichever comes behind it.
func TestWakeOfSeveral(t *testing.T) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		client := redistest.Mini(t).Client
		ctx := t.Context()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(client, Options{Namespace: "several", Retention: time.Hour})
		ok(err)
		for _, process := range []string{"P", "Q"} {
			_, err := s.Heartbeat(ctx, process, time.Hour, "")
			ok(err)
		}
		post := func(queue string) *tx.Transaction {
			a := s.Enqueue(ctx, Item{Queue: queue, Type: "T", Data: json.RawMessage(`{}`)})
			ok(a.Err)
			return a.Transaction
		}
		first, paused := post("q"), post("paused")
		post("q") // is the head when the first has failed
		ok(s.Pause(ctx, "paused", "by a test"))
		told := client.Subscribe(ctx, s.key("wake"))
		_, err = told.Receive(ctx)
		ok(err)
		heard := told.Channel()
		var calls []scriptCall
		for _, txn := range []*tx.Transaction{first, paused} {
			calls = append(calls, scriptCall{advanceScript, s.arguments(failed(txn)), make(chan scriptAnswer, 1)})
		}
		s.runAll(ctx, calls)
		ok(client.Publish(ctx, s.key("wake"), "mark").Err())
		if m := <-heard; m.Payload != "" {
			t.Errorf("told: %q", m.Payload)
		}
		ok(told.Close())
	})
}

// failed is a person's change of what waits.
func failed(t *tx.Transaction) *Change {
	c := &Change{Before: t, After: t.Clone()}
	c.After.Phase, c.Person, c.Remove = tx.PhaseFailed, true, Never
	return c
}

func scriptsRun(t *testing.T, client *redis.Client) (n int) {
	t.Helper()
	stats := client.Info(t.Context(), "commandstats").Val()
	if _, after, found := strings.Cut(stats, "cmdstat_evalsha:calls="); found {
		count, _, _ := strings.Cut(after, ",")
		n = int((&reply{}).int(count))
	}
	return n
}

func TestTooOld(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"6.2.14": true, "5.0.3": true, "7.0.15": false, "7.2.4": false,
		"8.0.0": false, "10.1": false, "": false} {
		if tooOld(version) != want {
			t.Errorf("%q: too old is not %t", version, want)
		}
	}
}

// TestFactsOfLaterRevisions: facts are told apart from forgotten ones by revisions, which
// are numbers: what changes while a fact is on its way takes it all the same.
func TestFactsOfLaterRevisions(t *testing.T) {
	t.Parallel()
	s, err := Open(redistest.Mini(t).Client, Options{Namespace: "seq", Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	txn := s.Enqueue(t.Context(), Item{UID: "a", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}).Transaction
	if v, err := s.Run(t.Context(), factsScript, "a", 0, "9 S 9 hash", "5J"); err != nil || v != int64(1) {
		t.Errorf("a fact of what has not changed: %v, %v", v, err)
	}
	for txn.Revision < 10 {
		c := failed(txn)
		c.Person = true
		if txn, err = s.Advance(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := s.Run(t.Context(), factsScript, "gone", 1, "1 S 1 hash", "5J"); err != nil || v != int64(-1) {
		t.Errorf("a fact of what was removed: %v, %v", v, err)
	}
	for read, want := range map[int64]int64{2: 1, 9: 1, 10: 1, 11: -2, 100: -2} {
		v, err := s.Run(t.Context(), factsScript, "a", read, fmt.Sprintf("1 S %d hash", read), "5J")
		r := reply{name: "facts", err: err}
		if got := r.int(v); got != want || r.err != nil {
			t.Errorf("a fact found at revision %d of %d: %d, %v; want %d", read, txn.Revision, got, r.err, want)
		}
	}
}

// TestShadowed: no script gives a local the name of a function that it has from the shared parts or
// makes itself: what calls that function then calls a string.
func TestShadowed(t *testing.T) {
	t.Parallel()
	functions := regexp.MustCompile(`local function (\w+)`)
	// Also what a line with its names alone goes on with.
	locals := regexp.MustCompile(
		`(?m)^\s*local (\w+(?:, *\w+)*)|function(?: \w+)?\(([^)]*)\)|for (\w+(?:, *\w+)*) (?:in|=)`)
	files, err := sources.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	shared := source("lib") + source("load") + source("sender") + source("several") + source("memory") + source("removal")
	for _, f := range files {
		text := source(strings.TrimSuffix(f.Name(), ".lua"))
		named := map[string]bool{}
		for _, m := range functions.FindAllStringSubmatch(shared+text, -1) {
			named[m[1]] = true
		}
		for _, m := range locals.FindAllStringSubmatch(text, -1) {
			for name := range strings.FieldsFuncSeq(m[1]+","+m[2]+","+m[3], func(r rune) bool { return r == ',' || r == ' ' }) {
				if calls := regexp.MustCompile(`[^\w.:]` + name + `\(`); name != "function" && named[name] &&
					calls.MatchString(strings.ReplaceAll(text, "function "+name+"(", "")) {
					t.Errorf("%s: a local is called %s, as a function that it calls", f.Name(), name)
				}
			}
		}
	}
}
