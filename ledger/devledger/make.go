package devledger

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"google.golang.org/protobuf/encoding/protowire"
)

// A Signer makes batches for tests and demos. Its key follows from a number,
// so it is worth nothing.
type Signer struct {
	key    *secp256k1.PrivateKey
	public string
}

// NewSigner returns the signer of a number.
func NewSigner(number uint64) *Signer {
	seed := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("devledger"), number))
	key := secp256k1.PrivKeyFromBytes(seed[:])
	return &Signer{key, hex.EncodeToString(key.PubKey().SerializeCompressed())}
}

// PublicKey is the signer's, compressed, in hex.
func (s *Signer) PublicKey() string { return s.public }

// Made is a signed batch.
type Made struct {
	ID           string   // 128 hex digits
	Transactions []string // their ids
	List         []byte   // a BatchList of this batch alone; put together, lists are one list
}

// Batch signs one transaction for each payload, with nothing but the nonce to
// tell it from others of the same payload.
func (s *Signer) Batch(nonce string, payloads ...string) Made {
	var plans []Transaction
	for _, p := range payloads {
		plans = append(plans, Transaction{Family: "intkey", FamilyVersion: "1.0", Nonce: nonce, Payload: []byte(p)})
	}
	return s.Sign(plans...)
}

// Sign signs transactions and the batch of them. Signer, batcher, the hash of
// the payload and the id are filled in.
func (s *Signer) Sign(plans ...Transaction) Made {
	var made Made
	var raw [][]byte
	for _, t := range plans {
		sum := sha512.Sum512(t.Payload)
		header := appendTexts(nil, 1, s.public)
		header = appendTexts(header, 2, t.Dependencies...)
		header = appendTexts(header, 3, t.Family)
		header = appendTexts(header, 4, t.FamilyVersion)
		header = appendTexts(header, 5, t.Inputs...)
		header = appendTexts(header, 6, t.Nonce)
		header = appendTexts(header, 7, t.Outputs...)
		header = appendTexts(header, 9, hex.EncodeToString(sum[:]))
		header = appendTexts(header, 10, s.public)
		id := s.sign(header)
		made.Transactions = append(made.Transactions, id)
		one := appendTexts(appendTexts(nil, 1, string(header)), 2, id)
		raw = append(raw, appendTexts(one, 3, string(t.Payload)))
	}
	made.ID, made.List = s.wrap(raw, made.Transactions)
	return made
}

// Wrap signs a batch of transactions that were signed before, in the order of
// their ids; the result is another batch unless the signer and ids are the same.
func (s *Signer) Wrap(from ...Made) Made {
	var made Made
	var raw [][]byte
	for _, m := range from {
		_ = fields(m.List, func(_ protowire.Number, batch []byte, _ uint64) error {
			return fields(batch, func(number protowire.Number, value []byte, _ uint64) error {
				if number == 3 {
					raw = append(raw, value)
				}
				return nil
			}, 1, 2, 3)
		}, 1)
		made.Transactions = append(made.Transactions, m.Transactions...)
	}
	made.ID, made.List = s.wrap(raw, made.Transactions)
	return made
}

func (s *Signer) wrap(transactions [][]byte, ids []string) (id string, list []byte) {
	header := appendTexts(appendTexts(nil, 1, s.public), 2, ids...)
	id = s.sign(header)
	batch := appendTexts(appendTexts(nil, 1, string(header)), 2, id)
	for _, t := range transactions {
		batch = appendTexts(batch, 3, string(t))
	}
	return id, appendTexts(nil, 1, string(batch))
}

func (s *Signer) sign(message []byte) string {
	digest := sha256.Sum256(message)
	sig := ecdsa.Sign(s.key, digest[:])
	r, v := sig.R(), sig.S()
	rb, vb := r.Bytes(), v.Bytes()
	return hex.EncodeToString(append(rb[:], vb[:]...))
}

func appendTexts(to []byte, number protowire.Number, values ...string) []byte {
	for _, v := range values {
		to = protowire.AppendTag(to, number, protowire.BytesType)
		to = protowire.AppendString(to, v)
	}
	return to
}
