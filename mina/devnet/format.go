package devnet

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/big"
	"slices"

	"github.com/mr-tron/base58"
	"golang.org/x/crypto/blake2b"
)

// Version bytes of Mina's base58check texts.
const (
	versionLedgerHash   = 0x05
	versionReceiptChain = 0x0C
	versionEpochSeed    = 0x0D
	versionStateHash    = 0x10
	versionMemo         = 0x14
	versionHash         = 0x1D
	versionSignature    = 0x9A
	versionPublicKey    = 0xCB
)

// defaultToken is the id of the MINA token itself.
const defaultToken = "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf" //nolint:gosec // an id that all know

// encode58 writes payload with its version byte and checksum.
func encode58(version byte, payload []byte) string {
	raw := append(append(make([]byte, 0, len(payload)+5), version), payload...)
	return base58.Encode(append(raw, checksum(raw)...))
}

// decode58 returns the payload of a text with that version byte.
func decode58(version byte, text string) ([]byte, bool) {
	if len(text) > 128 {
		return nil, false
	}
	raw, err := base58.Decode(text)
	if err != nil || len(raw) < 5 || raw[0] != version {
		return nil, false
	}
	body, sum := raw[:len(raw)-4], raw[len(raw)-4:]
	return body[1:], bytes.Equal(sum, checksum(body))
}

func checksum(raw []byte) []byte {
	once := sha256.Sum256(raw)
	twice := sha256.Sum256(once[:])
	return twice[:4]
}

// digest58 is a text of the given version over the digest of some bytes, with
// the prefix that Mina puts before the digest.
func digest58(version, prefix byte, content []byte) string {
	sum := blake2b.Sum256(content)
	if version != versionHash {
		// All but transaction hashes are field elements, little-endian: below the modulus.
		sum[31] &= 0x3f
	}
	return encode58(version, append([]byte{prefix}, sum[:]...))
}

// encodeMemo turns at most 32 bytes of text into a memo as zkApp commands carry it.
func encodeMemo(text string) (string, error) {
	if len(text) > 32 {
		return "", errors.New("memo longer than 32 bytes")
	}
	payload := make([]byte, 34)
	payload[0], payload[1] = 1, byte(len(text))
	copy(payload[2:], text)
	return encode58(versionMemo, payload), nil
}

// decodeMemo returns the text of a memo; not ok for a digest or anything malformed.
func decodeMemo(memo string) (string, bool) {
	payload, ok := decode58(versionMemo, memo)
	if !ok || len(payload) != 34 || payload[0] != 1 || payload[1] > 32 {
		return "", false
	}
	return string(payload[2 : 2+payload[1]]), true
}

// wellFormedKey reports whether a text is a public key by its encoding; the
// point may still lie off the curve.
func wellFormedKey(text string) bool {
	payload, ok := decode58(versionPublicKey, text)
	return ok && len(payload) == 35 && payload[0] == 1 && payload[1] == 1 && payload[34] <= 1
}

// onCurve reports whether a well-formed key is a point of the Pallas curve.
func onCurve(text string) bool {
	payload, ok := decode58(versionPublicKey, text)
	if !ok || len(payload) != 35 {
		return false
	}
	x := slices.Clone(payload[2:34])
	slices.Reverse(x)
	return isX(new(big.Int).SetBytes(x))
}

// isX reports whether x < p and x³+5 is a square modulo p.
func isX(x *big.Int) bool {
	p, _ := new(big.Int).SetString("40000000000000000000000000000000224698fc094cf91b992d30ed00000001", 16)
	if x.Cmp(p) >= 0 {
		return false
	}
	y2 := new(big.Int).Exp(x, big.NewInt(3), p)
	y2.Add(y2, big.NewInt(5)).Mod(y2, p)
	return big.Jacobi(y2, p) != -1
}

// Key returns the nth of an endless row of valid public keys whose private
// keys nobody knows: accounts for tests and demos. The same n gives the same key.
func Key(n uint64) string {
	for try := uint64(0); ; try++ {
		seed := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64([]byte("devnet key"), n), try)
		sum := blake2b.Sum256(seed)
		sum[0] &= 0x3f
		if !isX(new(big.Int).SetBytes(sum[:])) {
			continue
		}
		slices.Reverse(sum[:])
		return encode58(versionPublicKey, append(append([]byte{1, 1}, sum[:]...), 0))
	}
}
