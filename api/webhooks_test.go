package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

const webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := setup(t)
	add := func(body string) reply { return s.ask("POST", "/webhooks", body) }
	made := add(`{"id":"a","url":"https://x.example/hook?token=hush","secret":"` + webhookSecret + `","queues":["q*"],"states":["DONE"]}`).want(201)
	got := made.read()
	if got["secret"] != webhookSecret || made.Header().Get("Location") != base+"/webhooks/a" || got["url"] != "https://x.example/…" ||
		got["enabled"] != true || got["types"] != nil {
		t.Errorf("added %v", got)
	}
	for _, path := range []string{"/webhooks", "/webhooks/a"} {
		if text := s.ask("GET", path, "").want(200).Body.String(); strings.Contains(text, "whsec_") || strings.Contains(text, "hush") || strings.Contains(text, "hook?") || strings.Contains(text, "/hook") {
			t.Errorf("%s shows a secret: %s", path, text)
		}
	}
	if secret, _ := add(`{"id":"b","url":"https://x.example"}`).want(201).read()["secret"].(string); !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("made the secret %q", secret)
	}
	add(`{"id":"a","url":"https://x.example"}`).wantProblem(409, "WEBHOOK_EXISTS")
	whole := `{"id":"a","url":"https://x.example/hook?token=hush","secret":"` + webhookSecret + `","queues":["q*"],"states":["DONE"]}`
	add(whole).want(201) // its answer may have been lost
	add(strings.Replace(whole, "hush", "other", 1)).wantProblem(409, "WEBHOOK_EXISTS")
	wrong := add(`{"id":"","url":"http://x.example","secret":"x","types":["x"],"queues":["a*b"],"states":["NONE"]}`).wantProblem(422, "INVALID_DATA")
	if diff := cmp.Diff([]string{"id", "url", "secret", "types", "queues", "states"}, fields(wrong)); diff != "" {
		t.Error(diff)
	}
	add(`{"id":"c","url":"https://x.example","types":"x"}`).wantProblem(422, "INVALID_DATA")
	if off := s.ask("POST", "/webhooks/a/disable", "").want(200).read(); off["enabled"] != false || off["reason"] != "DISABLED" {
		t.Errorf("disabled: %v", off)
	}
	if on := s.ask("POST", "/webhooks/a/enable", "").want(200).read(); on["enabled"] != true || on["reason"] != nil {
		t.Errorf("enabled: %v", on)
	}
	if fresh := s.ask("POST", "/webhooks/a/secret", "").want(200).read(); fresh["secret"] == webhookSecret {
		t.Errorf("rotated: %v", fresh)
	}
	s.ask("POST", "/webhooks/a/secret", `{"secret":"x"}`).wantProblem(422, "INVALID_DATA")
	edited := s.ask("PATCH", "/webhooks/a", `{"types":["VOTE"],"states":null}`).want(200).read()
	if fmt.Sprint(edited["types"], edited["queues"], edited["states"], edited["url"]) != "[VOTE] [q*] <nil>https://x.example/…" || edited["health"] != "WELL" {
		t.Errorf("edited: %v", edited)
	}
	if moved := s.ask("PATCH", "/webhooks/a", `{"url":"https://10.0.0.1/"}`).want(200).read(); moved["url"] != "https://10.0.0.1" || moved["health"] != "REFUSED_ADDRESS" {
		t.Errorf("moved to where nothing gets: %v", moved)
	}
	s.ask("PATCH", "/webhooks/a", `{"url":"ftp://x.example","states":["NONE"]}`).wantProblem(422, "INVALID_DATA")
	s.ask("PATCH", "/webhooks/a", `{"id":"b"}`).wantProblem(422, "INVALID_DATA")
	s.ask("POST", "/webhooks/a/replay", "").want(200)
	s.ask("POST", "/webhooks/a/replay", `{"after":"x"}`).wantProblem(422, "INVALID_DATA")
	s.ask("POST", "/webhooks/a/replay", `{"after":"1-0"}`).wantProblem(410, "EVENTS_GONE")
	s.ask("GET", "/webhooks/a/deliveries?limit=5", "").want(200)
	s.ask("GET", "/webhooks/a/parked", "").want(200)
	s.ask("GET", "/webhooks/a/parked?cursor=x", "").wantProblem(400, "BAD_CURSOR")
	s.ask("DELETE", "/webhooks/a/parked", "").want(204)
	s.ask("DELETE", "/webhooks/a/parked?lane=t:u", "").wantProblem(404, "NOT_FOUND")
	s.ask("DELETE", "/webhooks/a/parked?lane=", "").wantProblem(400, "BAD_REQUEST")
	s.ask("DELETE", "/webhooks/a", "").want(204)
	for _, path := range []string{"GET ", "GET /deliveries", "GET /parked", "POST /enable", "POST /disable", "POST /ping", "POST /secret", "POST /replay", "PATCH ", "DELETE ", "DELETE /parked"} {
		method, rest, _ := strings.Cut(path, " ")
		body := ""
		if method == "PATCH" {
			body = `{"types":null}`
		}
		s.ask(method, "/webhooks/a"+rest, body).wantProblem(404, "NOT_FOUND")
	}
}

// TestWebhookBody: it is the event as those who follow get it, and the transaction as
// GET answers it.
func TestWebhookBody(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{"big":123456789012345678901234567890},"uid":"u"}`).want(202)
	p, err := s.store.ReadLog(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	txn, err := s.store.Get(t.Context(), "u")
	if err != nil {
		t.Fatal(err)
	}
	event := string(appendEvent(nil, p.Epoch, &p.Entries[0]))
	_, data, _ := strings.Cut(event, "data: ")
	for _, of := range []*tx.Transaction{txn, nil} {
		got := Webhook().Transaction(Webhook().Event(p.Epoch, &p.Entries[0]), of)
		shown := "null"
		if of != nil {
			shown = strings.TrimSpace(s.ask("GET", "/transactions/u", "").want(200).Body.String())
		}
		if want := strings.TrimSuffix(strings.TrimSpace(data), "}") + `,"transaction":` + shown + "}"; string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		x := &exchange{t: t, doc: theDocument()}
		x.fits(x.doc.compile("/components/schemas/WebhookEvent"), got)
	}
	ping := queues.Entry{Event: queues.Event{Number: 5, At: p.Entries[0].At, Kind: queues.OfTransaction, Code: "PING"}}
	x := &exchange{t: t, doc: theDocument()}
	x.fits(x.doc.compile("/components/schemas/WebhookEvent"), Webhook().Transaction(Webhook().Event("ping", &ping), nil))
}
