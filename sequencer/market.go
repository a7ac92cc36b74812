package sequencer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/fees"
)

// A market is what this process knows of what others pay, and of what types weigh.
type market struct {
	mu      sync.Mutex
	looks   []fees.Look
	weights map[string]int
	news    map[string]int // of weights: what the others are still to be told
	asked   time.Time      // when the others, or a node, were last asked
	ending  chan struct{}  // closed by the look that is under way, nil if none is
}

// marketGrace is how long the poll loop waits for a look at the pool: what is planned next
// goes by it, and no node that hangs is to hold anything up.
const marketGrace = 2 * time.Second

// offersLimit is how long the nodes may take to show a pool.
const offersLimit = 10 * time.Second

// marketPause is between two looks at what another process is to find out.
const marketPause = 200 * time.Millisecond

// lookAtPool has what the processes know of the market read, and the pool looked at in the
// turn of this process, where fees go by it and it is time.
func (s *Sequencer) lookAtPool(ctx context.Context) {
	m, every := &s.market, fees.LookEvery(s.Chain.Chain().SlotTime)
	if !s.Policy.FeeAuto {
		return
	}
	m.mu.Lock()
	// Somebody's turn comes every so often: who asks often knows it soon.
	if m.ending == nil && time.Since(m.asked) >= every/4 {
		ending := make(chan struct{})
		begun := s.work.Go(func(ctx context.Context) {
			defer func() {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.ending = nil
				close(ending)
			}()
			s.shareMarket(ctx, every)
		})
		if begun {
			m.ending, m.asked = ending, time.Now()
		}
	}
	ending := m.ending
	m.mu.Unlock()
	if ending == nil {
		return
	}
	grace := time.NewTimer(marketGrace)
	defer grace.Stop()
	select {
	case <-ending:
	case <-grace.C:
	case <-ctx.Done():
	}
}

// marketUnknown reports whether fees go by the market, and nobody here has asked for long
// what it is, as in a process that has just begun or had nothing to do; or whether the first
// answer is still waited for.
func (s *Sequencer) marketUnknown() bool {
	if !s.Policy.FeeAuto {
		return false
	}
	m := &s.market
	m.mu.Lock()
	defer m.mu.Unlock()
	since := time.Since(m.asked)
	return since > 2*fees.LookEvery(s.Chain.Chain().SlotTime) ||
		m.ending != nil && since < marketGrace && !s.priceKnown(m.looks)
}

// priceKnown reports whether the looks still say what others pay.
func (s *Sequencer) priceKnown(looks []fees.Look) bool {
	m := fees.Market{Looks: looks}
	_, known := m.Price(s.Now(), s.Chain.Chain().SlotTime, s.Policy.FeeTarget)
	return known
}

// shareMarket reads what all processes know, and adds to it.
func (s *Sequencer) shareMarket(ctx context.Context, every time.Duration) {
	news := queues.MarketNews{Turn: every, Weights: s.market.take()}
	known, mine, err := s.Store.Market(ctx, news)
	if err != nil {
		s.market.untold(news.Weights)
		s.Log.Warn("what others pay is not read", "err", err)
		return
	}
	s.market.learn(known)
	if !mine {
		s.awaitLook(ctx, known)
		return
	}
	look, err := s.lookAtOffers(ctx)
	if err != nil {
		s.Log.Warn("the pool is not looked at: fees go by what is known of it", "err", err)
		return
	}
	if known, _, err = s.Store.Market(ctx, queues.MarketNews{Look: &look}); err != nil {
		s.Log.Warn("what others pay is not stored", "err", err)
		return
	}
	s.market.learn(known)
}

// awaitLook reads what all processes know until it says what others pay: where it did not,
// the process whose turn it is may just be asking the nodes.
func (s *Sequencer) awaitLook(ctx context.Context, known queues.Market) {
	ctx, cancel := context.WithTimeout(ctx, offersLimit)
	defer cancel()
	for !s.priceKnown(known.Looks) {
		select {
		case <-time.After(marketPause):
		case <-ctx.Done():
			return
		}
		var err error
		if known, _, err = s.Store.Market(ctx, queues.MarketNews{}); err != nil {
			return // the next look tells of it
		}
		s.market.learn(known)
	}
}

// lookAtOffers asks a node what others pay.
func (s *Sequencer) lookAtOffers(ctx context.Context) (fees.Look, error) {
	ours := map[string]bool{}
	for p, err := range s.Senders.All(ctx) {
		if err != nil {
			return fees.Look{}, err
		}
		ours[p.AccountID] = true
	}
	ctx, cancel := context.WithTimeout(ctx, offersLimit)
	defer cancel()
	size, offers, err := s.Chain.Offers(ctx, s.Policy.BlockLimit(), func(payer string) bool { return ours[payer] })
	if err != nil {
		return fees.Look{}, err
	}
	tell(s.Meter.Looked, offers != nil)
	return fees.NewLook(s.Now(), size, offers, s.Policy.BlockLimit()), nil
}

// learn takes in what all processes know.
func (m *market) learn(known queues.Market) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks, m.weights = known.Looks, known.Weights
	maps.Copy(m.weights, m.news) // this process knows better
}

// take returns what the others are to be told.
func (m *market) take() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	news := m.news
	m.news = nil
	return news
}

// untold has it told once more.
func (m *market) untold(news map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for typ, weight := range news {
		if _, newer := m.news[typ]; !newer {
			m.note(typ, weight)
		}
	}
}

func (m *market) note(typ string, weight int) {
	if m.news == nil {
		m.news = map[string]int{}
	}
	m.news[typ] = weight
}

// weighed notes what a worker has signed of a type.
func (s *Sequencer) weighed(typ string, weight int) {
	m := &s.market
	m.mu.Lock()
	defer m.mu.Unlock()
	if !s.Policy.FeeAuto || m.weights[typ] == weight {
		return
	}
	m.note(typ, weight)
	if m.weights == nil {
		m.weights = map[string]int{}
	}
	m.weights[typ] = weight
}

// marketOf is what this process knows of what a transaction of a type is to pay.
func (s *Sequencer) marketOf(typ string) fees.Market {
	m := &s.market
	m.mu.Lock()
	defer m.mu.Unlock()
	return fees.Market{Looks: m.looks, Weight: m.weights[typ]}
}

// Fees is what all processes know of what others pay, the last look at the pool, nil if
// there is none, and what the next attempt of each type of Mina would pay. Error:
// queues.ErrUnavailable.
func (s *Sequencer) Fees(ctx context.Context) (*fees.Look, []fees.TypeFee, error) {
	known, _, err := s.Store.Market(ctx, queues.MarketNews{})
	if err != nil {
		return nil, nil, err
	}
	var last *fees.Look
	if len(known.Looks) > 0 {
		last = &known.Looks[0]
	}
	names := s.Types.Types()
	for typ := range known.Weights {
		names = append(names, typ)
	}
	slices.Sort(names)
	var types []fees.TypeFee
	for _, typ := range slices.Compact(names) {
		if typ == dispatcher.SubmitBatchType {
			continue // it is for no block of Mina
		}
		m := fees.Market{Looks: known.Looks, Weight: known.Weights[typ]}
		types = append(types, m.TypeFee(typ, s.Policy.Fees(), s.Now(), s.Chain.Chain().SlotTime))
	}
	return last, types, nil
}
