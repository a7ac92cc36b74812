package main

import (
	"fmt"
	"strings"
	"time"
)

// summary says how the round ended, what went wrong on the way and, unless the
// demo ends here, what to try next.
func (r *demoRound) summary(failure error, once bool) []line {
	n := r.count()
	took := time.Since(r.started).Round(100 * time.Millisecond)
	lines := []line{{}, {style("1;32").of(fmt.Sprintf("All DONE in %s", took))}, {}}
	ledger := line{green.of("each one took effect once, in the order of its queue")}
	if failure != nil {
		lines, ledger = []line{{}, {alarm.of(fmt.Sprintf("This did not end well, after %s", took))}}, nil
		for reason := range strings.Lines(failure.Error()) {
			lines = append(lines, line{red.of("  " + strings.TrimSpace(reason))})
		}
		lines = append(lines, line{})
	}
	wasted := ""
	if n.wasted > 0 {
		wasted = fmt.Sprintf(", %s of it for what failed in a block", minaFee(n.wasted))
	}
	for _, row := range []struct {
		name string
		text line
	}{
		{"queues", line{plain.of(fmt.Sprintf("%d, over %d senders and %d slots of %d ledgers", n.queues, demoSenders,
			len(r.board.Senders)-demoSenders, len(r.world.ledgers)))}},
		{"transactions", line{plain.of(fmt.Sprintf("%d, %d of them DONE", len(r.txns), n.done))}},
		{"blocks", line{plain.of(fmt.Sprintf("%d, %d with a transaction of ours", n.blocks, n.ours))}},
		{"attempts", line{plain.of(fmt.Sprint(n.attempts))}},
		{"retries", line{plain.of(fmt.Sprint(n.retries))}},
		{"failed in a block", line{plain.of(fmt.Sprint(n.failed))}},
		{"fees", line{plain.of(minaFee(n.fees).String() + " MINA" + wasted)}},
		{"time", line{plain.of(took.String())}},
		{"ledger", ledger},
	} {
		if row.text != nil {
			lines = append(lines, append(line{dim.of("  " + row.name)}.to(21), row.text...))
		}
	}
	if mishaps := r.mishaps(); len(mishaps) > 0 {
		lines = append(append(lines, line{}, line{bold.of("On the way")}), mishaps...)
	}
	lines = append(lines, line{})
	if once {
		return lines
	}
	return append(lines, r.advice()...)
}

// mishaps tells of every attempt that did not make it, and of those that could not be
// made.
func (r *demoRound) mishaps() []line {
	var lines []line
	for _, t := range r.putOffs {
		lines = append(lines, append(line{plain.of("  " + t.UID)}.to(21), dim.of("put off    "), magenta.of(t.Error.Message)))
	}
	for _, t := range r.txns {
		for _, a := range t.Attempts {
			if a.Outcome == "included" || a.Error == nil {
				continue
			}
			what := a.Error.String()
			if a.Outcome == "failed" {
				what = fmt.Sprintf("included in block %d, failed there: %s", a.BlockHeight, a.Error.Code)
			}
			l := append(line{plain.of("  " + t.UID)}.to(21), dim.of(fmt.Sprintf("attempt %d  ", a.Number)), magenta.of(what))
			lines = append(lines, l)
		}
	}
	return lines
}

// dashboard says where the demo can be watched from its first transaction on.
func (r *demoRound) dashboard() line {
	return line{dim.of("Dashboard     "), bold.of(r.s.URL + "/")}
}

// advice names what to try while the demo keeps serving.
func (r *demoRound) advice() []line {
	api := r.s.URL + "/api/v1"
	shown := "commit"
	for _, t := range r.txns {
		if len(t.Attempts) > 1 {
			shown = t.UID
		}
	}
	lines := []line{{bold.of("Try next, in another terminal")}}
	for _, command := range []string{
		"curl -s " + api + "/transactions/" + shown,
		"curl -s " + api + "/queues",
		"curl -s " + api + "/senders",
		"curl -s " + api + `/transactions -H 'Content-Type: application/json' -d '{"queue":"plan-autumn","type":"COMMIT_ALL_VOTING_BATCHES","data":{"planUid":"autumn"}}'`,
		"go run ./cmd/sequencer txn show " + shown + " --url " + r.s.URL,
		"go run ./cmd/sequencer watch --url " + r.s.URL,
		"curl -s " + r.world.nodes[0] + ` -H 'Content-Type: application/json' -d '{"query":"{bestChain(maxLength:3){stateHash}}"}'`,
	} {
		lines = append(lines, line{cyan.of("  " + command)})
	}
	return append(lines, line{}, r.dashboard(), line{dim.of("API reference "), plain.of(r.s.URL + "/docs")},
		line{dim.of("Mina GraphQL  "), plain.of(r.world.nodes[0])},
		line{dim.of("namespace     "), plain.of(r.namespace)}, line{},
		line{bold.of("Serving until Ctrl-C; changes are shown here.")})
}
