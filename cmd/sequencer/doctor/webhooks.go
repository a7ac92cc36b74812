package doctor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/webhooks"
)

// lateEvents is how long events may wait for an endpoint before somebody is told.
const lateEvents = 15 * time.Minute

// webhooks looks at the endpoints that are stored and those of the file, and whether they
// can be connected to. Nothing is sent.
func (d *doctor) webhooks(ctx context.Context, store *queues.Store) {
	all, err := webhooks.New(webhooks.Options{Store: store}).List(ctx)
	if err != nil {
		d.problem("WEBHOOK", "endpoints", err.Error(), "see that Redis runs")
		return
	}
	urls := map[string]string{}
	for _, e := range d.cfg.Webhook.File.Entries {
		urls[e.ID] = e.URL
	}
	unwell := map[string]bool{}
	for _, x := range all {
		if _, named := urls[x.ID]; named && x.Disabled == webhooks.Unconfigured {
			x.Disabled = "" // serve takes it back
		}
		if x.Disabled == "" {
			urls[x.ID] = x.URL
		} else {
			delete(urls, x.ID)
		}
		unwell[x.ID] = d.endpoint(x)
	}
	var looks sync.WaitGroup
	for id, url := range urls {
		looks.Go(func() {
			if err := webhooks.Reach(ctx, url, d.cfg.Webhook.Private); err != nil {
				d.problem("WEBHOOK", id, "cannot be connected to: "+err.Error(),
					"see to its address, certificate and SEQUENCER_WEBHOOKS_PRIVATE, "+
						"and that this machine may connect to it")
			} else if !unwell[id] {
				d.ok("WEBHOOK", id, "can be connected to")
			}
		})
	}
	looks.Wait()
}

// endpoint says what does not go well with an endpoint, and reports whether something does
// not.
func (d *doctor) endpoint(x *webhooks.Status) bool {
	switch {
	case x.Disabled == webhooks.ByPerson:
	case x.Disabled != "":
		d.problem("WEBHOOK_DISABLED", x.ID, "is told nothing: "+x.Disabled,
			"ask its owner; then 'sequencer webhook enable' or 'remove'")
	case x.Waiting > 0 || !x.BehindSince.IsZero() && d.now().Sub(x.BehindSince) > lateEvents:
		d.warn("WEBHOOK_BEHIND", x.ID,
			fmt.Sprintf("%d events wait, and %d lines have used their tries up", x.Behind+x.Parked, x.Waiting),
			"'sequencer webhook deliveries' says what it answers; then 'sequencer webhook replay'")
	default:
		return false
	}
	return true
}
