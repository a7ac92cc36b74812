package ledger_test

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"google.golang.org/protobuf/encoding/protowire"
)

// vectors are lists that Sawtooth's own SDK made, and what is to be made of them.
type vectors struct {
	Vectors []struct {
		Name, BatchList string
		Batches         []struct {
			HeaderSignature string
			Trace           bool
		}
	}
	Refuse, Accept []struct{ Name, BatchID, BatchList string }
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A txn and a batch are what is signed, with what may be wrong about it.
type txn struct {
	signer  *secp256k1.PrivateKey // whose key the header names
	signs   *secp256k1.PrivateKey // who signs
	batcher string
	key     string // in place of the signer's
	payload []byte
	hash    string   // in place of the payload's
	extra   [][]byte // further fields of the header
	highS   bool
	upper   bool   // its id in upper case
	tail    []byte // after all fields
}

type batch struct {
	signer, signs *secp256k1.PrivateKey
	key           string // in place of the signer's
	txns          []txn
	ids           []string // in place of the transactions'
	extra         [][]byte // further fields of the batch
	highS         bool
}

var (
	alice = secp256k1.PrivKeyFromBytes([]byte("alice is a key of these tests ()"))
	bob   = secp256k1.PrivKeyFromBytes([]byte("bob is another key of these ()()"))
)

func public(k *secp256k1.PrivateKey) string {
	return hex.EncodeToString(k.PubKey().SerializeCompressed())
}

// newBatch is a good batch of Alice with one transaction of hers and one of Bob's.
func newBatch() *batch {
	b := &batch{signer: alice, signs: alice}
	for i, k := range []*secp256k1.PrivateKey{alice, bob} {
		b.txns = append(b.txns, txn{signer: k, signs: k, batcher: public(alice), payload: []byte{byte(i)}})
	}
	return b
}

// field is a length-delimited field.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

func varint(number protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), value)
}

func text(number protowire.Number, value string) []byte { return field(number, []byte(value)) }

func sign(key *secp256k1.PrivateKey, header []byte, highS bool) string {
	digest := sha256.Sum256(header)
	signature := ecdsa.Sign(key, digest[:])
	r, s := signature.R(), signature.S()
	if highS {
		s.Negate()
	}
	rb, sb := r.Bytes(), s.Bytes()
	return hex.EncodeToString(slices.Concat(rb[:], sb[:]))
}

func (x txn) encode() (message []byte, id string) {
	key, hash := x.key, x.hash
	if key == "" {
		key = public(x.signer)
	}
	if hash == "" {
		sum := sha512.Sum512(x.payload)
		hash = hex.EncodeToString(sum[:])
	}
	extra := slices.Concat(x.extra...)
	header := slices.Concat(text(1, x.batcher), text(3, "family"), text(9, hash), text(10, key), extra)
	id = sign(x.signs, header, x.highS)
	if x.upper {
		raw, _ := hex.DecodeString(id)
		id = upperHex(raw)
	}
	return slices.Concat(field(1, header), text(2, id), field(3, x.payload), x.tail), id
}

func upperHex(b []byte) string {
	const digits = "0123456789ABCDEF"
	var s []byte
	for _, c := range b {
		s = append(s, digits[c>>4], digits[c&15])
	}
	return string(s)
}

// encode returns the list of the batch alone, and its id.
func (b *batch) encode() (list []byte, id string) {
	var txns []byte
	var ids []string
	for _, x := range b.txns {
		message, id := x.encode()
		txns = append(txns, field(3, message)...)
		ids = append(ids, id)
	}
	if b.ids != nil {
		ids = b.ids
	}
	key := b.key
	if key == "" {
		key = public(b.signer)
	}
	header := text(1, key)
	for _, id := range ids {
		header = append(header, text(2, id)...)
	}
	id = sign(b.signs, header, b.highS)
	return field(1, slices.Concat(field(1, header), text(2, id), txns, slices.Concat(b.extra...))), id
}

// data is the payload of a list.
func data(t testing.TB, list []byte, id string, more map[string]any) []byte {
	t.Helper()
	payload := map[string]any{"ledger": "grid", "batchId": id, "batchList": base64.StdEncoding.EncodeToString(list)}
	for name, value := range more {
		payload[name] = value
	}
	encoded, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}
