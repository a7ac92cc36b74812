package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/sequencer/tx"
)

// Facts are what is learnt of an attempt, by whomever and however late.
type Facts struct {
	Hash, NodeHash string
	Data           json.RawMessage
}

// news are the facts of f that a lacks, by the names of their fields.
func (f Facts) news(a *tx.Attempt) map[string]string {
	all := map[string]string{}
	for _, fact := range []struct{ name, value, known string }{
		{"hash", f.Hash, a.Hash}, {"nodeHash", f.NodeHash, a.NodeHash}, {"data", string(f.Data), string(a.Data)},
	} {
		if fact.value != "" && fact.known == "" {
			all[factField(a, fact.name)] = fact.value
		}
	}
	return all
}

func factField(a *tx.Attempt, name string) string {
	return fmt.Sprintf("%d %s %d %s", a.Number, a.Sender, a.Nonce, name)
}

// addFacts adds to the attempts of t what they lack.
func addFacts(t *tx.Transaction, facts map[string]string) {
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if a.Hash == "" {
			a.Hash = strings.ToValidUTF8(facts[factField(a, "hash")], "\ufffd") // as a record has it
		}
		if a.NodeHash == "" {
			a.NodeHash = strings.ToValidUTF8(facts[factField(a, "nodeHash")], "\ufffd")
		}
		if v := facts[factField(a, "data")]; len(a.Data) == 0 && v != "" {
			a.Data = json.RawMessage(v)
		}
	}
}

// Record adds facts of an attempt, and has the owner of the transaction look at them.
// No claim guards it: a late hash is the one thing that makes up for a lost answer. A fact
// that is known already is kept. Errors: ErrNotFound, ErrUnsettled (Redis has forgotten
// a, or has another in its place: write it back), ErrUnavailable, ErrFull.
func (s *Store) Record(ctx context.Context, uid string, a *tx.Attempt, f Facts) error {
	t, err := s.Get(ctx, uid)
	if err != nil {
		return err
	}
	unknown := fmt.Errorf("attempt %d of %s: %w", a.Number, uid, ErrUnsettled)
	known := t.Attempt(a.Number)
	if known == nil || known.Sender != a.Sender || known.Nonce != a.Nonce {
		return unknown // facts would go with another one of its number
	}
	args := []any{uid, t.Revision}
	for field, value := range f.news(known) {
		args = append(args, field, value)
	}
	if len(args) == 2 {
		return nil
	}
	v, err := s.Run(ctx, factsScript, args...)
	if err != nil {
		return err
	}
	r := reply{name: "facts"}
	switch r.int(v) {
	case -1:
		return fmt.Errorf("transaction %s: %w", uid, ErrNotFound)
	case -2:
		return unknown
	}
	return r.err
}

// Signed returns the stored bytes of the best-paid open attempt and its
// number. Errors: ErrNotFound, ErrUnavailable.
func (s *Store) Signed(ctx context.Context, uid string) (number int, command []byte, err error) {
	packed, err := s.client.Get(ctx, s.key("b:"+uid)).Bytes()
	if errors.Is(err, redis.Nil) {
		return 0, nil, fmt.Errorf("signed bytes of %s: %w", uid, ErrNotFound)
	}
	if err != nil {
		return 0, nil, storeError("reading signed bytes", err)
	}
	return unpack(packed)
}

// pack puts the number of the attempt before its compressed command.
func pack(number int, command []byte) []byte {
	return s2.Encode(nil, append(strconv.AppendInt(nil, int64(number), 10), append([]byte{'\n'}, command...)...))
}

// maxSigned bounds what is unpacked; commands are tens of kilobytes.
const maxSigned = 64 << 20

func unpack(packed []byte) (int, []byte, error) {
	if n, err := s2.DecodedLen(packed); err != nil || n > maxSigned {
		return 0, nil, errors.New("signed bytes are damaged")
	}
	b, err := s2.Decode(nil, packed)
	if err != nil {
		return 0, nil, fmt.Errorf("signed bytes are damaged: %w", err)
	}
	head, command, _ := strings.Cut(string(b), "\n")
	number, err := strconv.Atoi(head)
	if err != nil {
		return 0, nil, fmt.Errorf("signed bytes are damaged: %w", err)
	}
	return number, []byte(command), nil
}
