package explain

import (
	"fmt"
	"strings"

	"mina-sequencer/sequencer/tx"
)

// overWords are what has become of an attempt that is over, and was in no block.
var overWords = map[tx.AttemptState]string{
	tx.Dropped: "never sent", tx.Proved: "never sent", tx.Refused: "refused by every node", tx.Expired: "expired unspent",
	tx.Replaced: "its nonce was spent by another command", tx.ReplacedShallow: "its nonce was spent by another command",
}

// inBlock is what has become of an attempt in a block.
var inBlock = map[tx.Fate]string{tx.FateIncluded: "succeeded", tx.FateFailed: "failed"}

// attempts joins what is stored of each attempt with what the chain says now.
func (s *Scene) attempts() []Seen {
	seen := s.seen
	if s.Txn.Ledger != "" {
		seen = s.posted
	}
	out := make([]Seen, len(s.Txn.Attempts))
	for i, a := range s.Txn.Attempts {
		v := seen(a)
		if q := a.Quote.Said(); q != "" {
			v.Detail = strings.TrimPrefix(v.Detail+"; "+q, "; ")
		}
		if a.Error != nil {
			v.Detail = strings.TrimPrefix(v.Detail+": "+tx.Short(a.Error.Error()), ": ")
		}
		out[i] = v
	}
	return out
}

// seen is where a is, by what the nodes show now, or as it was last stored.
func (s *Scene) seen(a tx.Attempt) Seen {
	v := Seen{Attempt: a, Open: a.Open(), Place: "unknown"}
	g := &s.Sighting
	switch its, told := a.Is(g.Hash), inBlock[g.Fate]; {
	case its && told != "":
		v.Place, v.Agreed, v.Depth, v.Height, v.StateHash = "block", g.Agreed, g.Depth, g.Height, g.StateHash
		v.Detail = fmt.Sprintf("%s in block %d, %d deep", told, g.Height, g.Depth)
	case its && g.Fate == tx.FatePooled && v.Open:
		v.Place, v.Agreed, v.Detail = "pool", g.Agreed, "in "+pools(g)
	case a.State == tx.Included && a.Height == 0:
		v.Place, v.Detail = "block", "succeeded, as a person said"
	case a.Spent():
		v.Place, v.Depth = "block", a.Confirmations
		v.Detail = fmt.Sprintf("%s in block %d, %d deep when last stored",
			map[bool]string{true: "succeeded", false: "failed"}[a.State == tx.Included], a.Height, a.Confirmations)
	case a.State == tx.Called:
		v.Detail = "its worker proves and sends by itself"
	case a.Pending():
		v.Place, v.Detail = "nowhere", "its worker has it"
	case !v.Open:
		v.Place, v.Detail = "nowhere", overWords[a.State]
	case g.Fate == tx.FateAbsent && s.Asked:
		v.Place, v.Agreed, v.Detail = "nowhere", g.Agreed, "in no pool and no block, and may still land"
	default:
		v.Detail = "sent, and may land"
	}
	return v
}
