package queues

import (
	"fmt"

	"mina-sequencer/sequencer/tx"
)

// A reply takes what a script answered apart and keeps the first thing that
// was not as expected.
type reply struct {
	err     error
	name    string
	damaged []damaged // transactions that cannot be read: they hold up no other
}

// A damaged transaction is one that cannot be read.
type damaged struct {
	uid, posted string
	err         error // names it
}

func (r *reply) fail(want string, v any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s answered %T where %s was expected", r.name, v, want)
	}
}

func (r *reply) list(v any) []any {
	l, ok := v.([]any)
	if !ok && v != nil {
		r.fail("a list", v)
	}
	return l
}

func (r *reply) at(l []any, i int) any {
	if i < len(l) {
		return l[i]
	}
	return nil
}

func (r *reply) string(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return fmt.Sprint(v)
	}
	r.fail("a string", v)
	return ""
}

func (r *reply) int(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case nil:
		return 0
	case string:
		var e numbers
		n := e.int(v)
		if e.err != nil {
			r.fail("a number", v)
		}
		return n
	}
	r.fail("a number", v)
	return 0
}

func (r *reply) fields(v any) map[string]string {
	l := r.list(v)
	m := make(map[string]string, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		m[r.string(l[i])] = r.string(l[i+1])
	}
	return m
}

// transaction decodes what load.lua answers; nil if there is none.
func (r *reply) transaction(v any) *tx.Transaction {
	l := r.list(v)
	posted := r.string(r.at(l, 1))
	if posted == "" || r.err != nil {
		return nil
	}
	is := stored{posted, r.string(r.at(l, 2)), r.fields(r.at(l, 3))}
	if r.err != nil {
		return nil
	}
	t, err := is.decode(r.string(l[0]))
	if err != nil {
		r.damaged = append(r.damaged, damaged{r.string(l[0]), posted, fmt.Errorf("transaction %s: %w", r.string(l[0]), err)})
	}
	return t
}

func (r *reply) strings(v any) []string {
	l := r.list(v)
	out := make([]string, len(l))
	for i := range l {
		out[i] = r.string(l[i])
	}
	return out
}
