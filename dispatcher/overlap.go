package dispatcher

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Mode says how the transactions of a type go together, where several of one queue
// are in flight.
type Mode int

// The modes. A change of mode is a barrier, as an alone transaction is.
const (
	// Alone is the default: in flight by itself. It is for whatever creates accounts of contracts or sets
	// keys or permissions, has preconditions on the payer, or requires a value that its direct
	// predecessor does not make.
	Alone Mode = iota
	// Chained: each is built on the state that its predecessors leave, and requires a value
	// that its direct predecessor makes, so that it fails where that one does.
	Chained
	// Commuting: none requires what another makes, so they may take effect in any order.
	Commuting
)

var modes = []string{Alone: "alone", Chained: "chained", Commuting: "commuting"}

// String returns the mode's name in lower case.
func (m Mode) String() string {
	if m < 0 || int(m) >= len(modes) {
		return fmt.Sprintf("Mode(%d)", int(m))
	}
	return modes[m]
}

// An Overlap is a [Dispatcher] whose transactions need not be in flight alone.
type Overlap interface {
	// Overlap says how they go together. It never changes.
	Overlap() Mode
}

// ParseOverlap reads TYPE=mode,TYPE=mode,… with the modes by their names. White space and
// empty items are skipped; a type has to be named once.
func ParseOverlap(text string) (map[string]Mode, error) {
	out := map[string]Mode{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, word, _ := strings.Cut(item, "=")
		name, word = strings.TrimSpace(name), strings.TrimSpace(word)
		mode := slices.Index(modes, word)
		_, twice := out[name]
		switch {
		case !ValidType(name):
			return nil, fmt.Errorf("%q cannot be the name of a type", excerpt(name))
		case mode < 0:
			return nil, fmt.Errorf("%s is %q, want one of %s", name, excerpt(word), strings.Join(modes, ", "))
		case twice:
			return nil, fmt.Errorf("%s is named twice", name)
		}
		out[name] = Mode(mode)
	}
	return out, nil
}

// SetOverlap has types go together otherwise than they say themselves. At a name that is
// unknown it stops with an error and changes none of them.
func (r *Registry) SetOverlap(byType map[string]Mode) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		if r.types[name] == nil {
			return fmt.Errorf("type %s is not known", name)
		}
	}
	r.overlap = maps.Clone(byType)
	return nil
}

// Overlap returns how the transactions of a type go together: as [Registry.SetOverlap] was
// told, else as the type says, else [Alone].
func (r *Registry) Overlap(name string) Mode {
	d, known := r.Lookup(name)
	if !known {
		return Alone
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if mode, set := r.overlap[d.Type()]; set {
		return mode
	}
	if o, says := d.(Overlap); says {
		return o.Overlap()
	}
	return Alone
}
