package mina

import (
	"encoding/json"
	"time"
)

// An Era is what commands look like between two hard forks: a daemon refuses those of another.
type Era string

// The eras. Mina: Mesa is that of mainnet and devnet since 2026.
const (
	EraUnknown Era = ""
	Berkeley   Era = "Berkeley"
	Mesa       Era = "Mesa"
)

// Era tells by the parameters of a network what its daemons take. Mina: mainnet and devnet have k 290
// and 7140 slots an epoch; their slots took 180 s until the Mesa fork, and take 90 s since. Nothing
// else tells it, so that of a network with other parameters it is unknown.
func (s Status) Era() Era {
	switch {
	case s.K != usualK || s.SlotsPerEpoch != 7140:
	case s.SlotTime == 180*time.Second:
		return Berkeley
	case s.SlotTime == 90*time.Second:
		return Mesa
	}
	return EraUnknown
}

// EraOf tells by a zkApp command's form what made it: its account updates name 8 state fields, or
// from Mesa on 32.
func EraOf(command json.RawMessage) Era {
	var c struct {
		AccountUpdates []struct {
			Body struct {
				Update struct {
					AppState []json.RawMessage `json:"appState"`
				} `json:"update"`
			} `json:"body"`
		} `json:"accountUpdates"`
	}
	if json.Unmarshal(command, &c) != nil || len(c.AccountUpdates) == 0 {
		return EraUnknown
	}
	switch len(c.AccountUpdates[0].Body.Update.AppState) {
	case 8:
		return Berkeley
	case 32:
		return Mesa
	}
	return EraUnknown
}
