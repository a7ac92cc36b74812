package sequencer_test

import (
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/test/harness"
	"mina-sequencer/sequencer/tx"
)

// TestLogSaysWhy: what a person may have to act on is a warning with its code and words: what is put
// off, counted, and an end without an effect, by whomever it is told. What a person asked for is none.
func TestLogSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := harness.New(t, devnet.Config{FillRate: 1})
		log := &journal{}
		w.Logger = slog.New(slog.NewTextHandler(log, nil))
		_, worker := w.Worker(1, devworker.Options{})
		p := w.Start()

		w.Web.Unplug("worker1", true)
		w.Post("away", "away")
		w.AwaitTxn("away", "put off twice", time.Hour, func(t *tx.Transaction) bool { return t.Deferred > 1 })
		w.Web.Unplug("worker1", false)
		w.Await("away", tx.Done, time.Hour)

		worker.Fail(devworker.Fault{UID: "hopeless", Kind: devworker.Error, Code: "500", Message: "no such\nclaim"})
		w.Post("hopeless", "hopeless")
		w.Await("hopeless", tx.Unresolved, time.Hour)
		for range w.Policy.MaxRetries + 1 {
			worker.Fail(devworker.Fault{UID: "unlucky", Kind: devworker.Error, Code: "20202", Message: "proof failed"})
		}
		w.Post("unlucky", "unlucky")
		w.Await("unlucky", tx.Failed, 24*time.Hour)

		w.Post("away", "unwanted")
		_, _, err := p.Cancel(w.Ctx, "unwanted")
		w.OK(err)

		text := log.String()
		for _, line := range []string{
			`level=WARN msg="transaction put off" txn=away .* code=WORKER_UNAVAILABLE err=".*not reached.*" times=1 `,
			`level=WARN msg="transaction put off" txn=away .* code=WORKER_UNAVAILABLE .* times=2 `,
			`level=WARN msg="transaction unresolved" txn=hopeless .* attempt=1 .* code=500 err="no such claim"`,
			`level=WARN msg="transaction failed" txn=unlucky .* attempt=4 .* code=20202 err="proof failed"`,
			`level=INFO msg=transaction txn=unlucky .* state=RETRY code=20202 err="proof failed"`,
			`level=INFO msg=transaction txn=away .* state=DONE code="" err=""`,
		} {
			if !regexp.MustCompile(line).MatchString(text) {
				t.Errorf("no line is like %s", line)
			}
		}
		if regexp.MustCompile(`level=WARN .*txn=unwanted`).MatchString(text) {
			t.Error("what a person cancelled is a warning")
		}
		if t.Failed() {
			t.Log(text)
		}
	})
}
