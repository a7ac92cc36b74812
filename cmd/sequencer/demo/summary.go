package demo

import (
	"fmt"
	"strings"
	"time"

	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/sequencer/fees"
)

// summary says how the round ended, what went wrong on the way and, unless the
// demo ends here, what to try next.
func (r *round) summary(failure error, once bool) []terminal.Line {
	n := r.count()
	took := time.Since(r.started).Round(100 * time.Millisecond)
	lines := []terminal.Line{{}, {terminal.Style("1;32").Of(fmt.Sprintf("All DONE in %s", took))}, {}}
	ledger := terminal.Line{terminal.Green.Of("each one took effect once, in the order of its queue")}
	if failure != nil {
		lines, ledger = []terminal.Line{{}, {terminal.Alarm.Of(fmt.Sprintf("This did not end well, after %s", took))}}, nil
		for reason := range strings.Lines(failure.Error()) {
			lines = append(lines, terminal.Line{terminal.Red.Of("  " + strings.TrimSpace(reason))})
		}
		lines = append(lines, terminal.Line{})
	}
	wasted := ""
	if n.wasted > 0 {
		wasted = fmt.Sprintf(", %s of it for what failed in a block", fees.FormatMina(n.wasted))
	}
	for _, row := range []struct {
		name string
		text terminal.Line
	}{
		{"queues", terminal.Line{terminal.Plain.Of(fmt.Sprintf("%d, over %d senders and %d slots of %d ledgers", n.queues, senderCount,
			len(r.board.Senders)-senderCount, len(r.world.ledgers)))}},
		{"transactions", terminal.Line{terminal.Plain.Of(fmt.Sprintf("%d, %d of them DONE", len(r.txns), n.done))}},
		{"blocks", terminal.Line{terminal.Plain.Of(fmt.Sprintf("%d, %d with a transaction of ours", n.blocks, n.ours))}},
		{"attempts", terminal.Line{terminal.Plain.Of(fmt.Sprint(n.attempts))}},
		{"retries", terminal.Line{terminal.Plain.Of(fmt.Sprint(n.retries))}},
		{"failed in a block", terminal.Line{terminal.Plain.Of(fmt.Sprint(n.failed))}},
		{"fees", terminal.Line{terminal.Plain.Of(fees.FormatMina(n.fees) + " MINA" + wasted)}},
		{"time", terminal.Line{terminal.Plain.Of(took.String())}},
		{"ledger", ledger},
	} {
		if row.text != nil {
			lines = append(lines, append(terminal.Line{terminal.Dim.Of("  " + row.name)}.To(21), row.text...))
		}
	}
	if mishaps := r.mishaps(); len(mishaps) > 0 {
		lines = append(append(lines, terminal.Line{}, terminal.Line{terminal.Bold.Of("On the way")}), mishaps...)
	}
	lines = append(lines, terminal.Line{})
	if once {
		return lines
	}
	return append(lines, r.advice()...)
}

// mishaps tells of every attempt that did not make it, and of those that could not be
// made.
func (r *round) mishaps() []terminal.Line {
	var lines []terminal.Line
	for _, t := range r.putOffs {
		lines = append(lines, append(terminal.Line{terminal.Plain.Of("  " + t.UID)}.To(21), terminal.Dim.Of("put off    "), terminal.Magenta.Of(t.Error.Message)))
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
			l := append(terminal.Line{terminal.Plain.Of("  " + t.UID)}.To(21), terminal.Dim.Of(fmt.Sprintf("attempt %d  ", a.Number)), terminal.Magenta.Of(what))
			lines = append(lines, l)
		}
	}
	return lines
}

// dashboard says where the demo can be watched from its first transaction on.
func (r *round) dashboard() terminal.Line {
	return terminal.Line{terminal.Dim.Of("Dashboard     "), terminal.Bold.Of(r.api.URL + "/")}
}

// advice names what to try while the demo keeps serving.
func (r *round) advice() []terminal.Line {
	api := r.api.URL + "/api/v1"
	shown := "commit"
	for _, t := range r.txns {
		if len(t.Attempts) > 1 {
			shown = t.UID
		}
	}
	lines := []terminal.Line{{terminal.Bold.Of("Try next, in another terminal")}}
	for _, try := range []string{
		"curl -s " + api + "/transactions/" + shown,
		"curl -s " + api + "/queues",
		"curl -s " + api + "/senders",
		"curl -s " + api + `/transactions -H 'Content-Type: application/json' -d '{"queue":"plan-autumn","type":"COMMIT_ALL_VOTING_BATCHES","data":{"planUid":"autumn"}}'`,
		"go run ./cmd/sequencer txn show " + shown + " --url " + r.api.URL,
		"go run ./cmd/sequencer watch --url " + r.api.URL,
		"curl -s " + r.world.nodes[0] + ` -H 'Content-Type: application/json' -d '{"query":"{bestChain(maxLength:3){stateHash}}"}'`,
	} {
		lines = append(lines, terminal.Line{terminal.Cyan.Of("  " + try)})
	}
	return append(lines, terminal.Line{}, r.dashboard(), terminal.Line{terminal.Dim.Of("API reference "), terminal.Plain.Of(r.api.URL + "/docs")},
		terminal.Line{terminal.Dim.Of("Mina GraphQL  "), terminal.Plain.Of(r.world.nodes[0])},
		terminal.Line{terminal.Dim.Of("namespace     "), terminal.Plain.Of(r.namespace)}, terminal.Line{},
		terminal.Line{terminal.Bold.Of("Serving until Ctrl-C; changes are shown here.")})
}
