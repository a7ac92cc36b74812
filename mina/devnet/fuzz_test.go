package devnet

import (
	"testing"

	client "mina-sequencer/mina"
)

// FuzzFormats: the client and the node, which were written apart, read the same
// from whatever is well encoded.
func FuzzFormats(f *testing.F) {
	for n := range uint64(3) {
		if payload, ok := decode58(versionPublicKey, Key(n)); ok {
			f.Add(payload)
		}
	}
	f.Add(append([]byte{1, 1, 2}, make([]byte, 32)...)) // not on the curve
	f.Add(append([]byte{1, 5, 'h', 'e', 'l', 'l', 'o'}, make([]byte, 27)...))
	f.Add(append([]byte{0, 32}, make([]byte, 32)...)) // a digest
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		key := encode58(versionPublicKey, payload)
		if _, err := client.ParsePublicKey(key); (err == nil) != (wellFormedKey(key) && onCurve(key)) {
			t.Errorf("key %s: the client says %v, the node %v, %v", key, err, wellFormedKey(key), wellFormedKey(key) && onCurve(key))
		}
		memo := encode58(versionMemo, payload)
		theirs, ok := decodeMemo(memo)
		// The client takes nothing for a memo that has more behind its text.
		if ours, err := client.DecodeMemo(memo); err == nil && (!ok || ours != theirs) {
			t.Errorf("memo %s: the client reads %q, %v, the node %q, %v", memo, ours, err, theirs, ok)
		}
		for _, version := range []byte{versionPublicKey, versionMemo, 0x1d} {
			text := encode58(version, payload)
			if back, err := client.DecodeCheck(version, len(payload), text); err != nil || string(back) != string(payload) {
				t.Errorf("%x came back as %x, %v", payload, back, err)
			}
			if _, err := client.DecodeCheck(version^1, len(payload), text); err == nil {
				t.Errorf("%s is taken for something else", text)
			}
		}
	})
}
