package api

import (
	"net/http"
	"time"

	"mina-sequencer/queues"
)

var spans = map[string]time.Duration{"": time.Hour, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}

// getHistory tells how it went over the last hour, day or week.
func (a *api) getHistory(w http.ResponseWriter, r *http.Request) error {
	over, known := spans[r.URL.Query().Get("over")]
	if !known {
		return badRequest("over must be hour, which it is by itself, day or week.")
	}
	all, err := a.Store.History(r.Context(), over)
	if err != nil {
		return err
	}
	o := object{}
	o.open()
	o.number("seconds", int64(queues.Spans[over]/time.Second))
	o.number("parts", int64(over/queues.Spans[over]))
	o.name("items")
	o.b = appendList(o.b, all, func(b []byte, x queues.Sample) []byte {
		o := object{b}
		o.open()
		o.time("at", x.At)
		o.number("accepted", x.Accepted)
		o.number("done", x.Done)
		o.number("failed", x.Failed)
		o.number("retried", x.Retried)
		o.nanomina("fees", x.Fees)
		o.number("waiting", x.Waiting)
		o.number("bound", x.Bound)
		o.number("medianMs", x.Within(0.5).Milliseconds())
		o.number("slowMs", x.Within(0.95).Milliseconds())
		o.close()
		return o.b
	})
	o.close()
	return send(w, http.StatusOK, o.b)
}
