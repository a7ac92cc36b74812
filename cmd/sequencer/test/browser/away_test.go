package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"mina-sequencer/ledger/devledger"
)

// loseRedis: the page says so, keeps what it knew, and goes on by itself.
func loseRedis(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/queues?search=stack-1")
	p.logIn(stageAdmin)
	p.see("stack-11")
	s.redis.Stop()
	p.see("Redis does not answer")
	p.see("stack-11")
	p.click("Pause stack-11")
	p.click("Pause")
	p.see("The store does not answer")
	s.redis.Restart()
	p.unsee("Redis does not answer")
	p.see("Live")
	p.healthy()
}

// loseServer: the page outlives it, and then shows what came meanwhile.
func loseServer(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/queues?search=after")
	p.logIn(stageAdmin)
	p.see("No queue is like this")
	p.see("Live")
	s.stop()
	p.see("The server does not answer")
	p.see("Not live")
	s.start()
	s.post(`{}`, func(string) string { return "after-all" }, "after-1")
	p.see("after-all")
	p.unsee("The server does not answer")
	p.unsee("Not live")
	p.healthy()
}

// lookLedgers sees what is in flight and waits at a ledger, and the ledger go away and come
// back.
func lookLedgers(t *testing.T, b browser, s *stage) {
	saw, err := devledger.NewSawtooth(devledger.SawtoothConfig{BlockTime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(saw.Close)
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "nobody here", http.StatusServiceUnavailable)
			return
		}
		saw.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.stop()
	s.env["SEQUENCER_LEDGERS"], s.env["SEQUENCER_LEDGER_SLOTS"] = "saw=sawtooth+"+server.URL, "2"
	s.start()
	row := func(words ...string) string {
		return fmt.Sprintf("%s.every((w) => document.querySelector('#ledgers tbody tr')?.innerText.includes(w))", quotedList(words))
	}
	p := b.open(t, s.base())
	p.visit("/")
	p.logIn(stageAdmin)
	p.until(row("saw", "Answers", "0 of 2 slots"))
	signer := devledger.NewSigner(1)
	for i := range 3 {
		made := signer.Batch(fmt.Sprint("batch-", i), "set")
		data, err := json.Marshal(map[string]any{"ledger": "saw", "batchId": made.ID, "batchList": made.List})
		if err != nil {
			t.Fatal(err)
		}
		s.call(http.MethodPost, "/transactions", fmt.Appendf(nil, `{"uid":"batch-%d","queue":"orders-%d","type":"SUBMIT_BATCH","data":%s}`, i, i, data))
	}
	p.until(row("2 of 2 slots"))
	p.until("document.querySelector('#ledgers [data-name=Waiting]').innerText === '1'")
	p.click("Senders")
	p.see("saw/1")
	p.click("Overview")
	away.Store(true)
	p.until(row("Away", "503"))
	p.see("Ledger saw is away")
	p.unsee("The chain: ")
	p.picture("ledgers", "wide-light")
	away.Store(false)
	p.until(row("Answers"))
	p.unsee("Ledger saw is away")
	p.healthy()
}
