package metrics

import (
	"fmt"
	"slices"
	"testing"

	"mina-sequencer/sequencer/tx"
)

// TestZkApps: the busiest are shown, however many others come, each key once for a command.
func TestZkApps(t *testing.T) {
	t.Parallel()
	var z zkApps
	of := func(keys ...string) (all []tx.Account) {
		for _, k := range keys {
			all = append(all, tx.Account{Key: k, Token: tx.MinaToken}, tx.Account{Key: k, Token: "another"})
		}
		return all
	}
	for range 3 {
		z.add(of("busy"), false)
	}
	z.add(of("busy", "failing"), true)
	z.add(of("failing"), true)
	for i := range 3 * zkAppsCounted {
		z.add(of(fmt.Sprint("holder", i)), false)
	}
	var got []string
	z.show(func(name string, value float64, labels ...string) {
		got = append(got, fmt.Sprint(name, " ", labels, " ", value))
	})
	want := []string{
		"zkapp_commands_total [busy landed] 3", "zkapp_commands_total [busy failed] 1",
		"zkapp_commands_total [failing landed] 0", "zkapp_commands_total [failing failed] 2",
	}
	if len(got) != 2*zkAppsShown || !slices.Equal(got[:4], want) || len(z.counts) != zkAppsCounted {
		t.Errorf("%d are shown of %d: %q", len(got), len(z.counts), got[:min(len(got), 4)])
	}
	z.add(of("late"), true)
	z.add(of("late"), true)
	z.add(of("late"), true)
	if keys := z.busiest(2); !slices.Equal(keys, []string{"busy", "late"}) {
		t.Errorf("one that comes late is not counted: %q", keys)
	}
}
