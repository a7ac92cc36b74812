package explorer

import (
	"slices"

	"mina-sequencer/sequencer/tx"
)

// Worlds are those that are explored, the small ones first. Each is complete within its
// budget and its height.
func Worlds() []*World {
	return filled(slices.Concat(worldsOfOne(), worldsOfMore(), worldsOfTrains(), worldsOfFailovers(), worldsOfLedgers()))
}

// WiderWorlds are more than CI walks: each of its worlds with more of everything, and
// some with faults of several kinds.
func WiderWorlds() []*World {
	all := filled(slices.Concat(worldsOfMuch(), worldsOfLongTrains()))
	for _, w := range slices.Concat(Worlds(), Pairs()) {
		all = append(all, w.Wider())
	}
	return all
}

func filled(all []*World) []*World {
	for _, w := range all {
		if w.Nodes == 0 {
			w.Nodes = 1
		}
		if w.Procs == 0 {
			w.Procs = 1
		}
		if w.Senders == 0 {
			w.Senders = 1
		}
		if w.Queues == nil {
			w.Queues = []int{1}
		}
	}
	return all
}

// Wider is a world with one more of each fault that it knows, and higher chains.
func (w *World) Wider() *World {
	wide := *w
	wide.Budget = Budget{}
	for f, n := range w.Budget {
		wide.Budget[f] = n + 1
	}
	if w.Height > 0 {
		wide.Height += 2
	}
	return &wide
}

// worldsOfOne have one transaction, one process and one node.
func worldsOfOne() []*World {
	return []*World{
		{Name: "nothing goes wrong", Slow: true},
		{Name: "crash", Budget: Budget{Crash: 1}},
		{Name: "lost replies", Slow: true, Budget: Budget{LostReply: 1}},
		{Name: "sendings", Budget: Budget{LostSend: 1, Refuse: 1}},
		{Name: "worker's errors", Retries: 1, Height: 3, Budget: Budget{WorkerErr: 1, Hopeless: 1, Finished: 1}},
		{Name: "worker busy", Height: 3, Budget: Budget{Busy: 1, WrongKey: 1}},
		{Name: "worker's answers lost", Height: 3, Budget: Budget{WorkerLost: 3, Crash: 1}},
		{Name: "worker's answers lost, it starts again", Height: 2, Retries: 1, Budget: Budget{WorkerLost: 3, Busy: 2}},
		{Name: "reorganisation", Height: 4, Budget: Budget{Reorg: 1, Vanish: 1}},
		{Name: "failed in a block", Retries: 1, Height: 3, Budget: Budget{FailIn: 1, Reorg: 1}},
		{Name: "tried early", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 3, Budget: Budget{FailIn: 1, Reorg: 1}},
		{Name: "tried early, and in vain", Early: 1, Settle: 3, Finality: 3, Height: 4, Budget: Budget{FailIn: 1, Reorg: 1}},
		{Name: "reorganised twice", Patient: true, Height: 4, Budget: Budget{Reorg: 2, FailIn: 1}},
		{Name: "refused after a crash", Retries: 1, Height: 2, Budget: Budget{Crash: 1, Refuse: 1}},
		{Name: "refused, and the one before it runs out", Retries: 1, Height: 4, Budget: Budget{Refuse: 1}},
		{Name: "no try left while something is open", Height: 3, Budget: Budget{Crash: 1, Refuse: 1}},
		{Name: "busy while something is open", Retries: 1, Height: 2, Budget: Budget{Crash: 1, Refuse: 1, Busy: 1}},
		{Name: "cancel while something is open", Retries: 1, Height: 1, Budget: Budget{Crash: 1, Refuse: 1, Cancel: 1}},
		{Name: "retry after expiry", Retries: 1, Height: 5},
		{Name: "legacy", Legacy: true, Budget: Budget{Crash: 1, WorkerErr: 1}},
		{Name: "legacy, late", Legacy: true, Height: 3, Budget: Budget{Vanish: 1, FailIn: 1, Reorg: 1}},
		{Name: "legacy, lost replies", Legacy: true, Height: 3, Budget: Budget{LostReply: 1}},
		{Name: "legacy, answers lost", Legacy: true, Height: 5, Budget: Budget{WorkerLost: 1, Resolve: 1, Busy: 1}},
		{Name: "legacy, reorganisation", Legacy: true, Height: 5, Budget: Budget{Reorg: 1, Vanish: 1, Resolve: 1}},
		{Name: "legacy, another nonce", Legacy: true, Height: 5, Budget: Budget{Stray: 1, FailIn: 1}},
		{Name: "raise", Raise: true, Height: 2, Budget: Budget{Refuse: 1, WorkerErr: 1}},
		{Name: "raise and crash", Raise: true, Height: 2, Budget: Budget{Crash: 1}},
		{Name: "raise and fee limit", Raise: true, FeeLimit: 1, Height: 2},
		{Name: "raise, fee limit and crash", Raise: true, FeeLimit: 1, Height: 2, Budget: Budget{Crash: 1}},
		{Name: "market", Market: true, Height: 2, Budget: Budget{WorkerErr: 1, Crash: 1}},
		{Name: "market, answers lost", Market: true, Height: 2, Budget: Budget{WorkerLost: 1, Busy: 1}},
		{Name: "market, told to end", Market: true, Retries: 1, Height: 1, Budget: Budget{Stop: 1, FailIn: 1}},
		{Name: "market and fee limit", Market: true, FeeLimit: 1, Height: 2, Budget: Budget{WorkerErr: 1}},
		{Name: "market, lost replies", Market: true, Slow: true, Height: 1, Budget: Budget{LostReply: 1}},
		{Name: "outsider", Retries: 1, Height: 4, Budget: Budget{Outsider: 1}},
		{Name: "persons", Retries: 1, Height: 2, Budget: Budget{Cancel: 1, WorkerErr: 1, Retry: 1}},
		{Name: "cancel on the way", Height: 2, Budget: Budget{Cancel: 1, Busy: 1, Crash: 1}},
		{Name: "paused", Queues: []int{2}, Height: 1, Budget: Budget{Pause: 1}},
		{Name: "drained", Retries: 1, Height: 2, Budget: Budget{Drain: 1, WorkerErr: 1}},
		{Name: "told to end", Retries: 1, Height: 2, Budget: Budget{Stop: 1, WorkerErr: 1}},
		{Name: "no money", Height: 4, Budget: Budget{Broke: 1, Refuse: 1}},
		{Name: "replicas", Replicas: true, Height: 4, Budget: Budget{Unheard: 1, Crash: 1}},
		{Name: "no hash from the worker", Hashless: true, Height: 4, Budget: Budget{LostSend: 1, Crash: 1}},
		{Name: "deadline", Deadline: 3, Height: 4, Budget: Budget{LostSend: 1, Crash: 1}},
		{Name: "deadline, errors", Deadline: 3, Retries: 1, Height: 4, Budget: Budget{WorkerErr: 1, Refuse: 1, Busy: 1}},
		{Name: "deadline, failed in a block", Deadline: 3, Retries: 1, Height: 4, Budget: Budget{FailIn: 1, Reorg: 1}},
		{Name: "deadline, raised", Deadline: 3, Raise: true, Height: 4, Budget: Budget{Cancel: 1, Vanish: 1}},
		{Name: "deadline, legacy", Deadline: 3, Legacy: true, Height: 4, Budget: Budget{Busy: 1}},
		{Name: "deep", Confirmations: 2, Settle: 3, Finality: 4, Height: 5, Budget: Budget{FailIn: 1}},
		{Name: "deep, reorganised", Confirmations: 2, Settle: 3, Finality: 4, Height: 4, Budget: Budget{Reorg: 1}},
	}
}

// worldsOfMore have more of something.
func worldsOfMore() []*World {
	return []*World{
		{Name: "two in a queue", Queues: []int{2}, Height: 3},
		{Name: "two in a queue, one comes back", Queues: []int{2}, Height: 2, Budget: Budget{Reorg: 1, FailIn: 1}},
		{Name: "two queues, one sender", Queues: []int{1, 1}, Height: 2},
		{Name: "two queues, one sender, errors", Queues: []int{1, 1}, Retries: 1, Height: 1,
			Budget: Budget{WorkerErr: 1, Refuse: 1, Crash: 1}},
		{Name: "two queues, a fee limit", Queues: []int{1, 1}, Senders: 2, FeeLimit: 1, Height: 1},
		{Name: "two queues, a budget of each", Queues: []int{2, 1}, Allowance: 1, Height: 1},
		{Name: "a budget, and errors", Retries: 1, Raise: true, Allowance: 2, Height: 2,
			Budget: Budget{WorkerErr: 1, FailIn: 1}},
		{Name: "two senders", Queues: []int{2}, Senders: 2, Height: 2, Budget: Budget{Busy: 1}},
		{Name: "two senders, one is doubted", Queues: []int{1, 1}, Senders: 2, Unresolved: 1, Height: 1,
			Budget: Budget{Hopeless: 3, Busy: 1}},
		{Name: "two in a queue, a deadline", Queues: []int{2}, Deadline: 3, Height: 4, Budget: Budget{WorkerErr: 1}},
		{Name: "deadline, two nodes", Nodes: 2, Deadline: 3, Height: 4, Budget: Budget{Away: 1}},
		{Name: "two nodes", Nodes: 2, Height: 3, Budget: Budget{Away: 1}},
		{Name: "two nodes, failed", Nodes: 2, Height: 3, Budget: Budget{FailIn: 1}},
		{Name: "two nodes, reorganised", Nodes: 2, Alone: true, Height: 2, Budget: Budget{Reorg: 1}},
		{Name: "two processes, a crash", Procs: 2, Height: 2, Budget: Budget{Crash: 1}},
		{Name: "two processes, one sleeps", Procs: 2, Height: 1, Budget: Budget{Lapse: 1}},
		{Name: "two senders, asked under a former claim", Procs: 2, Senders: 2, Slow: true, Height: 1,
			Budget: Budget{Lapse: 1, Busy: 1}},
		{Name: "two processes, legacy, one sleeps", Procs: 2, Legacy: true, Height: 1, Budget: Budget{Lapse: 1}},
	}
}

// worldsOfTrains have several of one queue in flight.
func worldsOfTrains() []*World {
	pair := []int{2}
	return []*World{
		{Name: "train", Width: 2, Queues: pair, Height: 1},
		{Name: "train, an error", Width: 2, Queues: pair, Height: 1, Budget: Budget{WorkerErr: 1}},
		{Name: "train, at once", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Height: 1},
		{Name: "train, built", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{Gone: 1, Differ: 1}},
		{Name: "train, a crash", Width: 2, Queues: pair, Height: 1, Budget: Budget{Crash: 1}},
		{Name: "train, busy", Width: 2, Queues: pair, Height: 1, Budget: Budget{Busy: 1}},
		{Name: "train, told to end", Width: 2, Queues: pair, Height: 1, Budget: Budget{Stop: 1}},
		{Name: "train, drained", Width: 2, Queues: pair, Senders: 2, Height: 1, Budget: Budget{Drain: 1}},
		{Name: "train, lost sending", Width: 2, Queues: pair, Height: 1, Budget: Budget{LostSend: 1}},
		{Name: "train, another queue", Width: 2, Queues: []int{2, 1}, Height: 1},
	}
}

// Pairs are worlds of width 2, one of 3, and of two processes, that end within minutes, each alone, and are
// too many for every change.
func Pairs() []*World {
	pair := []int{2}
	return filled([]*World{
		{Name: "train, broken", Width: 2, Queues: pair, Retries: 1, Height: 2, Budget: Budget{FailIn: 1}},
		{Name: "train, commuting", Width: 2, Commuting: true, Queues: pair, Retries: 1, Height: 2, Budget: Budget{FailIn: 1}},
		{Name: "train, paused", Width: 2, Queues: pair, Height: 1, Budget: Budget{Pause: 1}},
		{Name: "train, refused", Width: 2, Queues: pair, Retries: 1, Height: 1, Budget: Budget{Refuse: 1}},
		{Name: "train, dropped", Width: 2, Queues: pair, Height: 1, Budget: Budget{Vanish: 1}},
		{Name: "train, cancelled", Width: 2, Queues: pair, Height: 1, Budget: Budget{Cancel: 1}},
		{Name: "train, reorganised", Width: 2, Queues: pair, Height: 1, Budget: Budget{Reorg: 1}},
		{Name: "train, a stranger", Width: 2, Queues: pair, Retries: 1, Height: 2, Budget: Budget{Outsider: 1}},
		{Name: "train, for good", Width: 2, Queues: pair, Height: 1, Budget: Budget{Hopeless: 1, Finished: 1}},
		{Name: "train, lost reply", Width: 2, Queues: pair, Height: 1, Budget: Budget{LostReply: 1}},
		{Name: "train, raised", Width: 2, Queues: pair, Raise: true, Height: 1},
		{Name: "train, tried early", Width: 2, Queues: pair, Early: 1, Settle: 2, Finality: 2, Retries: 1, Height: 2,
			Budget: Budget{FailIn: 1}},
		{Name: "train fails over, one step", Width: 2, Queues: pair, Height: 1, Forgets: 1, Lags: tx.PhaseWatching,
			Budget: Budget{Forget: 1}},
		{Name: "train fails over, greeted", Width: 2, Queues: pair, Height: 1, Forgets: 1, Lags: tx.PhaseWatching,
			Budget: Budget{Forget: 1, WrongKey: 1}},
		{Name: "train, built, a crash", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{Crash: 1}},
		{Name: "train, built, errors", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Retries: 1, Height: 1,
			Budget: Budget{WorkerErr: 1, Busy: 1}},
		{Name: "train, built, answers lost", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{WorkerLost: 2}},
		{Name: "train, built, for good", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{Hopeless: 1, Finished: 1, Cancel: 1}},
		{Name: "train, built, refused", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Retries: 1, Height: 1,
			Budget: Budget{Refuse: 1, Gone: 1}},
		{Name: "train, built, broken", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Retries: 1, Height: 2,
			Budget: Budget{FailIn: 1}},
		{Name: "train, built, tried early", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Early: 1, Settle: 2,
			Finality: 2, Retries: 1, Height: 2, Budget: Budget{FailIn: 1}},
		{Name: "train, built, paused", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{Pause: 1, Differ: 1}},
		{Name: "train, built, raised", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Raise: true, Height: 1},
		{Name: "train, built, a deadline", Width: 2, Builds: true, AtOnce: 2, Queues: pair, Height: 1, Deadline: 2},
		// A million states; the whole of it is among those that do not end.
		{Name: "train of three, built, prompt", Width: 3, Builds: true, AtOnce: 2, Queues: []int{3}, Prompt: true, Height: 1},
		{Name: "train, at once, a crash", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{Crash: 1}},
		{Name: "train, at once, errors", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Retries: 1, Height: 1,
			Budget: Budget{WorkerErr: 1, Busy: 1}},
		{Name: "train, at once, answers lost", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{WorkerLost: 2}},
		{Name: "train, at once, for good", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{Hopeless: 1, Finished: 1, Cancel: 1}},
		{Name: "train, at once, refused", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Retries: 1, Height: 1,
			Budget: Budget{Refuse: 1}},
		{Name: "train, at once, broken", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Retries: 1, Height: 2,
			Budget: Budget{FailIn: 1}},
		{Name: "train, at once, paused", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Height: 1,
			Budget: Budget{Pause: 1}},
		{Name: "train, at once, drained", Width: 2, Commuting: true, AtOnce: 2, Queues: pair, Senders: 2, Retries: 1,
			Height: 1, Budget: Budget{Drain: 1, WorkerErr: 1}},
		{Name: "fails over, refused at any time", Queues: []int{1, 1}, Height: 1, Finality: 1, Forgets: 3,
			Lags: tx.PhaseSent, Budget: Budget{Forget: 1, Refuse: 1}},
		{Name: "fails over, one sleeps", Procs: 2, Senders: 2, Prompt: true, Height: 1, Finality: 1, Forgets: 1,
			Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1, Lapse: 1, Busy: 1}},
		{Name: "fails over, legacy, one sleeps", Procs: 2, Senders: 2, Legacy: true, Prompt: true, Height: 1, Finality: 1,
			Forgets: 1, Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1, Lapse: 1, Busy: 1}},
		{Name: "fails over, one sleeps, cancelled", Procs: 2, Prompt: true, Height: 1, Finality: 1, Forgets: 2,
			Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1, Lapse: 1, Cancel: 1}},
		{Name: "fails over, one sleeps, a deadline", Procs: 2, Prompt: true, Height: 1, Finality: 1, Forgets: 3,
			Lags: tx.PhaseDispatching, Deadline: 2, Budget: Budget{Forget: 1, Lapse: 1}},
		{Name: "fails over, and back, two senders", Senders: 2, Back: true, Height: 1, Finality: 1, Forgets: 3,
			Lags: tx.PhaseWaiting, Budget: Budget{Forget: 2, Busy: 1}},
	})
}

// worldsOfLongTrains are larger than that.
func worldsOfLongTrains() []*World {
	pair := []int{2}
	return []*World{
		{Name: "train, tried early and reorganised", Width: 2, Queues: pair, Early: 1, Settle: 3, Finality: 3, Retries: 1,
			Height: 4, Budget: Budget{FailIn: 2, Reorg: 1}},
		{Name: "train, tried early, cancelled", Width: 2, Queues: pair, Early: 1, Settle: 3, Finality: 3, Retries: 1,
			Height: 4, Budget: Budget{FailIn: 2, Cancel: 1}},
		{Name: "train, tried early, a crash", Width: 2, Queues: pair, Early: 1, Settle: 3, Finality: 3, Retries: 1,
			Height: 3, Budget: Budget{FailIn: 2, Crash: 1}},
		{Name: "train, tried early, in vain", Width: 2, Queues: pair, Early: 1, Settle: 3, Finality: 3,
			Height: 4, Budget: Budget{FailIn: 2, Reorg: 1, Busy: 1}},
		{Name: "train of three, tried early", Width: 3, Queues: []int{3}, Early: 1, Settle: 3, Finality: 3, Retries: 1,
			Height: 3, Budget: Budget{FailIn: 3, Reorg: 1}},
		{Name: "train, commuting and reorganised", Width: 2, Commuting: true, Queues: []int{3}, PerBlock: 2, Patient: true,
			Prompt: true,
			Height: 2, Budget: Budget{FailIn: 1, Reorg: 1, Crash: 1}},
		{Name: "train, dropped and run out", Width: 2, Queues: pair, Height: 2, Budget: Budget{Vanish: 1}},
		{Name: "train fails over", Width: 2, Queues: pair, Height: 1, Forgets: 3, Lags: tx.PhaseWatching,
			Budget: Budget{Forget: 1}},
		{Name: "train, one sleeps", Width: 2, Queues: pair, Procs: 2, Height: 1, Budget: Budget{Lapse: 1}},
		{Name: "train fails over, two processes", Width: 2, Queues: pair, Procs: 2, Height: 1, Forgets: 2,
			Lags: tx.PhaseWatching, Budget: Budget{Forget: 1}},
		{Name: "train fails over, earlier", Width: 2, Queues: pair, Height: 1, Forgets: 6, Lags: tx.PhaseSent,
			Budget: Budget{Forget: 1}},
		{Name: "train of three", Width: 3, Queues: []int{3}, Height: 1},
		{Name: "train of three, built", Width: 3, Builds: true, AtOnce: 2, Queues: []int{3}, Height: 1,
			Budget: Budget{Gone: 1, Differ: 1}},
		{Name: "train of three, at once", Width: 3, Commuting: true, AtOnce: 2, Queues: []int{3}, Height: 1},
	}
}

// worldsOfFailovers have a store that forgets its last writes.
func worldsOfFailovers() []*World {
	return []*World{
		{Name: "fails over, all live", Height: 1, Finality: 1, Forgets: 2, Budget: Budget{Forget: 1}},
		{Name: "fails over, all die along", Height: 1, Forgets: 2, Lags: tx.PhaseDispatching,
			Budget: Budget{Forget: 1, Crash: 1}},
		{Name: "fails over, confirmed", Height: 1, Replicas: true, Forgets: 2,
			Budget: Budget{Forget: 1, Crash: 1, Unheard: 1}},
		{Name: "fails over, legacy", Legacy: true, Height: 1, Finality: 1, Forgets: 3, Budget: Budget{Forget: 1}},
		{Name: "fails over, two in a queue", Queues: []int{2}, Height: 1, Finality: 1, Forgets: 4,
			Lags: tx.PhaseWatching, Budget: Budget{Forget: 1}},
		{Name: "fails over, two queues, one sender", Queues: []int{1, 1}, Height: 1, Forgets: 3,
			Lags: tx.PhaseWatching, Budget: Budget{Forget: 1}},
		{Name: "fails over, legacy, confirmed", Legacy: true, Replicas: true, Height: 1, Finality: 1, Forgets: 2,
			Budget: Budget{Forget: 1, Crash: 1}},
		{Name: "fails over, two senders", Senders: 2, Height: 1, Forgets: 1, Lags: tx.PhaseDispatching,
			Budget: Budget{Forget: 1, Busy: 1}},
		{Name: "fails over, two processes", Procs: 2, Height: 1, Forgets: 1, Lags: tx.PhaseDispatching,
			Budget: Budget{Forget: 1}},
		{Name: "fails over, raised", Raise: true, Height: 1, Forgets: 1, Lags: tx.PhaseWatching,
			Budget: Budget{Forget: 1}},
		{Name: "fails over, two on one sender", Queues: []int{1, 1}, Height: 1, Finality: 1, Forgets: 5,
			Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1}},
		{Name: "fails over, failed in a block", Retries: 1, Height: 3, Forgets: 2, Lags: tx.PhaseWatching,
			Budget: Budget{Forget: 1, FailIn: 1}},
		{Name: "fails over, market", Market: true, Height: 1, Forgets: 1, Budget: Budget{Forget: 1}},
		{Name: "fails over, a deadline", Deadline: 2, Height: 2, Forgets: 2, Budget: Budget{Forget: 1}},
		{Name: "fails over, cancelled", Height: 1, Finality: 1, Forgets: 3, Lags: tx.PhaseWaiting,
			Budget: Budget{Forget: 1, Cancel: 1}},
		{Name: "fails over, refused", Queues: []int{1, 1}, Prompt: true, Height: 1, Finality: 1, Forgets: 3,
			Lags: tx.PhaseSent, Budget: Budget{Forget: 1, Refuse: 1}},
		{Name: "fails over, a stranger", Height: 1, Forgets: 1, Lags: tx.PhaseDispatching,
			Budget: Budget{Forget: 1, Outsider: 1}},
		// The only replica is cut off, or the former primary is, and may be promoted: nothing leaves.
		{Name: "fails over, cut off", Replicas: true, CutOff: true, Height: 1, Finality: 1, Forgets: 2,
			Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1, Crash: 1}},
		{Name: "fails over, and back, confirmed", Replicas: true, CutOff: true, Back: true, Height: 1, Finality: 1,
			Forgets: 2, Lags: tx.PhaseDispatching, Budget: Budget{Forget: 2, Crash: 1}},
		{Name: "fails over, and back", Back: true, Height: 1, Finality: 1, Forgets: 4, Lags: tx.PhaseWaiting,
			Budget: Budget{Forget: 2}},
		{Name: "fails over, twice", Height: 1, Finality: 1, Forgets: 3, Lags: tx.PhaseWaiting,
			Budget: Budget{Forget: 2}},
		// One of two replicas confirms, or one of two processes asks none. Who lives writes back; what
		// the dead had sent may be unknown then, as without replicas (docs/architecture/limits.md).
		{Name: "fails over, another confirmed", Replicas: true, Another: true, Height: 1, Finality: 1, Forgets: 2,
			Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1, Unheard: 1}},
		{Name: "fails over, other settings", Procs: 2, Apart: true, Replicas: true, Prompt: true, Height: 1, Finality: 1,
			Forgets: 1, Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1}},
		// All is on its disk, and nothing that left may be unknown, whoever dies along.
		{Name: "restarts", Height: 1, Finality: 1, Forgets: 1, Budget: Budget{Restart: 1, Crash: 1}},
		{Name: "restarts, legacy", Legacy: true, Height: 1, Finality: 1, Forgets: 1, Budget: Budget{Restart: 1, Crash: 1}},
		{Name: "restarts, two die along", Procs: 2, Prompt: true, Height: 1, Finality: 1, Forgets: 1,
			Budget: Budget{Restart: 1, Crash: 2}},
		{Name: "a back-up restored", Height: 2, Finality: 1, Forgets: 30, Lags: tx.PhaseWaiting,
			Budget: Budget{Forget: 1, Crash: 1}},
		{Name: "fails over, a raise and all die along", Raise: true, Height: 1, Finality: 1, Forgets: 1,
			Lags: tx.PhaseWatching, Budget: Budget{Forget: 1, Crash: 1}},
	}
}

// worldsOfMuch have several kinds of faults, and do not end within minutes.
func worldsOfMuch() []*World {
	two := []int{1, 1}
	return []*World{
		{Name: "tried early, cancelled", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 4,
			Budget: Budget{FailIn: 1, Reorg: 1, Cancel: 1}},
		{Name: "tried early, a crash", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 3,
			Budget: Budget{FailIn: 2, Reorg: 1, Crash: 1}},
		{Name: "tried early, twice", Early: 1, Settle: 3, Finality: 3, Retries: 2, Height: 5,
			Budget: Budget{FailIn: 2, Reorg: 1}},
		{Name: "tried early, raised", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 3, Raise: true,
			Budget: Budget{FailIn: 1, Reorg: 1}},
		{Name: "tried early, a deadline", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 4, Deadline: 3,
			Budget: Budget{FailIn: 1, Reorg: 1}},
		{Name: "tried early, drained", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 3, Senders: 2,
			Queues: two, Budget: Budget{FailIn: 1, Reorg: 1, Drain: 1}},
		{Name: "tried early, fails over", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 3, Forgets: 3,
			Budget: Budget{FailIn: 1, Forget: 1}},
		{Name: "tried early, two fail over on one sender", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 3,
			Forgets: 5, Queues: two, Budget: Budget{FailIn: 1, Forget: 1}},
		{Name: "tried early, finished", Early: 1, Settle: 3, Finality: 3, Retries: 1, Height: 4,
			Budget: Budget{FailIn: 1, Reorg: 1, Finished: 1, Busy: 1}},
		{Name: "two processes, a crash and a sleep", Procs: 2, Height: 2, Budget: Budget{Lapse: 1, Crash: 1}},
		{Name: "two processes, slow answers", Procs: 2, Slow: true, Height: 2, Budget: Budget{Lapse: 1}},
		{Name: "slow answers and an outsider", Queues: two, Slow: true, Height: 2, Budget: Budget{Outsider: 1,
			Crash: 1}},
		{Name: "legacy, two processes, all lost", Procs: 2, Legacy: true, Height: 2, Budget: Budget{Lapse: 1,
			LostReply: 1, WorkerLost: 1}},
		{Name: "drained while open", Queues: two, Senders: 2, Retries: 1, Height: 2, Budget: Budget{Drain: 1,
			Crash: 1, Refuse: 1}},
		{Name: "outsider and reorganisation", Queues: two, Retries: 1, Height: 4, Budget: Budget{Reorg: 1,
			Outsider: 1, FailIn: 1}},
		{Name: "persons and reorganisation", Height: 4, Budget: Budget{Reorg: 1, Retry: 1, Cancel: 1, FailIn: 1}},
		{Name: "legacy without hashes", Legacy: true, Hashless: true, Height: 4,
			Budget: Budget{WorkerLost: 1, LostReply: 1, Crash: 1, Resolve: 1}},
		{Name: "two nodes, raised and reorganised", Nodes: 2, Raise: true, Height: 4, Budget: Budget{Reorg: 1,
			FailIn: 1}},
		{Name: "three in two queues, reorganised", Queues: []int{2, 1}, Height: 4, Budget: Budget{Reorg: 1}},
		{Name: "legacy, two queues, another nonce", Queues: two, Legacy: true, Height: 3, Budget: Budget{Stray: 1,
			WorkerLost: 1}},
		{Name: "legacy, two queues, late", Queues: two, Legacy: true, Height: 4,
			Budget: Budget{WorkerLost: 1, Vanish: 1, Reorg: 1, Resolve: 1}},
		{Name: "fails over, raised while another waits", Queues: two, Raise: true, Height: 2, Forgets: 7,
			Lags: tx.PhaseDispatching, Budget: Budget{Forget: 1}},
		{Name: "fails over, reorganised", Height: 2, Forgets: 3, Lags: tx.PhaseDispatching,
			Budget: Budget{Forget: 1, Reorg: 1, Vanish: 1}},
	}
}
