package devledger

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Defaults of a SawtoothConfig's zero values.
const (
	DefaultBlockTime = 2 * time.Second
	DefaultHandOver  = 50 * time.Millisecond
	DefaultTimeout   = 300 * time.Second
)

// sending is how long the REST API tries to reach its validator.
const sending = 1400 * time.Millisecond

// maxRequestLine is the longest request line that the server takes, in bytes.
const maxRequestLine = 8190

// A SawtoothConfig describes a REST API with its validator. The zero value of
// every field is usable.
type SawtoothConfig struct {
	BlockTime   time.Duration // between blocks; negative: by MakeBlock only
	MaxPerBlock int           // batches of a block; 0: no limit
	HandOver    time.Duration // from the 202 to PENDING; negative: none
	Timeout     time.Duration // how long the REST API waits for its validator
	QueueLimit  int           // pending batches that it takes; 0: as a validator reckons it, 300 at first
	// ValidatorKey is the validator's public key, hex: a list with a batch
	// signed by it passes a full queue.
	ValidatorKey string
	// Permitted says whether a signer's batches are taken; nil: all. It is called
	// under the ledger's lock and must not call back.
	Permitted func(publicKey string) bool
	Refuse    Refuse // nil: RefuseMarked
	Plan      Plan   // of what goes wrong; nil: nothing

	start time.Time
}

// Sawtooth is a simulated REST API with its validator.
type Sawtooth struct {
	*core
	taker     taker
	validator *validator
	mux       *http.ServeMux
}

// NewSawtooth returns one with an empty chain. It fails for values out of range.
func NewSawtooth(config SawtoothConfig) (*Sawtooth, error) {
	setDefault(&config.BlockTime, DefaultBlockTime)
	setDefault(&config.HandOver, DefaultHandOver)
	setDefault(&config.Timeout, DefaultTimeout)
	config.HandOver = max(0, config.HandOver)
	if config.Refuse == nil {
		config.Refuse = RefuseMarked
	}
	switch {
	case config.BlockTime > 0 && config.BlockTime < time.Millisecond:
		return nil, errors.New("devledger: a block takes at least 1ms")
	case config.Timeout < 0 || config.MaxPerBlock < 0 || config.QueueLimit < 0:
		return nil, errors.New("devledger: timeout, batches of a block and queue limit of at least 0")
	}
	c := newCore(KindSawtooth, config.Plan)
	config.start = c.at
	s := &Sawtooth{core: c, validator: newValidator(c, config), mux: http.NewServeMux()}
	lost := sawtoothError(http.StatusServiceUnavailable, 18, "the connection to the validator was lost")
	s.taker = taker{c, sawtoothWrong, lost}
	s.mux.HandleFunc("POST /batches", s.postBatches)
	s.mux.HandleFunc("GET /batches/{id}", s.getBatch)
	s.mux.HandleFunc("GET /batch_statuses", s.getStatuses)
	s.mux.HandleFunc("POST /batch_statuses", s.postStatuses)
	s.mux.HandleFunc("GET /receipts", s.getReceipts)
	s.mux.HandleFunc("POST /receipts", s.postReceipts)
	s.serveControl()
	return s, nil
}

// ServeHTTP serves the REST API, and /control/ for whoever breaks it on purpose.
func (s *Sawtooth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.open()
	if line := len(r.Method) + len(r.RequestURI) + len("  HTTP/1.1"); line > maxRequestLine {
		answer{status: http.StatusBadRequest, body: "Got more than 8190 bytes of status line"}.write(w)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// sawtoothError is an answer with a code. Only the code is stable.
func sawtoothError(status, code int, message string) answer {
	return answer{status: status, body: map[string]any{"error": map[string]any{
		"code": code, "title": http.StatusText(status), "message": message,
	}}}
}

func sawtoothWrong(f Fault) answer {
	switch {
	case f.Body != "":
		return answer{status: f.Status, body: f.Body}
	case f.Code != 0:
		return sawtoothError(f.Status, f.Code, "a planned fault")
	}
	return answer{status: f.Status, body: fmt.Sprintf(proxyPage, f.Status, http.StatusText(f.Status))}
}

func (s *Sawtooth) postBatches(w http.ResponseWriter, r *http.Request) {
	body, tooLong := readBody(w, r)
	list, err := ParseBatchList(body)
	f := s.fault(Post, ids(list))
	s.taker.post(w, r, f, func() answer {
		kind, given := r.Header["Content-Type"]
		switch {
		case !given:
			return answer{status: http.StatusInternalServerError, body: "500 Internal Server Error\n"}
		case kind[0] != "application/octet-stream":
			return sawtoothError(http.StatusBadRequest, 42, "the content type is not application/octet-stream")
		case tooLong:
			return answer{status: http.StatusRequestEntityTooLarge, body: "Maximum request body size 10485760 exceeded"}
		case len(body) == 0:
			return sawtoothError(http.StatusBadRequest, 34, "the body is empty")
		case err != nil:
			return sawtoothError(http.StatusBadRequest, 35, "the body is no BatchList")
		}
		return s.validator.submit(list, f, "http://"+r.Host)
	})
}

// submit takes a list or none of it, in the order of a validator's handlers.
func (v *validator) submit(list []*Batch, f Fault, host string) answer {
	silent := sawtoothError(http.StatusServiceUnavailable, 17, "no answer from the validator in time")
	silent.hold = v.config.Timeout
	if v.down() {
		return v.unreachable()
	}
	for _, b := range list {
		switch {
		case !b.readable():
			return silent
		case v.config.Permitted != nil && !v.config.Permitted(b.Signer):
			return sawtoothError(http.StatusBadRequest, 30, "the signer is not permitted")
		}
	}
	own := func(b *Batch) bool { return v.config.ValidatorKey != "" && b.Signer == v.config.ValidatorKey }
	if len(v.pool) >= v.limit() && !slices.ContainsFunc(list, own) {
		return sawtoothError(http.StatusTooManyRequests, 31, "the validator takes no more batches now")
	}
	for _, b := range list {
		if !b.keysAreHex() {
			return silent
		}
		err := b.checkSignatures()
		if err == nil {
			err = b.checkStructure(true)
		}
		if err != nil {
			return sawtoothError(http.StatusBadRequest, 30, err.Error())
		}
	}
	for _, b := range list {
		v.take(b, f)
	}
	return answer{status: http.StatusAccepted, body: map[string]any{
		"link": host + "/batch_statuses?id=" + strings.Join(ids(list), ","),
	}}
}

func (v *validator) unreachable() answer {
	a := sawtoothError(http.StatusRequestTimeout, 19, "the validator could not be reached")
	a.hold = sending
	return a
}

func (s *Sawtooth) getBatch(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if !isID(id) {
		sawtoothError(http.StatusBadRequest, 60, "an id is 128 lower-case hex digits").write(w)
		return
	}
	s.lock()
	found := s.validator.find(id)
	s.mu.Unlock()
	if found == nil {
		sawtoothError(http.StatusNotFound, 71, "there is no such batch in the chain").write(w)
		return
	}
	answer{status: http.StatusOK, body: map[string]any{
		"data": map[string]any{
			"header_signature": id, "trace": found.Trace,
			"header": map[string]any{"signer_public_key": found.Signer, "transaction_ids": found.TransactionIDs},
		},
		"link": "http://" + r.Host + r.URL.Path,
	}}.write(w)
}
