package devledger

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"google.golang.org/protobuf/encoding/protowire"
)

// A Transaction is one of a batch, as its header says.
type Transaction struct {
	ID            string // its header's signature
	Signer        string // public key, hex
	Batcher       string // public key that its batch has to be signed by, hex
	Family        string
	FamilyVersion string
	Nonce         string
	Dependencies  []string // transaction ids
	Inputs        []string
	Outputs       []string
	PayloadSHA512 string // hex
	Payload       []byte

	header []byte
	err    error // why the header is none
}

// A Batch is what a ledger commits or refuses as a whole.
type Batch struct {
	ID             string // its header's signature
	Signer         string // public key, hex
	TransactionIDs []string
	Transactions   []Transaction
	Trace          bool

	header []byte
	err    error // why the header is none
}

// ParseBatchList reads a BatchList as protobuf readers do: unknown fields are
// skipped, of a repeated singular field the last wins. A header that is none is
// no error of the list: a ledger finds it later.
func ParseBatchList(list []byte) ([]*Batch, error) {
	var batches []*Batch
	err := fields(list, func(number protowire.Number, value []byte, _ uint64) error {
		if number != 1 {
			return nil
		}
		b, err := parseBatch(value)
		if err != nil {
			return fmt.Errorf("batch %d: %w", len(batches), err)
		}
		batches = append(batches, b)
		return nil
	}, 1)
	return batches, err
}

func parseBatch(raw []byte) (*Batch, error) {
	b := &Batch{}
	err := fields(raw, func(number protowire.Number, value []byte, n uint64) error {
		switch number {
		case 1:
			b.header = value
		case 2:
			return text(&b.ID, value)
		case 3:
			t, err := parseTransaction(value)
			if err != nil {
				return fmt.Errorf("transaction %d: %w", len(b.Transactions), err)
			}
			b.Transactions = append(b.Transactions, t)
		case 4:
			b.Trace = n != 0
		}
		return nil
	}, 1, 2, 3)
	if err != nil {
		return nil, err
	}
	b.err = fields(b.header, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case 1:
			return text(&b.Signer, value)
		case 2:
			return texts(&b.TransactionIDs, value)
		}
		return nil
	}, 1, 2)
	return b, nil
}

func parseTransaction(raw []byte) (Transaction, error) {
	t := Transaction{}
	err := fields(raw, func(number protowire.Number, value []byte, _ uint64) error {
		switch number {
		case 1:
			t.header = value
		case 2:
			return text(&t.ID, value)
		case 3:
			t.Payload = value
		}
		return nil
	}, 1, 2, 3)
	if err != nil {
		return t, err
	}
	one := map[protowire.Number]*string{
		1: &t.Batcher, 3: &t.Family, 4: &t.FamilyVersion, 6: &t.Nonce, 9: &t.PayloadSHA512, 10: &t.Signer,
	}
	many := map[protowire.Number]*[]string{2: &t.Dependencies, 5: &t.Inputs, 7: &t.Outputs}
	t.err = fields(t.header, func(number protowire.Number, value []byte, _ uint64) error {
		if to := one[number]; to != nil {
			return text(to, value)
		}
		if to := many[number]; to != nil {
			return texts(to, value)
		}
		return nil
	}, 1, 2, 3, 4, 5, 6, 7, 9, 10)
	return t, nil
}

// fields calls each for the fields of a message: with the content of those
// that have a length, with the number of those that are a varint. A field of
// lengths that has another wire type is unknown.
func fields(raw []byte, each func(protowire.Number, []byte, uint64) error, lengths ...protowire.Number) error {
	for len(raw) > 0 {
		number, wire, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return protowire.ParseError(n)
		}
		raw = raw[n:]
		size := protowire.ConsumeFieldValue(number, wire, raw)
		if size < 0 {
			return protowire.ParseError(size)
		}
		var value []byte
		var v uint64
		switch wire {
		case protowire.BytesType:
			value, _ = protowire.ConsumeBytes(raw)
		case protowire.VarintType:
			v, _ = protowire.ConsumeVarint(raw)
		}
		raw = raw[size:]
		if (wire == protowire.BytesType) == slices.Contains(lengths, number) {
			if err := each(number, value, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func text(to *string, value []byte) error {
	if !utf8.Valid(value) {
		return errors.New("a text that is not UTF-8")
	}
	*to = string(value)
	return nil
}

func texts(to *[]string, value []byte) error {
	var one string
	err := text(&one, value)
	*to = append(*to, one)
	return err
}

// readable says whether all headers of a batch are messages.
func (b *Batch) readable() bool {
	return b.err == nil && !slices.ContainsFunc(b.Transactions, func(t Transaction) bool { return t.err != nil })
}

// keysAreHex says whether all public keys are hex of some length.
func (b *Batch) keysAreHex() bool {
	for i := range b.Transactions {
		if !isHex(b.Transactions[i].Signer) {
			return false
		}
	}
	return isHex(b.Signer)
}

// signaturesAreHex says whether all signatures are hex of some length.
func (b *Batch) signaturesAreHex() bool {
	for i := range b.Transactions {
		if !isHex(b.Transactions[i].ID) {
			return false
		}
	}
	return isHex(b.ID)
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil
}

// checkSignatures is what a ledger checks of signer, signatures and payloads.
func (b *Batch) checkSignatures() error {
	if err := verify(b.Signer, b.ID, b.header); err != nil {
		return fmt.Errorf("batch %.16s: %w", b.ID, err)
	}
	for i := range b.Transactions {
		t := &b.Transactions[i]
		if err := verify(t.Signer, t.ID, t.header); err != nil {
			return fmt.Errorf("transaction %.16s: %w", t.ID, err)
		}
		if t.Batcher != b.Signer {
			return fmt.Errorf("transaction %.16s was signed for another batcher", t.ID)
		}
		if sum := sha512.Sum512(t.Payload); t.PayloadSHA512 != hex.EncodeToString(sum[:]) {
			return fmt.Errorf("transaction %.16s: the payload has another SHA-512", t.ID)
		}
	}
	return nil
}

// checkStructure compares the header's transaction ids with the transactions.
// Only Sawtooth looks for ids that are there twice.
func (b *Batch) checkStructure(twice bool) error {
	if len(b.TransactionIDs) != len(b.Transactions) {
		return fmt.Errorf("the header names %d transactions, the batch has %d",
			len(b.TransactionIDs), len(b.Transactions))
	}
	seen := map[string]bool{}
	for i, id := range b.TransactionIDs {
		if b.Transactions[i].ID != id {
			return fmt.Errorf("transaction %d is not the one that the header names", i)
		}
		if seen[id] && twice {
			return fmt.Errorf("transaction %.16s is there twice", id)
		}
		seen[id] = true
	}
	return nil
}

// verify checks r‖s, 64 bytes in hex, over the SHA-256 of the message.
func verify(publicKey, signature string, message []byte) error {
	rawKey, err := hex.DecodeString(publicKey)
	if err != nil || len(rawKey) != secp256k1.PubKeyBytesLenCompressed {
		return errors.New("the public key is not 66 hex digits")
	}
	key, err := secp256k1.ParsePubKey(rawKey)
	if err != nil {
		return fmt.Errorf("public key: %w", err)
	}
	sig, err := hex.DecodeString(signature)
	if err != nil || len(sig) != 64 {
		return errors.New("the signature is not 128 hex digits")
	}
	var r, s secp256k1.ModNScalar
	if r.SetByteSlice(sig[:32]) || s.SetByteSlice(sig[32:]) {
		return errors.New("the signature is out of range")
	}
	digest := sha256.Sum256(message)
	if !ecdsa.NewSignature(&r, &s).Verify(digest[:], key) {
		return errors.New("the signature does not verify")
	}
	return nil
}

// isID says whether an id has the form that Sawtooth's REST API takes.
func isID(id string) bool {
	return len(id) == 128 && strings.Trim(id, "0123456789abcdef") == ""
}
