package sequencer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/sequencer/lifecycle"
)

// TestBlame takes the tables of docs/blame.md line by line.
func TestBlame(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/blame.md")
	if err != nil {
		t.Fatal(err)
	}
	blamed := map[string]func(*testing.T, string) string{
		"A node refuses what it is sent": refusedFor, "It failed in a block": failedFor, "A worker answers": answeredFor,
	}
	row := regexp.MustCompile(`(?m)^\| (.*?) \|.*\| (.*?) \|$`)
	for section := range strings.SplitSeq(string(doc), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		if blamed[title] == nil {
			continue // what the words in the last column mean
		}
		for _, r := range row.FindAllStringSubmatch(text, -1) {
			if r[1] == "it says" {
				continue
			}
			t.Run(r[1], func(t *testing.T) {
				if got := blamed[title](t, r[1]); got != r[2] {
					t.Errorf("%s, and the table says %s", got, r[2])
				}
			})
		}
		delete(blamed, title)
	}
	if len(blamed) > 0 {
		t.Errorf("no such sections: %v", blamed)
	}
}

// quoted is what stands between the first backquotes, "" if nothing does.
func quoted(said string) string {
	_, said, _ = strings.Cut(said, "`")
	said, _, _ = strings.Cut(said, "`")
	return said
}

func refusedFor(_ *testing.T, said string) string {
	const (
		payer = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"
		other = "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
	)
	updates := other
	if strings.Contains(said, "an update bears that key") {
		updates = payer
	}
	command := fmt.Sprintf(`{"feePayer":{"body":{"publicKey":%q}},"accountUpdates":[{"body":{"publicKey":%q}}]}`,
		payer, updates)
	words := strings.NewReplacer("PAYER", payer, "OTHER", other).Replace(quoted(said))
	e := mina.ClassifySend("Couldn't send zkApp command: " + words)
	if of := whose(e, []byte(command)); of != ofNobody {
		return string(of)
	}
	switch e.Class {
	case mina.Renonce, mina.Resend:
		return "nobody"
	case mina.RaiseFee:
		return "fee"
	}
	return ofTransaction(e.Class == mina.Permanent)
}

func ofTransaction(forGood bool) string {
	if forGood {
		return "transaction, for good"
	}
	return "transaction, counted"
}

func failedFor(_ *testing.T, said string) string {
	class, _ := mina.ClassifyFailures([]mina.Failure{{Index: 1, Reasons: []string{quoted(said)}}})
	return ofTransaction(class == mina.Permanent)
}

func answeredFor(t *testing.T, said string) (whose string) {
	status, body := 200, quoted(said)
	_, _ = fmt.Sscanf(said, "HTTP %d", &status)
	if body == "signed" {
		body = "{}"
	}
	synctest.Test(t, func(t *testing.T) {
		dial := func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
					_, _ = fmt.Fprintf(theirs, "HTTP/1.1 %d x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
						status, len(body), body)
				}
				_, _ = io.Copy(io.Discard, theirs)
			}()
			return ours, nil
		}
		remote := dispatcher.NewRemote(dispatcher.NewClient(dispatcher.ClientOptions{Dial: dial}), "MINT", nil)
		r, err := remote.Prove(t.Context(), dispatcher.Worker{URL: "http://w"}, dispatcher.Call{})
		answer := dispatcher.AnswerOf(r, err, lifecycle.Answer{Call: lifecycle.Effect{Kind: lifecycle.Prove}}, mina.ValidHash)
		whose = map[lifecycle.Fault]string{
			lifecycle.FaultHopeless: ofTransaction(true), lifecycle.FaultError: ofTransaction(false),
			lifecycle.FaultNoCall: ofTransaction(false), lifecycle.FaultLost: "loss", lifecycle.FaultWorking: "nobody",
			lifecycle.FaultBusy: "worker", lifecycle.FaultUnreached: "worker", lifecycle.FaultOutOfOrder: "worker",
		}[answer.Fault]
	})
	return whose
}
