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
	lines := []line{{}, {{fmt.Sprintf("All DONE in %s", took), style("1;32")}}, {}}
	ledger := line{{"each one took effect once, in the order of its queue", green}}
	if failure != nil {
		lines, ledger = []line{{}, {{fmt.Sprintf("This did not end well, after %s", took), alarm}}}, nil
		for reason := range strings.Lines(failure.Error()) {
			lines = append(lines, line{{"  " + strings.TrimSpace(reason), red}})
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
		{"queues", line{{fmt.Sprintf("%d, over %d senders and %d slots of %d ledgers", n.queues, demoSenders,
			len(r.board.Senders)-demoSenders, len(r.world.ledgers)), plain}}},
		{"transactions", line{{fmt.Sprintf("%d, %d of them DONE", len(r.txns), n.done), plain}}},
		{"blocks", line{{fmt.Sprintf("%d, %d with a transaction of ours", n.blocks, n.ours), plain}}},
		{"attempts", line{{fmt.Sprint(n.attempts), plain}}},
		{"retries", line{{fmt.Sprint(n.retries), plain}}},
		{"failed in a block", line{{fmt.Sprint(n.failed), plain}}},
		{"fees", line{{minaFee(n.fees).String() + " MINA" + wasted, plain}}},
		{"time", line{{took.String(), plain}}},
		{"ledger", ledger},
	} {
		if row.text != nil {
			lines = append(lines, append(line{{"  " + row.name, dim}}.to(21), row.text...))
		}
	}
	if mishaps := r.mishaps(); len(mishaps) > 0 {
		lines = append(append(lines, line{}, line{{"On the way", bold}}), mishaps...)
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
		lines = append(lines, append(line{{"  " + t.UID, plain}}.to(21), span{"put off    ", dim}, span{t.Error.Message, magenta}))
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
			l := append(line{{"  " + t.UID, plain}}.to(21), span{fmt.Sprintf("attempt %d  ", a.Number), dim}, span{what, magenta})
			lines = append(lines, l)
		}
	}
	return lines
}

// dashboard says where the demo can be watched from its first transaction on.
func (r *demoRound) dashboard() line {
	return line{{"Dashboard     ", dim}, {r.s.URL + "/", bold}}
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
	lines := []line{{{"Try next, in another terminal", bold}}}
	for _, command := range []string{
		"curl -s " + api + "/transactions/" + shown,
		"curl -s " + api + "/queues",
		"curl -s " + api + "/senders",
		"curl -s " + api + `/transactions -H 'Content-Type: application/json' -d '{"queue":"plan-autumn","type":"COMMIT_ALL_VOTING_BATCHES","data":{"planUid":"autumn"}}'`,
		"go run ./cmd/sequencer txn show " + shown + " --url " + r.s.URL,
		"go run ./cmd/sequencer watch --url " + r.s.URL,
		"curl -s " + r.world.nodes[0] + ` -H 'Content-Type: application/json' -d '{"query":"{bestChain(maxLength:3){stateHash}}"}'`,
	} {
		lines = append(lines, line{{"  " + command, cyan}})
	}
	return append(lines, line{}, r.dashboard(), line{{"API reference ", dim}, {r.s.URL + "/docs", plain}},
		line{{"Mina GraphQL  ", dim}, {r.world.nodes[0], plain}},
		line{{"namespace     ", dim}, {r.namespace, plain}}, line{},
		line{{"Serving until Ctrl-C; changes are shown here.", bold}})
}
