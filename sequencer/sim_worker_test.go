package sequencer_test

import (
	"fmt"
	"time"

	"mina-sequencer/dispatcher/devworker"
)

// spoil decides what a worker does wrong.
func (s *sim) spoil(c *colleague, call devworker.Call) *devworker.Fault {
	s.in.mu.Lock()
	off := s.in.off
	lane := fmt.Sprintf("worker %s %s %s", c.name, call.Kind, call.UID)
	s.in.calls[lane]++
	n := s.in.calls[lane]
	asked := "proofs of " + call.UID
	if call.Kind == devworker.Prove {
		s.in.calls[asked]++
	}
	first := s.in.calls[asked] == 1
	s.in.mu.Unlock()
	rate := s.in.rate[processToWorker]
	if call.Kind == devworker.Prove && !first {
		rate = max(rate, 500) // beside an attempt that is open, it makes a difference
	}
	if off || !s.chance(rate, lane, n) {
		return nil
	}
	faults := wrongs(call.Kind, first, s.between(30*time.Second, 8*time.Minute, lane+" hang", n))
	f := faults[s.pick(len(faults), lane+" what", n)]
	if f.Kind == devworker.Wrong {
		f.Field = []string{devworker.WrongNonce, devworker.WrongFee, devworker.WrongMemo,
			devworker.WrongValidUntil, devworker.WrongPayer, devworker.WrongHash}[s.pick(6, lane+" field", n)]
	}
	s.in.note(processToWorker, nameOf(f), lane+" "+f.Field)
	return &f
}

// wrongs is what a worker can do wrong in a call. Only in the first call for a
// transaction is it said to need no block: once a worker may have signed, that
// would be a lie.
func wrongs(kind string, first bool, long time.Duration) []devworker.Fault {
	faults := []devworker.Fault{
		{Kind: devworker.Hang, Wait: long},
		{Kind: devworker.Cut},
		{Kind: devworker.Busy, Wait: long / 4},
		{Kind: devworker.Hang, Wait: long, After: true},
		{Kind: devworker.Cut, After: true},
	}
	switch kind {
	case devworker.OnSuccess, devworker.OnFailure:
		faults = append(faults, devworker.Fault{Kind: devworker.Answer, Body: `{"success":false}`})
	case devworker.Prove, devworker.Resign, devworker.Dispatch:
		faults = append(faults,
			devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"},
			devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "proof failed"},
			devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"},
			devworker.Fault{Kind: devworker.Error, Code: "502", Message: "no way to the network"})
	}
	switch kind {
	case devworker.Prove, devworker.Resign:
		faults = append(faults,
			devworker.Fault{Kind: devworker.Answer, Body: `{"hash":`},
			devworker.Fault{Kind: devworker.Answer, Status: 500, Body: `oh`},
			devworker.Fault{Kind: devworker.Wrong})
		if !first {
			busy := devworker.Fault{Kind: devworker.Busy, Wait: long / 4}
			hopeless := devworker.Fault{Kind: devworker.Error, Code: "500", Message: "no such claim"}
			faults = append(faults, busy, busy, busy, busy, busy, busy, hopeless, hopeless, hopeless)
		} else {
			faults = append(faults, devworker.Fault{Kind: devworker.Answer, Body: `{"hash":"","done":{"account":"B62"},"error":null}`})
		}
	}
	return faults
}

// nameOf is under which name a worker's fault is counted.
func nameOf(f devworker.Fault) string {
	name := "worker: " + f.Kind
	switch {
	case f.Kind == devworker.Answer:
		name += " " + f.Body
	case f.After:
		name += " after"
	case f.Code != "":
		name += " " + f.Code
	}
	return name
}
