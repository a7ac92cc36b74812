package explain

import (
	"cmp"
	"fmt"

	"mina-sequencer/sequencer/tx"
)

// unanswered adds that a callback is not answered.
func (s *Scene) unanswered(d said) said {
	t := s.Txn
	if t.Callback == "" {
		return d
	}
	d.summary += fmt.Sprintf(" Its worker has not yet answered the callback, told %s.", times(t.CallbackTries))
	if d.wait.Code == WaitNothing && t.Phase == tx.PhaseDone {
		d.wait, d.next = Wait{Code: WaitCallback}, Next{Action: StepTell}
	}
	return d
}

func (s *Scene) done() said { return s.unanswered(s.doneBy()) }

// doneBy speaks of DONE.
func (s *Scene) doneBy() said {
	t, a := s.Txn, s.Txn.Attempt(s.Txn.Landed)
	in := ", as a person said"
	if a != nil && a.Height > 0 {
		in = fmt.Sprintf(" in block %d", a.Height)
	}
	remove := Next{Action: StepRemove, At: t.FinalAt.Add(s.Policy.Retention)}
	switch {
	case t.Reopened:
		return s.orphaned(a)
	case a == nil && t.FinalAt.IsZero():
		return said{"It is DONE.", Wait{Code: WaitNothing}, Next{Action: StepNone}}
	case a == nil:
		return said{"Its worker finished it without a block.", Wait{Code: WaitNothing}, remove}
	case !t.FinalAt.IsZero():
		return said{"It took effect" + in + ", for good.", Wait{Code: WaitNothing}, remove}
	case s.Sighting.Pruned:
		d := s.passed()
		d.summary = "It took effect" + in + ", when that was last seen. " + d.summary
		d.wait.Code = WaitFinality
		return d
	}
	return said{fmt.Sprintf("It took effect%s, and is watched until that is %d blocks deep.", in, s.Policy.Finality),
		Wait{Code: WaitFinality, Detail: depth(&s.Sighting, s.Policy.Finality)}, Next{Action: StepFinal}}
}

// orphaned speaks of what was DONE in a block that is gone. What a worker sent by
// itself lands again from a pool, or not at all.
func (s *Scene) orphaned(a *tx.Attempt) said {
	was := fmt.Sprintf("It was DONE, and block %d is no longer on the chain", a.Height)
	wait := Wait{Code: WaitBlock, Detail: "its block was orphaned"}
	soon := s.Now.Add(s.Policy.InclusionInterval)
	g := &s.Sighting
	switch {
	case !s.Txn.Legacy():
		return said{was + "; the same bytes are sent again until it lands or cannot.", wait, Next{Action: StepSendAgain}}
	case g.Fate == tx.FatePooled && !g.Agreed && s.Now.Sub(a.StartedAt) > toldFor:
		d := s.stuck()
		d.summary = was + ". " + d.summary
		return d
	case g.Fate == tx.FatePooled:
		return said{was + ". In " + pools(g) + ", waiting for another block.", wait, Next{Action: StepWatch, At: soon}}
	}
	return said{was + ". Only its worker has its bytes: it lands if a node still has it or the worker sends it again. " +
		"If no node shows it for long, a person has to settle it.", wait, Next{Action: StepWatch, At: soon}}
}

// endedBy speaks of FAILED and UNRESOLVED.
func (s *Scene) endedBy() said {
	t := s.Txn
	code := cmp.Or(t.Error, &tx.Error{}).Code
	d := said{"All tries are used up" + because(t.Error) + ".",
		Wait{Code: WaitNothing, Detail: "a person may retry it"}, Next{Action: StepNone}}
	switch {
	case code == tx.CodeCancelled:
		d.summary = "It was cancelled before it took effect."
	case code == tx.CodeExpired && s.Expired():
		d.summary, d.wait.Detail = upper(t.Error.Message)+".", ""
	case t.Phase == tx.PhaseUnresolved && t.Open():
		return said{
			"Nobody knows what became of its attempt" + because(t.Error) + ". " +
				"Look for it, and say by resolve whether it landed.",
			Wait{Code: WaitPerson, Detail: "what became of attempt " + fmt.Sprint(t.FirstOpen().Number)},
			Next{Action: StepResolve},
		}
	case t.Phase == tx.PhaseUnresolved:
		d = said{"No retry can mend it" + because(t.Error) + ".",
			Wait{Code: WaitPerson, Detail: "mend the cause and retry it, or delete it"}, Next{Action: StepDecide}}
	}
	if t.Open() {
		d.wait = Wait{Code: WaitExpiry, Until: s.lastSlot()}
		d.summary += " An attempt may still land."
		d.next = Next{Action: StepWatch}
	}
	return s.unanswered(d)
}
