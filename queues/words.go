package queues

// A word is what a change writes to one field.
type word struct {
	part         part
	field, value string
}

// A part is how a field is written; see advance.lua.
type part string

const (
	ofTransaction part = "x"
	stamped       part = "t" // of the transaction; becomes the time of Redis
	removed       part = "d" // of the transaction
	factOf        part = "f" // of an attempt; kept if it is there
	ofSender      part = "s"
	leastNonce    part = "n"
	signedBytes   part = "b"
	standing      part = "l"
	leastRevision part = "r"
	onlySettled   part = "g"
	costs         part = "m"
	inOrder       part = "o"
	kept          part = "k"
	held          part = "h"
	heldOff       part = "p"
	rested        part = "w"
	expiring      part = "e"
	unresolved    part = "u"
)

// appendParts appends what advance.lua reads: each part with the number of its
// words, then these.
func (c *diff) appendParts(args []any) []any {
	for _, p := range []part{ofTransaction, stamped, removed, factOf, ofSender, leastNonce, signedBytes, standing, leastRevision, onlySettled} {
		head := len(args)
		for _, w := range c.words {
			switch {
			case w.part != p:
				continue
			case len(args) == head:
				args = append(args, string(p), 0)
			}
			if p != signedBytes && p != leastRevision {
				args = append(args, w.field)
			}
			if p != stamped && p != removed {
				args = append(args, w.value)
			}
		}
		if n := len(args) - head; n > 0 {
			args[head+1] = n - 2
		}
	}
	add := func(p part, words ...any) { args = append(append(args, string(p), len(words)), words...) }
	// Whatever a change makes of the attempts, their fees follow.
	if cost := c.After.Cost(); cost != c.Before.Counted {
		add(costs, cost, c.Limits.Sender, c.Limits.All)
	}
	if c.InOrder {
		add(inOrder)
	}
	if c.Keep {
		add(kept)
	}
	if c.Tell != "" {
		add(held, inMillis(c.Wait), inMillis(c.Lease))
	}
	if c.Hold > 0 {
		add(heldOff, inMillis(c.Hold))
	}
	if c.Rest != nil {
		add(rested, inMillis(c.Rest.For), string(c.Rest.Why), c.Rest.By, shorten(c.Rest.Detail, mostDetail))
	}
	if c.Remove >= 0 {
		add(expiring, inMillis(c.Remove))
	}
	return args
}
