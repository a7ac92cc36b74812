// Webhook-receiver takes webhooks as an endpoint of yours may: it checks each with the
// library of Standard Webhooks, writes it down, and answers. WEBHOOK_SECRET is what
// `sequencer webhook add` has shown.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9090", "where to listen")
	record := flag.String("record", "webhooks.txt", "file to which what is taken is appended")
	trouble := flag.Uint64("trouble", 0, "for tests: fail, hang, ask for patience and die, by this seed")
	flag.Parse()
	if err := serve(*addr, *record, *trouble); err != nil {
		fmt.Fprintln(os.Stderr, "webhook-receiver:", err)
		os.Exit(1)
	}
}

func serve(addr, record string, trouble uint64) error {
	wh, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		return fmt.Errorf("WEBHOOK_SECRET: %w", err)
	}
	file, err := os.OpenFile(record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", l.Addr())
	var handler http.Handler = &receiver{webhook: wh, record: file}
	if trouble > 0 {
		handler = troubled(handler, trouble)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return errors.Join(server.Serve(l), file.Close())
}

// An event is what is told: one change. See the description of the API for all of it.
type event struct {
	ID    string  `json:"id"`
	UID   *string `json:"uid"` // null in events of queues and senders
	Queue *string `json:"queue"`
	From  *string `json:"from"`
	To    *string `json:"to"`
}

type receiver struct {
	webhook *standardwebhooks.Webhook
	mu      sync.Mutex
	record  io.Writer
}

// ServeHTTP answers 204 when the event is written down: what is to be done with it is done
// afterwards, and not while the sender waits. An event may come twice; its id tells.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, 16<<20))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	if err := r.webhook.Verify(body, q.Header); err != nil { // the body as it came, not written anew
		http.Error(w, "the signature is wrong", http.StatusUnauthorized)
		return
	}
	var e event
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, "the body is no event", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	_, err = fmt.Fprintln(r.record, e.ID, or(e.UID), or(e.Queue), or(e.From), or(e.To))
	r.mu.Unlock()
	if err != nil {
		http.Error(w, "it cannot be written down", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func or(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}
