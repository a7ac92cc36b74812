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
	passing       part = "v"
	costs         part = "m"
	inOrder       part = "o"
	kept          part = "k"
	held          part = "h"
	rested        part = "w"
	expiring      part = "e"
	unresolved    part = "u"
)

func (p part) ofTransaction() bool { return p == ofTransaction || p == stamped || p == removed }

// put notes what is written to a field, instead of what was noted before.
func (c *Change) put(p part, field, value string) {
	w := word{p, field, value}
	for i, known := range c.words {
		if known.field == field && (known.part == p || known.part.ofTransaction() && p.ofTransaction()) {
			c.words[i] = w
			return
		}
	}
	c.words = append(c.words, w)
}

// store notes a field of the transaction; an empty value removes it.
func (c *Change) store(field, value string) {
	if value == "" {
		c.put(removed, field, "")
		return
	}
	c.put(ofTransaction, field, value)
}

// mark has the time of Redis stored in a field of the transaction.
func (c *Change) mark(field string) { c.put(stamped, field, "") }

// appendParts appends what advance.lua reads: each part with the number of its
// words, then these.
func (c *Change) appendParts(args []any) []any {
	for _, p := range []part{ofTransaction, stamped, removed, factOf, ofSender, leastNonce, signedBytes, standing, leastRevision, onlySettled, passing} {
		head := len(args)
		for _, w := range c.words {
			switch {
			case w.part != p:
				continue
			case len(args) == head:
				args = append(args, string(p), 0)
			}
			if p != signedBytes && p != leastRevision && p != passing {
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
	if cost := c.txn.Cost(); cost != c.txn.Counted {
		add(costs, cost, c.Limits.Sender, c.Limits.All)
	}
	if c.InOrder {
		add(inOrder)
	}
	if c.Keep {
		add(kept)
	}
	if c.Tell != "" {
		add(held, inMillis(c.Hold), inMillis(c.Lease))
	}
	if inMillis(c.Rest) != 0 {
		add(rested, inMillis(c.Rest), c.Reason, c.Giver, shorten(c.Detail, mostDetail))
	}
	if c.Remove >= 0 {
		add(expiring, inMillis(c.Remove))
	}
	return args
}
