package sequencer_test

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "mina-sequencer/sequencer"
	"mina-sequencer/sequencer/lifecycle"
)

// A rule is one line of the table: in a state, on an event, under conditions,
// the transaction gets to a state. States are written as a transaction's owner
// and its queue see them; conditions are the names of facts, "!" negates.
type rule struct {
	in     string
	on     Event
	when   string
	to     string
	do     Action
	ending string // state to end in, "keep" for what was remembered before
	code   string
}

// table is everything that means something. The first rule that fits counts;
// an event that no rule fits is to be ignored.
func table() []rule {
	rules := []rule{
		{"WAITING FREE", Bound, "", "DISPATCHING BLOCKED", TryNew, "", ""},
		{"WAITING FREE", Cancelled, "!open", "FAILED FREE", Nothing, "", "CANCELLED"},

		{"DISPATCHING BLOCKED", Accepted, "", "REVISION INCLUSION", Nothing, "keep", ""},
		{"DISPATCHING BLOCKED", Finished, "!open", "DONE FREE", Nothing, "", ""},
		{"DISPATCHING BLOCKED", Finished, "open", "REVISION WAITING_INCLUSION", Nothing, "DONE", ""},
		{"DISPATCHING BLOCKED", Erred, "", "RETRY RETRY", Nothing, "keep", ""},
		{"DISPATCHING BLOCKED", Hopeless, "!open", "UNRESOLVED FREE", Nothing, "", ""},
		{"DISPATCHING BLOCKED", Hopeless, "open", "REVISION WAITING_INCLUSION", Nothing, "UNRESOLVED", ""},
		// Back in the queue it would be tried anew, which a cancel rules out.
		{"DISPATCHING BLOCKED", Unreached, "!open cancelled", "FAILED FREE", RestSender, "", "CANCELLED"},
		{"DISPATCHING BLOCKED", Unreached, "!open", "WAITING FREE", RestSender, "keep", ""},
		{"DISPATCHING BLOCKED", Unreached, "open", "RETRY DELAY", RestSender, "keep", ""},
		{"DISPATCHING BLOCKED", Lost, "legacy", "REVISION INCLUSION", Nothing, "keep", ""},
		{"DISPATCHING BLOCKED", Lost, "!lost-twice", "DISPATCHING BLOCKED", AskAgain, "keep", ""},
		{"DISPATCHING BLOCKED", Lost, "lost-twice", "RETRY RETRY", Nothing, "keep", ""},

		{"REVISION INCLUSION", WaitBegun, "", "REVISION WAITING_INCLUSION", Nothing, "keep", ""},

		// Only its worker has the bytes of a legacy transaction, and what a
		// person has taken back is left to expire.
		{"REVISION WAITING_INCLUSION", Vanished, "!legacy !cancelled", "REVISION WAITING_INCLUSION", SendAgain, "keep", ""},
		{"REVISION WAITING_INCLUSION", Lingering, "!legacy !cancelled !capped !ending", "REVISION WAITING_INCLUSION", RaiseFee, "keep", ""},
		{"REVISION WAITING_INCLUSION", Lingering, "!legacy !cancelled", "REVISION WAITING_INCLUSION", SendAgain, "keep", ""},
		{"REVISION WAITING_INCLUSION", Rejected, "ending-done", "DONE FREE", Nothing, "", ""},
		{"REVISION WAITING_INCLUSION", Rejected, "", "UNRESOLVED FREE", Nothing, "", ""},
		{"REVISION WAITING_INCLUSION", Astray, "legacy", "REVISION WAITING_INCLUSION", Nothing, "keep", "NONCE_IGNORED"},
		{"REVISION WAITING_INCLUSION", Ambiguous, "", "UNRESOLVED FREE", StopSender, "", "OUTCOME_UNKNOWN"},

		{"DONE FREE", Landed, "reopened", "DONE FREE", Nothing, "", "RELANDED"},
		{"DONE FREE", Orphaned, "!reopened", "DONE FREE", SendAgain, "", "ORPHANED"},
		{"DONE FREE", Vanished, "reopened", "DONE FREE", SendAgain, "", ""},
		{"DONE FREE", Lingering, "reopened", "DONE FREE", SendAgain, "", ""},
		{"DONE FREE", Unlandable, "reopened", "WAITING FREE", Nothing, "", "REOPENED"},
		{"DONE FREE", Ambiguous, "reopened", "UNRESOLVED FREE", StopSender, "", "OUTCOME_UNKNOWN"},
		{"DONE FREE", Finalised, "!reopened", "DONE FREE", DropWatched, "", "FINAL"},
	}
	for _, e := range []Event{FailedIn, Died} {
		rules = append(rules,
			rule{"REVISION WAITING_INCLUSION", e, "ending-done", "DONE FREE", Nothing, "", ""},
			rule{"REVISION WAITING_INCLUSION", e, "ending-failed", "FAILED FREE", Nothing, "", ""},
			rule{"REVISION WAITING_INCLUSION", e, "ending-unresolved", "UNRESOLVED FREE", Nothing, "", ""},
			rule{"REVISION WAITING_INCLUSION", e, "cancelled", "FAILED FREE", Nothing, "", "CANCELLED"},
			rule{"REVISION WAITING_INCLUSION", e, "", "RETRY RETRY", Nothing, "", ""})
	}
	rules = append(rules,
		rule{"RETRY RETRY", Weighed, "cancelled !open", "FAILED FREE", Nothing, "", "CANCELLED"},
		rule{"RETRY RETRY", Weighed, "cancelled open", "REVISION WAITING_INCLUSION", Nothing, "FAILED", ""},
		rule{"RETRY RETRY", Weighed, "!retries-left !open", "FAILED FREE", Nothing, "", ""},
		rule{"RETRY RETRY", Weighed, "!retries-left open", "REVISION WAITING_INCLUSION", Nothing, "FAILED", ""},
		rule{"RETRY RETRY", Weighed, "!open unusable", "WAITING FREE", Nothing, "", ""},
		rule{"RETRY RETRY", Weighed, "!open overtaken", "WAITING FREE", Nothing, "", ""},
		rule{"RETRY RETRY", Weighed, "", "RETRY DELAY", Nothing, "keep", ""})
	for _, e := range []Event{Weighed, DelayOver} {
		rules = append(rules,
			rule{"RETRY DELAY", e, "cancelled !open", "FAILED FREE", Nothing, "", "CANCELLED"},
			rule{"RETRY DELAY", e, "cancelled open", "REVISION WAITING_INCLUSION", Nothing, "FAILED", ""},
			rule{"RETRY DELAY", e, "!open unusable", "WAITING FREE", Nothing, "", ""},
			rule{"RETRY DELAY", e, "!open overtaken", "WAITING FREE", Nothing, "", ""})
	}
	rules = append(rules,
		rule{"RETRY DELAY", DelayOver, "pending", "DISPATCHING BLOCKED", TryNew, "keep", ""},
		rule{"RETRY DELAY", DelayOver, "", "DISPATCHING BLOCKED", CountRetry, "keep", ""})
	for _, in := range []string{"RETRY RETRY", "RETRY DELAY"} {
		rules = append(rules, rule{in, Cancelled, "!open", "FAILED FREE", Nothing, "", "CANCELLED"})
	}
	// Whatever else was going on: a cancel that comes too late is kept in mind,
	// and what has landed is done.
	for _, in := range []string{
		"WAITING FREE", "DISPATCHING BLOCKED", "REVISION INCLUSION", "REVISION WAITING_INCLUSION", "RETRY RETRY", "RETRY DELAY",
	} {
		rules = append(rules,
			rule{in, Cancelled, "", in, FlagCancel, "keep", ""},
			rule{in, Landed, "", "DONE FREE", Nothing, "", ""})
	}
	for _, in := range []string{"FAILED FREE", "UNRESOLVED FREE"} {
		rules = append(rules,
			rule{in, Landed, "", "DONE FREE", Nothing, "", "LATE"},
			rule{in, RetryAsked, "!open", "WAITING FREE", Nothing, "", ""})
		for _, e := range []Event{DeadSaid, FailedIn, Died, Rejected} {
			rules = append(rules, rule{in, e, "open", in, DropWatched, "", ""})
		}
	}
	return rules
}

// facts are the conditions that a rule can name.
func facts(s Situation) map[string]bool {
	return map[string]bool{
		"open": s.Open, "legacy": s.Legacy, "lost-twice": s.Losses >= 2, "retries-left": s.RetriesLeft,
		"capped": s.FeeAtCap, "unusable": s.Unusable, "overtaken": s.Overtaken, "cancelled": s.Cancelled,
		"ending": s.Ending != "", "ending-failed": s.Ending == lifecycle.PhaseFailed,
		"ending-unresolved": s.Ending == lifecycle.PhaseUnresolved, "ending-done": s.Ending == lifecycle.PhaseDone, "reopened": s.Reopened, "pending": s.Pending,
	}
}

func view(p lifecycle.Phase) string { return fmt.Sprintf("%s %s", p.State(), p.Queue()) }

// situations are all there are.
func situations() iter.Seq[Situation] {
	return func(yield func(Situation) bool) {
		for _, p := range lifecycle.Phases {
			for _, ending := range []lifecycle.Phase{"", lifecycle.PhaseFailed, lifecycle.PhaseUnresolved, lifecycle.PhaseDone} {
				for losses := range 3 {
					for bits := range 1 << 9 {
						on := func(n int) bool { return bits>>n&1 == 1 }
						s := Situation{
							Phase: p, Ending: ending, Losses: losses,
							Open: on(0), Legacy: on(1), RetriesLeft: on(2), FeeAtCap: on(3), Unusable: on(4),
							Overtaken: on(5), Cancelled: on(6), Reopened: on(7), Pending: on(8),
						}
						if !yield(s) {
							return
						}
					}
				}
			}
		}
	}
}

// A step is one application of the machine.
type step struct {
	Situation
	Event
	Decision
	ok bool
}

func (s step) String() string {
	return fmt.Sprintf("%+v on %s: %+v, %t", s.Situation, s.Event, s.Decision, s.ok)
}

// steps are all there are.
func steps() iter.Seq[step] {
	return func(yield func(step) bool) {
		for s := range situations() {
			for _, e := range Events {
				d, ok := Next(s, e)
				if !yield(step{s, e, d, ok}) {
					return
				}
			}
		}
	}
}

func TestViews(t *testing.T) {
	t.Parallel()
	seen := map[string]lifecycle.Phase{}
	for _, p := range lifecycle.Phases {
		if other, twice := seen[view(p)]; twice {
			t.Errorf("%s and %s are both shown as %s", p, other, view(p))
		}
		seen[view(p)] = p
		if free := strings.HasSuffix(view(p), " FREE"); p.Bound() == free {
			t.Errorf("%s: bound %t, shown as %s", p, p.Bound(), view(p))
		}
	}
}

// TestTable compares the machine with the table in every situation there is.
func TestTable(t *testing.T) {
	t.Parallel()
	type place struct {
		in string
		on Event
	}
	type condition struct {
		fact string
		want bool
	}
	rules := table()
	at := map[place][]int{}
	when := make([][]condition, len(rules))
	known := facts(Situation{})
	for i, r := range rules {
		at[place{r.in, r.on}] = append(at[place{r.in, r.on}], i)
		for _, word := range strings.Fields(r.when) {
			fact, negated := strings.CutPrefix(word, "!")
			if _, ok := known[fact]; !ok {
				t.Fatalf("rule %+v names no fact: %s", r, fact)
			}
			when[i] = append(when[i], condition{fact, !negated})
		}
	}
	phases := map[string]lifecycle.Phase{"": ""}
	for _, p := range lifecycle.Phases {
		phases[view(p)] = p
	}
	used := make([]bool, len(rules))
	failed := map[rule]bool{} // one report for each rule is enough
	for s := range situations() {
		has, in := facts(s), view(s.Phase)
		for _, e := range Events {
			want, wantOK := Decision{To: s.Phase, Ending: s.Ending}, false
			by := rule{in: in, on: e} // the rule of those that no other fits
		rules:
			for _, i := range at[place{in, e}] {
				for _, c := range when[i] {
					if has[c.fact] != c.want {
						continue rules
					}
				}
				by, wantOK, used[i] = rules[i], true, true
				want = Decision{To: phases[by.to], Do: by.do, Code: by.code}
				switch by.ending {
				case "":
				case "keep":
					want.Ending = s.Ending
				default:
					want.Ending = phases[by.ending+" FREE"]
				}
				break
			}
			if got, ok := Next(s, e); (got != want || ok != wantOK) && !failed[by] {
				failed[by] = true
				t.Errorf("%+v\nin %+v\ngot %t, want %t, (-want +got):\n%s", by, s, ok, wantOK, cmp.Diff(want, got))
			}
		}
	}
	for i, r := range rules {
		if !used[i] {
			t.Errorf("rule %+v never applies", r)
		}
	}
}

// TestProperties holds the machine against what must be true whatever the
// table says.
func TestProperties(t *testing.T) {
	t.Parallel()
	// What these report settles the last open attempt.
	settles := map[Event]bool{FailedIn: true, Rejected: true, Died: true}
	bound, final := lifecycle.Phase.Bound, lifecycle.Phase.Final
	properties := []struct {
		name  string
		holds func(s step) bool
	}{
		{"what has landed is DONE", func(s step) bool {
			return s.Event != Landed || s.To == lifecycle.PhaseDone
		}},
		{"a sender stays while something is open", func(s step) bool {
			return !s.Open || !bound(s.Phase) || bound(s.To) || s.Event == Landed || s.Event == Ambiguous || settles[s.Event]
		}},
		{"what leaves the outcome open stops the sender", func(s step) bool {
			return s.Event != Ambiguous || !s.ok || s.Do == StopSender
		}},
		{"nothing final is bound", func(s step) bool {
			return !final(s.Phase) || !bound(s.To)
		}},
		{"only a bind binds", func(s step) bool {
			return bound(s.Phase) || !bound(s.To) || s.Phase == lifecycle.PhaseWaiting && s.Event == Bound
		}},
		{"a bind means something only to what waits", func(s step) bool {
			return s.Event != Bound || s.ok == (s.Phase == lifecycle.PhaseWaiting)
		}},
		{"an ending is remembered while something is open", func(s step) bool {
			return s.Situation.Ending == "" || !s.Open || !bound(s.Phase) || !bound(s.To) || s.Decision.Ending != "" || settles[s.Event]
		}},
		{"an ending is set where the sender waits for the last attempt", func(s step) bool {
			return s.Decision.Ending == s.Situation.Ending || s.Decision.Ending == "" || s.To == lifecycle.PhaseWatching && s.Open
		}},
		{"what has an ending makes no further attempt", func(s step) bool {
			return s.Phase != lifecycle.PhaseWatching || s.Situation.Ending == "" ||
				s.To != lifecycle.PhaseFailing && s.To != lifecycle.PhaseWaiting && s.Do != RaiseFee
		}},
		{"an ending is taken once nothing is open", func(s step) bool {
			return s.Phase != lifecycle.PhaseWatching || s.Situation.Ending == "" || s.Event != Died || s.To == s.Situation.Ending
		}},
		{"what ends forgets its ending", func(s step) bool {
			return !s.ok || !final(s.To) || s.Decision.Ending == ""
		}},
		{"what is cancelled makes no further attempt", func(s step) bool {
			return !s.Cancelled || s.Phase == lifecycle.PhaseWaiting || s.Do != TryNew && s.Do != CountRetry && s.Do != RaiseFee
		}},
		{"what is cancelled does not go back into the queue", func(s step) bool {
			return !s.Cancelled || !bound(s.Phase) || s.To != lifecycle.PhaseWaiting
		}},
		{"only what has nothing open goes back into the queue", func(s step) bool {
			return s.To != lifecycle.PhaseWaiting || s.Phase == lifecycle.PhaseWaiting || !s.Open || s.Event == Unlandable
		}},
		{"a new attempt is dispatched", func(s step) bool {
			return s.Do != TryNew && s.Do != CountRetry || s.To == lifecycle.PhaseDispatching
		}},
		{"a person's retry waits for what is open", func(s step) bool {
			return s.Event != RetryAsked || !s.ok || !s.Open && final(s.Phase)
		}},
		{"DONE is left only when reopened: for the queue, or for a person to settle", func(s step) bool {
			return s.Phase != lifecycle.PhaseDone || s.To == lifecycle.PhaseDone ||
				s.Reopened && (s.To == lifecycle.PhaseWaiting || s.To == lifecycle.PhaseUnresolved && s.Event == Ambiguous)
		}},
		{"what a legacy worker sent is not sent by others", func(s step) bool {
			return !s.Legacy || s.Phase == lifecycle.PhaseDone || s.Do != SendAgain && s.Do != RaiseFee && s.Do != AskAgain
		}},
		{"nothing is ever forgotten that is open, but by a settled word", func(s step) bool {
			return s.Do != DropWatched || s.Phase == lifecycle.PhaseDone || settles[s.Event] || s.Event == DeadSaid
		}},
		{"what means nothing changes nothing", func(s step) bool {
			return s.ok || s.Decision == Decision{To: s.Phase, Ending: s.Situation.Ending}
		}},
		{"what means something does something", func(s step) bool {
			return !s.ok || s.To != s.Phase || s.Do != Nothing || s.Code != ""
		}},
	}
	broken := make([]bool, len(properties))
	for s := range steps() {
		for i, p := range properties {
			if !broken[i] && !p.holds(s) {
				broken[i] = true
				t.Errorf("%s, but %s", p.name, s)
			}
		}
	}
}
