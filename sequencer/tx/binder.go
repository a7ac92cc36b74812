package tx

import (
	"slices"
	"time"
)

// A Binder is a process that lives, as it tells of itself when it renews its claims.
type Binder struct {
	Process string   `json:"-"`
	Mute    bool     `json:"-"`               // it says nothing of itself, as one of an older version
	Types   []string `json:"types,omitempty"` // to Mina, that it dispatches
	Local   []string `json:"local,omitempty"` // senders whose workers it runs, and that take calls
	// Why it binds no sender of Mina now, as a clause, and since when; "" if it does.
	Why   string    `json:"why,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Shut is why it asks and sends nothing of what it drives either; "" if it does.
	Shut string `json:"shut,omitempty"`
	// Unconfirmed is since when too few replicas of Redis confirm what it stores, so that it sends
	// nothing; zero if they do.
	Unconfirmed time.Time `json:"unconfirmed,omitzero"`
}

// Idle says why none of those that live binds a free sender, as clauses with what to do, and "" if
// one does. local: its worker runs with a process.
func Idle(living []Binder, account string, local bool) string {
	why := ""
	for i := range living {
		b := &living[i]
		switch {
		case b.Mute, len(b.Types) > 0 && b.Why == "" && (!local || slices.Contains(b.Local, account)):
			return ""
		case len(b.Types) == 0, local && !slices.Contains(b.Local, account):
		case why == "":
			why = "no process binds it: " + b.Why + " (process " + b.Process + ", since " + b.Since.UTC().Format(time.RFC3339) + ")"
		}
	}
	runs := slices.ContainsFunc(living, func(b Binder) bool { return len(b.Types) > 0 })
	switch {
	case why != "":
		return why
	case !runs:
		return "no process binds it, for none runs that dispatches to Mina: start one"
	}
	return "its worker belongs to a process that is gone, or does not take calls: start that process again, see its " +
		"log, or register the sender with another worker"
}
