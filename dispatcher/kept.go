package dispatcher

import (
	"bytes"
	"sync"
)

// kept are proofs that wait for their signature, the latest of each transaction. A prover keeps them
// too; this spares the way there.
type kept struct {
	mu    sync.Mutex
	byUID map[string]keptProof
	bytes int
}

type keptProof struct {
	key    []byte
	result Result
}

// mostKept bounds them, in bytes.
const mostKept = 64 << 20

func (k *kept) find(uid string, key []byte) (Result, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, is := k.byUID[uid]
	return p.result, is && bytes.Equal(p.key, key)
}

func (k *kept) keep(uid string, key []byte, r Result) {
	k.drop(uid)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bytes+len(r.Proved) > mostKept {
		k.byUID, k.bytes = nil, 0
	}
	if k.byUID == nil {
		k.byUID = map[string]keptProof{}
	}
	k.byUID[uid] = keptProof{key, r}
	k.bytes += len(r.Proved)
}

func (k *kept) drop(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bytes -= len(k.byUID[uid].result.Proved)
	delete(k.byUID, uid)
}
