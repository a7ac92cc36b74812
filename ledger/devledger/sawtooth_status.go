package devledger

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A sawtoothStatus is what the REST API says of one batch.
type sawtoothStatus struct {
	ID      string            `json:"id"`
	Status  string            `json:"status"`
	Invalid []sawtoothInvalid `json:"invalid_transactions"`
}

type sawtoothInvalid struct {
	ID      string `json:"id"`
	Message string `json:"message,omitempty"`
	Data    []byte `json:"extended_data,omitempty"`
}

func (s *Sawtooth) getStatuses(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("id")
	if given == "" {
		sawtoothError(http.StatusBadRequest, 66, "there is no id").write(w)
		return
	}
	s.statuses(w, r, strings.Split(given, ","), "http://"+r.Host+r.RequestURI)
}

func (s *Sawtooth) postStatuses(w http.ResponseWriter, r *http.Request) {
	body, tooLong := readBody(w, r)
	var asked []string
	switch {
	case r.Header.Get("Content-Type") != "application/json":
		sawtoothError(http.StatusBadRequest, 43, "the content type is not application/json").write(w)
	case tooLong:
		answer{status: http.StatusRequestEntityTooLarge, body: "Maximum request body size 10485760 exceeded"}.write(w)
	case json.Unmarshal(body, &asked) != nil || len(asked) == 0:
		sawtoothError(http.StatusBadRequest, 46, "the body is not an array of ids").write(w)
	default:
		s.statuses(w, r, asked, "")
	}
}

// statuses answers for ids in the order asked, at once or when none is PENDING.
func (s *Sawtooth) statuses(w http.ResponseWriter, r *http.Request, asked []string, link string) {
	for _, id := range asked {
		if !isID(id) {
			sawtoothError(http.StatusBadRequest, 60, "an id is 128 lower-case hex digits").write(w)
			return
		}
	}
	f := s.fault(Status, asked)
	if s.taker.before(w, r, f) {
		return
	}
	s.lock()
	v, start, life, down := s.validator, s.at, s.life, s.validator.down()
	s.mu.Unlock()
	if down {
		a := v.unreachable()
		s.await(r.Context(), start.Add(a.hold), never)
		a.write(w)
		return
	}
	var data []sawtoothStatus
	wait, over := s.wait(r)
	s.await(r.Context(), start.Add(wait), func() bool {
		var pending bool
		data, pending = v.report(asked, f.Answer == Unknown)
		return !pending || s.life != life
	})
	s.lock()
	lost := s.life != life
	s.mu.Unlock()
	body := map[string]any{"data": data}
	if link != "" {
		body["link"] = link
	}
	switch {
	case lost:
		s.taker.lost.write(w)
	case over && stillPending(data):
		sawtoothError(http.StatusServiceUnavailable, 17, "no answer from the validator in time").write(w)
	default:
		answer{status: http.StatusOK, body: body}.write(w)
	}
}

// wait is how long the validator may wait. over says that this is longer than
// the REST API waits for the validator.
func (s *Sawtooth) wait(r *http.Request) (wait time.Duration, over bool) {
	query := r.URL.Query()
	timeout := s.validator.config.Timeout
	if !query.Has("wait") || query.Get("wait") == "false" {
		return 0, false
	}
	n, err := strconv.ParseUint(query.Get("wait"), 10, 31)
	if err != nil {
		return timeout * 95 / 100, false
	}
	wait = time.Duration(n) * time.Second
	return min(wait, timeout), wait > timeout
}

// report looks ids up, and says whether one of them is PENDING.
func (v *validator) report(asked []string, blind bool) (data []sawtoothStatus, pending bool) {
	for _, id := range asked {
		one := sawtoothStatus{ID: id, Status: "UNKNOWN", Invalid: []sawtoothInvalid{}}
		if !blind {
			var why *refusal
			if one.Status, why = v.status(id); why != nil {
				one.Invalid = append(one.Invalid, sawtoothInvalid{why.id, why.Message, why.Data})
			}
		}
		pending = pending || one.Status == "PENDING"
		data = append(data, one)
	}
	return data, pending
}

func stillPending(data []sawtoothStatus) bool {
	for _, one := range data {
		if one.Status == "PENDING" {
			return true
		}
	}
	return false
}
