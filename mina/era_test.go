package mina

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mina-sequencer/sequencer/tx"
)

// TestEra: all three parameters tell it, and nothing else.
func TestEra(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		k, epoch uint32
		slot     time.Duration
		want     Era
	}{
		{290, 7140, 90 * time.Second, Mesa},
		{290, 7140, 180 * time.Second, Berkeley},
		{30, 7140, 90 * time.Second, EraUnknown},
		{290, 720, 180 * time.Second, EraUnknown},
		{290, 7140, 20 * time.Second, EraUnknown},
		{290, 7140, 0, EraUnknown},
	} {
		if got := (Status{K: tt.k, SlotsPerEpoch: tt.epoch, SlotTime: tt.slot}).Era(); got != tt.want {
			t.Errorf("k %d, %d slots of %v: %q, want %q", tt.k, tt.epoch, tt.slot, got, tt.want)
		}
	}
}

// TestEraOf: the number of state fields tells it.
func TestEraOf(t *testing.T) {
	t.Parallel()
	of := func(fields int) string {
		state := strings.TrimSuffix(strings.Repeat("null,", fields), ",")
		return fmt.Sprintf(`{"accountUpdates":[{"body":{"update":{"appState":[%s]}}}]}`, state)
	}
	for command, want := range map[string]Era{
		of(8): Berkeley, of(32): Mesa, of(9): EraUnknown, of(0): EraUnknown,
		`{"accountUpdates":[]}`: EraUnknown, `{}`: EraUnknown, `[]`: EraUnknown, ``: EraUnknown,
	} {
		if got := EraOf([]byte(command)); got != want {
			t.Errorf("%.60s: %q, want %q", command, got, want)
		}
	}
}

// TestForked: after a hard fork a node holds no block from before. It is not asked for those that
// were not read by then; what was read counts on.
func TestForked(t *testing.T) {
	t.Parallel()
	const payer = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"
	for name, read := range map[string]bool{"nothing was read": false, "it was in a block that was read": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hash, began := hashOf("done"), time.Now()
			before := grow(chainOf(20), "", Command{Hash: hash, Payer: payer, Nonce: 0, Memo: memoOf(t, "m")})
			d := newDaemon(before...)
			d.genesis = began.Add(-time.Hour).Format(time.RFC3339)
			d.accounts[payer] = 1
			tracker := NewTracker(TrackerOptions{Nodes: []*Node{d.node(t, 0)}, MaxTipAge: 1000 * time.Hour})
			watch := tx.Watch{Payer: payer, Hashes: []string{hash}, Memo: "m", Since: 1005}
			if read {
				tracker.Watch("done", watch)
			}
			if c := tracker.Poll(t.Context()); !c.Quorum || c.Era != Mesa {
				t.Fatalf("before: %+v", c)
			}
			last := before[len(before)-1].Header
			first := Block{Header: Header{
				StateHash: "3N-fork", PreviousStateHash: last.StateHash, Height: last.Height + 1, Slot: last.Slot + 100,
			}}
			d.do(func() {
				d.blocks, d.genesis = []Block{first}, began.Format(time.RFC3339)
				clear(d.orphans)
			})
			d.do(func() { d.blocks = grow(d.blocks, "") })
			tracker.Watch("done", watch)
			c := tracker.Poll(t.Context())
			if !c.Quorum || c.First != first.Slot || c.Height != first.Height+1 {
				t.Fatalf("after: %+v", c)
			}
			g := tracker.Sighting("done")
			if read && (g.Fate != tx.FateIncluded || g.Depth != 3) || !read && !g.Pruned {
				t.Errorf("it is %+v", g)
			}
		})
	}
}
