package devnet_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/mina/devnet"
)

// TestRebroadcast: a node tells its peers again of what clients sent to it, every
// ten minutes and for fifty, and of nothing else. No slot has a block, one lasts
// a minute, and told is the minute in which a peer that missed it all gets it.
func TestRebroadcast(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		heal   int // the minute in which the node is reachable again
		resend int // the minute in which the client sends the same again; 0: never
		told   int // 0: never
	}{
		{"reachable soon", 3, 0, 10},
		{"told again", 10, 0, 10},
		{"told again later", 31, 0, 40},
		{"for the last time", 41, 0, 50},
		{"no longer", 51, 0, 0},
		{"sent again in time", 58, 49, 59},
		{"sent again, and not when it was due before", 27, 25, 35},
		{"sent again long after", 75, 70, 80},
		{"sent again when reachable", 71, 73, 74},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := network(t, func(c *devnet.Config) { c.Nodes, c.FillRate, c.SlotTime = 2, 1e-12, time.Minute })
				isolate(t, n.Node(0), true)
				hash := mustSend(t, n.Node(0), plan(0, 5))
				told := 0
				for minute := 1; minute <= 120; minute++ {
					if minute == tt.heal {
						isolate(t, n.Node(0), false)
					}
					n.Step()
					if minute == tt.resend {
						if again := mustSend(t, n.Node(0), plan(0, 5)); again != hash {
							t.Fatalf("the same bytes got the hash %s", again)
						}
					}
					if told == 0 && slices.Contains(n.Node(1).Pooled(), hash) {
						told = minute
					}
				}
				if told != tt.told {
					t.Errorf("told in minute %d, want %d", told, tt.told)
				}
				if !slices.Contains(n.Node(0).Pooled(), hash) {
					t.Error("it has to stay in the pool of the node that took it")
				}
			})
		})
	}
}

// TestPeersTellNothingAgain: what a node heard from a peer it does not tell again,
// and neither what has been replaced.
func TestPeersTellNothingAgain(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.Nodes, c.FillRate, c.SlotTime = 3, 1e-12, time.Minute })
	isolate(t, n.Node(2), true)
	old := mustSend(t, n.Node(0), plan(0, 5))
	n.Step()
	raised := mustSend(t, n.Node(1), with(plan(0, 5), func(p *devnet.Plan) { p.Fee *= 2 }))
	n.Step()
	isolate(t, n.Node(1), true)
	isolate(t, n.Node(2), false)
	for range 30 {
		n.Step()
	}
	if got := n.Node(2).Pooled(); len(got) != 0 {
		t.Fatalf("pool %v; node 0 was sent %s, which is replaced by %s", got, old, raised)
	}
	isolate(t, n.Node(1), false)
	for range 10 {
		n.Step()
	}
	if got := n.Node(2).Pooled(); !slices.Equal(got, []string{raised}) {
		t.Errorf("pool %v, want %s from the node that was sent it", got, raised)
	}
}

// TestRebroadcastAfterReorg: what was in a block that is gone is told again in the
// time that it has left.
func TestRebroadcastAfterReorg(t *testing.T) {
	t.Parallel()
	n := network(t, func(c *devnet.Config) { c.Nodes, c.FillRate, c.SlotTime = 2, 1e-12, time.Minute })
	hash := mustSend(t, n.Node(0), plan(0, 5))
	n.MakeBlock()
	if err := n.Reorg(devnet.Reorg{Depth: 1, Empty: true}); err != nil {
		t.Fatal(err)
	}
	n.Node(1).ClearPool()
	n.Step()
	if got := n.Node(1).Pooled(); len(got) != 0 {
		t.Fatalf("pool %v before it is told again", got)
	}
	for range 10 {
		n.Step()
	}
	if got := n.Node(1).Pooled(); !slices.Equal(got, []string{hash}) {
		t.Errorf("pool %v, want %s", got, hash)
	}
}
