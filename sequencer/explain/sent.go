package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/sequencer/tx"
)

// watching speaks of what may be on its way into a block.
func (s *Scene) watching() said {
	g := &s.Sighting
	switch g.Fate {
	case tx.FateIncluded:
		deep := depth(g, s.Policy.Confirmations)
		return said{fmt.Sprintf("In block %d, %s.", g.Height, deep),
			Wait{Code: WaitConfirmations, Detail: deep}, Next{Action: StepFinish}}
	case tx.FateFailed:
		return s.settling(fmt.Sprintf("It failed in block %d (%s)", g.Height, tx.Short(g.Failure.Code)))
	case tx.FateDisplaced:
		return s.settling(strings.TrimSpace("Its nonce was spent by a command that is not ours " + g.Hash))
	case tx.FateExpired:
		return s.settling("Its attempt has expired")
	}
	d, leaves := s.leaving()
	switch {
	case leaves:
		return d
	case g.Pruned:
		return s.passed()
	case g.Fate == tx.FatePooled:
		return s.pooled()
	case g.Fate == tx.FateAbsent:
		return s.absent()
	case !s.Asked:
		return s.landing("It was sent and waits for a block. The process that watches it knows more.",
			"as last stored", Next{Action: StepWatch})
	}
	soon := Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	if !s.Tip.Quorum {
		return said{"It was sent; too few Mina nodes are synced to say what became of it." + s.noMore(), s.forNodes(), soon}
	}
	return s.landing("It was sent; the nodes do not agree yet on what became of it.", "no agreement yet", soon)
}

// leaving speaks of bytes that are stored, and are being given to the nodes.
func (s *Scene) leaving() (d said, leaves bool) {
	t, g := s.Txn, &s.Sighting
	switch {
	case t.Phase != tx.PhaseSent:
		return d, false
	case t.Last().State == tx.Signed && !s.unconfirmed().IsZero():
		return said{fmt.Sprintf("Attempt %d is signed and stored, and is sent when the replicas of Redis that "+
			"SEQUENCER_REDIS_WAIT asks for have confirmed that; too few do since %s: see why they are away.%s",
			t.Last().Number, stamp(s.unconfirmed()), s.noMore()),
			Wait{Code: WaitSending, Detail: "replicas of Redis to confirm it"}, Next{Action: StepSend}}, true
	case !t.Legacy() && (g.Fate == "" || g.Fate == tx.FateUnknown && !g.Pruned):
		return said{fmt.Sprintf("Attempt %d is signed and being sent to the Mina nodes.%s", t.Last().Number, s.noMore()),
			Wait{Code: WaitSending}, Next{Action: StepSend, At: s.Now}}, true
	}
	return d, false
}

// unconfirmed is since when the process that drives it waits for replicas; zero if it does not.
func (s *Scene) unconfirmed() time.Time {
	if i := s.driver(); i >= 0 {
		return s.Living[i].Unconfirmed
	}
	return time.Time{}
}

// settling speaks of what counts once it is deep enough.
func (s *Scene) settling(what string) said {
	g, deep := &s.Sighting, s.EndDepth()
	next := Next{Action: StepRetry}
	if s.last() || g.Fate == tx.FateFailed && g.Failure.Permanent {
		next.Action = StepEnd
	}
	return said{fmt.Sprintf("%s; that counts when it stands %d blocks deep, now %d.%s", what, deep, g.Depth, s.noMore()),
		Wait{Code: WaitSettlement, Detail: depth(g, deep)}, next}
}

// pooled speaks of what stands in a pool.
func (s *Scene) pooled() said {
	t, g := s.Txn, &s.Sighting
	if t.Legacy() && !g.Agreed && s.Now.Sub(t.Last().StartedAt) > toldFor {
		return s.stuck()
	}
	text := "In " + pools(g) + ", waiting for a block."
	due, _ := s.RaiseSlot()
	next := Next{Action: StepRaiseFee, At: s.slot(int64(due))}
	switch {
	case t.Legacy() || s.last():
		next = Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	case s.AtCap():
		next = Next{Action: StepSendAgain}
	case s.Pays():
		next = Next{Action: StepSendAgain}
		text += " It pays what the market asks for."
	}
	return s.landing(text, pools(g), next)
}

// unheardFor is how long it may take until a node shows what it was given.
const unheardFor = 5 * time.Minute

// absent speaks of what no node shows.
func (s *Scene) absent() said {
	const nowhere = "in no pool and no block"
	switch t := s.Txn; {
	case t.Legacy():
		return s.landing("Its worker may have sent it, and no node shows it. If that stays so, a person has to settle it.",
			nowhere, Next{Action: StepResolve, At: t.Last().StartedAt.Add(2 * s.Policy.DispatchTimeout)})
	case s.last():
		return s.landing("It was sent, and no node shows it; it may still land.",
			nowhere, Next{Action: StepEnd, At: s.lastSlot()})
	}
	a := s.Txn.FindLast((*tx.Attempt).WasOut)
	switch {
	case a.Stalled() && a.Cause != tx.CauseNetwork && s.Now.Sub(s.Txn.ChangedAt) < unheardFor:
	case a.Stalled() && a.Cause != tx.CauseNetwork:
		return s.landing("No node was seen to take it, though it is sent again and again since "+stamp(s.Txn.ChangedAt)+
			because(a.Error)+": see to the nodes, and to what stands in front of them.", nowhere, Next{Action: StepSendAgain})
	case a.Stalled():
		return s.landing("The network takes nothing from anybody"+because(a.Error)+"; the same bytes are sent again, "+
			"and signed again when they have run out: see when the network goes on.", nowhere, Next{Action: StepSendAgain})
	}
	return s.landing("It was sent, and no node shows it; the same bytes are sent again.",
		nowhere, Next{Action: StepSendAgain})
}

// toldFor is how long a node tells its peers of what it was sent. Mina: 50
// minutes; it stays in the node's own pool after that.
const toldFor = 50 * time.Minute

// stuck speaks of what a worker sent by itself, and not every node has heard of:
// nobody here has its bytes, and the node that was given them is silent by now.
func (s *Scene) stuck() said {
	return said{
		"In the pool of some nodes, which no longer tell the others of it. It may land as long as one shows it: " +
			"have its worker send it again, or restart the nodes that show it and resolve it then.",
		Wait{Code: WaitPerson, Detail: pools(&s.Sighting)},
		Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)},
	}
}

// passed speaks of a nonce that was spent in a block which the nodes no longer
// have, as after a long outage. The archive may know that block.
func (s *Scene) passed() said {
	const gone = "Its nonce was spent in a block that the nodes no longer hold"
	asked := Wait{Code: WaitSettlement, Detail: "the archive"}
	next := Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	switch {
	case s.Sighting.Sought:
		return s.settledBy(gone + ", and the archive does not show it there.")
	case s.Tip.NoArchive:
		return s.settledBy(gone + ", and there is no archive to ask.")
	case s.Tip.ArchiveLost != "":
		asked.Detail = tx.Short(s.Tip.ArchiveLost)
		return said{gone + ", and the archive cannot be asked.", asked, next}
	}
	return said{gone + "; the archive is being searched.", asked, next}
}

func (s *Scene) settledBy(text string) said {
	d := said{text, Wait{Code: WaitPerson}, Next{Action: StepWatch}}
	if a := s.Txn.FirstOpen(); a != nil {
		d.summary += " Look for it, and say by resolve whether it landed."
		d.wait.Detail = "what became of attempt " + strconv.Itoa(a.Number)
		d.next = Next{Action: StepResolve}
	}
	return d
}

// landing waits for a block, or for the last slot of what is not tried again.
func (s *Scene) landing(text, detail string, next Next) said {
	wait := Wait{Code: WaitBlock, Until: s.lastSlot(), Detail: detail}
	if s.last() {
		wait.Code = WaitExpiry
	}
	return said{text + s.noMore(), wait, next}
}

// last says whether no further attempt is made.
func (s *Scene) last() bool { return s.Stops() || s.Txn.Ending != "" }

// noMore is the sentence that says so, if it is so.
func (s *Scene) noMore() string {
	switch {
	case s.Txn.CancelRequested:
		return " No further attempt is made: a cancel was asked for."
	case s.last():
		return " No further attempt is made."
	}
	return ""
}

// slot is when a slot begins, by the clock of Redis; zero if it is unknown.
func (s *Scene) slot(n int64) time.Time {
	at := s.Tip.Begins(n)
	if at.IsZero() {
		return at
	}
	return s.Now.Add(at.Sub(s.Clock))
}

// lastSlot is when the last open attempt can no longer be included.
func (s *Scene) lastSlot() time.Time {
	var last uint32
	for i := range s.Txn.Attempts {
		if a := &s.Txn.Attempts[i]; a.Open() {
			if a.ValidUntil == 0 {
				return time.Time{}
			}
			last = max(last, a.ValidUntil)
		}
	}
	return s.slot(int64(last) + 1)
}
