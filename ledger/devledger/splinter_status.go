package devledger

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A splinterStatus is what a Scabbard service says of one batch.
type splinterStatus struct {
	ID     string `json:"id"`
	Status struct {
		Type    string `json:"statusType"`
		Message []any  `json:"message"`
	} `json:"status"`
	Timestamp struct {
		Seconds     int64 `json:"secs_since_epoch"`
		Nanoseconds int   `json:"nanos_since_epoch"`
	} `json:"timestamp"`
}

func (n *Splinter) getStatuses(w http.ResponseWriter, r *http.Request, s *service) {
	var asked []string
	if given := r.URL.Query().Get("ids"); given != "" {
		asked = strings.Split(given, ",")
		slices.Sort(asked)
		asked = slices.Compact(asked)
	}
	f := n.fault(Status, asked)
	if n.taker.before(w, r, f) {
		return
	}
	wait, err := splinterWait(r)
	n.lock()
	start, running := n.at, s != nil && !n.at.Before(s.up)
	life := 0
	if running {
		life = s.life
	}
	n.mu.Unlock()
	switch {
	case !running:
		message(http.StatusNotFound, "the service is not running").write(w)
		return
	case len(asked) == 0:
		coded(http.StatusBadRequest, "there are no ids").write(w)
		return
	case err != nil:
		coded(http.StatusBadRequest, "wait is a number of seconds").write(w)
		return
	}
	var data []splinterStatus
	final, restarted := false, false
	n.await(r.Context(), start.Add(wait), func() bool {
		data, final = s.report(asked, f.Answer == Unknown)
		restarted = s.life != life
		return final || restarted
	})
	switch {
	case restarted:
		panic(http.ErrAbortHandler)
	case wait > 0 && !final && n.config.Release != "main":
		answer{status: http.StatusRequestTimeout}.write(w)
	default:
		answer{status: http.StatusOK, body: data}.write(w)
	}
}

func splinterWait(r *http.Request) (time.Duration, error) {
	if !r.URL.Query().Has("wait") {
		return 0, nil
	}
	seconds, err := strconv.ParseUint(r.URL.Query().Get("wait"), 10, 31)
	return time.Duration(seconds) * time.Second, err
}

// report looks ids up, and says whether all are Invalid or Committed.
func (s *service) report(asked []string, blind bool) (data []splinterStatus, final bool) {
	final = true
	for _, id := range asked {
		one := splinterStatus{ID: id}
		one.Status.Type, one.Status.Message = "Unknown", []any{}
		at := s.circuit.at
		if r := s.history[id]; r != nil && !blind {
			one.Status.Type, one.Status.Message, at = r.status, r.messages(), r.at
		}
		one.Timestamp.Seconds, one.Timestamp.Nanoseconds = at.Unix(), at.Nanosecond()
		final = final && (one.Status.Type == isInvalid || one.Status.Type == isCommitted)
		data = append(data, one)
	}
	return data, final
}

// messages is what a status says of the batch's transactions.
func (r *record) messages() []any {
	out := []any{}
	switch r.status {
	case isValid, isCommitted:
		for _, id := range r.transactions {
			out = append(out, map[string]any{"transaction_id": id})
		}
	case isInvalid:
		data := []int{} // bytes as numbers
		for _, b := range r.why.Data {
			data = append(data, int(b))
		}
		out = append(out, map[string]any{
			"transaction_id": r.why.id, "error_message": r.why.Message, "error_data": data})
	}
	return out
}
