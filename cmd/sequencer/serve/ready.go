package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mina-sequencer/api"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer"
)

const (
	// readyTime is what all but the store may take of the answer: a probe gives up after
	// three seconds, and the word of the store alone is what it asks for.
	readyTime = 2 * time.Second
	// chainOld is when the nodes are asked for readiness although nothing is under way.
	chainOld = time.Minute
)

// ready says how the parts are. Only the store decides whether the process
// serves, and only by what another one could do better; the chain and the senders can come back while posts are accepted. The
// nodes are asked only for full: else the chain is told as it was last seen.
func (s *Service) ready(ctx context.Context, full bool) api.Readiness {
	r := api.Readiness{Store: api.Part{OK: true}, Ledgers: s.ledgersReady()}
	rest, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	polled := make(chan struct{})
	if full {
		go s.pollOld(context.WithoutCancel(ctx), polled)
	} else {
		close(polled)
	}
	switch err := s.store.Ping(ctx); {
	case err != nil && !errors.Is(err, queues.ErrFull):
		r.Store = api.Part{Detail: err.Error()}
	default: // what is wrong with it is so for every process alike, and what is there goes on
		if full || err != nil {
			s.storeWatch.look(rest)
		}
		r.Store.Detail = s.storeWatch.said()
	}
	if why := s.sequencer.Recovering(); r.Store.OK && why != "" {
		r.Store.Detail = strings.TrimSuffix("nothing is bound or sent: "+why+"; "+r.Store.Detail, "; ")
	}
	r.Senders, r.Clock, r.Queues = s.sendersReady(rest), clockReady(s.sequencer.Standing().Ahead), api.Part{OK: true}
	if full {
		r.Queues = s.queuesReady(rest)
	}
	select {
	case <-polled:
	case <-rest.Done():
	}
	r.Chain = s.chainReady(s.chain.Chain(), full)
	r.Chain.Detail = strings.Join(append([]string{r.Chain.Detail}, stalledWords(s.sequencer.Stalled(), s.sequencer.Now())...), "; ")
	return r
}

// pollOld asks the nodes if nobody has for a while. It does not end with whoever waits for
// it: a poll that is cut short leaves a node that is slow without a vote, for all.
func (s *Service) pollOld(ctx context.Context, polled chan<- struct{}) {
	defer close(polled)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if s.chain.Any() && time.Since(s.chain.Chain().At) > chainOld {
		s.chain.Poll(ctx)
	}
}

// chainReady judges what was last seen; asked says that it must not be old.
func (s *Service) chainReady(c mina.Chain, asked bool) api.Part {
	switch {
	case !s.chain.Any():
		return api.Part{OK: true, Detail: "no Mina node is configured"}
	case c.At.IsZero(), asked && time.Since(c.At) > chainOld:
		return api.Part{Detail: "the Mina nodes have not answered yet"}
	case c.Quorum:
		return api.Part{OK: true, Detail: fmt.Sprintf("%d synced node(s), height %d, slot %d", c.Synced, c.Height, c.TipSlot)}
	case c.Err != nil:
		return api.Part{Detail: "no quorum of synced Mina nodes: " + c.Err.Error()}
	default:
		return api.Part{Detail: "no quorum of synced Mina nodes"}
	}
}

// stalledWords say what waits for the network, a gateway or the nodes, since when, and what to do. It is
// no reason to take a process out: another one sends no better.
func stalledWords(all map[string]sequencer.Stall, now time.Time) (words []string) {
	for _, cause := range sequencer.Causes {
		x, is := all[cause]
		if !is {
			continue
		}
		why := map[string]string{
			sequencer.CauseNetwork: "the network takes nothing from anybody, see when it goes on",
			sequencer.CauseGateway: "something in front of the nodes turns them away, see to that",
			sequencer.CauseNodes:   "the nodes do not answer, see to them",
		}[cause]
		words = append(words, fmt.Sprintf("%d signed transaction(s) of this process get to no node, the first since %s: %s (%s)",
			x.N, now.Add(-x.For).UTC().Format("2006-01-02 15:04Z"), why, x.Words))
	}
	return words
}

// troubles are what a person has to see to, beside the chain, the senders and the ledgers: for who looks
// at the overview.
func (s *Service) troubles() (all []api.Trouble) {
	add := func(code, words string) {
		all = append(all, api.Trouble{Code: code, Detail: strings.ToUpper(words[:1]) + words[1:]})
	}
	if o := s.sequencer.Outage(); o != nil {
		add("REDIS_WRITES", fmt.Sprintf("Redis takes no writes since %s (%s), so nothing moves: 'sequencer doctor' says what to do",
			o.Since.UTC().Format("2006-01-02 15:04:05Z"), o.Words))
	}
	for _, f := range s.storeWatch.all() {
		add(f.Code, f.String())
	}
	if clock := clockReady(s.sequencer.Standing().Ahead); !clock.OK {
		add("CLOCK", clock.Detail)
	}
	for _, words := range stalledWords(s.sequencer.Stalled(), s.sequencer.Now()) {
		add("SENDING", words)
	}
	for _, words := range raceWords(s.sequencer.Races()) {
		add("RACES", words)
	}
	return all
}

// mostRaces is how many pairs of queues are named that race.
const mostRaces = 5

// raceWords name the pairs of queues that race.
func raceWords(all []sequencer.Race) (words []string) {
	const minute = "2006-01-02 15:04Z"
	for _, r := range all[:min(len(all), mostRaces)] {
		words = append(words, fmt.Sprintf("queues %s and %s race since %s: of what both have in flight one requires and the other "+
			"changes the %s of %s (%d times, the last at %s), so what comes second may fail. Post to one queue what changes an "+
			"account", r.Queues[0], r.Queues[1], r.Since.UTC().Format(minute), r.What, r.Account.Key, r.Times,
			r.Seen.UTC().Format(minute)))
	}
	if more := len(all) - mostRaces; more > 0 {
		words = append(words, fmt.Sprintf("%d more pairs of queues race, see 'two queues race' in the log", more))
	}
	return words
}

// clockReady judges how far our clock is ahead of that of Redis. What all processes share goes by that
// one; by ours goes whether a node's tip is old.
func clockReady(ahead time.Duration) api.Part {
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	if ahead.Abs() <= sequencer.ClockSlack {
		return api.Part{OK: true, Detail: "it agrees with that of Redis"}
	}
	return api.Part{Detail: fmt.Sprintf("the clock of this process is %s %s that of Redis: set both by NTP",
		ahead.Abs().Round(time.Second), way)}
}

// queuesReady tells of those that a limit has paused how many they are, and not which: who asks needs no
// key. The process is none the less ready: others' queues go on, and another process does no better.
func (s *Service) queuesReady(ctx context.Context) api.Part {
	v, err := s.store.Overview(ctx)
	crowded, remedy := v.Crowded()
	switch {
	case err != nil:
		return api.Part{Detail: err.Error()}
	case crowded != "":
		return api.Part{OK: true, Detail: crowded + ": " + remedy}
	case v.LimitedInAll > 0:
		return api.Part{OK: true, Detail: fmt.Sprintf("%d paused by SEQUENCER_UNRESOLVED_LIMIT, the first since %s, until a person "+
			"resumes them: 'sequencer doctor' and the overview of the dashboard name them",
			v.LimitedInAll, v.Limited[0].Since.Format("2006-01-02 15:04Z"))}
	}
	return api.Part{OK: true, Detail: "none waits for a person"}
}

func (s *Service) sendersReady(ctx context.Context) api.Part {
	available, idle, held := 0, "", 0
	for x, err := range s.senders.All(ctx) {
		switch {
		case err != nil:
			return api.Part{Detail: err.Error()}
		case x.Available():
			available++
		case x.Held():
			held++
		case x.Idle() && idle == "":
			idle = ": " + x.AccountID + " is free, and " + x.Detail
		}
	}
	waits := ""
	if held > 0 {
		waits = fmt.Sprintf("; %d out of use until a person sees to it: 'sequencer doctor' says what to do", held)
	}
	if available == 0 {
		return api.Part{Detail: "no sender is available" + idle + waits}
	}
	return api.Part{OK: true, Detail: fmt.Sprintf("%d available", available) + waits}
}

func (s *Service) ledgersReady() api.Part {
	all := s.sequencer.Ledgers()
	if len(all) == 0 {
		return api.Part{OK: true, Detail: "no ledger is configured"}
	}
	var away []string
	asked := 0
	for _, x := range all {
		switch {
		case x.Asked.IsZero():
			continue
		case !x.OK:
			away = append(away, x.Name+": "+x.Detail)
		}
		asked++
	}
	if len(away) > 0 {
		return api.Part{Detail: strings.Join(away, "; ")}
	}
	return api.Part{OK: true, Detail: fmt.Sprintf("%d of %d asked, and all of these answer", asked, len(all))}
}
