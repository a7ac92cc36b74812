package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

func queueOf(r *http.Request) (string, error) {
	name := unescape(chi.URLParam(r, "name"))
	if !queues.ValidName(name) {
		return "", badRequest("The name of a queue " + wantName + ".")
	}
	return name, nil
}

func (a *api) listQueues(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, cursor, err := pageOf(q, "queues")
	if err != nil {
		return err
	}
	f, err := queueFilterOf(q)
	if err != nil {
		return err
	}
	qs, next, err := a.viewOf(w).queues(r.Context(), f, limit, cursor)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendPage(nil, qs, sealCursor("queues", next), a.appendQueue))
}

func queueFilterOf(q url.Values) (f queues.QueueFilter, err error) {
	f.Prefix = q.Get("prefix")
	if f.Prefix != "" && !queues.ValidUID(f.Prefix) {
		return f, badRequest("prefix must be the beginning of a name: it %s.", wantBeginning)
	}
	if f.State, err = queueStateOf(q); err != nil {
		return f, err
	}
	for name, flag := range map[string]*bool{"active": &f.Active, "paused": &f.Paused} {
		switch q.Get(name) {
		case "true":
			*flag = true
		case "", "false":
		default:
			return f, badRequest("%s must be true, or left out.", name)
		}
	}
	switch q.Get("order") {
	case "oldest":
		f.Oldest = true
	case "":
	default:
		return f, badRequest("order must be oldest, or left out.")
	}
	if f.Oldest && f.Paused {
		return f, badRequest("Paused queues come by name: leave order out, or paused.")
	}
	return f, nil
}

// queueStateOf reads a filter by what a queue, or the sender bound to it, does.
func queueStateOf(q url.Values) (tx.QueueState, error) {
	state := tx.QueueState(q.Get("state"))
	if state != "" && !slices.Contains(tx.QueueStates, state) {
		return "", badRequest("state must be one of %v.", tx.QueueStates)
	}
	return state, nil
}

func (a *api) getQueue(w http.ResponseWriter, r *http.Request) error {
	name, err := queueOf(r)
	if err != nil {
		return err
	}
	q, err := a.viewOf(w).readQueue(r.Context(), name)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, a.appendQueue(nil, q))
}

// mostReason is how long the reason for a pause may be, in characters.
const mostReason = 200

func (a *api) pauseQueue(w http.ResponseWriter, r *http.Request) error {
	name, err := queueOf(r)
	if err != nil {
		return err
	}
	f, err := a.object(w, r, true, "reason", "until")
	if err != nil {
		return err
	}
	reason, until := f.pause()
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	if err := a.Store.PauseUntil(r.Context(), name, reason, until); err != nil {
		return err
	}
	return a.sendQueue(w, r, name)
}

// pause reads why a queue is paused, and until when, zero for no end.
func (f *form) pause() (reason string, until time.Time) {
	reason, _ = f.text("reason")
	reason = strings.TrimSpace(reason)
	if utf8.RuneCountInString(reason) > mostReason {
		f.wrong("reason", "must be of at most 200 characters")
	}
	until = f.time("until")
	if !until.IsZero() && !until.After(time.Now()) {
		f.wrong("until", "must be in the future")
	}
	if reason == "" {
		reason = "paused by request" // an empty one is how the store resumes
	}
	return reason, until
}

func (a *api) resumeQueue(w http.ResponseWriter, r *http.Request) error {
	name, err := queueOf(r)
	if err != nil {
		return err
	}
	if err := a.Store.Resume(r.Context(), name); err != nil {
		return err
	}
	return a.sendQueue(w, r, name)
}

// widenQueue says how many of a queue may be in flight and in no block.
func (a *api) widenQueue(w http.ResponseWriter, r *http.Request) error {
	name, err := queueOf(r)
	if err != nil {
		return err
	}
	f, err := a.object(w, r, false, "width")
	if err != nil {
		return err
	}
	width := 0
	switch value := f.value("width"); {
	case value == nil:
		f.wrong("width", "must be given: a number from 1 to 24, or null for SEQUENCER_WIDTH")
	case !isNull(value):
		if width, err = strconv.Atoi(string(value)); err != nil || width < 1 || width > lifecycle.MostWidth {
			f.wrong("width", "must be a number from 1 to 24, or null for SEQUENCER_WIDTH")
		}
	}
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	if err := a.Store.SetWidth(r.Context(), name, width); err != nil {
		return err
	}
	return a.sendQueue(w, r, name)
}

// sendQueue answers with a queue that was there a moment ago. Its record may
// have ended: a queue is forgotten when it is empty, not paused, and of no width of its own.
func (a *api) sendQueue(w http.ResponseWriter, r *http.Request, name string) error {
	q, err := a.viewOf(w).readQueue(r.Context(), name)
	if errors.Is(err, queues.ErrNotFound) {
		q, err = &queues.Queue{Name: name, Phase: tx.PhaseWaiting}, nil
	}
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, a.appendQueue(nil, q))
}

func (a *api) senderOf(r *http.Request) (string, error) {
	account := unescape(chi.URLParam(r, "accountId"))
	if !a.validSender(account) {
		return "", badRequest("An account id must be a base58 public key (B62…), or a slot of a ledger ({ledger}/{n}).")
	}
	return account, nil
}

var slotPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}/[1-9][0-9]{0,3}$`)

// validSender: a public key, or a slot of a ledger.
func (a *api) validSender(account string) bool {
	return slotPattern.MatchString(account) || a.ValidKey(account) == nil
}

func (a *api) listSenders(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, cursor, err := pageOf(q, "senders")
	if err != nil {
		return err
	}
	if cursor != "" && !a.validSender(cursor) {
		return queues.ErrBadCursor
	}
	state, err := queueStateOf(q)
	if err != nil {
		return err
	}
	ss, next, err := a.Senders.ListIn(r.Context(), state, limit, cursor)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendPage(nil, ss, sealCursor("senders", next), appendSender))
}

func (a *api) getSender(w http.ResponseWriter, r *http.Request) error {
	account, err := a.senderOf(r)
	if err != nil {
		return err
	}
	return a.sendSender(w, r, http.StatusOK, account)
}

func (a *api) sendSender(w http.ResponseWriter, r *http.Request, status int, account string) error {
	s, err := a.Senders.Get(r.Context(), account)
	if err != nil {
		return err
	}
	return send(w, status, appendSender(nil, s))
}

func (a *api) addSender(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, false, "accountId", "workerUrl")
	if err != nil {
		return err
	}
	account, ok := f.text("accountId")
	if (ok || isNull(f.value("accountId"))) && a.ValidKey(account) != nil {
		f.wrong("accountId", "must be a base58 public key (B62…)")
	}
	worker, ok := f.text("workerUrl")
	if (ok || isNull(f.value("workerUrl"))) && !validWorker(worker) {
		f.wrong("workerUrl", "must be an http:// or https:// address without user, query and fragment")
	}
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	status := http.StatusOK
	if _, err := a.Senders.Get(r.Context(), account); errors.Is(err, senders.ErrNotFound) {
		status = http.StatusCreated
	}
	if err := a.Senders.Register(r.Context(), account, worker); err != nil {
		return err
	}
	w.Header().Set("Location", base+"/senders/"+account)
	return a.sendSender(w, r, status, account)
}

// validWorker refuses credentials: addresses are shown.
func validWorker(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= 2048 && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(text, "#")
}

func (a *api) removeSender(w http.ResponseWriter, r *http.Request) error {
	account, err := a.senderOf(r)
	if err != nil {
		return err
	}
	if err := a.Senders.Remove(r.Context(), account); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) drainSender(w http.ResponseWriter, r *http.Request) error {
	return a.changeSender(w, r, a.Senders.Drain)
}

func (a *api) resumeSender(w http.ResponseWriter, r *http.Request) error {
	return a.changeSender(w, r, a.Senders.Resume)
}

func (a *api) changeSender(w http.ResponseWriter, r *http.Request, change func(context.Context, string) error) error {
	account, err := a.senderOf(r)
	if err != nil {
		return err
	}
	if err := change(r.Context(), account); err != nil {
		return err
	}
	return a.sendSender(w, r, http.StatusOK, account)
}

func (a *api) ready(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	full := q.Has("full") && q.Get("full") != "false"
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	ends := Part{Detail: "this process ends: ask another one"}
	state := Readiness{Store: ends, Chain: ends, Senders: ends, Ledgers: ends, Clock: ends, Queues: ends}
	if !leaving(ctx) {
		state = a.Ready(ctx, full)
	}
	if out, ok := w.(*answer); ok { // who needs no key may have one
		out.caller = a.Keys.identify(r)
	}
	state = a.veilFor(w).readiness(state)
	told := struct {
		Ready bool `json:"ready"`
		Readiness
	}{state.Store.OK && (!full || state.Chain.OK && state.Senders.OK && state.Ledgers.OK && state.Clock.OK), state}
	status := http.StatusOK
	if !told.Ready {
		status = http.StatusServiceUnavailable
	}
	doc, err := json.Marshal(told)
	if err != nil {
		return err
	}
	return send(w, status, doc)
}
