package explorer

import "slices"

// Where mistakes are planted: what is decided, and what is decided upon.
const (
	decisions = "../../lifecycle/"
	nouns     = "../../tx/"
)

// mistakes are the known ones. The first have the names that they have in the
// simulation's list, where they are planted in the whole service.
func mistakes() []mistake {
	return slices.Concat(knownMistakes(), knownMistakesToo(), mistakesTriedEarly(), mistakesInTime(), mistakesOfAKind(),
		mistakesOfFailovers(), mistakesOfTrains(),
		mistakesOfLedgers())
}

func knownMistakes() []mistake {
	return []mistake{
		{"bytes sent before they are stored", "nothing goes wrong", decisions + "learn.go",
			"	s.Aside.Bytes = &BytesRead{Number: r.Call.Number, Command: r.Signed}\n", "	s.Aside.Bytes = nil\n"},
		{"a new nonce on a retry while an attempt is open", "refused after a crash", decisions + "plan.go",
			"a.Nonce = v.Txn.FirstOpen().Nonce\n", "a.Nonce = v.Txn.FirstOpen().Nonce + 1\n"},
		{"the sender given to others while an attempt is open", "one sender, errors", decisions + "decide.go",
			"if !v.Wanted || !v.Txn.Idle() || !v.Train.alone() {", "if !v.Wanted || !v.Train.alone() {"},
		{"a new nonce for a raised fee", "raise and crash", decisions + "raise.go",
			"Sender: best.Sender, Nonce: best.Nonce,", "Sender: best.Sender, Nonce: best.Nonce + 1,"},
		{"a transport error taken for a refusal", "sendings", decisions + "sending.go",
			"	s := v.hasSent(r.Call.Fresh)\n",
			"	if r.Lost {\n		r.Refusal = &Refusal{}\n	}\n	s := v.hasSent(r.Call.Fresh)\n"},
		{"absence taken for death", "sendings", decisions + "watch.go", "	return v.vanished()\n",
			"	return v.settle()\n"},
		{"the sender freed on FAILED while an attempt is open", "no try left", decisions + "decide.go",
			"	if v.Txn.Open() {\n		s := v.to(tx.PhaseWatching, ReasonUsedUp)",
			"	if false {\n		s := v.to(tx.PhaseWatching, ReasonUsedUp)"},
		{"the sender freed on a busy worker while an attempt is open", "busy while something is open",
			decisions + "plan.go",
			"	if u.Txn.MayLand() {\n		s = u.to(tx.PhaseDelayed, ReasonDeferred)",
			"	if false {\n		s = u.to(tx.PhaseDelayed, ReasonDeferred)"},
		{"the sender freed on UNRESOLVED while an attempt is open", "refused after a crash", decisions + "learn.go",
			"	case v.Txn.Open():\n		s := v.to(tx.PhaseWatching, ReasonAnswered)\n		s.Txn.Ending = tx.PhaseUnresolved",
			"	case false:\n		s := v.to(tx.PhaseWatching, ReasonAnswered)\n		s.Txn.Ending = tx.PhaseUnresolved"},
		{"another sender taken while an attempt is open", "refused after a crash", decisions + "decide.go",
			"	s := v.to(tx.PhaseDelayed, ReasonDelay)\n", "	s := v.to(tx.PhaseWaiting, ReasonDelay)\n"},
		{"a cancelled transaction FAILED while an attempt is open", "cancel while something is open",
			decisions + "order.go",
			"		if !v.Txn.MayLand() && len(v.Train.Behind) == 0 && v.Txn.Ending != tx.PhaseDone {\n			return v.cancelled()",
			"		if true {\n			return v.cancelled()"},
		{"a legacy worker asked again after a lost answer", "legacy", decisions + "legacy.go",
			"	if v.Local.Marked != a.Number {\n		return v.lose(", "	if false {\n		return v.lose("},
		{"a legacy worker's refusal believed", "legacy", decisions + "learn.go",
			"		if v.unspent(v.Txn.Last()) {\n", "		if true {\n"},
		{"the claim token ignored", "two processes, one sleeps", "change.go",
			"	case !c.Aside.Person && was.Claim != c.Before.Claim:\n		return nil, nil, ErrFenced\n" +
				"	case was.Revision != c.Before.Revision:\n		return nil, nil, ErrStale\n", ""},
		{"a lost answer forgotten while its worker starts again", "it starts again", decisions + "decide.go",
			"p != tx.PhaseDispatching && p != tx.PhaseWaiting && p != tx.PhaseDelayed",
			"p != tx.PhaseDispatching && p != tx.PhaseDelayed"},
		{"a sender rests without an end for what payloads can make", "one is doubted", decisions + "learn.go",
			"Rest: v.Policy.Pause(r.Ill - limit), By: ByDoubt", "Rest: Never, By: ByDoubt"},
		{"work goes on under claims that may have run out", "two processes, one sleeps", decisions + "drive.go",
			"	case (s.Do.Leaves() || s.Do.Kind == Confirm) && !live:\n", "	case false:\n"},
	}
}

// mistakesTriedEarly are of types that are tried again before a failure has settled.
func mistakesTriedEarly() []mistake {
	return []mistake{
		{"FAILED while what failed early may land", "tried early, and in vain", decisions + "decide.go",
			"v.lookBack(phases[v.Txn.Phase](v))", "phases[v.Txn.Phase](v)"},
		{"what failed early forgotten", "tried early", decisions + "land.go",
			"			if !settled {\n", "			if false && !settled {\n"},
		{"what failed early not looked for once another is gone", "tried early", decisions + "watch.go",
			"		case t.Shallow() != nil:\n			return v.turnBack()\n", ""},
	}
}

// mistakesInTime are of deadlines.
func mistakesInTime() []mistake {
	return []mistake{
		{"an attempt valid beyond its deadline", "deadline, errors", decisions + "deadline.go",
			"return min(slot, last), known", "return max(slot, last), known"},
		{"bytes sent after their deadline", "deadline", decisions + "decide.go",
			"	if v.Expired() && !t.Legacy() {", "	if false {"},
		{"what is stopped taken for surely unsent", "deadline", decisions + "deadline.go",
			"	u.Local.Unsent = 0\n", ""},
		{"FAILED at its deadline, whatever is open", "deadline, errors", decisions + "deadline.go",
			"	return v.with(dropPlan(v.Now)).usedUp()\n", "	return v.overdue()\n"},
		{"a worker that sends by itself asked for what has a deadline", "deadline, legacy", decisions + "legacy.go",
			"	if !v.Txn.ExpiresAt.IsZero() {\n		return v.unkept()", "	if false {\n		return v.unkept()"},
		{"nobody looks at it when its deadline comes", "deadline, errors", decisions + "decide.go",
			"s.Look.IsZero() || at.Before(s.Look)", "false && at.Before(s.Look)"},
	}
}

// mistakesOfTrains are about several of one queue in flight.
func mistakesOfTrains() []mistake {
	return []mistake{
		{"made anew while others are behind", "train, broken", decisions + "train.go",
			"	case around.trails:\n		return v.wait(ReasonBroken), true", "	case false:"},
		{"built on what will not come", "train, broken", decisions + "train.go",
			"return !m.Sighting.Fate.Ends() &&", "return (m.Failed() || !m.Sighting.Fate.Ends()) &&"},
		{"a sender freed with the first of several", "train", "change.go",
			"	if own != nil && len(q.Run) == 0 {", "	if own != nil {"},
		{"sent at a nonce that is another's", "train, at once", decisions + "learn.go",
			"	if unplaced {\n		return v.provedAhead(r)\n	}\n", ""},
		{"one nonce for two that are made", "train, at once, broken", decisions + "train.go",
			"(!t.SideBySide() || !m.takesNone())", "!t.makes(m)"},
		{"the sender's nonce as it was before others used theirs", "train, at once", decisions + "reprice.go",
			"Sender: v.Local.Asked.Sender, Among: v.Local.Asked.Among, Bytes", "Sender: v.Local.Asked.Sender, Bytes"},
		{"a sender stopped by a store that has forgotten", "train fails over, one step", decisions + "effects.go",
			"		Confirm: aside.Rest != nil && aside.Rest.Why == tx.StoppedNonce && !before.Open(),\n", ""},
		{"what a store has answered that has forgotten", "train fails over, greeted", decisions + "drive.go",
			"	case d.anew, t.Phase", "	case t.Phase"},
		{"a nonce that one which is gone has used", "train, commuting and reorganised", "change.go",
			"	return own != nil && own.Known && own.Next > n\n", "	return own != nil && own.Next > n+9\n"},
		{"held in the middle of a train", "train, at once, errors", decisions + "effects.go", "!aside.Slips", "true"},
	}
}

func knownMistakesToo() []mistake {
	return []mistake{
		{"an orphaned DONE forgotten", "reorganisation", decisions + "watch.go",
			"	case tx.FateAbsent, tx.FatePooled:\n		gone = true\n", ""},
		{"a nonce taken back down", "two in a queue, one comes back", decisions + "plan.go",
			"landed.Any && landed.Nonce >= account.Nonce", "landed.Any && landed.Nonce > account.Nonce+1000"},
		{"the settle depth ignored", "failed in a block", decisions + "watch.go",
			"g.Agreed && g.Depth >= v.Policy.SettleDepth", "g.Agreed"},
		{"the confirmations ignored", "deep", decisions + "land.go", "g.Depth < v.Policy.Confirmations", "g.Depth < 1"},
		{"the last attempt's hash told for the landing of an earlier one", "raise and crash", decisions + "land.go",
			"		t.Landed, t.Reopened, t.Done = in.Number, false",
			"		t.Landed, t.Reopened, t.Done = len(t.Attempts), false"},
		{"attempt numbers that begin anew", "retry after expiry", decisions + "plan.go",
			"Number: len(t.Attempts) + 1, Sender: t.Sender,", "Number: 1, Sender: t.Sender,"},
		{"the next of a queue before the callback", "two in a queue", "change.go",
			"		q.hold(s.Now, s.Now.Add(s.CallbackWait))",
			"		q.hold(s.Now, s.Now)"},
		{"what comes back to its queue put at the end of it", "two senders", "store.go",
			"head == nil || t.Sequence < head.Sequence", "head == nil || !t.ChangedAt.After(head.ChangedAt)"},
		{"a sender released and not offered again", "nothing goes wrong", "change.go", "		own.Queue = \"\"\n", ""},
		{"the claims of the dead left to them", "crash", "claims.go", "t.Claim != \"\" && Owner(t.Claim) == dead",
			"false"},
		{"a delay without an end", "retry after expiry", decisions + "decide.go",
			"	s.Txn.DueAt = v.Now.Add(v.Policy.retryDelay(t.Retries, v.Jitter))\n",
			"	s.Txn.DueAt = v.Now.AddDate(100, 0, 0)\n"},
	}
}

// mistakesOfAKind are at least two of each kind that has been met.
func mistakesOfAKind() []mistake {
	return []mistake{
		{"the lowest of the last slots watched", "raise and crash", decisions + "watch.go",
			"max(w.ValidUntil, a.ValidUntil)", "min(max(w.ValidUntil, 1), a.ValidUntil)"},
		{"the next nonce lowered by what has landed", "two in a queue", decisions + "land.go",
			"		s.Aside.Least = map[string]uint32{t.Sender: following(g.Nonce)}\n	}\n	s.Aside.LandedWith",
			"		s.Aside.NextNonce = new(g.Nonce)\n	}\n	s.Aside.LandedWith"},
		{"the first attempt taken for the one in the block", "raise and crash", decisions + "watch.go",
			"t.FindLast(func(a *tx.Attempt) bool { return a.Is(g.Hash) }), t.FindLast(t.LandsBy)",
			"t.Find(func(a *tx.Attempt) bool { return a.Is(g.Hash) || a.Open() }), t.Find(t.LandsBy)"},
		{"the depth ignored where FINALITY is asked for", "reorganisation", decisions + "watch.go",
			"g.Agreed && g.Depth >= v.Policy.Finality", "g.Agreed"},
		{"the depth ignored of what ended badly", "legacy, late", decisions + "watch.go",
			"	if v.Txn.Open() && v.settled() {",
			"	if g := &v.Sighting; v.Txn.Open() && g.Agreed && g.Depth > 0 && g.Fate != tx.FateIncluded {"},
		{"the depth ignored of what is reopened", "reorganised twice", decisions + "watch.go",
			"	t, g := v.Txn, &v.Sighting\n	if v.settled() {\n		switch {",
			"	t, g := v.Txn, &v.Sighting\n	if g.Agreed && g.Depth > 0 && g.Fate != tx.FateIncluded {\n		switch {"},
		{"one node believed that it is final", "two nodes, reorganised", decisions + "watch.go",
			"		if g.Agreed && g.Depth >= v.Policy.Finality {", "		if g.Fate == tx.FateIncluded {"},
		{"one node believed that it has failed", "two nodes, failed", decisions + "watch.go",
			"return g.Fate.Ends() && g.Agreed &&",
			"return g.Fate == tx.FateFailed && !g.Agreed || g.Fate.Ends() && g.Agreed &&"},
		{"the claim dropped of what is DONE", "nothing goes wrong", decisions + "effects.go",
			"Keep: after.Watched()", "Keep: after.Watched() && after.Phase != tx.PhaseDone"},
		{"the claim dropped of what ended and may land", "legacy, answers lost", decisions + "effects.go",
			"Keep: after.Watched()", "Keep: after.Phase == tx.PhaseDone"},
		{"the claim dropped between bound phases", "retry after expiry", "change.go",
			"	case !t.Phase.Bound() && !c.Moves.Keep:\n",
			"	case t.Phase == tx.PhaseDelayed || !t.Phase.Bound() && !c.Moves.Keep:\n"},
		{"confirmations and finality swapped", "deep, reorganised", decisions + "watch.go",
			"g.Depth >= v.Policy.Finality {", "g.Depth >= v.Policy.Confirmations {"},
		{"settle depth and confirmations swapped", "failed in a block", decisions + "watch.go",
			"g.Depth >= v.Policy.SettleDepth", "g.Depth >= v.Policy.Confirmations"},
		{"an answer to an earlier attempt taken for this one's", "raise", decisions + "learn.go",
			" || a.Number != r.Call.Number || a.Sender != r.Sender || a.Nonce != r.Nonce {", " {"},
		{"the bytes of another attempt dropped by a late answer", "retry after expiry", decisions + "drive.go",
			"if e.Kind == Send && d.bytes != nil && d.bytes.Number == e.Number {", "if e.Kind == Send {"},
		{"a refusal of what was sent before believed", "refused after a crash", decisions + "sending.go",
			"	nowhere := r.Call.Fresh && v.nowhere(a)\n", "	nowhere := true\n"},
		{"a strange answer taken for that of a legacy worker", "worker busy", decisions + "learn.go",
			"	case r.Proves:\n", "	case r.Proves && v.Now.IsZero():\n"},
		{"a refusal believed although a node shows it", "sendings", decisions + "sending.go",
			"	nowhere := r.Call.Fresh && v.nowhere(a)\n", "	nowhere := r.Call.Fresh\n"},
		{"a legacy call open only once it is answered", "legacy", nouns + "attempt.go",
			"Called:          {outcome: \"prepared\", open: true}", "Called:          {outcome: \"prepared\"}"},
		{"an overtaken plan sent all the same", "two in a queue, one comes back", decisions + "effects.go",
			"m.InOrder = after.Phase.Bound() && !before.Open()", "m.InOrder = false"},
		{"what was known kept although another had it", "fails over, legacy", decisions + "drive.go",
			"		d.local, d.bytes = Local{}, nil\n", "		d.local.Asked = Asked{}\n"},
		{"a result dropped when the record was stale", "legacy, lost replies", decisions + "drive.go",
			"func (d *Drive) Stale() { d.stale = true }",
			"func (d *Drive) Stale() { d.stale, d.results = true, nil }"},
		{"what landed no longer stands as such", "two in a queue, one comes back", decisions + "effects.go",
			"		m.Stands, m.Nonce = now.Sender, *nonce\n", ""},
	}
}

// mistakesOfFailovers are what goes wrong when the store forgets.
func mistakesOfFailovers() []mistake {
	const restore = decisions + "restore.go"
	return []mistake{
		{"what is out remembered by no process", "fails over, all live", restore,
			"	}\n	return t\n}\n\n// Reposts", "	}\n	return nil\n}\n\n// Reposts"},
		{"what was final written back as an end", "fails over, legacy", restore,
			"		case a.Number == t.Landed:\n", "		case a.Number == t.Landed && t.FinalAt.IsZero():\n"},
		{"what is out forgotten with the store", "fails over, all live", restore,
			"out := known.HasOut(k) || k.Legacy", "out := k.Legacy"},
		{"a plan taken for what became of it", "fails over, two senders", restore,
			"sameAsMade(t, a, k) && !precedes(a, k)", "sameAsMade(t, a, k)"},
		{"what landed not remembered", "fails over, reorganised", nouns + "transaction.go",
			"return a.Open() || a.Shallow() || a == t.Standing() }", "return a.Open() || a.Shallow() }"},
		{"the bytes of what was forgotten not put back", "fails over, all live", restore,
			"	return u, bytes\n", "	_ = bytes\n	return u, nil\n"},
		{"what has something out sent back to its queue", "fails over, two queues, one sender", restore,
			"if !t.Phase.Bound() || t.Open() {\n		return nil", "if !t.Phase.Bound() {\n		return nil"},
		{"a place that is taken not waited for", "fails over, two queues, one sender", "restore.go",
			"			}\n			return false\n", "			}\n			return true\n"},
		{"the chain not asked after a failover", "fails over, all die along", "failover.go",
			"		if !s.reconcile(p) {\n			return s.store.writes > writes\n		}\n		s.tell(\"%s settles", "		s.tell(\"%s settles"},
		{"the chain asked from the next nonce on after a failover", "fails over, all die along", "failover.go",
			"	if s.store.Unsettled {\n		from = 0", "	if false {\n		from = 0"},
		{"bytes that leave although the store is not settled", "fails over, all die along", "change.go",
			"	case c.Moves.Confirm && s.Unsettled:\n		return nil, nil, ErrUnsettled\n", ""},
		{"an end told by a store that has forgotten", "fails over, cancelled", decisions + "effects.go",
			"aside.Person || after.Phase != before.Phase && endedByNoBlock(after)", "false"},
		{"an end told by who has forgotten that another drove it", "fails over, one sleeps, a deadline",
			decisions + "effects.go",
			" || after.Phase != before.Phase && endedByNoBlock(after),", ","},
		{"what came to nothing remembered by no process", "fails over, refused", restore,
			"	case !Reposts(t) && t.Find(wasUnspent) == nil:\n", "	case !Reposts(t):\n"},
		{"what is gone on without put back", "fails over, one sleeps", restore,
			"(a.StartedAt.After(k.StartedAt) || !k.Unspent()) &&", "false &&"},
		{"an end taken back in a change of its own", "fails over, legacy, one sleeps", "restore.go",
			"		sender := after.FirstOpen().Sender\n", `		sender := after.FirstOpen().Sender
		if before.Phase.Final() {
			u := before.Clone()
			u.Phase, u.Landed, u.DoneAt, u.FinalAt = tx.PhaseWaiting, 0, u.NotBefore, u.NotBefore
			s.putBack(p, before, u, nil)
			s.crash(p)
			return false
		}
`},
		{"a plan left beside what is found", "fails over, legacy, one sleeps", restore,
			"	if a.Open() && (!was.Open() ||", "	if false && (!was.Open() ||"},
		{"bytes that leave although no replica has confirmed them", "fails over, confirmed", "run.go",
			"	h.drive.Stored(txn, !heard)\n", "	h.drive.Stored(txn, false)\n"},
		{"a stranger's command taken for ours", "fails over, a stranger", "failover.go",
			"		if c.txn != stranger {\n			u.UID = uid(int(c.txn))\n		}\n		switch",
			"		u.UID = uid(int(max(c.txn, 0)))\n		switch"},
		{"a replica that is cut off taken for one that nobody has", "fails over, cut off", "failover.go",
			"	case s.world.CutOff:\n		return false\n", "	case s.world.CutOff: // and nobody is asked\n"},
		{"what one replica has confirmed remembered by no process", "another confirmed", "failover.go",
			"	if s.world.Forgets == 0 {\n		return\n	}\n	r := &s.procs[p].recovery",
			"	if s.world.Forgets == 0 || s.world.Replicas {\n		return\n	}\n	r := &s.procs[p].recovery"},
		{"tokens of claims given again by a former primary", "and back, confirmed", "failover.go",
			"	s.store.claims = max(claims, s.store.claims) + 1000 //", "	s.store.claims = max(0*claims, s.store.claims) //"},
		{"what was written back believed to be there after the next failover", "fails over, twice", "failover.go",
			"		s.procs[p].back = !s.procs[p].alive\n",
			"		s.procs[p].back = !s.procs[p].alive || s.procs[p].back && s.procs[p].shut\n"},
		{"a store that lacks nothing taken for one that does", "restarts", restore,
			"return out && !hasMade(t, k) &&", "return out &&"},
		{"a store that restarts settled by nobody who did not know it before", "restarts, two die along", "failover.go",
			"o.alive && o.live && !o.back {", "o.alive && o.live && o.run > 0 {"},
		{"the last block alone looked at for what a back-up lacks", "a back-up restored", "failover.go",
			"			if b := &s.chain[n].blocks[i]; b.full {\n				add(",
			"			if b := &s.chain[n].blocks[i]; b.full && i+1 == s.chain[n].tip() {\n				add("},
		{"what is raised given up for a raise that is put back", "fails over, a raise and all die along", restore,
			"if c.Unspent() || a.SameNonce(c) {",
			"if c.Unspent() || a == c {"},
		{"what was confirmed to one process remembered by no other", "fails over, other settings", "failover.go",
			"	if s.world.Forgets == 0 {\n		return\n	}\n	r := &s.procs[p].recovery",
			"	if s.world.Forgets == 0 || s.world.Replicas {\n		return\n	}\n	r := &s.procs[p].recovery"},
	}
}

func mistakesOfLedgers() []mistake {
	return []mistake{
		{"what is posted before a retry is forgotten by a cancel", "Sawtooth: persons", decisions + "batch.go",
			"!t.Open() && reopen(t)", "false"},
		{"a batch posted once more where it is executed again", "Scabbard: losses and crashes", decisions + "batch.go",
			"	if !b.Idempotent || v.Stops()", "	if v.Stops()"},
		{"a batch posted once more after a crash", "Scabbard: losses and crashes", decisions + "batch.go",
			"	case last.State != tx.Signed || v.Local.Unsent != last.Number:", "	case last.State != tx.Signed:"},
		{"a batch given up that its ledger has again", "Sawtooth: losses and crashes", decisions + "batch.go",
			"	case !seen.At.After(v.Clock.Add(left)), seen.State == BatchPending:", "	case false:"},
		{"a batch DONE before it is committed", "Sawtooth: persons", decisions + "batch.go",
			"	case seen.State == BatchCommitted:\n		return v.committed(ReasonLanded)\n	case a == nil",
			"	case seen.State != BatchUnknown:\n		return v.committed(ReasonLanded)\n	case a == nil"},
	}
}
