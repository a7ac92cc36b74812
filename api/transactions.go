package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// postTransaction limits its time from when the body is read, which the server limits.
func (a *api) postTransaction(w http.ResponseWriter, r *http.Request) (failure error) {
	try, err := dry(r)
	if err != nil {
		return err
	}
	var accepted queues.Accepted
	defer func() {
		if accepted.Err = failure; !try {
			a.posted(callerOf(w), accepted)
		}
	}()
	if err := checkType(r, "application/json"); err != nil {
		return err
	}
	// The store has written the payload when it answers, so the buffer is free
	// when this returns.
	body := a.bodies.get()
	defer a.bodies.put(body)
	if err := readBody(w, r, body, a.BodyLimit); err != nil {
		return err
	}
	v := a.viewOf(w)
	item, err := v.parseItem(r.Context(), body.Bytes(), r.Header.Values("Idempotency-Key"))
	if err != nil {
		return err
	}
	if err := v.take(&item); err != nil {
		return err
	}
	if try {
		return a.dryRun(w, r, v, item)
	}
	traced := a.accepting(r.Context(), &item)
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	accepted = a.Store.Enqueue(ctx, item)
	traced(accepted)
	if accepted.Err != nil {
		return accepted.Err
	}
	w.Header().Set("Location", base+"/transactions/"+v.shown(accepted.Transaction.UID))
	return a.sendTransaction(w, statusOf(accepted), v.transaction(accepted.Transaction))
}

func statusOf(accepted queues.Accepted) int {
	if accepted.Existed {
		return http.StatusOK
	}
	return http.StatusAccepted
}

func (a *api) sendTransaction(w http.ResponseWriter, status int, t *tx.Transaction) error {
	out := a.bodies.get()
	defer a.bodies.put(out)
	doc := a.veilFor(w).transaction(out.AvailableBuffer(), t)
	_, _ = out.Write(append(doc, '\n')) // keeps the memory if it grew
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // nobody is left to tell
	return nil
}

// longestWait is how long a client may ask to be kept waiting.
const longestWait = time.Minute

// A client that waits is looked after this often: quickly at first, for what
// is about to end, and then seldom, for a block takes minutes.
const (
	firstLook = 50 * time.Millisecond
	lastLook  = time.Second
)

func (a *api) getTransaction(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	var wait time.Duration
	if text := q.Get("wait"); text != "" {
		wait, err = time.ParseDuration(text)
		if err != nil || wait < 0 || wait > longestWait {
			return badRequest("wait must be a duration from 0s to %s, such as 30s.", longestWait)
		}
		// The server's own limit is for requests that do not wait. Not every
		// connection has deadlines.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + callTimeout + graceToWrite))
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait+callTimeout)
	defer cancel()
	t, err := a.viewOf(w).await(ctx, uid, wait)
	if err != nil {
		return err
	}
	if err := a.Store.FindClaims(r.Context(), t); err != nil {
		return err
	}
	return a.sendTransaction(w, http.StatusOK, t)
}

// await returns the transaction as soon as it is final, or as it is when the
// wait is over.
func (v view) await(ctx context.Context, uid string, wait time.Duration) (*tx.Transaction, error) {
	end := time.Now().Add(wait)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		t, err := v.get(ctx, uid)
		left := time.Until(end)
		if err != nil || t.State().Final() || left <= 0 {
			return t, err
		}
		timer := time.NewTimer(min(pause, left))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return t, nil
		case <-stoppingOf(ctx):
			timer.Stop()
			return t, nil // the server is not to wait for this
		}
	}
}

func (a *api) explain(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidOf(r)
	if err != nil {
		return err
	}
	e, err := a.viewOf(w).explain(r.Context(), uid)
	if err != nil {
		return err
	}
	e = a.veilFor(w).explanation(e)
	return send(w, http.StatusOK, appendExplanation(nil, &e))
}

func (a *api) listTransactions(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, cursor, err := page(q)
	if err != nil {
		return err
	}
	f := queues.Filter{
		Queue: q.Get("queue"), Type: q.Get("type"), Sender: q.Get("sender"), State: tx.State(q.Get("state")),
		Error: q.Get("error"), Hash: q.Get("hash"), Newest: q.Get("order") == "newest",
		ZkApp: accountOf(q.Get("zkApp")),
	}
	if f.Since, err = timeOf(q, "since"); err != nil {
		return err
	}
	if f.Until, err = timeOf(q, "until"); err != nil {
		return err
	}
	for _, name := range []string{"queue", "type", "sender", "state", "error", "hash", "zkApp"} {
		if message := a.wrongFilter(f, name); message != "" {
			return badRequest("%s %s.", name, message)
		}
	}
	if q.Has("order") && !f.Newest && q.Get("order") != "oldest" {
		return badRequest("order must be oldest, which it is by itself, or newest.")
	}
	ts, next, err := a.viewOf(w).list(r.Context(), f, limit, cursor)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendPage(nil, ts, next, a.veilFor(w).transaction))
}

// mostCode is how long the code of an error may be that somebody looks for.
const mostCode = 256

// accountOf reads an account: a public key, and behind a colon the id of a token.
func accountOf(text string) tx.Account {
	key, token, some := strings.Cut(text, ":")
	if some && token == "" {
		token = ":" // which is none
	}
	return tx.Account{Key: key, Token: token}
}

func (a *api) validAccount(o tx.Account) bool {
	return a.ValidKey(o.Key) == nil && (o.Token == "" || hashPattern.MatchString(o.Token))
}

// wrongFilter says what one field of a filter must be, "" if it is or is empty.
func (a *api) wrongFilter(f queues.Filter, name string) string {
	switch {
	case name == "queue" && f.Queue != "" && !queues.ValidName(f.Queue):
		return wantName
	case name == "type" && f.Type != "" && !dispatcher.ValidType(f.Type):
		return "must be the name of a type"
	case name == "sender" && f.Sender != "" && !a.validSender(f.Sender):
		return "must be an account id"
	case name == "state" && f.State != "" && !slices.Contains(tx.States, f.State):
		return fmt.Sprintf("must be one of %v", tx.States)
	case name == "error" && len(f.Error) > mostCode:
		return fmt.Sprintf("must be a code of at most %d bytes", mostCode)
	case name == "hash" && f.Hash != "" && !hashPattern.MatchString(f.Hash):
		return "must be the hash of a transaction"
	case name == "zkApp" && f.ZkApp != (tx.Account{}) && !a.validAccount(f.ZkApp):
		return "must be the public key of an account (B62…), or that, a colon and the id of its token"
	}
	return ""
}

func (a *api) retry(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidOf(r)
	if err != nil {
		return err
	}
	v := a.viewOf(w)
	t, err := v.change(r.Context(), uid, a.Control.Retry)
	if errors.Is(err, tx.ErrNotRetryable) {
		if t, lost := v.get(r.Context(), uid); lost == nil {
			return unretryable(t)
		}
	}
	if err != nil {
		return err
	}
	return a.sendTransaction(w, http.StatusOK, t)
}

func (a *api) cancel(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidOf(r)
	if err != nil {
		return err
	}
	pending := false
	t, err := a.viewOf(w).change(r.Context(), uid, func(ctx context.Context, uid string) (t *tx.Transaction, err error) {
		t, pending, err = a.Control.Cancel(ctx, uid)
		return t, err
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if pending {
		status = http.StatusAccepted
	}
	return a.sendTransaction(w, status, t)
}

var hashPattern = regexp.MustCompile(`^[A-Za-z0-9]{1,128}$`)

func (a *api) resolve(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidOf(r)
	if err != nil {
		return err
	}
	f, err := a.object(w, r, false, "outcome", "hash")
	if err != nil {
		return err
	}
	outcome, ok := f.text("outcome")
	if outcome != "landed" && outcome != "dead" && (ok || isNull(f.value("outcome"))) {
		f.wrong("outcome", `must be "landed" or "dead"`)
	}
	hash, ok := f.text("hash")
	if ok && !hashPattern.MatchString(hash) {
		f.wrong("hash", "must be the hash of a transaction")
	}
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	t, err := a.viewOf(w).change(r.Context(), uid, func(ctx context.Context, uid string) (*tx.Transaction, error) {
		return a.Control.Resolve(ctx, uid, outcome == "landed", hash)
	})
	if p := unresolvable(err, outcome == "landed"); p != nil {
		return p
	}
	if err != nil {
		return err
	}
	return a.sendTransaction(w, http.StatusOK, t)
}

func (a *api) remove(w http.ResponseWriter, r *http.Request) error {
	uid, err := uidOf(r)
	if err != nil {
		return err
	}
	if _, err := a.viewOf(w).change(r.Context(), uid, func(ctx context.Context, uid string) (*tx.Transaction, error) {
		return nil, a.Store.Remove(ctx, uid)
	}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func uidOf(r *http.Request) (string, error) {
	uid := unescape(chi.URLParam(r, "uid"))
	if !uidPattern.MatchString(uid) {
		return "", badRequest("A uid " + wantUID + ".")
	}
	return uid, nil
}

// timeOf returns the time that a parameter holds, zero if it is not given.
func timeOf(q url.Values, name string) (time.Time, error) {
	if q.Get(name) == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, q.Get(name))
	if t = t.UTC(); err != nil || t.Year() < 1970 {
		return time.Time{}, badRequest("%s must be a time such as 2006-01-02T15:04:05Z.", name)
	}
	return t, nil
}

const (
	usualPage = 50
	mostPage  = 500
)

// page returns how much of a list is asked for, and from where on.
func page(q url.Values) (limit int, cursor string, err error) {
	limit = usualPage
	if text := q.Get("limit"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > mostPage {
			return 0, "", badRequest("limit must be a number from 1 to %d.", mostPage)
		}
	}
	cursor = q.Get("cursor")
	if len(cursor) > 256 {
		return 0, "", queues.ErrBadCursor
	}
	return limit, cursor, nil
}

// pageOf is page for a list whose cursors are names. They carry the list's own
// name, for a name of one list may be one of another.
func pageOf(q url.Values, list string) (limit int, cursor string, err error) {
	limit, cursor, err = page(q)
	if err != nil || cursor == "" {
		return limit, "", err
	}
	name, ok := strings.CutPrefix(cursor, list+"~")
	if !ok || name == "" {
		return 0, "", queues.ErrBadCursor
	}
	return limit, name, nil
}

func sealCursor(list, next string) string {
	if next == "" {
		return ""
	}
	return list + "~" + next
}
