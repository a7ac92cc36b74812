// Package amounts shows the numbers of a service as people read them, and reads amounts of
// MINA that people write.
package amounts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const nanoPerMina = 1_000_000_000

// MINA shows nanomina as MINA, as short as it is exact.
func MINA(nano uint64) string {
	whole, rest := nano/nanoPerMina, nano%nanoPerMina
	if rest == 0 {
		return strconv.FormatUint(whole, 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%09d", whole, rest), "0")
}

// Known is MINA, "" for what is not known.
func Known(nano *uint64) string {
	if nano == nil {
		return ""
	}
	return MINA(*nano)
}

// Nonce shows a nonce, "" for what is not known.
func Nonce(n *uint32) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// Nano reads a decimal number of MINA exactly.
func Nano(mina string) (uint64, error) {
	whole, decimals, point := strings.Cut(mina, ".")
	digits := whole + decimals
	if whole == "" || point && decimals == "" || len(decimals) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, errors.New("is no amount of MINA with at most nine decimals")
	}
	return strconv.ParseUint(digits+strings.Repeat("0", 9-len(decimals)), 10, 64)
}
