// Package fees says what a command has to pay, purely: by a fixed fee that grows from try to try, or
// by what others who wait for a block offer for each unit of weight. Fees are in nanomina, and a
// weight is 1 and one more for each account update, as Mina orders its pool.
package fees

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Policy is what an operator decides about fees.
type Policy struct {
	// Auto has fees go by the market: so that a command is in one of Target blocks.
	Auto   bool
	Target int
	// Usual is the first fee or, of Auto, what is paid where nobody knows the market. Least and Most
	// bound what the market asks for.
	Usual, Least, Most uint64
	Bump               float64 // the factor from one fee to the next
}

// Least is what a node takes for a command at least. Mina: minimum_user_command_fee.
const Least = 1_000_000

// Raised is the fee that follows fee: higher by the factor, up to the highest.
func (p *Policy) Raised(fee uint64) uint64 {
	raised := math.Ceil(float64(fee) * p.Bump)
	if raised >= float64(p.Most) {
		return p.Most
	}
	return max(uint64(raised), fee+1)
}

// Outbid is the fee that replaces one at the same nonce: what the market asks for, and a
// hundredth more than that one at least. Where nobody knows the market it is the next rung.
func (p *Policy) Outbid(q *Quote, fee, most uint64) uint64 {
	if q.Why == "" || q.Why == Unknown {
		return min(p.Raised(fee), most)
	}
	return min(max(q.Fee, Replacing(fee)), most)
}

// Replacing is the least that replaces a fee at its nonce: a hundredth more.
func Replacing(fee uint64) uint64 { return upTo64(fee, fee/100+1) }

// Misplaced reports whether a fee stands at another place than the one that is owed, or pays
// more by so much that it is worth signing again.
func Misplaced(fee, owed uint64) bool { return fee < owed || fee-owed > owed/4 }

func upTo64(n, more uint64) uint64 { return n + min(more, math.MaxUint64-n) }

// CodeEvicted is the word for a command that a full pool let go at once, for its fee: the node
// has none.
const CodeEvicted = "Evicted"

// CodeTooLow is the word for a command that pays less than a node takes of anybody.
const CodeTooLow = "Insufficient_fee"

// TooCheap reports whether a node refuses a command by this code for its fee.
func TooCheap(code string) bool {
	return code == CodeEvicted || code == CodeTooLow || code == "Insufficient_replace_fee"
}

// NanoPerMina is how many nanomina a MINA is.
const NanoPerMina = 1_000_000_000

// FormatMina writes an amount in MINA, as short as it is exact.
func FormatMina(nano uint64) string {
	whole, rest := nano/NanoPerMina, nano%NanoPerMina
	if rest == 0 {
		return strconv.FormatUint(whole, 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%09d", whole, rest), "0")
}
