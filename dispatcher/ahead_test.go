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
		{UID: "u9", Nonce: 11, Hash: "5J9", Signed: json.RawMessage(lastAhead)},
	}
	return c
}

const (
	lastAhead   = `{"accountUpdates":[{"body":{"b":1}}]}`
	lastEffects = "538c9527217296d9c466c902daed7a0657264ec331ec786a6b0c043b8d622931" // of lastAhead
)

func TestAheadOnTheWire(t *testing.T) {
	t.Parallel()
	const ahead = `[{"uid":"u8","nonce":10,"hash":"5J8","signed":"{\"a\":\"<é>\"}"},{"uid":"u9","nonce":11,"hash":"5J9","signed":"{\"accountUpdates\":[{\"body\":{\"b\":1}}]}"}]`
	w := &worker{status: 200, body: `{"hash":"5J","on":"` + lastEffects + `","signed":"{}"}`}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	for _, make := range []func() (dispatcher.Result, error){
		func() (dispatcher.Result, error) { return remote.Prove(t.Context(), at, trainCall()) },
		func() (dispatcher.Result, error) {
			return remote.Resign(t.Context(), at, trainCall(), []byte(`{"s":1}`))
		},
	} {
		if r, err := make(); err != nil || r.On != lastEffects {
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
		{"right", `{"hash":"5J","on":"` + lastEffects + `","signed":"{}"}`, lastEffects, "hash=5J, signed={}", "hash=5J, signed={}, " + mismatch},
		{"right, by its hash", `{"hash":"5J","on":"5J9","signed":"{}"}`, "5J9", "hash=5J, signed={}", "hash=5J, signed={}, " + mismatch},
		{"the first of two", `{"hash":"5J","on":"5J8","signed":"{}"}`, "5J8", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}, " + mismatch},
		{"missing", `{"hash":"5J","signed":"{}"}`, "", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}"},
		{"null", `{"hash":"5J","on":null,"signed":"{}"}`, "", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}"},
		{"empty", `{"hash":"5J","on":"","signed":"{}"}`, "", "hash=5J, signed={}, " + mismatch, "hash=5J, signed={}"},
		{"done", `{"on":"` + lastEffects + `","done":{"a":1}}`, lastEffects, `done={"a":1}`, `done={"a":1}, ` + mismatch},
		{"done upon nothing", `{"done":{"a":1}}`, "", `done={"a":1}, ` + mismatch, `done={"a":1}`},
		{"error", `{"on":"` + lastEffects + `","error":{"code":500,"message":"voted"}}`, lastEffects, "unresolvable 500, nothing sent", "unresolvable 500, nothing sent"},
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
	if _, err := remote.Prove(t.Context(), at, trainCall()); !strings.Contains(err.Error(), `on is "`+long[1:]+`", want "`+lastEffects+`"`) {
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
	const command = `{"accountUpdates":[],"x":""}`
	quotes := strings.Count(command, `"`) // each is two bytes there
	text := strings.Replace(command, `""`, `"`+strings.Repeat("x", dispatcher.MaxAhead-len(frame)-len(command)-quotes)+`"`, 1)
	on, err := dispatcher.EffectsOf(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	c.Ahead = []dispatcher.Ahead{{UID: "u", Nonce: 1, Hash: "5J9", Signed: json.RawMessage(text)}}
	w := &worker{status: 200, body: `{"hash":"5J","on":"` + on + `","signed":"{}"}`}
	at, remote := w.start(t, dispatcher.ClientOptions{})
	if r, err := remote.Prove(t.Context(), at, c); err != nil || !dispatcher.FitsAhead(c.Ahead) {
		t.Errorf("4 MiB: %s", summary(r, err))
	}
	c.Ahead[0].Signed = append(c.Ahead[0].Signed, ' ')
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

func effectsOf(t *testing.T, command json.RawMessage) string {
	t.Helper()
	digest, err := dispatcher.EffectsOf(command)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// TestEffectsOf: the digest is of what a command does, and of nothing else. The kit's tests know the
// same digests (effects.test.ts).
func TestEffectsOf(t *testing.T) {
	t.Parallel()
	const first, second = `{"a":"1","b":{"c":null}}`, `{"a":"2"}`
	want := effectsOf(t, commandOf("1", first, second))
	if len(want) != 64 {
		t.Errorf("digest %q", want)
	}
	for name, same := range map[string]json.RawMessage{
		"signed again":      commandOf("3", first, second),
		"another callData":  commandOf("1", `{"a":"1","b":{"c":null},"callData":"7"}`, `{"a":"2","callData":"8"}`),
		"written otherwise": append(json.RawMessage(" "), commandOf("1", ` { "b" : {"c" : null}, "a": "\u0031" }`, second)...),
	} {
		if got := effectsOf(t, same); got != want {
			t.Errorf("%s: another digest", name)
		}
	}
	seen := map[string]string{want: "the first"}
	for name, other := range map[string]json.RawMessage{
		"no update":             commandOf("1"),
		"one update less":       commandOf("1", first),
		"another order":         commandOf("1", second, first),
		"an update more":        commandOf("1", first, second, second),
		"another value":         commandOf("1", first, `{"a":"3"}`),
		"a number for a text":   commandOf("1", first, `{"a":2}`),
		"a number's text":       commandOf("1", first, `{"a":2.0}`),
		"absent for null":       commandOf("1", `{"a":"1","b":{}}`, second),
		"callData further down": commandOf("1", `{"a":"1","b":{"c":null,"callData":"7"}}`, second),
	} {
		got := effectsOf(t, other)
		if before, known := seen[got]; known {
			t.Errorf("%s: the digest of %s", name, before)
		}
		seen[got] = name
	}
	for body, digest := range map[string]string{
		`{"a":"1","b":{"c":null},"callData":"7"}`:                                "c838922894073d313c86a3edf4663b4be6f9e8478a17c3f94377da02b48aec32",
		`{"zkappUri":"<é>\u2028\u0001\"\\/","callDepth":1,"b":[true,[]],"a":{}}`: "e689f297344e99d861a5ce207229e233f3d0b547e2b009fc8d340e5be8038b0c",
	} {
		if got := effectsOf(t, commandOf("1", body)); got != digest {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := effectsOf(t, json.RawMessage(lastAhead)); got != lastEffects {
		t.Errorf("of the last ahead: %s", got)
	}
}

func TestEffectsOfNone(t *testing.T) {
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
		digest, err := dispatcher.EffectsOf(json.RawMessage(bad))
		if err == nil || digest != "" || err.Error() != want {
			t.Errorf("%s: %q, %v", bad, digest, err)
		}
	}
}

// FuzzEffectsOf: whatever a command holds, its digest does not depend on how it is written, and an
// update more is another one.
func FuzzEffectsOf(f *testing.F) {
	f.Add(`{"a":{"b":[1.0,"x",null]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		digest, err := dispatcher.EffectsOf(commandOf("1", body))
		if err != nil {
			return
		}
		var value map[string]any
		d := json.NewDecoder(strings.NewReader(body))
		d.UseNumber()
		if err := d.Decode(&value); err != nil {
			t.Fatalf("a digest of %q: %v", body, err)
		}
		written, err := json.MarshalIndent(value, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if got := effectsOf(t, commandOf("2", string(written))); got != digest {
			t.Errorf("%q written as %q has another digest", body, written)
		}
		if got := effectsOf(t, commandOf("1", body, body)); cmp.Equal(got, digest) {
			t.Errorf("%q twice has the same digest", body)
		}
	})
}
