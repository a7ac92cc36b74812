package dispatcher

import (
	"encoding/json"
	"slices"

	"mina-sequencer/sequencer/tx"
)

// A Footprint is what a signed command reads, requires and changes of accounts.
type Footprint struct {
	// Touched are the accounts, each once and in order, the payer's left out;
	// [lifecycle.MostTouched] of them at most.
	Touched []tx.Account

	required []requirement
	changed  map[part]change
}

// FootprintOf reads a command that CheckSigned has passed; of what it cannot read it tells nothing.
func FootprintOf(payer string, signed json.RawMessage) (f Footprint) {
	updates, err := updatesOf(signed)
	if err != nil {
		return f
	}
	for i := range updates {
		a := tx.Account{Key: updates[i].Body.PublicKey, Token: updates[i].Body.TokenID}
		switch {
		case len(f.Touched) == tx.MostTouched, slices.Contains(f.Touched, a):
		case a == tx.Account{Key: payer, Token: tx.MinaToken}:
		case base58.MatchString(a.Key) && base58.MatchString(a.Token): // which nobody has checked
			f.Touched = append(f.Touched, a)
		}
	}
	f.required, f.changed = requiredBy(updates), changedBy(updates)
	return f
}

// Races says of what account which part one of f and g requires and the other changes, so that it
// matters which comes first; "" where they commute, as [Commuting] says.
func (f *Footprint) Races(g *Footprint) (of tx.Account, what string) {
	for _, pair := range [...][2]*Footprint{{f, g}, {g, f}} {
		for _, r := range pair[0].required {
			if by, is := pair[1].changed[r.part]; is && r.what != actionState && by.unsettles(r.value) {
				return tx.Account{Key: r.key, Token: r.token}, r.what
			}
		}
	}
	return of, ""
}
