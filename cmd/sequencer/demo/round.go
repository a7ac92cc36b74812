package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/fees"
)

// lookEvery is how often the round is looked at, and how fast it is posted.
const lookEvery = 100 * time.Millisecond

// An item is a transaction to post.
type item struct {
	uid, queue, kind string
	data             map[string]any
	last             bool // posted only when everything before it is final
}

// votingRound is a round of all five types: three claims that electors vote on,
// two batches of signed votes, and the plan that all of it belongs to.
func votingRound() []item {
	const plan = "autumn"
	electors := 0
	elector := func() string {
		electors++
		return devnet.Key(uint64(100 + electors))
	}
	items := []item{{uid: "plan", queue: "plan-" + plan, kind: "CREATE_VOTING_BATCHES_ACCOUNT",
		data: map[string]any{"planUid": plan, "communityUid": "gardeners"}}}
	var claims []string
	for i := range 3 {
		sum := sha256.Sum256(fmt.Append(nil, "claim ", i+1))
		claims = append(claims, hex.EncodeToString(sum[:16]))
		items = append(items, item{uid: fmt.Sprintf("claim-%d", i+1), queue: "claim-" + claims[i], kind: "CREATE_CLAIM_VOTING_ACCOUNT",
			data: map[string]any{"claimUid": claims[i], "strategy": map[string]int{"requiredVotes": 5, "requiredPositives": 3}}})
	}
	for n := range 5 {
		for i, claim := range claims {
			items = append(items, item{uid: fmt.Sprintf("vote-%d-%d", i+1, n+1), queue: "claim-" + claim, kind: "SEND_CLAIM_VOTE",
				data: map[string]any{"planUid": plan, "batchUid": "north", "claimUid": claim, "electorAccountId": elector(), "index": n, "vote": (n+i)%3 - 1}})
		}
	}
	for n := range 2 {
		for _, batch := range []string{"north", "south"} {
			key := elector()
			items = append(items, item{uid: fmt.Sprintf("batch-%s-%d", batch, n+1), queue: "batch-" + batch, kind: "RECEIVE_VOTES_BATCH",
				data: map[string]any{"batchUid": batch, "senderAccountId": key, "signedData": map[string]any{
					"publicKey": key, "data": []string{"1", "0"}, "signature": map[string]string{"field": "11", "scalar": "13"}}}})
		}
	}
	return append(items, item{uid: "commit", queue: "plan-" + plan, kind: "COMMIT_ALL_VOTING_BATCHES",
		data: map[string]any{"planUid": plan}, last: true})
}

// A round posts the voting round, through the HTTP API as anybody else would, and
// shows what becomes of it. It belongs to one goroutine.
type round struct {
	api       *client.Client
	world     *world
	feed      *feed
	screen    *terminal.Screen
	namespace string
	started   time.Time
	items     []item               // not posted yet
	txns      []client.Transaction // in order of acceptance, as of the last look
	board     board.Board
	events    []board.Event        // of the last look
	putOffs   []client.Transaction // as they were when no worker took them on
}

func newRound(a *command.App, api *client.Client, world *world, feed *feed, namespace string) *round {
	return &round{
		api: api, world: world, feed: feed, namespace: namespace, started: time.Now(), items: slices.Concat(ledgerBatches(), votingRound()),
		screen: terminal.NewScreen(a.Stdout, a.Env),
	}
}

// show plays the round and sums it up. With once it then ends, with an error if
// the round did not come to a good end; else it shows changes until ctx ends.
func (r *round) show(ctx context.Context, once bool) error {
	defer func() { _ = r.screen.Close() }()
	limit, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if !r.screen.Live { // the board has the address above it
		if err := r.screen.Print(r.dashboard()); err != nil {
			return err
		}
	}
	err := r.play(limit)
	switch {
	case ctx.Err() != nil:
		return interrupted(once)
	case err != nil && limit.Err() != nil:
		err = command.ExitWith(command.ExitNotFinal, fmt.Sprintf("not all is DONE after %s", longest))
	case err != nil:
		return err
	default:
		err = r.verdict()
	}
	if printErr := r.screen.Print(r.summary(err, once)...); printErr != nil {
		return printErr
	}
	if once {
		return err
	}
	return r.follow(ctx)
}

// play posts and looks until everything is final.
func (r *round) play(ctx context.Context) error {
	posted := 0
	for {
		if err := r.look(ctx); err != nil {
			return err
		}
		if err := r.draw(r.screen.Live); err != nil {
			return err
		}
		settled := len(r.txns) >= posted && !slices.ContainsFunc(r.txns, func(t client.Transaction) bool { return !t.State.Final() })
		switch {
		case len(r.items) == 0 && settled:
			return nil
		case len(r.items) > 0 && (settled || !r.items[0].last):
			if err := r.post(ctx, r.items[0]); err != nil {
				return err
			}
			r.items = r.items[1:]
			posted++
		}
		if pause(ctx, lookEvery); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// follow prints what anybody else does with the service.
func (r *round) follow(ctx context.Context) error {
	for {
		if pause(ctx, 2*lookEvery); ctx.Err() != nil {
			return nil
		}
		if err := r.look(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := r.draw(false); err != nil {
			return err
		}
	}
}

func (r *round) post(ctx context.Context, item item) error {
	data, err := json.Marshal(item.data)
	if err != nil {
		return fmt.Errorf("writing %s: %w", item.uid, err)
	}
	if _, err := r.api.Post(ctx, client.Item{Queue: item.queue, Type: item.kind, Data: data, UID: item.uid}); err != nil {
		return fmt.Errorf("posting %s: %w", item.uid, err)
	}
	return nil
}

// look reads queues, senders and transactions, and finds what has changed.
func (r *round) look(ctx context.Context) error {
	b, err := board.Read(ctx, r.api)
	if err != nil {
		return err
	}
	page, err := r.api.Transactions(ctx, client.Filter{}, client.Cut{Limit: board.Limit})
	if err != nil {
		return err
	}
	before := map[string]client.Transaction{}
	for _, t := range r.txns {
		before[t.UID] = t
	}
	r.events = r.feed.take()
	for _, t := range page.Items {
		r.events = append(r.events, changesOf(before[t.UID], t)...)
		if putOff(before[t.UID], t) {
			r.putOffs = append(r.putOffs, t)
		}
	}
	r.txns = page.Items
	tip := r.world.network.Node(0).State()
	b.Title, b.Network = "sequencer demo", r.api.URL
	b.Height, b.Slot, b.Elapsed = uint64(tip.Height), uint64(tip.Slot), time.Since(r.started)
	b.Events = slices.Concat(r.board.Events, r.events)
	b.Events = b.Events[max(0, len(b.Events)-200):]
	r.board = b
	return nil
}

// changesOf tells what a transaction has done since it was looked at before;
// old is the zero value for one that is new.
func changesOf(old, t client.Transaction) []board.Event {
	at := board.Event{At: time.Now(), Queue: t.Queue, UID: t.UID}
	var events []board.Event
	if old.State == "" {
		posted := at
		posted.To, posted.Detail = "WAITING", t.Type
		events, old.State = append(events, posted), "WAITING"
	}
	if putOff(old, t) {
		e := at
		e.Extra = "put off: " + t.Error.Message
		events = append(events, e)
	}
	for i, a := range t.Attempts {
		// What was mended between two looks shows in no state.
		if a.Error != nil && (i >= len(old.Attempts) || old.Attempts[i].Error == nil) {
			failed := at
			failed.Extra = fmt.Sprintf("attempt %d: %s", a.Number, a.Error.Code)
			events = append(events, failed)
		}
	}
	from := string(old.State)
	for _, state := range between(from, string(t.State)) {
		e := at
		e.From, e.To = from, state
		switch state {
		case "DISPATCHING":
			e.Detail = "by " + terminal.Shorten(t.Sender, 12)
		case "REVISION":
			last := t.Attempts[len(t.Attempts)-1]
			e.Detail = fmt.Sprintf("attempt %d, nonce %d, fee %s", last.Number, last.Nonce, fees.FormatMina(last.Fee))
			if ledger := batchLedger(t); ledger != "" {
				e.Detail = "posted to " + ledger
			}
		case "DONE":
			e.Detail = fmt.Sprint("in block ", landed(t).BlockHeight)
			if ledger := batchLedger(t); ledger != "" {
				e.Detail = "committed by " + ledger
			}
		case "FAILED", "UNRESOLVED":
			e.Extra = t.Error.String()
		}
		events, from = append(events, e), state
	}
	return events
}

// putOff reports whether t went back before a worker took it on, which is no attempt.
func putOff(old, t client.Transaction) bool {
	return t.State == "WAITING" && t.Error != nil && (old.Error == nil || old.Error.Message != t.Error.Message)
}

// between lists the states that lead from one to another one, which stands
// last: there is no way but through DISPATCHING, and none into a block but
// through REVISION, however short they were.
func between(from, to string) []string {
	var way []string
	if from == to {
		return nil
	}
	if (from == "WAITING" || from == "RETRY") && (to == "REVISION" || to == "DONE" || to == "RETRY") {
		way = append(way, "DISPATCHING")
	}
	if from != "REVISION" && to == "DONE" {
		way = append(way, "REVISION")
	}
	return append(way, to)
}

// landed is the attempt that took effect, none if there is none.
func landed(t client.Transaction) client.Attempt {
	for _, a := range t.Attempts {
		if a.Outcome == "included" {
			return a
		}
	}
	return client.Attempt{}
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// draw shows the last look: the board in place, or a line for each change.
func (r *round) draw(live bool) error {
	if live {
		width, height := r.screen.Size()
		return r.screen.Draw(r.board.Lines(width, height))
	}
	var lines []terminal.Line
	for _, e := range r.events {
		lines = append(lines, e.Line())
	}
	return r.screen.Print(lines...)
}

// verdict is why the round did not come to a good end, nil if it did.
func (r *round) verdict() error {
	var bad []string
	for _, t := range r.txns {
		if t.State != "DONE" {
			bad = append(bad, fmt.Sprintf("%s is %s (%s)", t.UID, t.State, t.Error))
		}
	}
	if len(bad) > 0 {
		return command.ExitWith(command.ExitFailure, strings.Join(bad, "\n"))
	}
	if err := r.world.verify(r.txns); err != nil {
		return fmt.Errorf("checking the ledger: %w", err)
	}
	return nil
}

// A tally is the round in numbers.
type tally struct {
	queues, done, retries, attempts, failed int
	blocks, ours                            int // the chain's, and those with a command of a sender
	fees, wasted                            uint64
}

func (r *round) count() tally {
	n := tally{queues: len(r.board.Queues), blocks: int(r.board.Height)}
	for _, t := range r.txns {
		if t.State == "DONE" {
			n.done++
		}
		n.retries += t.Retries
		n.attempts += len(t.Attempts)
		for _, a := range t.Attempts {
			if a.Outcome == "failed" {
				n.failed++
			}
		}
	}
	heights := map[uint32]bool{}
	for _, e := range r.world.network.Effects() {
		if !slices.ContainsFunc(r.world.senders, func(s settings.Sender) bool { return s.AccountID == e.Payer }) {
			continue
		}
		heights[e.Height] = true
		n.fees += e.Fee
		if !e.OK {
			n.wasted += e.Fee
		}
	}
	n.ours = len(slices.Collect(maps.Keys(heights)))
	return n
}
