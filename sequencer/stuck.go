package sequencer

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
)

// toldFor is how long a node tells its peers of what it was sent. Mina: 50
// minutes; it stays in the node's own pool after that.
const toldFor = 50 * time.Minute

// passed speaks of a nonce that was spent in a block which the nodes no longer
// hold, as after a long outage. The archive may know that block.
func (s *Scene) passed() said {
	const gone = "Its nonce was spent in a block that the nodes no longer hold"
	asked := lifecycle.Wait{Code: lifecycle.WaitSettlement, Detail: "the archive"}
	next := lifecycle.Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)}
	switch {
	case s.Sighting.Sought:
		return s.settledBy(gone + ", and the archive does not show it there.")
	case errors.Is(s.Chain.Archive, mina.ErrNoArchive):
		return s.settledBy(gone + ", and there is no archive to ask.")
	case s.Chain.Archive != nil:
		asked.Detail = short(s.Chain.Archive.Error())
		return said{gone + ", and the archive cannot be asked.", asked, next}
	}
	return said{gone + "; the archive is being searched.", asked, next}
}

func (s *Scene) settledBy(text string) said {
	d := said{text, lifecycle.Wait{Code: lifecycle.WaitPerson}, lifecycle.Next{Action: StepWatch}}
	if a := firstOpen(s.Txn); a != nil {
		d.summary += " Look for it, and say by resolve whether it landed."
		d.wait.Detail = "what became of attempt " + strconv.Itoa(a.Number)
		d.next = lifecycle.Next{Action: StepResolve}
	}
	return d
}

// stuck speaks of what a worker sent by itself, and not every node has heard of:
// nobody here has its bytes, and the node that was given them is silent by now.
func (s *Scene) stuck() said {
	return said{
		"In the pool of some nodes, which no longer tell the others of it. It may land as long as one shows it: " +
			"have its worker send it again, or restart the nodes that show it and resolve it then.",
		lifecycle.Wait{Code: lifecycle.WaitPerson, Detail: pools(s.Sighting)},
		lifecycle.Next{Action: StepWatch, At: s.Now.Add(s.Policy.InclusionInterval)},
	}
}

// orphaned speaks of what was DONE in a block that is gone. What a worker sent by
// itself lands again from a pool, or not at all.
func (s *Scene) orphaned(a *lifecycle.Attempt) said {
	was := fmt.Sprintf("It was DONE, and block %d is no longer on the chain", a.Height)
	wait := lifecycle.Wait{Code: lifecycle.WaitBlock, Detail: "its block was orphaned"}
	soon := s.Now.Add(s.Policy.InclusionInterval)
	g := s.Sighting
	switch {
	case !isLegacy(s.Txn):
		return said{was + "; the same bytes are sent again until it lands or cannot.", wait, lifecycle.Next{Action: StepSendAgain}}
	case g.Fate == lifecycle.FatePooled && !g.Agreed && s.Now.Sub(a.StartedAt) > toldFor:
		d := s.stuck()
		d.summary = was + ". " + d.summary
		return d
	case g.Fate == lifecycle.FatePooled:
		return said{was + ". In " + pools(g) + ", waiting for another block.", wait, lifecycle.Next{Action: StepWatch, At: soon}}
	}
	return said{was + ". Only its worker has its bytes: it lands if a node still has it or the worker sends it again. " +
		"If no node shows it for long, a person has to settle it.", wait, lifecycle.Next{Action: StepWatch, At: soon}}
}
