package sequencer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/tx"
)

const (
	// simulatorsAsked is how many workers one transaction is shown at most: what one of them
	// says, the others would say too.
	simulatorsAsked = 3
	// healthAsked is how many workers are asked at most, for one transaction, what they can; what
	// they say is remembered for the next.
	healthAsked = 8
	// unableFor is how long a worker that did not say that it simulates is not asked again.
	unableFor = time.Minute
)

// simulators is what this process knows of which workers simulate.
type simulators struct {
	mu    sync.Mutex
	known map[dispatcher.Worker]said
	// missed are those of which the log says that they do not.
	missed map[dispatcher.Worker]bool
}

// tryOut has a worker simulate what it is to prove, if its type is one of SimulateFirst, and returns its
// refusal: an error of package dispatcher, as that of a worker's that does not prove. Nil: it may succeed, or
// nobody can tell, and it is proved as ever. It asks once, for 30 s at most, and waits for no worker that is busy.
//
// What fails the payer, and not what it pays for, is left to those who look at senders.
func (s *Sequencer) tryOut(ctx context.Context, t *tx.Transaction, w dispatcher.Worker,
	call dispatcher.Call) error {
	d, _ := s.Types.Lookup(t.Type)
	worker, able := d.(dispatcher.Simulator)
	if !able || s.Health == nil || !slices.Contains(s.SimulateFirst, t.Type) {
		return nil
	}
	if left := 1; !s.simulates(ctx, w, t.Type, &left) {
		if s.trying.silent(w) {
			s.Log.Warn("its worker does not say that it simulates: what it makes is proved at once",
				about(t, "worker", w.URL)...)
		}
		return nil
	}
	began := time.Now()
	result, err := worker.Simulate(ctx, w, call)
	s.timed(t.Type, "simulate", began, err)
	switch f := result.Failure; {
	case err != nil:
		s.Log.Info("it was not simulated before it is proved", about(t, "err", err)...)
		return nil
	case f == nil, f.Index == 0:
		return nil
	default:
		class, _ := mina.ClassifyFailures([]mina.Failure{{Index: f.Index, Reasons: []string{f.Code}}})
		return f.Refusal(class == mina.Permanent)
	}
}

// silent notes that a worker does not simulate, and reports whether that is news.
func (k *simulators) silent(w dispatcher.Worker) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.missed[w] {
		return false
	}
	if k.missed == nil {
		k.missed = map[dispatcher.Worker]bool{}
	}
	k.missed[w] = true
	return true
}

type said struct {
	at     time.Time
	health dispatcher.Health
}

// Simulate has a worker say what t, which is not posted, would do by the accounts as what is in flight of its
// queue leaves them or, where the worker that carries that has no time, as they are, and tells the fee that an
// attempt of it would pay now. No sender is bound: a worker is asked while it is free, or else one that carries
// something, and decides itself whether it has the time. Errors: dispatcher.ErrNoSimulator, a dispatcher.BusyError
// where all that could are at work, another error of package dispatcher where none has said it,
// queues.ErrUnavailable.
func (s *Sequencer) Simulate(ctx context.Context, t *tx.Transaction) (dispatcher.Simulation, uint64, error) {
	d, _ := s.Types.Lookup(t.Type)
	remote, able := d.(dispatcher.Simulator)
	if !able || s.Health == nil {
		return dispatcher.Simulation{}, 0, dispatcher.ErrNoSimulator
	}
	found, err := s.simulatorsOf(ctx, t.Type)
	if err != nil {
		return dispatcher.Simulation{}, 0, err
	}
	carrier, ahead, err := s.carries(ctx, t)
	if err != nil {
		return dispatcher.Simulation{}, 0, err
	}
	if carrier != nil {
		found = append([]*senders.Sender{carrier}, found...)
	}
	err = dispatcher.ErrNoSimulator
	for i, p := range found {
		call := s.trial(t, p)
		if i == 0 && carrier != nil {
			call.Ahead = ahead
			call.Attempt.Nonce = ahead[len(ahead)-1].Nonce + 1
		}
		result, failed := remote.Simulate(ctx, workerOf(p), call)
		if failed == nil {
			return result, s.feeOf(t, result.Weight), nil
		}
		if errors.Is(failed, dispatcher.ErrLegacy) {
			continue // it has changed since it was asked
		}
		// That one is busy, and will have the time, says more than that another is broken.
		if _, busy := errors.AsType[*dispatcher.BusyError](err); !busy {
			err = failed
		}
	}
	return dispatcher.Simulation{}, 0, err
}

// carries is what is in flight of the queue of t, in order, and who carries it, if that one's worker simulates
// behind it; nil if not.
func (s *Sequencer) carries(ctx context.Context, t *tx.Transaction) (*senders.Sender, []dispatcher.Ahead, error) {
	run, err := s.Store.InFlight(ctx, t.Queue)
	if err != nil || len(run.UIDs) == 0 {
		return nil, nil, err
	}
	account, ahead := "", []dispatcher.Ahead(nil)
	for _, uid := range run.UIDs {
		sender, a, err := s.out(ctx, uid)
		switch n := len(ahead); {
		case errors.Is(err, queues.ErrUnavailable):
			return nil, nil, err
		case err == nil && n == 0:
			account, ahead = sender, append(ahead, a)
			continue
		case err == nil && sender == account && a.Nonce == ahead[n-1].Nonce+1:
			ahead = append(ahead, a)
			continue
		case n == 0: // it failed, or is about to go
			continue
		}
		break // what is behind is not out yet
	}
	if len(ahead) == 0 {
		return nil, nil, nil
	}
	p, err := s.Senders.Get(ctx, account)
	switch {
	case errors.Is(err, senders.ErrNotFound):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	left, w := 1, workerOf(p)
	if s.Reaches != nil && !s.Reaches(w) || !s.simulates(ctx, w, t.Type, &left) {
		return nil, nil, nil
	}
	if health := s.trying.recall(w); health == nil || !health.BuildsAhead() {
		return nil, nil, nil
	}
	return p, ahead, nil
}

// out is what is open of a transaction, and its sender. An error other than queues.ErrUnavailable: nothing is.
func (s *Sequencer) out(ctx context.Context, uid string) (sender string, a dispatcher.Ahead, err error) {
	t, err := s.Store.Get(ctx, uid)
	if err != nil {
		return "", a, err
	}
	n, signed, err := s.Store.Signed(ctx, uid)
	if err != nil {
		return "", a, err
	}
	at := t.Attempt(n)
	if at == nil || !at.Open() {
		return "", a, errGone
	}
	return at.Sender, dispatcher.Ahead{UID: uid, Nonce: at.Nonce, Hash: at.KnownHash(), Signed: signed}, nil
}

// simulatorsOf are senders whose workers simulate a type, the free ones first.
func (s *Sequencer) simulatorsOf(ctx context.Context, typ string) (found []*senders.Sender, err error) {
	var bound []*senders.Sender
	left := healthAsked
	for p, err := range s.Senders.All(ctx) {
		if err != nil {
			return nil, err
		}
		wrong := p.Reason == tx.WrongAccount || p.Reason == tx.WrongNetwork
		if wrong || senders.LedgerOf(p.AccountID) != "" || s.Reaches != nil && !s.Reaches(workerOf(p)) {
			continue
		}
		if !s.simulates(ctx, workerOf(p), typ, &left) {
			continue
		}
		if p.Queue != "" {
			bound = append(bound, p)
		} else if found = append(found, p); len(found) == simulatorsAsked {
			return found, nil
		}
	}
	found = append(found, bound...)
	return found[:min(len(found), simulatorsAsked)], nil
}

// simulates reports whether a worker simulates a type. It is asked where that is not known, at
// the cost of one of left.
func (s *Sequencer) simulates(ctx context.Context, w dispatcher.Worker, typ string, left *int) bool {
	known := s.trying.recall(w)
	if known == nil && *left > 0 {
		*left--
		health, err := s.Health(ctx, w)
		if err != nil {
			health = dispatcher.Health{}
		}
		known = &health
		s.trying.note(w, health)
	}
	return known != nil && known.Simulates() && known.Makes(typ)
}

func (k *simulators) recall(w dispatcher.Worker) *dispatcher.Health {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.known[w]; s.fresh() {
		return &s.health
	}
	return nil
}

func (k *simulators) note(w dispatcher.Worker, health dispatcher.Health) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.known, func(_ dispatcher.Worker, s said) bool { return !s.fresh() })
	if k.known == nil {
		k.known = map[dispatcher.Worker]said{}
	}
	k.known[w] = said{time.Now(), health}
}

func (s said) fresh() bool {
	most := unableFor
	if s.health.Simulates() {
		most = greetAgain
	}
	return time.Since(s.at) < most
}

func workerOf(p *senders.Sender) dispatcher.Worker {
	return dispatcher.Worker{AccountID: p.AccountID, URL: p.WorkerURL}
}

// trial is the call for what would be the first attempt of t with a sender.
func (s *Sequencer) trial(t *tx.Transaction, p *senders.Sender) dispatcher.Call {
	var nonce uint32
	if p.Nonce != nil {
		nonce = *p.Nonce
	}
	return callOf(s.Namespace, t, &tx.Attempt{Number: 1, Nonce: nonce, Fee: s.feeOf(t, 0)})
}

// feeOf is what the first attempt of t pays now, if it weighs so much, 0 for not known.
func (s *Sequencer) feeOf(t *tx.Transaction, weight int) uint64 {
	m := s.marketOf(t.Type)
	m.Weight = cmp.Or(weight, m.Weight)
	fee := m.TypeFee(t.Type, s.Policy.Fees(), s.Now(), s.Chain.Chain().SlotTime).Quote.Fee
	if t.MaxFee > 0 {
		fee = min(fee, t.MaxFee)
	}
	return fee
}
