package lifecycle

import (
	"time"

	"mina-sequencer/sequencer/tx"
)

// answer is any that there may be to an effect.
func (w *walk) answer(e Effect) Result {
	if w.one(3) {
		return w.kindly(e)
	}
	switch e.Kind {
	case AskSender:
		s := Sender{Account: w.stored.Sender, Greeted: !w.one(4), Gone: w.one(15), Unusable: w.one(10), Away: w.r.IntN(3)}
		if !w.one(4) {
			s.Next = new(uint32(nonce + w.r.IntN(2)))
		}
		return SenderTold{Sender: s, Overtaken: w.one(12)}
	case AskHealth:
		return HealthTold{Why: []tx.SenderReason{"", "", tx.WrongAccount, tx.WrongNetwork}[w.r.IntN(4)], Detail: "of another",
			Wrong: w.r.IntN(4)}
	case AskRetries:
		return RetriesTold{Limit: w.r.IntN(5), Known: w.one(2), Elsewhere: w.elsewhere.IntN(8) == 0}
	case AskAccount:
		lost := ""
		if w.one(8) {
			lost = "timeout"
		}
		return AccountTold{Exists: !w.one(8), Nonce: uint32(nonce - 1 + w.r.IntN(3)),
			Balance: uint64(w.r.IntN(3) * 200), Lost: lost}
	case AskLanded:
		return LandedTold{Nonce: uint32(nonce - 2 + w.r.IntN(3)), Any: w.one(2)}
	case AskBytes:
		if w.one(6) {
			return BytesRead{}
		}
	case Send:
		return w.sendTold(e)
	case Prove, Resign, Dispatch:
		return w.workerTold(e)
	}
	return w.kindly(e)
}

func (w *walk) sendTold(e Effect) Result {
	r := SendTold{Call: e, Slot: w.view.Tip.Slot, Error: oops("Said")}
	switch w.r.IntN(5) {
	case 0:
		r.Lost = true
	case 1:
		r.Accepted, r.Hash, r.Error = true, w.hash(), nil
	case 2:
		r.Error = oops([]string{"Seen", "After_slot_tx_end"}[w.r.IntN(2)])
		r.Refusal = &Refusal{Error: *r.Error, Seen: true}
	default:
		r.Refusal = &Refusal{Error: *oops("Refused"), Permanent: w.one(3), Cheap: w.one(3), Payers: w.one(3), Broke: w.one(2)}
	}
	return r
}

func (w *walk) workerTold(e Effect) Result {
	a := w.answerTo(e)
	if e.Kind != Dispatch && w.one(5) {
		a.Fault = FaultNoCall
		return a
	}
	faults := []Fault{FaultError, FaultHopeless, FaultLost, FaultWorking, FaultBusy, FaultUnreached, FaultSpent,
		FaultOutOfOrder,
		NoFault, NoFault}
	if e.Kind == Dispatch {
		faults = append(faults, FaultSent)
	}
	a.Fault = faults[w.r.IntN(len(faults))]
	if a.Fault == NoFault {
		if w.one(2) {
			a.Done = []byte(`{"voted":true}`)
		}
		return a // else neither
	}
	a.Error = oops("20202")
	a.Ill, a.Others = w.r.IntN(5), w.one(2)
	a.Refused = e.Kind == Dispatch && a.Fault == FaultError && w.one(2)
	if a.Fault == FaultBusy {
		a.RetryAfter = 20 * time.Second
	}
	if a.Fault == FaultLost && w.one(4) {
		a.Hash = w.hash()
	}
	return a
}

func (w *walk) answerTo(e Effect) Answer {
	a := Answer{Call: e}
	if t := w.stored.Attempt(e.Number); t != nil {
		a.Sender, a.Nonce = t.Sender, t.Nonce
	}
	return a
}

// kindly is the answer when everything goes well.
func (w *walk) kindly(e Effect) Result {
	switch e.Kind {
	case AskSender:
		return SenderTold{Sender: Sender{Account: w.stored.Sender, Next: new(uint32(nonce)), Greeted: true}}
	case AskHealth:
		return HealthTold{}
	case AskRetries:
		return RetriesTold{}
	case AskChain:
		w.view.Tip.At, w.view.Tip.Fresh, w.view.Tip.Quorum = w.view.Clock, true, true
		return ChainTold{}
	case AskAccount:
		return AccountTold{Exists: true, Nonce: nonce, Balance: 1 << 40}
	case AskLanded:
		return LandedTold{}
	case AskBytes:
		if w.bytes == nil {
			return BytesRead{}
		}
		return *w.bytes
	case Confirm:
		return ConfirmTold{Number: e.Number}
	case Send:
		return SendTold{Call: e, Accepted: true, Slot: w.view.Tip.Slot}
	}
	a := w.answerTo(e)
	a.Hash = w.hash()
	if e.Kind != Dispatch {
		a.Signed, a.Weight = []byte("bytes"), 5
		if w.market != nil {
			a.Weight = pick(w.market, 2, 5, 17)
		}
	}
	return a
}
