package dispatcher_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
)

// trainCall is newCall with two commands in flight before it.
func trainCall() dispatcher.Call {
	c := newCall()
	c.Attempt.Base = "b1"
	c.Ahead = []dispatcher.Ahead{
		{UID: "u8", Nonce: 10, Hash: "5J8", Signed: json.RawMessage(`{"a":"<é>"}`)},
		{UID: "u9", Nonce: 11, Hash: "5J9", Signed: json.RawMessage(`{"b":1}`)},
	}
	return c
}

func TestAheadOnTheWire(t *testing.T) {
	t.Parallel()
	const ahead = `[{"uid":"u8","nonce":10,"hash":"5J8","signed":"{\"a\":\"<é>\"}"},{"uid":"u9","nonce":11,"hash":"5J9","signed":"{\"b\":1}"}]`
	w := &worker{status: 200, body: `{"hash":"5J","on":"5J9","signed":"{}"}`}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	for _, make := range []func() (dispatcher.Result, error){
		func() (dispatcher.Result, error) { return remote.Prove(t.Context(), at, trainCall()) },
		func() (dispatcher.Result, error) {
			return remote.Resign(t.Context(), at, trainCall(), []byte(`{"s":1}`))
		},
	} {
		if r, err := make(); err != nil || r.On != "5J9" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for i, rq := range w.requests {
		var body struct {
			Attempt struct{ Base string }
			Ahead   json.RawMessage
			Signed  string
		}
		if err := json.Unmarshal([]byte(rq.body), &body); err != nil {
			t.Fatal(err)
		}
		if string(body.Ahead) != ahead || body.Attempt.Base != "b1" || (body.Signed != "") != (i == 1) {
			t.Errorf("%s: %s", rq.path, rq.body)
		}
	}
	w.body = `{"hash":"5J","signed":"{}"}`
	if _, err := remote.Prove(t.Context(), at, newCall()); err != nil {
		t.Error(err)
	}
	if last := w.requests[len(w.requests)-1].body; strings.Contains(last, "ahead") || strings.Contains(last, "base") {
		t.Errorf("with nothing ahead: %s", last)
	}
}

// TestOn: a signed or finished answer says what it was built upon.
func TestOn(t *testing.T) {
	t.Parallel()
	const mismatch = "retryable WORKER_MISMATCH, nothing sent"
	for _, tt := range []struct{ name, body, on, behind, alone string }{
		{"right", `{"hash":"5J","on":"5J9","signed":"{}"}`, "5J9", "hash=5J, signed={}", "hash=5J, signed={}, " + mismatch},
		{"the first of two", `{"hash":"5J","on":"5J8","signed":"{}"}`, "5J8", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}, " + mismatch},
		{"missing", `{"hash":"5J","signed":"{}"}`, "", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}"},
		{"null", `{"hash":"5J","on":null,"signed":"{}"}`, "", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}"},
		{"empty", `{"hash":"5J","on":"","signed":"{}"}`, "", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}"},
		{"done", `{"on":"5J9","done":{"a":1}}`, "5J9", `done={"a":1}`, `done={"a":1}, ` + mismatch},
		{"done upon nothing", `{"done":{"a":1}}`, "", `done={"a":1}, ` + mismatch, `done={"a":1}`},
		{"error", `{"on":"5J9","error":{"code":500,"message":"voted"}}`, "5J9", "unresolvable 500, nothing sent", "unresolvable 500, nothing sent"},
		{"error upon nothing", `{"error":{"code":500,"message":"voted"}}`, "", "unresolvable 500, nothing sent", "unresolvable 500, nothing sent"},
		{"no hash", `{"hash":"5J","on":"5 J","signed":"{}"}`, "", "lost", "lost"},
		{"no text", `{"hash":"5J","on":7,"signed":"{}"}`, "", "lost", "lost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			at, remote := (&worker{status: 200, body: tt.body}).start(t, dispatcher.ClientOptions{})
			for _, call := range []dispatcher.Call{trainCall(), newCall()} {
				want := tt.behind
				if len(call.Ahead) == 0 {
					want = tt.alone
				}
				r, err := remote.Prove(t.Context(), at, call)
				if got := summary(r, err); got != want || r.On != tt.on {
					t.Errorf("%d ahead: %s on %q, want %s", len(call.Ahead), got, r.On, want)
				}
			}
		})
	}
	long := strings.Repeat("5", 81)
	at, remote := (&worker{status: 200, body: `{"hash":"5J","on":"` + long + `","signed":"{}"}`}).start(t, dispatcher.ClientOptions{})
	if _, err := remote.Prove(t.Context(), at, trainCall()); !strings.Contains(err.Error(), `on is "`+long[1:]+`", want "5J9"`) {
		t.Errorf("on another: %v", err)
	}
	at, remote = (&worker{status: 200, body: `{"hash":"5J","on":"5J8","signed":"{}"}`}).start(t, dispatcher.ClientOptions{})
	r, err := remote.Resign(t.Context(), at, trainCall(), []byte(`{}`))
	if got := summary(r, err); got != "hash=5J, signed={}, "+mismatch {
		t.Errorf("signed again: %s", got)
	}
}

// TestFitsAhead: what is too much leaves no byte, and waits.
func TestFitsAhead(t *testing.T) {
	t.Parallel()
	c := trainCall()
	frame, err := json.Marshal([]map[string]any{{"uid": "u", "nonce": 1, "hash": "5J9", "signed": ""}})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", dispatcher.MaxAhead-len(frame))
	c.Ahead = []dispatcher.Ahead{{UID: "u", Nonce: 1, Hash: "5J9", Signed: json.RawMessage(text)}}
	w := &worker{status: 200, body: `{"hash":"5J","on":"5J9","signed":"{}"}`}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	if r, err := remote.Prove(t.Context(), at, c); err != nil || !dispatcher.FitsAhead(c.Ahead) {
		t.Errorf("4 MiB: %s", summary(r, err))
	}
	c.Ahead[0].Signed = append(c.Ahead[0].Signed, 'x')
	if r, err := remote.Prove(t.Context(), at, c); summary(r, err) != "busy 0s" || dispatcher.FitsAhead(c.Ahead) {
		t.Errorf("a byte more: %s", summary(r, err))
	}
	if len(w.requests) != 1 {
		t.Errorf("%d requests", len(w.requests))
	}
	if !dispatcher.FitsAhead(nil) {
		t.Error("nothing does not fit")
	}
}

func TestBuildsAhead(t *testing.T) {
	t.Parallel()
	if !(dispatcher.Health{Capabilities: []string{"prove", "ahead"}}).BuildsAhead() {
		t.Error("named, and not seen")
	}
	if (dispatcher.Health{Capabilities: []string{"prove", "resign"}, Types: []string{"ahead"}}).BuildsAhead() {
		t.Error("not named, and seen")
	}
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	several := []string{"prove", "several"}
	for want, h := range map[int]dispatcher.Health{
		1:           {Capabilities: []string{"prove"}, Provers: 7},
		3:           {Capabilities: several, Provers: 3},
		2:           {Capabilities: several, Provers: 2},
		math.MaxInt: {Capabilities: several},
	} {
		if got := h.AtOnce(); got != want {
			t.Errorf("%+v makes %d at once, want %d", h, got, want)
		}
	}
	if got := (dispatcher.Health{Capabilities: several, Provers: 1}).AtOnce(); got != 1 {
		t.Errorf("one prover makes %d at once", got)
	}
	if got := (dispatcher.Health{Capabilities: several, Provers: -1}).AtOnce(); got != math.MaxInt {
		t.Errorf("less than no prover makes %d at once", got)
	}
}

// commandOf is a signed command of account updates with these bodies.
func commandOf(rest string, bodies ...string) json.RawMessage {
	var updates []string
	for _, b := range bodies {
		updates = append(updates, `{"body":`+b+`,"authorization":{"proof":"`+rest+`"}}`)
	}
	return json.RawMessage(`{"feePayer":{"body":{"nonce":"` + rest + `"}},"accountUpdates":[` + strings.Join(updates, ",") + `],"memo":"` + rest + `"}`)
}

func baseOf(t *testing.T, commands ...json.RawMessage) string {
	t.Helper()
	base, err := dispatcher.Base(commands)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func TestBase(t *testing.T) {
	t.Parallel()
	base := baseOf(t, commandOf("1", `{"a":"1","b":{"c":null}}`), commandOf("2", `{"a":"2"}`))
	if len(base) != 64 || baseOf(t) != "" {
		t.Errorf("base %q, of nothing %q", base, baseOf(t))
	}
	for name, same := range map[string][]json.RawMessage{
		"signed again":      {commandOf("3", `{"a":"1","b":{"c":null}}`), commandOf("4", `{"a":"2"}`)},
		"written otherwise": {commandOf("1", ` { "b" : {"c" : null}, "a": "\u0031" }`), append(json.RawMessage(" "), commandOf("2", `{"a":"2"}`)...)},
	} {
		if got := baseOf(t, same...); got != base {
			t.Errorf("%s: another base", name)
		}
	}
	others := map[string][]json.RawMessage{
		"no update":           {commandOf("1")},
		"two without updates": {commandOf("1"), commandOf("1")},
		"one command less":    {commandOf("1", `{"a":"1","b":{"c":null}}`)},
		"another order":       {commandOf("2", `{"a":"2"}`), commandOf("1", `{"a":"1","b":{"c":null}}`)},
		"one command of both": {commandOf("1", `{"a":"1","b":{"c":null}}`, `{"a":"2"}`)},
		"cut elsewhere":       {commandOf("1"), commandOf("2", `{"a":"1","b":{"c":null}}`, `{"a":"2"}`)},
		"cut at the end":      {commandOf("1", `{"a":"1","b":{"c":null}}`, `{"a":"2"}`), commandOf("2")},
		"another value":       {commandOf("1", `{"a":"1","b":{"c":null}}`), commandOf("2", `{"a":"3"}`)},
		"a number for a text": {commandOf("1", `{"a":"1","b":{"c":null}}`), commandOf("2", `{"a":2}`)},
		"a number's text":     {commandOf("1", `{"a":"1","b":{"c":null}}`), commandOf("2", `{"a":2.0}`)},
		"absent for null":     {commandOf("1", `{"a":"1","b":{}}`), commandOf("2", `{"a":"2"}`)},
	}
	seen := map[string]string{base: "the first"}
	for name, commands := range others {
		got := baseOf(t, commands...)
		if before, known := seen[got]; known {
			t.Errorf("%s: the base of %s", name, before)
		}
		seen[got] = name
	}
}

func TestBaseOfNone(t *testing.T) {
	t.Parallel()
	const none, noBody = "there is no zkappCommand", "account update 0: body is not an object"
	for bad, want := range map[string]string{
		``: none, `null`: none, `[]`: none, `{}`: none, `{"accountUpdates":{}}`: none, `{"accountUpdates":[`: none,
		`{"accountUpdates":[7]}`:                          "account update 0: is not an object",
		`{"accountUpdates":[{}]}`:                         noBody,
		`{"accountUpdates":[{"body":null}]}`:              noBody,
		`{"accountUpdates":[{"body":{}},{"body":[]}]}`:    "account update 1: body is not an object",
		`{"accountUpdates":[],"accountUpdates":[]}`:       `has "accountUpdates" twice`,
		`{"accountUpdates":[{"body":{}},{"a":1,"a":{}}]}`: `account update 1: has "a" twice`,
	} {
		base, err := dispatcher.Base([]json.RawMessage{commandOf("1"), json.RawMessage(bad)})
		if err == nil || base != "" || err.Error() != "command 1: "+want {
			t.Errorf("%s: %q, %v", bad, base, err)
		}
	}
}

// FuzzBase: whatever a command holds, its base does not depend on how it is written, and an
// update more is another one.
func FuzzBase(f *testing.F) {
	f.Add(`{"a":{"b":[1.0,"x",null]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		base, err := dispatcher.Base([]json.RawMessage{commandOf("1", body)})
		if err != nil {
			return
		}
		var value map[string]any
		d := json.NewDecoder(strings.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			t.Fatalf("a base of %q: %v", body, err)
		}
		written, err := json.MarshalIndent(value, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if got := baseOf(t, commandOf("2", string(written))); got != base {
			t.Errorf("%q written as %q has another base", body, written)
		}
		if got := baseOf(t, commandOf("1", body, body)); cmp.Equal(got, base) {
			t.Errorf("%q twice has the same base", body)
		}
	})
}
