package ledger_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"mina-sequencer/ledger"
)

var anID = strings.Repeat("0123456789abcdef", 8)

const (
	servicePath = "/scabbard/vzrQS-rvwf4/a001"
	aSecret     = "Bearer Cylinder:x.SECRETS.z"
)

// newLedger is a ledger at an http URL.
func newLedger(t testing.TB, protocol ledger.Protocol, url string, o ledger.Options) ledger.Ledger {
	t.Helper()
	if protocol == ledger.Splinter {
		url += servicePath
	}
	targets, err := ledger.ParseTargets("grid=" + string(protocol) + "+" + url)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(targets[0], o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A seen is a request as it arrived.
type seen struct {
	method, uri, body string
	header            http.Header
}

// A recorder answers every request with answer and keeps the requests.
type recorder struct {
	answer func(http.ResponseWriter, seen)
	mu     sync.Mutex
	got    []seen
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request := seen{r.Method, r.RequestURI, string(body), r.Header}
	s.mu.Lock()
	s.got = append(s.got, request)
	s.mu.Unlock()
	s.answer(w, request)
}

func (s *recorder) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

// serve starts a server on loopback.
func serve(t testing.TB, answer func(http.ResponseWriter, seen)) (*recorder, string) {
	t.Helper()
	s := &recorder{answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

func TestRequests(t *testing.T) {
	t.Parallel()
	batchList := []byte{0, 1, 2, 0xff}
	for protocol, want := range map[ledger.Protocol][]seen{
		ledger.Sawtooth: {
			{"POST", "/batches", string(batchList), http.Header{"Content-Type": {"application/octet-stream"}}},
			{"POST", "/batch_statuses", `["` + anID + `"]`, http.Header{"Content-Type": {"application/json"}}},
		},
		ledger.Splinter: {
			{"POST", servicePath + "/batches", string(batchList),
				http.Header{"Content-Type": {"application/octet-stream"}, "Splinterprotocolversion": {"1"}}},
			{"GET", servicePath + "/batch_statuses?ids=" + anID, "", http.Header{"Splinterprotocolversion": {"1"}}},
		},
	} {
		for _, secret := range []ledger.Secret{"", aSecret} {
			s, url := serve(t, func(w http.ResponseWriter, _ seen) { w.WriteHeader(http.StatusTeapot) })
			l := newLedger(t, protocol, url, ledger.Options{Authorization: func() ledger.Secret { return secret }})
			_ = l.Submit(t.Context(), batchList, anID)
			if _, err := l.Statuses(t.Context(), []string{anID, anID}); err == nil {
				t.Error("a teapot has no statuses")
			}
			got := s.requests()
			if len(got) != len(want) {
				t.Fatalf("%s: %d requests", protocol, len(got))
			}
			for i, w := range want {
				if got[i].method != w.method || got[i].uri != w.uri || got[i].body != w.body {
					t.Errorf("%s: %+v, want %+v", protocol, got[i], w)
				}
				w.header.Set("Accept", "application/json")
				w.header.Set("Authorization", string(secret))
				w.header.Set("Connection", "close")
				for _, name := range []string{
					"Accept", "Authorization", "Content-Type", "SplinterProtocolVersion", "Idempotency-Key",
					"Connection", "Accept-Encoding",
				} {
					if got[i].header.Get(name) != w.header.Get(name) {
						t.Errorf("%s: %s: %q, want %q", protocol, name, got[i].header.Get(name), w.header.Get(name))
					}
				}
			}
		}
	}
}

func TestIdempotent(t *testing.T) {
	t.Parallel()
	for protocol, want := range map[ledger.Protocol]bool{ledger.Sawtooth: true, ledger.Splinter: false} {
		if got := newLedger(t, protocol, "http://h", ledger.Options{}).Idempotent(); got != want {
			t.Errorf("%s: %v", protocol, got)
		}
	}
	if _, err := ledger.New(ledger.Target{Name: "x", Protocol: "fabric"}, ledger.Options{}); err == nil {
		t.Error("took a protocol that there is not")
	}
	nowhere, err := ledger.New(ledger.Target{Name: "x", Protocol: ledger.Sawtooth, URL: "http://["}, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.Answer{
		Outcome: ledger.NotWritten,
		Message: "the ledger was not reached, nothing was sent: its address cannot be requested",
	}
	if got := nowhere.Submit(t.Context(), nil, anID); got != want {
		t.Errorf("posted nowhere: %+v", got)
	}
}

// errorOf is an error's body as Sawtooth's REST API has it.
func errorOf(code string) string {
	return `{"error": {"code": ` + code + `, "title": "Title", "message": "Text"}}`
}

const (
	wrongVersion = `{"message": "Client is attempting to use protocol version 9", "requested_protocol": "9", ` +
		`"splinter_protocol": 1, "libsplinter_version": "0.6.14"}`
	scabbard400 = `{"code": "400", "message": "batch is not valid"}`
)

// outcomes are the rows of the contract's table, and answers that are not in it.
var outcomes = []struct {
	protocol ledger.Protocol // "": both
	status   int
	body     string
	want     ledger.Answer // without its message
}{
	{ledger.Sawtooth, 202, `{"link": "http://h/batch_statuses?id=` + anID + `"}`,
		ledger.Answer{Outcome: ledger.Accepted}},
	{ledger.Splinter, 202, `{"link": "/scabbard/c/s/batch_statuses?ids=` + anID + `"}`,
		ledger.Answer{Outcome: ledger.Accepted}},
	{"", 202, ``, maybe("202")},
	{"", 202, `{}`, maybe("202")},
	{"", 202, `{"link": "/batch_statuses?id=1&ids=1"}`, maybe("202")},
	{"", 202, `{"link": ":"}`, maybe("202")},
	{"", 200, `{"link": "/batch_statuses?id=` + anID + `&ids=` + anID + `"}`, maybe("200")},

	{"", 429, ``, ledger.Answer{Outcome: ledger.NotProcessed, Code: "429"}},
	{ledger.Sawtooth, 429, errorOf("31"), ledger.Answer{Outcome: ledger.NotProcessed, Code: "31"}},
	{ledger.Sawtooth, 408, errorOf("19"), ledger.Answer{Outcome: ledger.NotProcessed, Code: "19"}},
	{ledger.Sawtooth, 503, errorOf("15"), ledger.Answer{Outcome: ledger.NotProcessed, Code: "15"}},

	{ledger.Sawtooth, 503, errorOf("17"), maybe("17")},
	{ledger.Sawtooth, 503, errorOf("18"), maybe("18")},
	{ledger.Sawtooth, 500, errorOf("10"), maybe("10")},
	{ledger.Sawtooth, 500, errorOf("20"), maybe("20")},
	{ledger.Sawtooth, 500, errorOf("15"), maybe("15")},
	{ledger.Sawtooth, 500, errorOf("30"), maybe("30")},
	{ledger.Sawtooth, 503, errorOf("19"), maybe("19")},
	{ledger.Sawtooth, 503, errorOf(`"15"`), maybe("503")},
	{ledger.Sawtooth, 408, errorOf("31"), maybe("31")},
	{ledger.Sawtooth, 400, errorOf("60"), maybe("60")},
	{ledger.Splinter, 500, `{"code": "500", "message": "coordinator"}`, maybe("500")},
	{ledger.Splinter, 408, errorOf("19"), maybe("408")},
	{ledger.Splinter, 503, errorOf("15"), maybe("503")},
	{ledger.Splinter, 400, errorOf("30"), maybe("400")},
	{"", 500, ``, maybe("500")},
	{"", 502, `<html>Bad Gateway</html>`, maybe("502")},
	{"", 503, `<html>Service Unavailable</html>`, maybe("503")},
	{"", 504, ``, maybe("504")},
	{"", 408, ``, maybe("408")},
	{"", 400, `Client sent an HTTP request to an HTTPS server.`, maybe("400")},
	{"", 418, `[]`, maybe("418")},
	{"", 303, ``, maybe("303")},

	{ledger.Sawtooth, 400, errorOf("30"), ledger.Answer{Outcome: ledger.Rejected, Code: "30"}},
	{ledger.Sawtooth, 400, errorOf("34"), ledger.Answer{Outcome: ledger.Rejected, Code: "34"}},
	{ledger.Sawtooth, 400, errorOf("35"), ledger.Answer{Outcome: ledger.Rejected, Code: "35"}},
	{ledger.Splinter, 400, scabbard400, ledger.Answer{Outcome: ledger.Rejected, Code: "400"}},
	{"", 413, `413: Request Entity Too Large`, ledger.Answer{Outcome: ledger.Rejected, Code: "413"}},

	{"", 401, `{"message": "Client is not authorized"}`, held(ledger.WrongAuth, "401")},
	{"", 403, ``, held(ledger.WrongAuth, "403")},
	{"", 404, `{"message": "Service not found"}`, held(ledger.WrongAddress, "404")},
	{"", 405, `Method Not Allowed`, held(ledger.WrongAddress, "405")},
	{"", 301, ``, held(ledger.WrongAddress, "301")},
	{"", 302, ``, held(ledger.WrongAddress, "302")},
	{"", 307, ``, held(ledger.WrongAddress, "307")},
	{"", 308, ``, held(ledger.WrongAddress, "308")},
	{ledger.Sawtooth, 400, errorOf("42"), held(ledger.WrongProtocol, "42")},
	{ledger.Splinter, 400, wrongVersion, held(ledger.WrongProtocol, "400")},
	{ledger.Splinter, 400, `{"code": "400", "requested_protocol": 9}`, held(ledger.WrongProtocol, "400")},
	{ledger.Splinter, 400, `{"code": "400", "splinter_protocol": 1}`, held(ledger.WrongProtocol, "400")},
}

func maybe(code string) ledger.Answer {
	return ledger.Answer{Outcome: ledger.MayBeProcessed, Code: code}
}

func held(why ledger.Why, code string) ledger.Answer {
	return ledger.Answer{Outcome: ledger.Held, Why: why, Code: code}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	for _, protocol := range []ledger.Protocol{ledger.Sawtooth, ledger.Splinter} {
		for _, row := range outcomes {
			if row.protocol != "" && row.protocol != protocol {
				continue
			}
			if row.want.Outcome == ledger.Accepted {
				row.want.Code = ""
			}
			s, url := serve(t, func(w http.ResponseWriter, r seen) {
				if r.uri == "/elsewhere" {
					t.Error("a redirect was followed")
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.body)
			})
			got := newLedger(t, protocol, url, ledger.Options{}).Submit(t.Context(), []byte("batch"), anID)
			if (got.Message == "") != (got.Outcome == ledger.Accepted) {
				t.Errorf("%s %d: message %q", protocol, row.status, got.Message)
			}
			message := got.Message
			got.Message = ""
			if got != row.want {
				t.Errorf("%s %d %s: %+v (%s), want %+v", protocol, row.status, row.body, got, message, row.want)
			}
			if strings.Contains(row.body, "Text") && protocol == ledger.Sawtooth && got.Code != "503" &&
				!strings.HasSuffix(message, ", code "+got.Code+": Title: Text") {
				t.Errorf("%s %d: message %q", protocol, row.status, message)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%s %d: %d requests", protocol, row.status, n)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "x": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0,
		"601": ledger.MaxWait, "18446744073709551616": 0, "18446744073709551615": ledger.MaxWait,
		"Wed, 21 Oct 2915 07:28:00 GMT": ledger.MaxWait,
	} {
		_, url := serve(t, func(w http.ResponseWriter, _ seen) {
			w.Header().Set("Retry-After", text)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		got := newLedger(t, ledger.Sawtooth, url, ledger.Options{}).Submit(t.Context(), nil, anID)
		if got.Outcome != ledger.NotProcessed || got.Wait != want {
			t.Errorf("Retry-After %q: %+v, want %v", text, got, want)
		}
	}
}

// TestMessages shows whole messages: the HTTP status, the ledger's own code where
// that is another, and its words as far as they have the form it writes them in.
func TestMessages(t *testing.T) {
	t.Parallel()
	const failed = "HTTP 500 Internal Server Error"
	for _, tt := range []struct {
		protocol            ledger.Protocol
		status              int
		body, code, message string
	}{
		{ledger.Sawtooth, 500, errorOf("10"), "10", failed + ", code 10: Title: Text"},
		{ledger.Sawtooth, 500, errorOf("500"), "500", failed + ": Title: Text"},
		{ledger.Sawtooth, 500, errorOf("1"), "1", failed + ", code 1: Title: Text"},
		{ledger.Sawtooth, 500, `{"error": {"code": 10}}`, "10", failed + ", code 10"},
		{ledger.Sawtooth, 500, `{"error": {"code": 10, "title": "A"}}`, "10", failed + ", code 10: A"},
		{ledger.Sawtooth, 500, `{"error": {"code": 10, "message": "B"}}`, "10", failed + ", code 10: B"},
		{ledger.Sawtooth, 500, `{"error": {"message": "B"}}`, "500", failed},
		{ledger.Sawtooth, 500, errorOf(`"10"`), "500", failed},
		{ledger.Sawtooth, 299, ``, "299", "HTTP 299"},
		{ledger.Splinter, 500, `{"code": "500", "message": "B"}`, "500", failed + ": B"},
		{ledger.Splinter, 500, `{"code": "7", "message": "B"}`, "7", failed + ", code 7: B"},
		{ledger.Splinter, 500, `{"message": "B"}`, "500", failed + ": B"},
		{ledger.Splinter, 500, `{"code": "7"}`, "7", failed + ", code 7"},
		{ledger.Splinter, 500, `{"code": 7, "message": "B"}`, "500", failed},
		{ledger.Splinter, 500, errorOf("10"), "500", failed},
		{ledger.Splinter, 500, `B`, "500", failed},
		{ledger.Splinter, 500, `{"message": "a\nb\u0007c\u001fd\u007fe f"}`, "500", failed + ": a b c d e f"},
		{ledger.Splinter, 500, `{"code": "` + strings.Repeat("7", 1024) + `"}`, strings.Repeat("7", 1024),
			(failed + ", code " + strings.Repeat("7", 1024))[:1021-len(answered)] + "…"},
	} {
		_, url := serve(t, func(w http.ResponseWriter, _ seen) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		l := newLedger(t, tt.protocol, url, ledger.Options{})
		want := ledger.Answer{Code: tt.code, Message: answered + tt.message}
		if got := l.Submit(t.Context(), nil, anID); got != want {
			t.Errorf("%s %d %s: %+v, want %+v", tt.protocol, tt.status, tt.body, got, want)
		}
		_, err := l.Statuses(t.Context(), []string{anID})
		if err == nil || err.Error() != "asking for 1 statuses: "+want.Message {
			t.Errorf("%s %d %s: %v, want %s", tt.protocol, tt.status, tt.body, err, want.Message)
		}
	}
}

// answered is how a message begins that tells of an answer.
const answered = "the ledger answered "

// TestLongestMessage: a message of 1 KiB is whole, a longer one ends in a mark.
func TestLongestMessage(t *testing.T) {
	t.Parallel()
	const begin = answered + "HTTP 500 Internal Server Error: "
	fill := func(n int) string { return strings.Repeat("x", n-len(begin)) }
	for said, want := range map[string]string{
		fill(1023):                    begin + fill(1023),
		fill(1024):                    begin + fill(1024),
		fill(1025):                    begin + fill(1021) + "…",
		fill(1020) + "é" + fill(1020): begin + fill(1020) + "…", // a letter is not cut in two
	} {
		_, url := serve(t, func(w http.ResponseWriter, _ seen) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"message": "`+said+`"}`)
		})
		got := newLedger(t, ledger.Splinter, url, ledger.Options{}).Submit(t.Context(), nil, anID)
		if got.Message != want {
			t.Errorf("%d bytes said: %d bytes %s", len(said), len(got.Message), got.Message)
		}
	}
}

// TestHidden has a ledger repeat what it was sent. From eight characters on it is
// hidden, with or without the scheme before it; less could be a word of the ledger's.
func TestHidden(t *testing.T) {
	t.Parallel()
	for secret, want := range map[ledger.Secret]string{
		"Bearer abcdefgh": "you sent Bearer [secret]",
		"Bearer abcdefg":  "you sent Bearer abcdefg",
		"abcdefgh":        "you sent [secret]",
		"abcdefg":         "you sent abcdefg",
		"":                "you sent",
	} {
		_, url := serve(t, func(w http.ResponseWriter, r seen) {
			w.WriteHeader(http.StatusInternalServerError)
			said := strings.TrimSpace("you sent " + r.header.Get("Authorization"))
			_, _ = io.WriteString(w, `{"message": "`+said+`"}`)
		})
		l := newLedger(t, ledger.Splinter, url, ledger.Options{Authorization: func() ledger.Secret { return secret }})
		if got := l.Submit(t.Context(), nil, anID); !strings.HasSuffix(got.Message, ": "+want) {
			t.Errorf("%s, want %s", got.Message, want)
		}
	}
}

// TestSilence has ledgers repeat the secret, write long texts and break lines.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"you sent " + aSecret + " to me", "Cylinder:x.SECRETS.z", "a\\nb\\u0007c\\u007f",
		strings.Repeat("é", 5000), "x" + strings.Repeat("é", 5000),
	} {
		_, url := serve(t, func(w http.ResponseWriter, _ seen) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code": "400", "message": "`+said+`"}`)
		})
		l := newLedger(t, ledger.Splinter, url, ledger.Options{Authorization: func() ledger.Secret { return aSecret }})
		got := l.Submit(t.Context(), nil, anID)
		_, err := l.Statuses(t.Context(), []string{anID})
		if got.Outcome != ledger.Rejected || err == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, message := range []string{got.Message, err.Error()} {
			if strings.Contains(message, "SECRETS") || strings.ContainsAny(message, "\n\a\x7f") ||
				len(message) > 1100 || strings.ContainsRune(message, utf8.RuneError) {
				t.Errorf("message %q", message)
			}
		}
	}
	s, url := serve(t, func(w http.ResponseWriter, _ seen) { w.WriteHeader(http.StatusTeapot) })
	l := newLedger(t, ledger.Sawtooth, url, ledger.Options{
		Authorization: func() ledger.Secret { return aSecret + "\n" },
	})
	got := l.Submit(t.Context(), nil, anID)
	want := ledger.Answer{
		Outcome: ledger.NotWritten,
		Message: "the ledger was not reached, nothing was sent: " +
			"the value of SEQUENCER_LEDGER_AUTH for it cannot be a header",
	}
	if got != want || len(s.requests()) != 0 {
		t.Errorf("a secret that is no header: %+v", got)
	}
}

// TestNames shows what is logged of an answer.
func TestNames(t *testing.T) {
	t.Parallel()
	for got, want := range map[fmt.Stringer]string{
		ledger.MayBeProcessed: "MayBeProcessed", ledger.Accepted: "Accepted", ledger.NotProcessed: "NotProcessed",
		ledger.Rejected: "Rejected", ledger.Held: "Held", ledger.NotWritten: "NotWritten",
		ledger.Outcome(6): "6", ledger.Outcome(255): "255",
		ledger.WrongAddress: "WrongAddress", ledger.WrongAuth: "WrongAuth", ledger.WrongProtocol: "WrongProtocol",
		ledger.Why(0): "", ledger.Why(4): "4",
	} {
		if got.String() != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestSecretChanges shows that a secret is asked for before each call.
func TestSecretChanges(t *testing.T) {
	t.Parallel()
	s, url := serve(t, func(w http.ResponseWriter, _ seen) { w.WriteHeader(http.StatusUnauthorized) })
	secrets := []ledger.Secret{"first one", "second one"}
	l := newLedger(t, ledger.Sawtooth, url, ledger.Options{Authorization: func() ledger.Secret {
		next := secrets[0]
		secrets = secrets[1:]
		return next
	}})
	_ = l.Submit(t.Context(), nil, anID)
	_ = l.Submit(t.Context(), nil, anID)
	for i, want := range []string{"first one", "second one"} {
		if got := s.requests()[i].header.Get("Authorization"); got != want {
			t.Errorf("call %d: %q", i, got)
		}
	}
}

// TestVectorsArrive posts the SDK's lists: the bytes arrive as they are.
func TestVectorsArrive(t *testing.T) {
	t.Parallel()
	s, url := serve(t, func(w http.ResponseWriter, _ seen) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"link": "http://h/batch_statuses?id=`+anID+`"}`)
	})
	l := newLedger(t, ledger.Sawtooth, url, ledger.Options{})
	for i, v := range readVectors(t).Vectors {
		if len(v.Batches) > 1 {
			continue
		}
		p, faults := ledger.Parse([]byte(`{"ledger": "grid", "batchId": "`+v.Batches[0].HeaderSignature+
			`", "batchList": "`+v.BatchList+`"}`), nil)
		if faults != nil {
			t.Fatal(faults)
		}
		got := l.Submit(t.Context(), p.BatchList, p.BatchID)
		if got.Outcome != ledger.MayBeProcessed { // the link names another
			t.Errorf("%s: %+v", v.Name, got)
		}
		if !bytes.Equal([]byte(s.requests()[i].body), p.BatchList) {
			t.Errorf("%s: the bytes were changed", v.Name)
		}
	}
}
