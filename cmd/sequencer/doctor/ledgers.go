package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"mina-sequencer/ledger"
	"mina-sequencer/queues"
)

// ledgers asks each ledger what became of a batch that nobody has posted.
func (d *doctor) ledgers(ctx context.Context) {
	all, _, err := d.cfg.Ledgers.Open()
	if err != nil {
		d.problem("SETTING", "SEQUENCER_LEDGERS", err.Error(), "correct it")
		return
	}
	nobodys := strings.Repeat("0", 128)
	var looks sync.WaitGroup
	for name, l := range all {
		looks.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, doctorTime)
			defer cancel()
			_, err := l.Statuses(ctx, []string{nobodys})
			held, turnedAway := errors.AsType[*ledger.HeldError](err)
			switch {
			case turnedAway:
				d.problem("LEDGER", name, held.Message,
					"see to its address in SEQUENCER_LEDGERS and to SEQUENCER_LEDGER_AUTH; "+
						"its queues are held until then")
			case err != nil:
				d.problem("LEDGER", name, err.Error(), "see to the ledger; its queues are held until then")
			default:
				d.ok("LEDGER", name, fmt.Sprintf("answers for batches; where it is too busy for one it is asked %d times more, "+
					"and then left alone for %s at least", d.cfg.Ledgers.Retries, d.cfg.Ledgers.Delay))
			}
		})
	}
	looks.Wait()
}

// unservedLedgers finds batches for ledgers that this configuration does not name.
func (d *doctor) unservedLedgers(ctx context.Context, store *queues.Store) {
	o, err := store.Overview(ctx)
	if err != nil {
		d.problem("REDIS_AWAY", "ledgers", err.Error(), "see that Redis runs")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(o.Ledgers)) {
		n := o.Ledgers[name].Waiting + o.Ledgers[name].Bound
		if n > 0 && !slices.Contains(d.cfg.Ledgers.Targets.Names(), name) {
			d.warn("LEDGER_UNSERVED", name, fmt.Sprintf("%d batches are for it, and no setting here names it", n),
				"name it in SEQUENCER_LEDGERS, unless another process does; or cancel them")
		}
	}
}
