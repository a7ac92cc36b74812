package api

import (
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"mina-sequencer/dispatcher"
	"mina-sequencer/sequencer/explain"
	"mina-sequencer/sequencer/tx"
)

// A veil hides addresses of the service's own network in what is said in words: those who may see
// some queues only, or have no key, learn what happened, and not where. What it hides is in the log. The
// nil veil hides nothing.
type veil struct{ addresses *regexp.Regexp }

// newVeil returns one that hides what looks like an address, and hosts (a name, or with a port). A name
// without a dot may be any word, so it is hidden only with a port.
func newVeil(hosts []string) *veil {
	kinds := []string{
		`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>()\\]*`, // URLs
		`\blookup [^\s:]+`, `\bunix [^\s:]+`,       // as Go names a host, or a socket, that is not reached
		`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`,        // IPv4
		`\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%]*\](?::\d+)?`, // IPv6
	}
	for _, h := range hosts {
		if name, _, err := net.SplitHostPort(h); err == nil {
			h = name
		}
		if strings.Contains(h, ".") {
			kinds = append(kinds, `\b`+regexp.QuoteMeta(h)+`\b(?::\d+)?`)
		} else if h != "" {
			kinds = append(kinds, `\b`+regexp.QuoteMeta(h)+`:\d+`)
		}
	}
	return &veil{regexp.MustCompile(strings.Join(kinds, "|"))}
}

const veiled = "(an internal address)"

func (v *veil) text(s string) string {
	if v == nil {
		return s
	}
	return v.addresses.ReplaceAllLiteralString(s, veiled)
}

func (v *veil) fault(e *tx.Error) *tx.Error {
	if v == nil || e == nil {
		return e
	}
	shown := *e
	shown.Message, shown.Exception = v.text(e.Message), v.text(e.Exception)
	return &shown
}

func (v *veil) transaction(b []byte, t *tx.Transaction) []byte {
	if v == nil {
		return appendTransaction(b, t)
	}
	shown := *t // what it holds stays the store's
	shown.Error, shown.Attempts = v.fault(t.Error), slices.Clone(t.Attempts)
	for i := range shown.Attempts {
		shown.Attempts[i].Error = v.fault(shown.Attempts[i].Error)
	}
	shown.Told.Error = v.text(t.Told.Error)
	if shown.Told.Answer = json.RawMessage(v.text(string(t.Told.Answer))); !json.Valid(shown.Told.Answer) {
		shown.Told.Answer = nil
	}
	return appendTransaction(b, &shown)
}

func (v *veil) explanation(e explain.Explanation) explain.Explanation {
	if v == nil {
		return e
	}
	e.Summary, e.Wait.Detail, e.Attempts = v.text(e.Summary), v.text(e.Wait.Detail), slices.Clone(e.Attempts)
	for i := range e.Attempts {
		e.Attempts[i].Detail = v.text(e.Attempts[i].Detail)
	}
	return e
}

func (v *veil) problem(p *problem) *problem {
	if v == nil {
		return p
	}
	shown := *p
	shown.Detail, shown.Errors = v.text(p.Detail), nil
	for _, e := range p.Errors {
		shown.Errors = append(shown.Errors, dispatcher.FieldError{Field: e.Field, Message: v.text(e.Message)})
	}
	return &shown
}

func (v *veil) readiness(r Readiness) Readiness {
	for _, p := range []*Part{&r.Store, &r.Chain, &r.Senders, &r.Ledgers, &r.Clock, &r.Queues} {
		p.Detail = v.text(p.Detail)
	}
	return r
}

// veilFor is what stands between the service and whoever makes a request: nothing where no keys are
// needed, or the key is for all queues.
func (a *api) veilFor(w http.ResponseWriter) *veil {
	who := callerOf(w)
	if a.Keys.open() || who.scope > 0 && len(who.within) == 0 {
		return nil
	}
	return a.veil
}
