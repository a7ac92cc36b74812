package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"mina-sequencer/dispatcher"
	"mina-sequencer/sequencer/tx"
	"mina-sequencer/sequencer/webhooks"
)

func (a *api) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	all, err := a.Webhooks.List(r.Context())
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendPage(nil, all, "", appendWebhook))
}

func (a *api) getWebhook(w http.ResponseWriter, r *http.Request) error {
	return a.sendWebhook(w, r, http.StatusOK, chi.URLParam(r, "id"), "")
}

// sendWebhook answers with an endpoint; secret is "" but where it was made just now.
func (a *api) sendWebhook(w http.ResponseWriter, r *http.Request, status int, id, secret string) error {
	x, err := a.Webhooks.Get(r.Context(), id)
	if err != nil {
		return err
	}
	doc := appendWebhook(nil, x)
	if secret != "" {
		o := object{doc[:len(doc)-1]}
		o.text("secret", secret)
		o.close()
		doc = o.b
	}
	return send(w, status, doc)
}

func (a *api) addWebhook(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, false, "id", "url", "secret", "types", "queues", "states")
	if err != nil {
		return err
	}
	d := webhooks.Definition{Types: f.texts("types"), Queues: f.texts("queues")}
	d.ID, _ = f.text("id")
	d.URL, _ = f.text("url")
	d.Secret, _ = f.text("secret")
	for _, s := range f.texts("states") {
		d.States = append(d.States, tx.State(s))
	}
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	secret, err := a.Webhooks.Add(r.Context(), d)
	if err != nil {
		return err
	}
	w.Header().Set("Location", base+"/webhooks/"+d.ID)
	return a.sendWebhook(w, r, http.StatusCreated, d.ID, secret)
}

// editWebhook changes what is given; null for a list chooses everything.
func (a *api) editWebhook(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, false, "url", "types", "queues", "states")
	if err != nil {
		return err
	}
	var edit webhooks.Edit
	if url, given := f.text("url"); given {
		edit.URL = &url
	}
	lists := map[string]**[]string{"types": &edit.Types, "queues": &edit.Queues}
	for name, list := range lists {
		if f.value(name) != nil {
			*list = new(f.texts(name))
		}
	}
	if f.value("states") != nil {
		states := []tx.State{}
		for _, s := range f.texts("states") {
			states = append(states, tx.State(s))
		}
		edit.States = &states
	}
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	id := chi.URLParam(r, "id")
	if err := a.Webhooks.Edit(r.Context(), id, edit); err != nil {
		return err
	}
	return a.sendWebhook(w, r, http.StatusOK, id, "")
}

// texts returns a list of strings, nil if it was not given.
func (f *form) texts(name string) (list []string) {
	if value := f.value(name); !isNull(value) && json.Unmarshal(value, &list) != nil {
		f.wrong(name, "must be a list of strings")
	}
	return list
}

func (a *api) removeWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := a.Webhooks.Remove(r.Context(), chi.URLParam(r, "id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) enableWebhook(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "id")
	if err := a.Webhooks.Enable(r.Context(), id); err != nil {
		return err
	}
	return a.sendWebhook(w, r, http.StatusOK, id, "")
}

func (a *api) disableWebhook(w http.ResponseWriter, r *http.Request) error {
	id := chi.URLParam(r, "id")
	if err := a.Webhooks.Disable(r.Context(), id); err != nil {
		return err
	}
	return a.sendWebhook(w, r, http.StatusOK, id, "")
}

func (a *api) rotateWebhook(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, true, "secret")
	if err != nil {
		return err
	}
	secret, _ := f.text("secret")
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	id := chi.URLParam(r, "id")
	if secret, err = a.Webhooks.Rotate(r.Context(), id, secret); err != nil {
		return err
	}
	return a.sendWebhook(w, r, http.StatusOK, id, secret)
}

// pingWebhook answers 200 also where the endpoint did not: that is what was asked.
func (a *api) pingWebhook(w http.ResponseWriter, r *http.Request) error {
	d, err := a.Webhooks.Ping(r.Context(), chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendDelivery(nil, d))
}

func (a *api) replayWebhook(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, true, "after")
	if err != nil {
		return err
	}
	after, rewind := f.text("after")
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	id := chi.URLParam(r, "id")
	if !rewind {
		err = a.Webhooks.Replay(r.Context(), id)
	} else if p := positionOf(after); p == nil {
		return invalid(dispatcher.FieldError{Field: "after", Message: "must be the id of an event, <epoch>-<number>"})
	} else {
		err = a.Webhooks.Rewind(r.Context(), id, p.epoch, p.number)
	}
	if err != nil {
		return err
	}
	return a.sendWebhook(w, r, http.StatusOK, id, "")
}

func (a *api) webhookDeliveries(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, _, err := page(q)
	if err != nil {
		return err
	}
	all, err := a.Webhooks.Deliveries(r.Context(), chi.URLParam(r, "id"), limit)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendPage(nil, all, "", appendDelivery))
}

func (a *api) webhookParked(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, cursor, err := pageOf(q, "parked")
	if err != nil {
		return err
	}
	all, next, err := a.Webhooks.Parked(r.Context(), chi.URLParam(r, "id"), limit, cursor)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, appendPage(nil, all, sealCursor("parked", next), appendLane))
}

// discardParked forgets what is parked of one transaction, queue or sender, or all of it.
func (a *api) discardParked(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	if q.Has("lane") && q.Get("lane") == "" {
		return badRequest("lane must be one as it is listed. Leave it out to discard all of them.")
	}
	if err := a.Webhooks.Discard(r.Context(), chi.URLParam(r, "id"), q.Get("lane")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// webhookProblem is how errors of webhooks become answers; nil if it is none of them.
func webhookProblem(err error) *problem {
	if bad, ok := errors.AsType[webhooks.InvalidError](err); ok {
		var all []dispatcher.FieldError
		for _, e := range bad {
			all = append(all, dispatcher.FieldError(e))
		}
		return invalid(all...)
	}
	conflict := func(code, title, detail string) *problem {
		return &problem{Status: http.StatusConflict, Code: code, Title: title, Detail: detail}
	}
	switch {
	case errors.Is(err, webhooks.ErrExists):
		return conflict(codeWebhookExists, "The id is that of another endpoint",
			"Take another id, or remove that endpoint first.")
	case errors.Is(err, webhooks.ErrConfigured):
		return conflict(codeWebhookConfigured, "The endpoint is defined by a file",
			"Change the file that SEQUENCER_WEBHOOKS_FILE names.")
	case errors.Is(err, webhooks.ErrTooMany):
		return conflict(codeTooManyWebhooks, "There are too many endpoints", "Remove one that is not needed any more.")
	case errors.Is(err, webhooks.ErrGone):
		return &problem{
			Status: http.StatusGone, Code: codeEventsGone, Title: "The events behind this id are gone",
			Detail: "The log does not hold them any more, or counts them anew. Take a later id.",
		}
	case errors.Is(err, webhooks.ErrAhead):
		return badRequest("after must be the id of an event that the endpoint has come to.")
	}
	return nil
}

func appendWebhook(b []byte, x *webhooks.Status) []byte {
	o := object{b}
	o.open()
	o.text("id", x.ID)
	o.text("url", webhooks.ShownURL(x.URL))
	o.list("types", x.Types)
	o.list("queues", x.Queues)
	var states []string
	for _, s := range x.States {
		states = append(states, string(s))
	}
	o.list("states", states)
	o.text("source", string(x.Source))
	o.bool("enabled", x.Disabled == "")
	o.optional("reason", x.Disabled)
	o.time("disabledAt", x.DisabledAt)
	o.time("createdAt", x.CreatedAt)
	o.number("behind", x.Behind)
	o.time("behindSince", x.BehindSince)
	o.number("parked", x.Parked)
	o.number("parkedBytes", x.ParkedBytes)
	o.number("waiting", x.Waiting)
	o.number("dropped", x.Dropped)
	o.time("restsUntil", x.RestsUntil)
	o.text("health", string(x.Health))
	o.close()
	return o.b
}

// list is a list of strings; an empty one is null, for it chooses everything.
func (o *object) list(name string, list []string) {
	o.name(name)
	if len(list) == 0 {
		o.null()
		return
	}
	o.b = appendList(o.b, list, appendString)
}

func appendDelivery(b []byte, d webhooks.Delivery) []byte {
	o := object{b}
	o.open()
	o.text("event", d.Event)
	o.time("at", d.At)
	o.number("try", int64(d.Try))
	o.bool("delivered", d.Delivered)
	o.count("status", uint32(max(d.Status, 0)))
	o.optional("failure", d.Failure)
	o.number("tookMs", d.Took)
	o.close()
	return o.b
}

var laneKinds = strings.NewReplacer("t:", "transaction", "q:", "queue", "s:", "sender")

func appendLane(b []byte, x webhooks.Lane) []byte {
	o := object{b}
	o.open()
	o.text("lane", x.Name)
	o.text("of", laneKinds.Replace(x.Name[:2]))
	o.text("name", x.Name[2:])
	o.number("events", int64(x.Events))
	o.text("first", x.First)
	o.time("at", x.At)
	o.number("tries", int64(x.Tries))
	o.time("nextAt", x.NextAt)
	o.close()
	return o.b
}
