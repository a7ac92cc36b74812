package devworker

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mina-sequencer/mina"
)

// A Signer simulates a program that has the key of a sender and a policy, and proves nothing. Its fields
// are set before it is served; its methods may be called concurrently.
type Signer struct {
	Account string
	Network string // told by /health
	// Refuse says why its policy does not allow a command: proved is "" where it is asked before there is
	// one. A nil refusal allows it; nil allows all.
	Refuse func(c Call, proved string) *Refusal
	// Spoil changes what it answers; nil leaves it.
	Spoil func(signed string) string

	mu    sync.Mutex
	asked []Call
	down  bool
}

// A Refusal is a policy's.
type Refusal struct {
	Message string
	Until   time.Time // of a day that is spent; zero: it is the command's
}

// Sign is the kind of the call for a signature, and MaySign that for a word before the proof.
const (
	Sign    = "sign"
	MaySign = "may-sign"
)

// Asked are the calls that it was given, in their order.
func (s *Signer) Asked() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.asked...)
}

// Count is how many calls of a kind it was given.
func (s *Signer) Count(kind string) (n int) {
	for _, c := range s.Asked() {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

// Away has it break every connection, or answer again.
func (s *Signer) Away(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = is
}

// ServeHTTP answers /sign/TYPE and /health, and 404 to all else.
func (s *Signer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		panic(http.ErrAbortHandler)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(rw http.ResponseWriter, _ *http.Request) {
		answer{body: map[string]any{"accountId": s.Account, "capabilities": []string{"signs"}, "network": s.Network}}.write(rw)
	})
	mux.HandleFunc("POST /sign/{type}", s.sign)
	mux.ServeHTTP(rw, r)
}

func (s *Signer) sign(rw http.ResponseWriter, r *http.Request) {
	var b body
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxBody)).Decode(&b); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	c := Call{Kind: Sign, Type: r.PathValue("type"), UID: b.TxData.UID, Queue: b.Sender.Queue, Attempt: b.Attempt.Number, At: time.Now()}
	if b.Proved == "" {
		c.Kind = MaySign
	}
	s.mu.Lock()
	s.asked = append(s.asked, c)
	s.mu.Unlock()
	if s.Refuse != nil {
		if no := s.Refuse(c, b.Proved); no != nil {
			e := map[string]any{"code": "POLICY", "message": no.Message, "scope": "command", "until": nil}
			if !no.Until.IsZero() {
				e["scope"], e["until"] = "day", no.Until.UTC().Format(time.RFC3339Nano)
			}
			answer{body: map[string]any{"error": e}}.write(rw)
			return
		}
	}
	if b.Proved == "" {
		answer{body: map[string]any{}}.write(rw)
		return
	}
	signed, err := sealed(b.Proved, s.Account, b.Attempt)
	if err != nil {
		answer{status: http.StatusBadRequest, body: map[string]string{"code": "MISMATCH", "message": err.Error()}}.write(rw)
		return
	}
	if s.Spoil != nil {
		signed = s.Spoil(signed)
	}
	answer{body: map[string]string{"signed": signed, "hash": ""}}.write(rw)
}

// A parted is a command in its parts.
type parted struct {
	FeePayer struct {
		Body          json.RawMessage `json:"body"`
		Authorization string          `json:"authorization"`
	} `json:"feePayer"`
	AccountUpdates []json.RawMessage `json:"accountUpdates"`
	Memo           json.RawMessage   `json:"memo"`
}

// bare is a command without the signature of its payer.
func bare(command json.RawMessage) (string, error) {
	var c parted
	if err := json.Unmarshal(command, &c); err != nil {
		return "", err
	}
	c.FeePayer.Authorization = ""
	out, err := json.Marshal(c)
	return string(out), err
}

// sealed is a proved command with the signature of its payer, if it is the attempt's.
func sealed(proved, payer string, a attempt) (string, error) {
	var c parted
	if err := json.Unmarshal([]byte(proved), &c); err != nil {
		return "", err
	}
	var is struct {
		PublicKey, Fee, Nonce string
		ValidUntil            *string
	}
	var memo string
	if err := errors.Join(json.Unmarshal(c.FeePayer.Body, &is), json.Unmarshal(c.Memo, &memo)); err != nil {
		return "", err
	}
	text, err := mina.DecodeMemo(memo)
	validUntil := ""
	if a.ValidUntil != nil {
		validUntil = strconv.FormatUint(uint64(*a.ValidUntil), 10)
	}
	switch {
	case err != nil:
		return "", err
	case c.FeePayer.Authorization != "":
		return "", errors.New("it is signed already")
	case is.PublicKey != payer, is.Fee != strconv.FormatUint(a.Fee, 10), is.Nonce != strconv.FormatUint(uint64(a.Nonce), 10),
		text != a.Memo, (is.ValidUntil == nil) != (a.ValidUntil == nil), is.ValidUntil != nil && *is.ValidUntil != validUntil:
		return "", errors.New("its fee payer is not the attempt's")
	}
	out, err := sign(payer, a, c.AccountUpdates, "")
	return string(out), err
}
