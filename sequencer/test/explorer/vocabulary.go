package explorer

import (
	lc "mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// entries are all words of package lifecycle, with how often each was met. A test holds
// them against its source.
func (c *Coverage) entries() (all []entry) {
	for _, r := range []lc.Reason{lc.ReasonWaiting, lc.ReasonBound, lc.ReasonPlanning, lc.ReasonDraining,
		lc.ReasonDeferred, lc.ReasonProving, lc.ReasonRepricing, lc.ReasonLost, lc.ReasonAnswered,
		lc.ReasonConfirming, lc.ReasonSending, lc.ReasonSent, lc.ReasonPool, lc.ReasonAbsent, lc.ReasonResending,
		lc.ReasonRaising, lc.ReasonBlock,
		lc.ReasonFailedIn, lc.ReasonDisplaced, lc.ReasonExpired, lc.ReasonPruned, lc.ReasonUnclear, lc.ReasonLanded,
		lc.ReasonSettled, lc.ReasonAmbiguous,
		lc.ReasonNonceIgnored, lc.ReasonWeighing, lc.ReasonDelay, lc.ReasonRetry, lc.ReasonBack, lc.ReasonYield, lc.ReasonCancelled,
		lc.ReasonUsedUp, lc.ReasonOverdue, lc.ReasonFinality,
		lc.ReasonFinal, lc.ReasonOrphaned, lc.ReasonEnded, lc.ReasonOrdered, lc.ReasonUnchanged,
		lc.ReasonLooking, lc.ReasonSubmitting, lc.ReasonInvalid, lc.ReasonBehind, lc.ReasonBroken, lc.ReasonHeld} {
		all = append(all, entry{"reason", string(r), c.Reasons[r]})
	}
	for _, k := range []lc.Kind{lc.AskSender, lc.AskHealth, lc.AskRetries, lc.AskChain, lc.AskAccount, lc.AskLanded,
		lc.AskBytes, lc.AskRecord, lc.Confirm, lc.Build, lc.Prove,
		lc.Resign, lc.Dispatch, lc.Send, lc.Submit} {
		all = append(all, entry{"effect", string(k), c.Kinds[k]})
	}
	for _, f := range []string{string(lc.FaultError), string(lc.FaultHopeless), string(lc.FaultLost),
		string(lc.FaultSent), string(lc.FaultWorking), string(lc.FaultNoCall), string(lc.FaultGone),
		string(lc.FaultBusy), string(lc.FaultUnreached), string(lc.FaultSpent), string(lc.FaultOutOfOrder)} {
		all = append(all, entry{"answer", f, c.answersOf(f)})
	}
	for _, d := range []lc.Denial{lc.Overtaken, lc.Costly, lc.Used, lc.Unconfirmed} {
		all = append(all, entry{"denial", string(d), c.Denials[d]})
	}
	for _, o := range []tx.OrderKind{tx.OrderCancel, tx.OrderRetry, tx.OrderLanded, tx.OrderDead, tx.OrderExpire} {
		all = append(all, entry{"order", string(o), c.Orders[o]})
	}
	for _, f := range []tx.Fate{tx.FateUnknown, tx.FateAbsent, tx.FatePooled, tx.FateIncluded, tx.FateFailed,
		tx.FateDisplaced, tx.FateExpired} {
		all = append(all, entry{"fate", string(f), c.Fates[f]})
	}
	for _, b := range []lc.BatchState{lc.BatchUnknown, lc.BatchPending, lc.BatchCommitted, lc.BatchInvalid} {
		all = append(all, entry{"batch", string(b), c.Standings[b]})
	}
	for _, o := range []lc.SubmitOutcome{lc.SubmitUnknown, lc.SubmitAccepted, lc.SubmitBusy, lc.SubmitHeld,
		lc.SubmitRejected} {
		all = append(all, entry{"post", string(o), c.Submits[o]})
	}
	for _, how := range restores {
		all = append(all, entry{"restore", how, c.Restores[how]})
	}
	for f := range faults {
		all = append(all, entry{"trouble", f.String(), c.Faults[f]})
	}
	return all
}
