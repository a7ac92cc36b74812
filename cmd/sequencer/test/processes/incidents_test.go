//go:build unix

package processes

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/lane"
	"mina-sequencer/sequencer/tx"
)

// incidents walks from an alert to its remedy, for what befalls an operator at night. What the alert says to
// run is the first step, and what that says to do is the second: nothing else has to be known.
func incidents(t *testing.T, bin binaries) {
	lane.All(t, `TestEveryAlert holds what alerts say, TestClientCommands and TestDoctor what commands do`)
	r := newRig(t, bin, "night", map[string]string{
		"SEQUENCER_UNRESOLVED_LIMIT": "2", "SEQUENCER_BALANCE_INTERVAL": "1s", "SEQUENCER_CYCLE_INTERVAL": "200ms",
	})
	chain := r.run("three nodes", bin.sequencer, nil, "devnet", "--addr", redistest.FreeAddr(t, 3), "--nodes", "3",
		"--slot", "300ms", "--fill", "1", "--k", "20000", "--accounts", devnet.Key(1), "--fund", "12")
	urls := r.await(chain, regexp.MustCompile(`GraphQL   (\S+)`))
	r.env["SEQUENCER_MINA_URL"] = urls
	nodes := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(urls, -1)
	r.node = nodes[0]
	r.eventually(patience, "the first slots are over", func() bool {
		var state struct{ Slot uint32 }
		return r.call(http.MethodGet, "http://"+r.node+"/control/state", "", &state) == http.StatusOK && state.Slot > 0
	})
	r.worker(1)
	n := &night{rig: r, serving: r.serve("serve", nil)}
	done := func(uid string) func() bool {
		return func() bool { return r.phase(uid) == tx.PhaseDone }
	}

	// All workers are down.
	r.workers[1].kill()
	r.post(n.serving, "one", "u1")
	n.alerted("SequencerNoSender", `sequencer_sender_available{[^}]*} 0`)
	n.step("SequencerNoSender", "sequencer sender list", "worker not reached", "see to its worker, if that is away", r.urls[1])
	r.worker(1)
	r.eventually(patience, "what waited for the worker is DONE", done("u1"))

	// A node is out of sync.
	r.at(nodes[2], "sync", `"BOOTSTRAP"`)
	n.alerted("SequencerNodeOut", `sequencer_node_voting{node="`+nodes[2]+`"} 0`)
	n.step("SequencerNodeOut", "sequencer doctor", "NODE_NOT_SYNCED", nodes[2], "see its log and peers")
	r.at(nodes[1], "sync", `"BOOTSTRAP"`)
	n.alerted("SequencerNoQuorum", `sequencer_chain_quorum 0`)
	n.step("SequencerNoQuorum", "sequencer doctor", "NO_QUORUM", nodes[1], nodes[2], "see its log and peers")
	r.at(nodes[1], "heal", "")
	r.at(nodes[2], "heal", "")
	r.eventually(patience, "all nodes vote", func() bool { return strings.Count(n.metrics("sequencer_node_voting"), "} 1\n") == 3 })

	// A queue is paused by its limit.
	r.fault(1, `{"kind":"error","code":"500","message":"the contract refuses it","times":2}`)
	r.post(n.serving, "shop", "v1")
	r.post(n.serving, "shop", "v2")
	n.alerted("SequencerQueuePaused", `sequencer_queues_limited 1`)
	said := n.step("SequencerQueuePaused", "sequencer doctor", "QUEUE_PAUSED", "shop", "sequencer queue resume shop")
	why := regexp.MustCompile(`sequencer txn list [^)]*`).FindString(said)
	if list := n.run(why); strings.Count(list, "the contract refuses it") != 2 {
		t.Errorf("%s does not say why:\n%s", why, list)
	}
	n.run(regexp.MustCompile(`sequencer txn retry [^)]*`).FindString(said) + " --yes")
	n.run("sequencer queue resume shop")
	for _, uid := range []string{"v1", "v2"} {
		r.eventually(patience, "what its limit had stopped is DONE", done(uid))
	}

	// All senders are out of money. This network funds nobody: that they may have less stands for that.
	n.serving.signal(syscall.SIGTERM)
	<-n.serving.ended
	n.serving = r.serve("serve", map[string]string{"SEQUENCER_MIN_BALANCE": "13"})
	r.post(n.serving, "one", "w1")
	n.alerted("SequencerLowBalance", `sequencer_sender_balance_mina{[^}]*} 11\.`)
	n.alerted("SequencerNoSender", `sequencer_sender_available{[^}]*} 0`)
	n.step("SequencerNoSender", "sequencer sender list", devnet.Key(1), "MINA to spend, less than 13", "send MINA to its account: it goes on by itself")
	n.serving.signal(syscall.SIGTERM)
	<-n.serving.ended
	n.serving = r.serve("serve", nil)
	r.eventually(patience, "what waited for the money is DONE", done("w1"))
}

// A night is what an operator has: the alerts' words, a shell, and the metrics.
type night struct {
	*rig
	serving *serving
}

// alerted waits until what an alert looks at is so.
func (n *night) alerted(alert, metric string) {
	n.Helper()
	name, _, _ := strings.Cut(regexp.MustCompile(`[{ ]`).ReplaceAllString(metric, " "), " ")
	n.eventually(patience, alert+": "+metric, func() bool { return regexp.MustCompile(metric).MatchString(n.metrics(name)) })
}

func (n *night) metrics(prefix string) (lines string) {
	n.Helper()
	req, err := http.NewRequestWithContext(n.Context(), http.MethodGet, strings.TrimSuffix(n.serving.api, "/api/v1")+"/metrics", nil)
	n.ok(err)
	resp, err := http.DefaultClient.Do(req)
	n.ok(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	n.ok(err)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, prefix) {
			lines += line
		}
	}
	return lines
}

// step runs the command that an alert names, and wants it to say some things.
func (n *night) step(alert, command string, wanted ...string) string {
	n.Helper()
	rules, err := os.ReadFile("../../../../docs/monitoring/alerts.yml")
	n.ok(err)
	_, rule, _ := strings.Cut(string(rules), "- alert: "+alert+"\n")
	if rule, _, _ = strings.Cut(rule, "- alert: "); !strings.Contains(rule, command) {
		n.Errorf("%s does not name %s:\n%s", alert, command, rule)
	}
	said := n.run(command)
	for _, want := range wanted {
		if !strings.Contains(said, want) {
			n.Errorf("%s: %s does not say %q:\n%s", alert, command, want, said)
		}
	}
	return said
}

// run runs a line of a shell.
func (n *night) run(line string) string {
	n.Helper()
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "sequencer" {
		n.Fatalf("no command is named: %q", line)
	}
	env := maps.Clone(n.env)
	env["SEQUENCER_URL"] = strings.TrimSuffix(n.serving.api, "/api/v1")
	p := n.rig.run(line, n.bin.sequencer, env, words[1:]...)
	n.eventually(patience, line+" ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	return fmt.Sprint(p.out.lines(1000))
}
