package webhooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

// A Source is who defined an endpoint.
type Source string

const (
	ByAPI  Source = "api"
	ByFile Source = "file"
)

// Reasons why an endpoint is disabled.
const (
	Gone         = "GONE"         // it answered 410
	ByPerson     = "DISABLED"     // a person wants it so
	Unconfigured = "UNCONFIGURED" // the file that defined it names it no longer
)

// A Secret signs what is sent; one that was replaced does so for a while.
type Secret struct {
	Key   string    `json:"key"`
	Until time.Time `json:"until,omitzero"` // zero for the one in use
}

// A Definition is what somebody says of an endpoint.
type Definition struct {
	ID     string     `json:"id"`
	URL    string     `json:"url"`
	Secret string     `json:"secret"`
	Types  []string   `json:"types,omitempty"`
	Queues []string   `json:"queues,omitempty"` // names, or with a * behind it how they begin
	States []tx.State `json:"states,omitempty"`
}

// An Endpoint is a definition as it is stored.
type Endpoint struct {
	ID         string     `json:"-"`
	URL        string     `json:"url"`
	Secrets    []Secret   `json:"secrets"` // the one in use is the first
	Types      []string   `json:"types,omitempty"`
	Queues     []string   `json:"queues,omitempty"`
	States     []tx.State `json:"states,omitempty"`
	Source     Source     `json:"source"`
	Unnamed    bool       `json:"unnamed,omitempty"` // the file that defined it names it no longer
	CreatedAt  time.Time  `json:"createdAt"`
	Disabled   string     `json:"disabled,omitempty"` // why, "" if it is not
	DisabledAt time.Time  `json:"disabledAt,omitzero"`
}

// overlap is how long a secret signs beside the one that has replaced it.
const overlap = 24 * time.Hour

// rotate puts a new secret in front; the others end by themselves.
func (e *Endpoint) rotate(key string, now time.Time) {
	if e.Secrets[0].Key == key {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(e.Secrets), func(s Secret) bool {
		return s.Key == key || !s.Until.IsZero() && !now.Before(s.Until)
	})
	if len(kept) > 0 && kept[0].Until.IsZero() {
		kept[0].Until = now.Add(overlap)
	}
	e.Secrets = append([]Secret{{Key: key}}, kept[:min(len(kept), 2)]...)
}

// disable keeps the first reason, but for Unconfigured, which is over once the file names it again.
func (e *Endpoint) disable(why string) {
	if e.Disabled == "" || e.Disabled == Unconfigured && why != Unconfigured {
		e.Disabled, e.DisabledAt = why, time.Now().UTC()
	}
}

// edit takes over what is given.
func (e *Endpoint) edit(x Edit) {
	if x.URL != nil {
		e.URL = *x.URL
	}
	if x.Types != nil {
		e.Types = *x.Types
	}
	if x.Queues != nil {
		e.Queues = *x.Queues
	}
	if x.States != nil {
		e.States = *x.States
	}
}

// is reports whether the endpoint is as a definition says.
func (e *Endpoint) is(d *Definition) bool {
	return e.Source == ByAPI && e.URL == d.URL && e.Secrets[0].Key == d.Secret &&
		slices.Equal(e.Types, d.Types) && slices.Equal(e.Queues, d.Queues) && slices.Equal(e.States, d.States)
}

// wants reports whether an event is for the endpoint.
func (e *Endpoint) wants(x *queues.Entry) bool {
	if len(e.Types) > 0 && !slices.Contains(e.Types, x.Type) ||
		len(e.States) > 0 && (x.Kind != queues.OfTransaction || !slices.Contains(e.States, x.To.State())) {
		return false
	}
	queue := x.Queue
	if x.Kind == queues.OfQueue {
		queue = x.ID
	}
	return len(e.Queues) == 0 || slices.ContainsFunc(e.Queues, func(name string) bool {
		prefix, open := strings.CutSuffix(name, "*")
		return queue != "" && (name == queue || open && strings.HasPrefix(queue, prefix))
	})
}

// laneOf names what has its events delivered in order: a transaction, a queue or a sender.
func laneOf(x *queues.Entry) string { return string(x.Kind) + ":" + x.ID }

// A FieldError is what is wrong with one field of a definition.
type FieldError struct{ Field, Message string }

// An InvalidError has all that is wrong with a definition.
type InvalidError []FieldError

func (e InvalidError) Error() string {
	words := make([]string, len(e))
	for i, f := range e {
		words[i] = f.Field + " " + f.Message
	}
	return strings.Join(words, "; ")
}

const mostNames = 100 // of each filter

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	typePattern = regexp.MustCompile(`^[A-Z0-9_]{1,64}$`)
)

// check says what is wrong with a definition. private: some private network may be reached.
func (d *Definition) check(private bool) error {
	var bad InvalidError
	wrong := func(field, message string) { bad = append(bad, FieldError{field, message}) }
	if !idPattern.MatchString(d.ID) || d.ID == "." || d.ID == ".." {
		wrong("id", "must be 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	if why := checkURL(d.URL, private); why != "" {
		wrong("url", why)
	}
	if secretKey(d.Secret) == nil {
		wrong("secret", "must be whsec_ and 24 to 64 bytes in base64")
	}
	odd := func(typ string) bool { return !typePattern.MatchString(typ) }
	if len(d.Types) > mostNames || slices.ContainsFunc(d.Types, odd) {
		wrong("types", "must be a list of at most 100 names of types")
	}
	if len(d.Queues) > mostNames || slices.ContainsFunc(d.Queues, func(q string) bool {
		prefix, open := strings.CutSuffix(q, "*")
		return !queues.ValidName(prefix) && (!open || prefix != "")
	}) {
		wrong("queues", "must be a list of at most 100 names of queues, or how they begin with a * behind it")
	}
	if slices.ContainsFunc(d.States, func(s tx.State) bool { return !slices.Contains(tx.States, s) }) {
		wrong("states", "must be a list of states")
	}
	if len(bad) > 0 {
		return bad
	}
	return nil
}

// CheckAll says what is wrong with the definitions of a file.
func CheckAll(all []Definition, private bool) error {
	seen := map[string]bool{}
	for i := range all {
		if err := all[i].check(private); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if seen[all[i].ID] {
			return fmt.Errorf("entry %d: the id is that of another one", i+1)
		}
		seen[all[i].ID] = true
	}
	return nil
}

// apply has an endpoint be as a definition says.
func (e *Endpoint) apply(d *Definition, now time.Time) {
	e.URL, e.Types, e.Queues, e.States = d.URL, d.Types, d.Queues, d.States
	if len(e.Secrets) == 0 {
		e.Secrets = []Secret{{Key: d.Secret}}
	}
	e.rotate(d.Secret, now)
	e.CreatedAt = cmp.Or(e.CreatedAt, now)
}

func (e *Endpoint) encode() string {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // nothing in it cannot be written
	}
	return string(b)
}

func decodeEndpoint(id, text string) (*Endpoint, error) {
	e := &Endpoint{ID: id}
	if err := json.Unmarshal([]byte(text), e); err != nil || len(e.Secrets) == 0 {
		return nil, fmt.Errorf("endpoint %s cannot be read", id) // the error may quote a secret
	}
	return e, nil
}
