package api

import (
	"context"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"mina-sequencer/queues"
	"mina-sequencer/senders/provers"
)

func proverOf(r *http.Request) (string, error) {
	id := unescape(chi.URLParam(r, "id"))
	if !queues.ValidName(id) {
		return "", badRequest("The id of a prover " + wantName + ".")
	}
	return id, nil
}

func (a *api) listProvers(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	limit, cursor, err := pageOf(q, "provers")
	if err != nil {
		return err
	}
	typ := q.Get("type")
	all := slices.DeleteFunc(a.Provers.Shown(), func(p provers.Prover) bool {
		return typ != "" && !slices.Contains(p.Types, typ)
	})
	from := sort.Search(len(all), func(i int) bool { return all[i].ID > cursor })
	all = all[from:]
	next := ""
	if len(all) > limit {
		all = all[:limit]
		next = all[limit-1].ID
	}
	return send(w, http.StatusOK, appendPage(nil, all, sealCursor("provers", next), appendProver))
}

func (a *api) getProver(w http.ResponseWriter, r *http.Request) error {
	id, err := proverOf(r)
	if err != nil {
		return err
	}
	return a.sendProver(w, http.StatusOK, id)
}

func (a *api) sendProver(w http.ResponseWriter, status int, id string) error {
	p, err := a.Provers.Get(id)
	if err != nil {
		return err
	}
	return send(w, status, appendProver(nil, p))
}

func (a *api) addProver(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, false, "url", "id")
	if err != nil {
		return err
	}
	url, ok := f.text("url")
	if (ok || isNull(f.value("url"))) && !validWorker(url) {
		f.wrong("url", "must be an http:// or https:// address without user, query and fragment")
	}
	url = strings.TrimRight(url, "/")
	id := provers.IDOf(url)
	if given := f.value("id"); given != nil && !isNull(given) {
		if id, ok = f.text("id"); ok && !queues.ValidName(id) {
			f.wrong("id", wantName)
		}
	}
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	status := http.StatusOK
	if _, err := a.Provers.Get(id); err != nil {
		status = http.StatusCreated
	}
	if err := a.Provers.Register(r.Context(), id, url); err != nil {
		return err
	}
	w.Header().Set("Location", base+"/provers/"+id)
	return a.sendProver(w, status, id)
}

func (a *api) removeProver(w http.ResponseWriter, r *http.Request) error {
	id, err := proverOf(r)
	if err != nil {
		return err
	}
	if err := a.Provers.Remove(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *api) drainProver(w http.ResponseWriter, r *http.Request) error {
	return a.changeProver(w, r, a.Provers.Drain)
}

func (a *api) resumeProver(w http.ResponseWriter, r *http.Request) error {
	return a.changeProver(w, r, a.Provers.Resume)
}

func (a *api) changeProver(w http.ResponseWriter, r *http.Request, change func(context.Context, string) error) error {
	id, err := proverOf(r)
	if err != nil {
		return err
	}
	if err := change(r.Context(), id); err != nil {
		return err
	}
	return a.sendProver(w, http.StatusOK, id)
}

func appendProver(b []byte, p provers.Prover) []byte {
	o := object{b}
	o.open()
	o.text("id", p.ID)
	o.optional("url", publicURL(p.URL))
	o.text("source", string(p.Source))
	o.text("state", p.State())
	o.texts("types", p.Types)
	o.number("atOnce", int64(max(p.AtOnce, 1)))
	o.number("load", int64(p.Load))
	o.name("memory")
	if p.Memory == 0 {
		o.null()
	} else {
		o.b = strconv.AppendUint(o.b, p.Memory, 10)
	}
	o.number("proofsLastHour", int64(p.Hour))
	o.bool("available", p.Available())
	o.optional("reason", string(p.Reason))
	o.optional("detail", p.Detail)
	o.time("since", p.At)
	o.time("until", p.Until)
	o.close()
	return o.b
}
