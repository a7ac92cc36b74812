package tx

import (
	"strings"
	"testing"
	"time"
)

// TestIdle: a free sender is bound by any process that binds and, where its worker runs with one, by that.
func TestIdle(t *testing.T) {
	t.Parallel()
	mints := []string{"MINT"}
	full := Binder{Process: "full", Types: mints, Why: "it is full", Since: time.Unix(7, 0), Local: []string{"B62l"}}
	ready := Binder{Process: "ready", Types: mints}
	for name, c := range map[string]struct {
		living []Binder
		local  bool
		want   string
	}{
		"one binds":                      {[]Binder{full, ready}, false, ""},
		"not its worker's":               {[]Binder{full, ready}, true, "no process binds it: it is full (process full"},
		"its worker's":                   {[]Binder{full, {Types: mints, Local: []string{"B62l"}}}, true, ""},
		"one of an older version":        {[]Binder{full, {Process: "old", Mute: true}}, false, ""},
		"its worker's is gone":           {[]Binder{ready}, true, "its worker belongs to a process that is gone"},
		"none runs":                      {nil, false, "no process binds it, for none runs that dispatches to Mina"},
		"one that dispatches to ledgers": {[]Binder{{Process: "books"}}, false, "no process binds it, for none runs"},
	} {
		if got := Idle(c.living, "B62l", c.local); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
