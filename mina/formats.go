package mina

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mr-tron/base58"
)

// MemoBytes is the most bytes of UTF-8 that a memo holds.
const MemoBytes = 32

// Version bytes of Mina's base58check texts.
const (
	VersionPublicKey   byte = 0xCB // B62q…
	VersionToken       byte = 0x1C // w…, x… or y…
	VersionTransaction byte = 0x1D // 5J…
	VersionState       byte = 0x10 // 3N…
	VersionMemo        byte = 0x14 // E4…
)

var (
	// ErrBase58Check is wrapped by every error about a text that is not the
	// base58check form of what it should be.
	ErrBase58Check = errors.New("not base58check")
	// ErrPublicKey: well-formed, but no account can have this key.
	ErrPublicKey = errors.New("not a public key")
	// ErrMemo: a text that fits no memo, or a memo that holds no text.
	ErrMemo = errors.New("not a memo text")
	// ErrAmount: not a decimal number of MINA that is exact in nanomina.
	ErrAmount = errors.New("not an amount in MINA")
)

// EncodeCheck returns the base58check text of a payload.
func EncodeCheck(version byte, payload []byte) string {
	raw := append([]byte{version}, payload...)
	return base58.Encode(append(raw, checksum(raw)...))
}

// DecodeCheck returns the payload of a base58check text of the given version
// and payload length; any other text is ErrBase58Check.
func DecodeCheck(version byte, size int, text string) ([]byte, error) {
	// Each character carries 5.86 bits, so longer texts cannot be of this size.
	if len(text) > (size+5)*7/5+1 {
		return nil, fmt.Errorf("%w: %d characters are too many", ErrBase58Check, len(text))
	}
	raw, err := base58.Decode(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBase58Check, err)
	case len(raw) != size+5:
		return nil, fmt.Errorf("%w: %d bytes instead of %d", ErrBase58Check, len(raw), size+5)
	case raw[0] != version:
		return nil, fmt.Errorf("%w: version %#x instead of %#x", ErrBase58Check, raw[0], version)
	case !slices.Equal(raw[size+1:], checksum(raw[:size+1])):
		return nil, fmt.Errorf("%w: wrong checksum", ErrBase58Check)
	}
	return raw[1 : size+1], nil
}

func checksum(raw []byte) []byte {
	once := sha256.Sum256(raw)
	twice := sha256.Sum256(once[:])
	return twice[:4]
}

// A PublicKey is the base58 text (B62…) of a point on the Pallas curve, as
// returned by ParsePublicKey.
type PublicKey string

// ParsePublicKey checks a B62… text in full: alphabet, length, version,
// checksum, and that the point is on the curve. It returns ErrBase58Check or
// ErrPublicKey.
func ParsePublicKey(text string) (PublicKey, error) {
	payload, err := DecodeCheck(VersionPublicKey, 35, text)
	if err != nil {
		return "", fmt.Errorf("public key: %w", err)
	}
	// Two format numbers, the x coordinate with its lowest byte first, and
	// whether y is odd.
	if payload[0] != 1 || payload[1] != 1 || payload[34] > 1 {
		return "", fmt.Errorf("%w: unknown format", ErrPublicKey)
	}
	be := slices.Clone(payload[2:34])
	slices.Reverse(be)
	x, p := new(big.Int).SetBytes(be), pallas
	if x.Cmp(p) >= 0 {
		return "", fmt.Errorf("%w: x is not in the field", ErrPublicKey)
	}
	// The curve is y² = x³ + 5: x has a point where the right side is a square.
	square := new(big.Int).Mul(x, x)
	square.Mod(square, p).Mul(square, x).Add(square, big.NewInt(5)).Mod(square, p)
	if !isSquare(limbsOf(square), limbsOf(p)) {
		return "", fmt.Errorf("%w: not on the curve", ErrPublicKey)
	}
	return PublicKey(text), nil
}

// limbs is a number of 256 bits, its lowest word first.
type limbs [4]uint64

func limbsOf(n *big.Int) (l limbs) {
	var be [32]byte
	n.FillBytes(be[:])
	for i := range l {
		l[i] = binary.BigEndian.Uint64(be[24-8*i:])
	}
	return l
}

// isSquare reports whether a, which is less than the prime p, is a square
// modulo p, 0 included. It computes the Jacobi symbol by shifts and
// subtractions, without the divisions of big.Jacobi: every posted public key
// goes through here.
//
// Each step halves an even a, and replaces (a, p) by (|a-p|, the smaller one);
// odd counts how often the symbol changed its sign on the way. There are no
// branches on the numbers but the loops: half of them would be mispredicted.
func isSquare(a, p limbs) bool {
	if a == (limbs{}) {
		return true
	}
	var odd uint64
	for a[2]|a[3]|p[2]|p[3] != 0 {
		for a[0] == 0 { // 64 zeros do not change the sign
			if a = (limbs{a[1], a[2], a[3], 0}); a == (limbs{}) {
				return odd&1 == 0
			}
		}
		n := bits.TrailingZeros64(a[0])
		up := 64 - n
		a = limbs{a[0]>>n | a[1]<<up, a[1]>>n | a[2]<<up, a[2]>>n | a[3]<<up, a[3] >> n}
		odd ^= uint64(n) & (p[0]>>1 ^ p[0]>>2)

		var d limbs
		var borrow, carry uint64
		for i := range a {
			d[i], borrow = bits.Sub64(a[i], p[i], borrow)
		}
		odd ^= borrow & (a[0] & p[0] >> 1)
		swap := -borrow
		carry = borrow
		for i := range a {
			p[i] ^= (p[i] ^ a[i]) & swap
			a[i], carry = bits.Add64(d[i]^swap, 0, carry)
		}
	}
	// The same on numbers of 128 bits, which is half of the way.
	a0, a1, p0, p1 := a[0], a[1], p[0], p[1]
	for a0|a1 != 0 {
		if a0 == 0 {
			a0, a1 = a1, 0
		}
		n := bits.TrailingZeros64(a0)
		a0, a1 = a0>>n|a1<<(64-n), a1>>n
		odd ^= uint64(n) & (p0>>1 ^ p0>>2)

		d0, borrow := bits.Sub64(a0, p0, 0)
		d1, borrow := bits.Sub64(a1, p1, borrow)
		odd ^= borrow & (a0 & p0 >> 1)
		swap := -borrow
		p0 ^= (p0 ^ a0) & swap
		p1 ^= (p1 ^ a1) & swap
		carry := uint64(0)
		a0, carry = bits.Add64(d0^swap, 0, borrow)
		a1, _ = bits.Add64(d1^swap, 0, carry)
	}
	return odd&1 == 0
}

// pallas is the order of the base field of the Pallas curve. It is never changed.
var pallas = new(big.Int).SetBytes([]byte{
	0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x22, 0x46, 0x98, 0xfc, 0x09, 0x4c, 0xf9, 0x1b, 0x99, 0x2d, 0x30, 0xed, 0, 0, 0, 1,
})

// ValidHash reports whether text is a transaction hash (5J…) of the Berkeley
// and later networks.
func ValidHash(text string) bool {
	payload, err := DecodeCheck(VersionTransaction, 33, text)
	return err == nil && payload[0] == 32
}

// EncodeMemo returns the base58 form in which zkApp commands carry a memo. A
// text of more than MemoBytes bytes, or not UTF-8, is ErrMemo.
func EncodeMemo(text string) (string, error) {
	if len(text) > MemoBytes || !utf8.ValidString(text) {
		return "", fmt.Errorf("%w: a memo is at most %d bytes of UTF-8", ErrMemo, MemoBytes)
	}
	payload := make([]byte, 2+MemoBytes)
	payload[0], payload[1] = 1, byte(len(text))
	copy(payload[2:], text)
	return EncodeCheck(VersionMemo, payload), nil
}

// DecodeMemo returns the text of a memo. What is no memo at all is
// ErrBase58Check; a memo that holds a digest, or is not formed as EncodeMemo
// forms it, is ErrMemo. The text may be any bytes.
func DecodeMemo(b58 string) (string, error) {
	payload, err := DecodeCheck(VersionMemo, 2+MemoBytes, b58)
	if err != nil {
		return "", fmt.Errorf("memo: %w", err)
	}
	size := int(payload[1])
	if payload[0] != 1 || size > MemoBytes {
		return "", fmt.Errorf("%w: tag %d, length %d", ErrMemo, payload[0], size)
	}
	text, rest := payload[2:2+size], payload[2+size:]
	if slices.ContainsFunc(rest, func(b byte) bool { return b != 0 }) {
		return "", fmt.Errorf("%w: something follows the text", ErrMemo)
	}
	return string(text), nil
}

// FeeFromMina returns the nanomina of a decimal number of MINA such as "0.1".
// The arithmetic is exact; a sign, an exponent, more than nine decimals or more
// than a uint64 holds is ErrAmount.
func FeeFromMina(text string) (uint64, error) {
	whole, decimals, point := strings.Cut(text, ".")
	digits := whole + decimals
	if whole == "" || point && decimals == "" || len(decimals) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%w: %.40q (want digits and at most nine decimals)", ErrAmount, text)
	}
	nano, err := strconv.ParseUint(digits+strings.Repeat("0", 9-len(decimals)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %.40q is too large", ErrAmount, text)
	}
	return nano, nil
}
