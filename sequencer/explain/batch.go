package explain

import (
	"cmp"
	"fmt"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// submittingTo speaks of what is for a ledger, and bound.
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

// notThere speaks of what a person has said that the ledger has not.
func (s *Scene) notThere() said {
	return said{"It is not in its ledger, as a person said; whether there is another try is being decided.",
		Wait{Code: WaitNothing}, Next{Action: StepWeigh, At: s.Now}}
}

func (s *Scene) committed() said {
	return said{"Ledger " + s.Txn.Ledger + " has committed it.", Wait{Code: WaitNothing},
		Next{Action: StepRemove, At: s.Txn.FinalAt.Add(s.Policy.Retention)}}
}

// endedThere speaks of FAILED and UNRESOLVED.
func (s *Scene) endedThere() said {
	t := s.Txn
	code := cmp.Or(t.Error, &tx.Error{}).Code
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

// postOver is where an attempt of a batch is that is over.
var postOver = map[tx.AttemptState]Seen{
	tx.Included:      {Place: "block", Agreed: true, Detail: "committed"},
	tx.FailedIn:      {Place: "nowhere", Detail: "executed and refused"},
	tx.FailedShallow: {Place: "nowhere", Detail: "executed and refused"},
	tx.Invalid:       {Place: "nowhere", Detail: "executed and refused"},
	tx.Refused:       {Place: "nowhere", Detail: "not taken"},
}

// posted is where an attempt of a batch is, by what its ledger says.
func (s *Scene) posted(a tx.Attempt) Seen {
	v, over := postOver[a.State]
	v.Attempt, v.Open = a, a.Open()
	seen := &s.Batch.Seen
	switch {
	case over:
	case !v.Open:
		v.Place, v.Detail = "unknown", "given up, as a person said"
	case seen.At.IsZero():
		v.Place, v.Detail = "unknown", "posted, or being posted"
	case seen.State == lifecycle.BatchUnknown:
		v.Place, v.Detail = "nowhere", "not known to the ledger, and may still be"
	default:
		v.Place, v.Detail = "pool", "the ledger says "+string(seen.State)
	}
	return v
}

// either is one of two words, by whether t is for Mina or for a ledger.
func either(t *tx.Transaction, mina, ledger string) string {
	if t.Ledger != "" {
		return ledger
	}
	return mina
}
