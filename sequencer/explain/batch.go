package explain

import (
	"fmt"
	"strings"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// sayBatch speaks of what is for a ledger and does not wait in its queue.
func (s *Scene) sayBatch() said {
	t := s.Txn
	switch t.Phase {
	case tx.PhaseDispatching:
		return s.submittingTo()
	case tx.PhaseSent, tx.PhaseWatching:
		return s.standsThere()
	case tx.PhaseFailing:
		return said{"It is not in its ledger, as a person said; whether there is another try is being decided.",
			Wait{Code: WaitNothing}, Next{Action: StepWeigh, At: s.Now}}
	case tx.PhaseDelayed:
		return s.delayed()
	case tx.PhaseDone:
		return said{"Ledger " + t.Ledger + " has committed it.", Wait{Code: WaitNothing},
			Next{Action: StepRemove, At: t.FinalAt.Add(s.Policy.Retention)}}
	}
	return s.endedThere()
}

func (s *Scene) submittingTo() said {
	t, b := s.Txn, &s.Batch
	submit := Next{Action: StepSubmit, At: s.Now}
	why := lifecycle.Decide(&s.View).Reason
	switch {
	case s.shut() != "":
		return said{"Its slot is bound, and nothing is posted now: " + s.shut() + ".",
			Wait{Code: WaitRecovery, Detail: s.shut()}, Next{Action: StepSubmit}}
	case why == lifecycle.ReasonCancelled:
		return said{"A cancel was asked for, and nothing of it has been posted: it ends now.",
			Wait{Code: WaitNothing}, Next{Action: StepEnd, At: s.Now}}
	case !b.Known:
		return said{"This process does not know ledger " + t.Ledger + "; one that does has to run.",
			Wait{Code: WaitProcess, Detail: "ledger " + t.Ledger}, Next{Action: StepSubmit}}
	case why == lifecycle.ReasonLooking:
		return said{"Ledger " + t.Ledger + " is asked whether it has it already, for it takes no batch twice.",
			Wait{Code: WaitLedger, Detail: "its word before the first post"}, submit}
	case !t.Open():
		return said{"Its slot is bound; it is being prepared for ledger " + t.Ledger + ".", Wait{Code: WaitNothing}, submit}
	}
	return said{"It is being posted to ledger " + t.Ledger + ".", Wait{Code: WaitSending}, submit}
}

// standsThere speaks of what the ledger has, or may have.
func (s *Scene) standsThere() said {
	t, b := s.Txn, &s.Batch
	wait := Wait{Code: WaitLedger, Detail: "a verdict of ledger " + t.Ledger}
	if a := t.FirstOpen(); a != nil {
		wait.Until = a.StartedAt.Add(s.Policy.LedgerPatience)
	}
	next := Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	switch {
	case !b.Known:
		return said{"It was posted, and this process does not know ledger " + t.Ledger + ".",
			Wait{Code: WaitProcess, Detail: "ledger " + t.Ledger}, Next{Action: StepWatch}}
	case b.Seen.At.IsZero() && !b.Seen.Asked.IsZero():
		return said{"It was posted, and ledger " + t.Ledger + " does not say what became of it." + s.noMore(), wait, next}
	case b.Seen.At.IsZero():
		return said{"It was posted; the process that follows it knows more." + s.noMore(), wait, next}
	case b.Seen.State != lifecycle.BatchUnknown:
		return said{"Ledger " + t.Ledger + " says " + string(b.Seen.State) + "." + s.noMore(), wait, next}
	case b.Idempotent && !s.last():
		next.Action = StepSendAgain
		return said{"It was posted, and ledger " + t.Ledger + " does not know it; if that stays so it is posted again, " +
			"a few times.", wait, next}
	}
	return said{"It may have been posted, and ledger " + t.Ledger + " does not know it. It is not posted again." +
		s.noMore(), wait, next}
}

// endedThere speaks of FAILED and UNRESOLVED.
func (s *Scene) endedThere() said {
	t := s.Txn
	code := ""
	if t.Error != nil {
		code = t.Error.Code
	}
	decide := Wait{Code: WaitPerson, Detail: "mend the cause and retry it, or delete it"}
	switch a := t.FirstOpen(); {
	case code == tx.CodeCancelled:
		return said{"It was cancelled before it took effect.", Wait{Code: WaitNothing, Detail: "a person may retry it"},
			Next{Action: StepNone}}
	case t.Phase == tx.PhaseFailed:
		return said{"It ended" + because(t.Error) + ".", Wait{Code: WaitNothing, Detail: "a person may retry it"},
			Next{Action: StepNone}}
	case a != nil && a.State == tx.Invalid:
		return said{"Ledger " + t.Ledger + " refuses it" + because(t.Error) +
			"; should it be committed after all, it is DONE.", decide, Next{Action: StepDecide}}
	case a != nil:
		return said{"Nobody knows what became of it" + because(t.Error) + ". Look for it in ledger " + t.Ledger +
			", and say by resolve whether it is there.",
			Wait{Code: WaitPerson, Detail: "what became of attempt " + fmt.Sprint(a.Number)}, Next{Action: StepResolve}}
	}
	return said{"Ledger " + t.Ledger + " refuses it" + because(t.Error) + ".", decide, Next{Action: StepDecide}}
}

// posts are the attempts of a batch with what its ledger says.
func (s *Scene) posts() []Seen {
	out := make([]Seen, len(s.Txn.Attempts))
	for i, a := range s.Txn.Attempts {
		v := Seen{Attempt: a, Open: a.Open(), Place: "unknown"}
		seen := &s.Batch.Seen
		switch {
		case a.State == tx.Included:
			v.Place, v.Agreed, v.Detail = "block", true, "committed"
		case a.Failed(), a.State == tx.Invalid:
			v.Place, v.Detail = "nowhere", "executed and refused"
		case a.State == tx.Refused:
			v.Place, v.Detail = "nowhere", "not taken"
		case !v.Open:
			v.Detail = "given up, as a person said"
		case seen.At.IsZero():
			v.Detail = "posted, or being posted"
		case seen.State == lifecycle.BatchUnknown:
			v.Place, v.Detail = "nowhere", "not known to the ledger, and may still be"
		default:
			v.Place, v.Detail = "pool", "the ledger says "+string(seen.State)
		}
		if a.Error != nil {
			v.Detail = strings.TrimPrefix(v.Detail+": "+tx.Short(a.Error.Error()), ": ")
		}
		out[i] = v
	}
	return out
}

// makerOf is who has a transaction while it is DISPATCHING, and verdict what it waits for
// then.
func makerOf(t *tx.Transaction) string {
	if t.Ledger != "" {
		return "its ledger"
	}
	return "its worker"
}

func verdictOf(t *tx.Transaction) string {
	if t.Ledger != "" {
		return "its ledger's verdict"
	}
	return "a block"
}
