package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/senders/provers"
	"mina-sequencer/sequencer"
	"mina-sequencer/sequencer/tx"
)

// A signerTally is which senders have a worker that only signs.
type signerTally struct {
	mu    sync.Mutex
	signs map[string][]string // by account, the types that its policy names; nil: any
	// doubted: a worker was not asked, or did not say what it is.
	doubted bool
}

func (t *signerTally) add(account string, types []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signs[account] = types
}

func (t *signerTally) doubt() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubted = true
}

// needs are the types that the pool has to prove: those that are dispatched, of which a signer signs some, or
// any. Where all types are dispatched, they are those that a signer names.
func (t *signerTally) needs(dispatched []string) []string {
	var all []string
	for _, types := range t.signs {
		switch {
		case len(dispatched) == 0:
			all = append(all, types...)
		case len(types) == 0:
			all = append(all, dispatched...)
		default:
			all = append(all, slices.DeleteFunc(slices.Clone(dispatched), func(name string) bool { return !slices.Contains(types, name) })...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// provers looks at every prover that is configured or stored, and whether they can what the senders need whose
// workers only sign.
func (d *doctor) provers(ctx context.Context, workers *dispatcher.Client, known stored, chain mina.Chain, signers *signerTally, types *typeTally) {
	urls := d.cfg.Provers.All()
	for _, p := range known.provers {
		if _, configured := urls[p.ID]; !configured {
			urls[p.ID] = p.URL
		}
		if !p.Drained.IsZero() {
			delete(urls, p.ID)
			d.warn("PROVER_OUT", p.ID, "is taken out of use, since "+p.Drained.Format(time.DateTime)+"Z",
				"'sequencer prover resume "+p.ID+"' takes it back, 'sequencer prover remove "+p.ID+"' forgets it")
		}
	}
	var mu sync.Mutex
	pool := map[string]provers.Word{} // those that serve would use
	turns := make(chan struct{}, lookAtOnce)
	var wg sync.WaitGroup
	for id, url := range urls {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			if w, well := d.prover(ctx, workers, id, url, chain); well {
				mu.Lock()
				defer mu.Unlock()
				pool[id] = w
			}
		})
	}
	wg.Wait()
	var makes []string
	for _, w := range pool {
		makes = append(makes, w.Types...)
	}
	slices.Sort(makes)
	makes = slices.Compact(makes)
	switch {
	case len(signers.signs) == 0 && len(urls) > 0 && !signers.doubted:
		d.warn("PROVERS_IDLE", "SEQUENCER_PROVERS", fmt.Sprintf("%d provers are registered, and every sender's worker proves by itself: they are given nothing", len(urls)),
			"give a sender a worker that only signs (docs/keys.md), or take the provers out")
	case len(signers.signs) > 0 && len(pool) == 0:
		types.add(nil)
		d.problem("NO_PROVERS", "SEQUENCER_PROVERS", fmt.Sprintf("%d senders have a worker that only signs, and of %d provers none can be used: what they are given waits",
			len(signers.signs), len(urls)), "start a prover and name it there, or call 'sequencer prover add'")
	case len(signers.signs) > 0:
		d.lacking(makes, signers, types)
	}
	if len(pool) > 0 {
		d.ok("PROVERS", "SEQUENCER_PROVERS", fmt.Sprintf("%d of %d can be used, and make %s", len(pool), len(urls), strings.Join(makes, ", ")))
		d.alike(pool)
	}
	if len(signers.signs) > 0 {
		d.together(pool, max(d.cfg.Types.Width, known.width))
	}
}

// prover asks a prover who it is, as serve does, and reports whether serve would use it.
func (d *doctor) prover(ctx context.Context, workers *dispatcher.Client, id, url string, chain mina.Chain) (provers.Word, bool) {
	w, err := workers.Word(ctx, url)
	if err != nil {
		d.sick(levelWarning, id, url, err) // others of the pool may do
		return w, false
	}
	why, message := provers.Judge(w, func(w provers.Word) (tx.SenderReason, string) {
		return sequencer.Strange(dispatcher.Health{Network: w.Network, O1js: w.O1js}, nil, chain.NetworkID, chain.Era)
	})
	switch why {
	case "":
		d.unsafe(id, url, w.O1js, chain)
		return w, true
	case tx.WrongAccount:
		d.problem("PROVER_KEY", id, url+": "+message, "a prover of the kit is started with 'prover: true' in the place of the payer: docs/keys.md")
	case tx.WrongNetwork:
		d.problem(string(why), id, url+": "+message, rightNetwork)
	default:
		d.problem("PROVER_SILENT", id, url+": "+message, "have it serve GET /health with its types, or correct its address")
	}
	return w, false
}

// lacking tells the types that a sender may be given whose worker only signs, and that no prover makes.
func (d *doctor) lacking(makes []string, signers *signerTally, types *typeTally) {
	types.add(append(signers.needs(types.wanted), makes...)) // what nobody makes of these is told here
	lacks := slices.DeleteFunc(signers.needs(types.wanted), func(name string) bool { return slices.Contains(makes, name) })
	if len(lacks) > 0 {
		d.problem("PROVER_TYPES", "SEQUENCER_PROVERS", fmt.Sprintf("no prover that can be used makes %s: these wait where a sender is given them whose worker only signs, such as %s",
			strings.Join(lacks, ", "), slices.Min(slices.Collect(maps.Keys(signers.signs)))),
			"add a prover that makes them, or take them out of SEQUENCER_TYPES and of the signers' policies")
	}
}

// alike tells where provers are of several versions: what they prove has to fit one verification key.
func (d *doctor) alike(pool map[string]provers.Word) {
	of := map[string][]string{}
	for id, w := range pool {
		if w.O1js != "" {
			of[w.O1js] = append(of[w.O1js], id)
		}
	}
	if len(of) < 2 {
		return
	}
	var said []string
	for _, version := range slices.Sorted(maps.Keys(of)) {
		said = append(said, fmt.Sprintf("%.20s at %s", version, some(of[version])))
	}
	d.warn("PROVERS_DIFFER", "SEQUENCER_PROVERS", "they have o1js "+strings.Join(said, ", ")+
		": contracts may have another verification key with each, and which prover makes a transaction is chance",
		"give all the same build of your program, and drain those of the old one: 'sequencer prover drain ID'")
}

// together tells what keeps trains from what the pool could do: all of it has to be able to.
func (d *doctor) together(pool map[string]provers.Word, width int) {
	if width < 2 || len(pool) == 0 {
		return
	}
	atOnce := 0
	var alone, unbuilt []string
	for id, w := range pool {
		atOnce += w.AtOnce
		if !w.Ahead {
			alone = append(alone, id)
		} else if !w.Builds {
			unbuilt = append(unbuilt, id)
		}
	}
	if len(alone) > 0 {
		d.warn("PROVER_AHEAD", "SEQUENCER_PROVERS", fmt.Sprintf("queues have a width of up to %d, and %s cannot build on what is in flight "+
			"('ahead' in its capabilities): one of a queue is made at a time", width, some(alone)),
			"give it a program of the present kit, or drain it")
	}
	if atOnce > 1 && len(unbuilt) > 0 {
		d.warn("PROVER_BUILDS", "SEQUENCER_PROVERS", fmt.Sprintf("queues have a width of up to %d, and %s cannot say what it would prove before it does "+
			"('builds' in its capabilities): of what is chained one is proved at a time, though %d could be", width, some(unbuilt), atOnce),
			"give it a program of the present kit, or drain it: docs/trains.md")
	}
}

// some names the first of several, in order.
func some(ids []string) string {
	slices.Sort(ids)
	const most = 3
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return strings.Join(ids[:most], ", ") + terminal.Prefixed(" and ", fmt.Sprintf("%d more", len(ids)-most))
}
