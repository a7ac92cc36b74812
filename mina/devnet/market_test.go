package devnet_test

import (
	"reflect"
	"testing"

	"mina-sequencer/mina/devnet"
)

// TestMarkets: each is the same every time, comes as often as it says, and is taken by fee
// per weight, twelve a block.
func TestMarkets(t *testing.T) {
	t.Parallel()
	for _, m := range devnet.Markets() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			count, want := 0, 0.0
			for slot := range uint32(960) {
				count += len(m.Plans(slot))
				want += m.Arrivals(slot)
			}
			if float64(count) < 0.95*want || float64(count) > 1.05*want {
				t.Errorf("%d commands a day, want about %.0f", count, want)
			}
			if a, b := m.Plans(8), m.Plans(8); len(a) == 0 || !reflect.DeepEqual(a, b) {
				t.Errorf("the same slot has %d commands, and then %d", len(a), len(b))
			}
			n := network(t, func(c *devnet.Config) { c.FundAll, c.FillRate, c.Seed = true, 0.75, 7 })
			for range 20 {
				if err := n.Trade(&m); err != nil {
					t.Fatal(err)
				}
				n.Step()
			}
			blocks := map[uint32]int{}
			for _, e := range n.Effects() {
				blocks[e.Height]++
				if !e.OK || blocks[e.Height] > devnet.DefaultMaxZkapps {
					t.Errorf("block %d: %d commands, the last of them taken: %t", e.Height, blocks[e.Height], e.OK)
				}
			}
			if len(blocks) < 8 {
				t.Errorf("%d blocks hold commands", len(blocks))
			}
		})
	}
}
