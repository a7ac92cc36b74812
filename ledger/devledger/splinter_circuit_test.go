package devledger_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	. "mina-sequencer/ledger/devledger"
)

func TestScabbardInvalidAwayFromTheCoordinatorStaysPending(t *testing.T) {
	for _, v1 := range []bool{false, true} {
		want := "Pending"
		if v1 {
			want = "Invalid"
		}
		t.Run("V1 "+strconv.FormatBool(v1), func(t *testing.T) {
			config := SplinterConfig{Services: []string{"devnt-local::a001", "devnt-local::a000"}, V1: v1}
			onScabbard(t, config, func(r *rig, _ *Splinter) {
				good, bad, atHome := batch("a"), batch("INVALID 1"), batch("INVALID 2")
				r.mustPost(atHome)
				r.expect("Invalid", atHome)
				r.path = "/scabbard/devnt-local/a001"
				r.mustPost(bad, good)
				<-time.After(time.Minute)
				r.expect(want+" Committed", bad, good)
				if e := r.Effects(); len(e) != 1 || e[0].Service != "devnt-local::a001" {
					r.Errorf("%+v", e)
				}
			})
		})
	}
}

func TestScabbardCoordinatorNotReachedIs500AndPendingForEver(t *testing.T) {
	config := SplinterConfig{Services: []string{"devnt-local::a000", "devnt-local::a001"}}
	onScabbard(t, config, func(r *rig, n *Splinter) {
		b := batch("a")
		if err := n.Restart(time.Minute, "devnt-local::a000"); err != nil {
			r.Fatal(err)
		}
		r.path = "/scabbard/devnt-local/a001"
		if a := r.post(b); a.status != 500 || !strings.HasPrefix(a.body, `{"code":"500"`) {
			r.Errorf("%v", a)
		}
		<-time.After(time.Hour)
		r.expect("Pending", b)
		r.effects()
	})
}

func TestScabbardCircuitsShareNothing(t *testing.T) {
	config := SplinterConfig{Services: []string{"devnt-local::a000", "vzrQS-rvwf4::a001"}}
	onScabbard(t, config, func(r *rig, _ *Splinter) {
		b := batch("a")
		r.mustPost(b)
		r.path = "/scabbard/vzrQS-rvwf4/a001"
		r.expect("Unknown", b)
		r.mustPost(b)
		<-time.After(time.Minute)
		r.expect("Committed", b)
		if e := r.Effects(); len(e) != 2 || e[1].Service != "vzrQS-rvwf4::a001" || e[1].Times != 1 {
			r.Errorf("%+v", e)
		}
	})
}

func TestScabbardForgottenAfter202IsUnknown(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		b := batch("a")
		r.Fail(Fault{Fate: Lost})
		r.mustPost(b)
		r.expect("Pending", b)
		<-time.After(time.Minute)
		r.expect("Unknown", b)
		r.effects()
	})
}
