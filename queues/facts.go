package queues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mina-sequencer/sequencer/lifecycle"
	"strconv"
	"strings"

	"github.com/klauspost/compress/s2"
)

// Facts are what is learnt of an attempt, by whomever and however late.
type Facts struct {
	Hash, NodeHash string
	Data           json.RawMessage
}

// facts are those of an attempt that are written once and kept.
type facts struct{ hash, nodeHash, data string }

func factsOf(a *lifecycle.Attempt) facts { return facts{a.Hash, a.NodeHash, string(a.Data)} }

// more reports whether f has a fact that other lacks.
func (f facts) more(other facts) bool {
	return f.hash != "" && other.hash == "" || f.nodeHash != "" && other.nodeHash == "" || f.data != "" && other.data == ""
}

// all are the facts by the names of their fields.
func (f facts) all() map[string]string {
	return map[string]string{"hash": f.hash, "nhash": f.nodeHash, "data": f.data}
}

// Record adds facts of an attempt. No claim guards it: a late hash is the one
// thing that settles a lost answer. A fact that is known already is kept.
// Errors: ErrNotFound, ErrUnsettled (Redis has forgotten a, or has another in its
// place: write it back), ErrUnavailable, ErrFull.
func (s *Store) Record(ctx context.Context, uid string, a *lifecycle.Attempt, f Facts) error {
	args := []any{uid, a.Number, a.Sender, a.Nonce}
	for name, value := range map[string]string{"hash": f.Hash, "nhash": f.NodeHash, "data": string(f.Data)} {
		if value != "" {
			args = append(args, field(a.Number, name), value)
		}
	}
	if len(args) == 4 {
		return nil
	}
	v, err := s.Run(ctx, recordScript, args...)
	if err != nil {
		return err
	}
	r := reply{name: "record"}
	switch r.int(v) {
	case -1:
		return fmt.Errorf("transaction %s: %w", uid, ErrNotFound)
	case -2:
		return fmt.Errorf("attempt %d of %s: %w", a.Number, uid, ErrUnsettled)
	}
	return r.err
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
