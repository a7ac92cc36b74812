package simulation

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A calm is what explain said of a transaction that goes on by itself, and since when at one revision.
type calm struct {
	revision int64
	since    time.Time
}

// calms looks at a few that wait or have a sender: of none may explain say for long that it goes on
// now, or that a sender is free and nothing is known to keep it from being bound. For as long as
// others take a dead process for a living one it may, and in quiet times for a cycle: one that sleeps,
// wakes, renews and dies is taken for a living one twice. While nobody answers, nothing is said.
func (c *checker) calms() {
	const sample = 4
	most := 2*c.s.Policy.ClaimTTL + c.s.Policy.CycleInterval
	if !c.s.healed.IsZero() && time.Since(c.s.healed) > 2*most {
		most = c.s.Policy.CycleInterval
	}
	if !c.s.reconciled() {
		return // which it says, as soon as a process has seen that
	}
	looked := 0
	for _, uid := range slices.Sorted(maps.Keys(c.phase)) {
		if phase := c.phase[uid]; looked == sample || phase != "waiting" && phase != "dispatching" {
			delete(c.calm, uid)
			continue
		}
		looked++
		var x struct {
			Summary    string
			WaitingFor struct{ Code string }
		}
		t, err := c.s.desk.Store.Get(c.s.Ctx, uid)
		if err != nil || t.Phase.Final() {
			continue
		}
		if a, ok := c.s.ask("GET", "/transactions/"+uid+"/explain", nil, &x); !ok || a.status != 200 {
			delete(c.calm, uid) // Redis is one of the things that fail: who hears nothing cannot say that it lasts
			continue
		}
		if x.WaitingFor.Code != "NOTHING" && !strings.Contains(x.Summary, "no process has bound it since") {
			delete(c.calm, uid)
			continue
		}
		was, known := c.calm[uid]
		if !known || was.revision != t.Revision {
			c.calm[uid] = calm{t.Revision, time.Now()}
		} else if lasts := time.Since(was.since); lasts > most {
			c.fail("of %s it is said for %v that it goes on by itself: %s", uid, lasts, x.Summary)
		}
	}
}
