package ledger

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"google.golang.org/protobuf/encoding/protowire"
)

// The messages are those of Sawtooth's protos batch.proto and transaction.proto;
// Scabbard takes the same bytes. Like all readers of protobuf, this one skips
// fields that it does not know, and takes the last where one comes repeatedly.

const (
	// maxVerified is how many transactions' signatures are verified.
	maxVerified = 256
	// leastTransaction is the length of a transaction that holds only an id.
	leastTransaction = 128
	// theBatch is where the only batch of a list is.
	theBatch = "data.batchList.batches[0]"

	wantSignature = "must be 128 hex digits"
	wantKey       = "must be 66 hex digits, a compressed secp256k1 key"
	wantVerified  = "must be the signer's ECDSA signature (secp256k1, lower s) of the SHA-256 of the header"
)

var errNotProtobuf = errors.New("must be protobuf: it is cut off or has a malformed field")

// A field is one field of a message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	bytes  []byte // of BytesType
	varint uint64 // of VarintType
}

// fields yields the fields of a message, and at its end an error if it is none.
func fields(message []byte) iter.Seq2[field, error] {
	return func(yield func(field, error) bool) {
		for len(message) > 0 {
			number, kind, n := protowire.ConsumeTag(message)
			if n < 0 {
				yield(field{}, errNotProtobuf)
				return
			}
			message = message[n:]
			f := field{number: number, kind: kind}
			switch kind {
			case protowire.BytesType:
				f.bytes, n = protowire.ConsumeBytes(message)
			case protowire.VarintType:
				f.varint, n = protowire.ConsumeVarint(message)
			default:
				n = protowire.ConsumeFieldValue(number, kind, message)
			}
			if n < 0 {
				yield(field{}, errNotProtobuf)
				return
			}
			if message = message[n:]; !yield(f, nil) {
				return
			}
		}
	}
}

// A shape says which fields of a message are known.
type shape map[protowire.Number]struct {
	name string
	kind protowire.Type
}

var (
	listShape  = shape{1: {"batches", protowire.BytesType}}
	batchShape = shape{
		1: {"header", protowire.BytesType},
		2: {"header_signature", protowire.BytesType},
		3: {"transactions", protowire.BytesType},
		4: {"trace", protowire.VarintType},
	}
	batchHeaderShape = shape{
		1: {"signer_public_key", protowire.BytesType},
		2: {"transaction_ids", protowire.BytesType},
	}
	transactionShape = shape{
		1: {"header", protowire.BytesType},
		2: {"header_signature", protowire.BytesType},
		3: {"payload", protowire.BytesType},
	}
	transactionHeaderShape = shape{
		1:  {"batcher_public_key", protowire.BytesType},
		2:  {"dependencies", protowire.BytesType},
		3:  {"family_name", protowire.BytesType},
		4:  {"family_version", protowire.BytesType},
		5:  {"inputs", protowire.BytesType},
		6:  {"nonce", protowire.BytesType},
		7:  {"outputs", protowire.BytesType},
		9:  {"payload_sha512", protowire.BytesType},
		10: {"signer_public_key", protowire.BytesType},
	}
)

// read calls each with the known fields of a message and says whether nothing
// was wrong with any. It stops when there are enough faults.
func (c *checker) read(at string, message []byte, known shape, each func(field)) bool {
	before := len(c.faults)
	for f, err := range fields(message) {
		k, ok := known[f.number]
		switch {
		case err != nil:
			c.add(at, err.Error())
		case !ok:
		case f.kind != k.kind:
			c.add(at+"."+k.name, fmt.Sprintf("must have the wire type %d", k.kind))
		default:
			each(f)
		}
		if c.full() {
			break
		}
	}
	return len(c.faults) == before
}

// batchList checks a list of exactly one batch with the given id.
func (c *checker) batchList(list []byte, id string, trace *bool) {
	var only []byte
	n := 0
	ok := c.read("data.batchList", list, listShape, func(f field) {
		only = f.bytes
		n++
	})
	switch {
	case !ok:
	case n != 1:
		c.add("data.batchList", fmt.Sprintf("must hold exactly one batch; it holds %d", n))
	default:
		c.batch(only, id, trace)
	}
}

// A batch holds the fields of a batch or of a transaction.
type batch struct {
	header, payload []byte
	signature       string
	transactions    [][]byte
	trace           bool
}

func (c *checker) batch(message []byte, id string, trace *bool) {
	var b batch
	n, before := 0, len(c.faults)
	ok := c.read(theBatch, message, batchShape, func(f field) {
		switch f.number {
		case 1:
			b.header = f.bytes
		case 2:
			b.signature = string(f.bytes)
		case 3:
			if len(f.bytes) < leastTransaction {
				c.add(transaction(n), "must be a transaction; it is too short to be one")
			} else { // the others are not kept: there may be millions
				b.transactions = append(b.transactions, f.bytes)
			}
			n++
		case 4:
			b.trace = protowire.DecodeBool(f.varint)
		}
	})
	if !ok {
		return
	}
	switch {
	case !isHex(b.signature, 128):
		c.add(theBatch+".header_signature", wantSignature)
	case isID(id) && b.signature != id:
		c.add("data.batchId", "must be the header_signature of the batch")
	}
	if trace != nil && *trace != b.trace {
		c.add("data.trace", fmt.Sprintf("must be that of the batch, %t, or absent", b.trace))
	}
	if len(b.header) == 0 {
		c.add(theBatch+".header", "must be present")
		return
	}
	signer, ids, ok := c.batchHeader(b.header)
	if !ok {
		return
	}
	if len(ids) != len(b.transactions) {
		c.add(theBatch+".header.transaction_ids", fmt.Sprintf("must be one for each transaction: they are %d, of %d",
			len(ids), len(b.transactions)))
		return
	}
	signed := c.transactions(b, signer, ids)
	if len(c.faults) > before {
		return
	}
	c.verify(theBatch, signer, b) // last, for it costs the most
	for i, t := range signed {
		c.verify(transaction(i), t.signer, t.batch)
	}
}

// batchHeader returns the signer's key and the ids of the transactions.
func (c *checker) batchHeader(header []byte) (signer string, ids []string, ok bool) {
	const at = theBatch + ".header"
	n := 0
	seen := map[string]bool{}
	ok = c.read(at, header, batchHeaderShape, func(f field) {
		text := string(f.bytes[:min(len(f.bytes), 129)])
		switch {
		case f.number == 1:
			signer = text
		case !isHex(text, 128):
			c.add(at+".transaction_ids["+strconv.Itoa(n)+"]", wantSignature)
		case seen[text]:
			c.add(at+".transaction_ids["+strconv.Itoa(n)+"]", "must not be there twice")
		default:
			seen[text] = true
			ids = append(ids, text)
		}
		if f.number == 2 {
			n++
		}
	})
	if ok && !isHex(signer, 66) {
		c.add(at+".signer_public_key", wantKey)
		ok = false
	}
	return signer, ids, ok
}

// A signed transaction is one whose signature is to be verified.
type signed struct {
	batch
	signer string
}

// transactions checks all transactions but for their signatures, and returns the
// first of them for that.
func (c *checker) transactions(b batch, batcher string, ids []string) []signed {
	first := make([]signed, 0, min(len(ids), maxVerified))
	for i, message := range b.transactions {
		t := c.transaction(transaction(i), message, batcher, ids[i])
		if len(first) < maxVerified {
			first = append(first, t)
		}
		if c.full() {
			break
		}
	}
	return first
}

func (c *checker) transaction(at string, message []byte, batcher, id string) (t signed) {
	ok := c.read(at, message, transactionShape, func(f field) {
		switch f.number {
		case 1:
			t.header = f.bytes
		case 2:
			t.signature = string(f.bytes)
		case 3:
			t.payload = f.bytes
		}
	})
	if !ok {
		return t
	}
	if t.signature != id {
		c.add(at+".header_signature", "must be the id that the batch's header has in its place")
	}
	var owner, hash string
	ok = c.read(at+".header", t.header, transactionHeaderShape, func(f field) {
		if !utf8.Valid(f.bytes) {
			c.add(at+".header."+transactionHeaderShape[f.number].name, "must be UTF-8")
		}
		switch f.number {
		case 1:
			owner = string(f.bytes)
		case 9:
			hash = string(f.bytes)
		case 10:
			t.signer = string(f.bytes)
		}
	})
	if !ok {
		return t
	}
	if owner != batcher {
		c.add(at+".header.batcher_public_key", "must be the signer_public_key of the batch's header")
	}
	if !isHex(t.signer, 66) {
		c.add(at+".header.signer_public_key", wantKey)
	}
	if sum := sha512.Sum512(t.payload); !strings.EqualFold(hash, hex.EncodeToString(sum[:])) {
		c.add(at+".header.payload_sha512", "must be the SHA-512 of the payload, in hex")
	}
	return t
}

// verify checks the signature of a header. Like the ledgers it refuses an s in
// the upper half: that is the same signature under another id.
func (c *checker) verify(at, signer string, b batch) {
	point, _ := hex.DecodeString(signer) // what is no hex is no key either
	key, err := secp256k1.ParsePubKey(point)
	if err != nil {
		c.add(at+".header.signer_public_key", wantKey)
		return
	}
	compact, err := hex.DecodeString(b.signature)
	var r, s secp256k1.ModNScalar
	if err != nil || len(compact) != 64 || r.SetByteSlice(compact[:32]) || s.SetByteSlice(compact[32:]) ||
		s.IsOverHalfOrder() {
		c.add(at+".header_signature", wantVerified)
		return
	}
	digest := sha256.Sum256(b.header)
	if !ecdsa.NewSignature(&r, &s).Verify(digest[:], key) {
		c.add(at+".header_signature", wantVerified)
	}
}

// transaction returns where the transaction i is.
func transaction(i int) string { return theBatch + ".transactions[" + strconv.Itoa(i) + "]" }

// isID reports whether s has the form of a batch's id as the ledgers ask for it.
func isID(s string) bool { return isHex(s, 128) && strings.ToLower(s) == s }

// isHex reports whether s is n hex digits.
func isHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
