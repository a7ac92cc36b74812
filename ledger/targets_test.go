package ledger_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/ledger"
)

func TestParseTargets(t *testing.T) {
	t.Parallel()
	got, err := ledger.ParseTargets(" grid=sawtooth+http://Host:8008 ,, b.2=sawtooth+https://[::1]:443/api/ ," +
		"c=splinter+http://node:80/scabbard/vzrQS-rvwf4/a001")
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Target{
		{Name: "grid", Protocol: ledger.Sawtooth, URL: "http://host:8008"},
		{Name: "b.2", Protocol: ledger.Sawtooth, URL: "https://[::1]/api"},
		{Name: "c", Protocol: ledger.Splinter, URL: "http://node/scabbard/vzrQS-rvwf4/a001"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if none, err := ledger.ParseTargets(" "); len(none) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", none, err)
	}
}

// TestAddresses shows which URL a ledger is asked at: one address has one form,
// so that two names for it are noticed.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"sawtooth+http://h:":                           "http://h",
		"sawtooth+http://h:1":                          "http://h:1",
		"sawtooth+http://h:65535":                      "http://h:65535",
		"sawtooth+http://h:443":                        "http://h:443",
		"sawtooth+https://h:80":                        "https://h:80",
		"sawtooth+https://h:443//":                     "https://h",
		"sawtooth+http://h/A/b/":                       "http://h/A/b",
		"splinter+http://h/scabbard/c/s":               "http://h/scabbard/c/s",
		"splinter+https://h:443/a/scabbard/c.1-_/s/":   "https://h/a/scabbard/c.1-_/s",
		"splinter+http://h/scabbard/scabbard/scabbard": "http://h/scabbard/scabbard/scabbard",
	} {
		got, err := ledger.ParseTargets("g=" + text)
		if err != nil || len(got) != 1 || got[0].URL != want {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
}

// TestMostTargets has as many ledgers as there may be, one with the longest name.
func TestMostTargets(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", 64)
	text := longest + "=sawtooth+http://h:1"
	for i := range 63 {
		text += fmt.Sprintf(",l%d=sawtooth+http://h%d:1", i, i)
	}
	got, err := ledger.ParseTargets(text)
	if err != nil || len(got) != 64 || got[0].Name != longest || got[63].Name != "l62" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestParseTargetsRefused(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprintf("l%d=sawtooth+http://h%d:1", i, i))
	}
	for text, want := range map[string]string{
		"grid":                    "want name=sawtooth+http://host:8008",
		"=sawtooth+http://h:1":    "want name=",
		"a b=sawtooth+http://h:1": "want name=",
		"..=sawtooth+http://h:1":  "want name=",
		strings.Repeat("x", 65) + "=sawtooth+http:/": "want name=",
		"g=http://h:1":                                "must begin with sawtooth+http://",
		"g=fabric+http://h:1":                         "must begin with sawtooth+http://",
		"g=sawtooth+ftp://h":                          "after sawtooth+ must come",
		"g=sawtooth+http://":                          "after sawtooth+ must come",
		"g=sawtooth+http://h:x":                       "after sawtooth+ must come",
		"g=sawtooth+http://h:0":                       "the port must be",
		"g=sawtooth+http://h:65536":                   "the port must be",
		"g=sawtooth+http://h:080":                     "the port must be",
		"g=sawtooth+http://h:08008":                   "the port must be",
		"g=sawtooth+http://u:SECRETS@h":               "put the Authorization header into SEQUENCER_LEDGER_AUTH",
		"g=sawtooth+http://h/?key=SECRETS":            "must not hold ?",
		"g=sawtooth+http://h/#a":                      "must not hold ?",
		"g=sawtooth+http://h/%2e%2e":                  "must not hold ?",
		"g=sawtooth+http://h/a//b":                    "write it plainly",
		"g=sawtooth+http://h/../b":                    "write it plainly",
		"g=splinter+http://h:8080":                    "must end in /scabbard/{circuit}/{service}",
		"g=splinter+http://h:8080/scabbard/c::s":      "must end in /scabbard/{circuit}/{service}",
		"g=splinter+http://h:8080/scabbard/a/b/c":     "must end in /scabbard/{circuit}/{service}",
		"g=splinter+http://h:8080/x/c/s":              "must end in /scabbard/{circuit}/{service}",
		"g=splinter+http://h:8080/scabbard/c::d/s":    "must end in /scabbard/{circuit}/{service}",
		"g=splinter+http://h:8080/scabbard/c/s::t":    "must end in /scabbard/{circuit}/{service}",
		"g=sawtooth+http://h,g=sawtooth+http://i":     "entry 2 (g): the name stands there twice",
		"g=sawtooth+http://h,bad,i=sawtooth+http://j": "SEQUENCER_LEDGERS, entry 2: want name=",
		"g=sawtooth+http://h:80,i=sawtooth+http://H":  "has the address of g",
		strings.Join(many, ","):                       "more than 64",
		"g=SECRETS":                                   "must begin with",
		"SECRETS":                                     "want name=",
		"http://u:SECRETS@h":                          "want name=",
	} {
		_, err := ledger.ParseTargets(text)
		if err == nil || !strings.HasPrefix(err.Error(), "SEQUENCER_LEDGERS, entry ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "SECRETS") {
			t.Errorf("shows a secret: %v", err)
		}
	}
}

// TestTargetErrors shows whole errors: whose entry it is, and what to do.
func TestTargetErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"g=sawtooth+http://h, ,bad": "entry 2: want name=sawtooth+http://host:8008 or " +
			"name=splinter+http://host:8080/scabbard/{circuit}/{service}, the name 1 to 64 of A-Z a-z 0-9 . _ -",
		"g=sawtooth+http://h,i=sawtooth+http://h/": "entry 2 (i): it has the address of g: give a ledger one name",
		"g=sawtooth+ftp://h": "entry 1 (g): " +
			"after sawtooth+ must come an address with http:// or https:// and a host",
	} {
		_, err := ledger.ParseTargets(text)
		if err == nil || err.Error() != "SEQUENCER_LEDGERS, "+want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestParseAuth(t *testing.T) {
	t.Parallel()
	targets := []ledger.Target{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	got, err := ledger.ParseAuth("a=Basic dTpw==\n b = \n", targets)
	if err == nil {
		t.Errorf("took an empty value: %v", got)
	}
	for _, text := range []string{
		"a=Basic dTpw==\r\n\nc=Bearer Cylinder:x.y.z\n", " a=Basic dTpw== ,c= Bearer Cylinder:x.y.z",
	} {
		got, err := ledger.ParseAuth(text, targets)
		want := map[string]ledger.Secret{"a": "Basic dTpw==", "c": "Bearer Cylinder:x.y.z"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"SECRETS":                               "want name=value",
		"a=x,SECRETS":                           "a value holds no comma",
		"d=SECRETS":                             "no ledger of SEQUENCER_LEDGERS",
		"a=SECRETS\x01":                         "visible ASCII",
		"a=SECRETS\nb=SECRETS\na=y":             "a value already",
		"a=SECRETS" + strings.Repeat("x", 8192): "visible ASCII",
	} {
		_, err := ledger.ParseAuth(text, targets)
		if err == nil || !strings.HasPrefix(err.Error(), "SEQUENCER_LEDGER_AUTH, entry ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "SECRETS") {
			t.Errorf("shows a secret: %v", err)
		}
	}
}

// TestAuthErrors shows whole errors: the number of the entry, and what is wanted.
func TestAuthErrors(t *testing.T) {
	t.Parallel()
	const visible = ": the value must be 1 to 8192 visible ASCII characters and spaces"
	targets := []ledger.Target{{Name: "a"}, {Name: "b"}}
	for text, want := range map[string]string{
		"x": "entry 1: want name=value of the ledger's Authorization header, " +
			"such as name=Bearer Cylinder:…; a value holds no comma",
		"a=x,,d=y":                           "entry 2: it is for no ledger of SEQUENCER_LEDGERS: name one of them",
		"a=x\nb=y\na=z":                      "entry 3: this ledger has a value already: take one of them out",
		"a=":                                 "entry 1" + visible,
		"a=x,b=\x7f":                         "entry 2" + visible,
		"a=x\ty":                             "entry 1" + visible,
		"a=é":                                "entry 1" + visible,
		"a=" + strings.Repeat("x", 8192+1):   "entry 1" + visible,
		"b=x, a=" + strings.Repeat("x", 1e4): "entry 2" + visible,
	} {
		_, err := ledger.ParseAuth(text, targets)
		if err == nil || err.Error() != "SEQUENCER_LEDGER_AUTH, "+want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"!", "! ~", strings.Repeat("x", 8192)} {
		got, err := ledger.ParseAuth("a="+text, targets)
		if err != nil || got["a"] != ledger.Secret(text) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// TestSecret prints a secret in all the ways in which things are logged.
func TestSecret(t *testing.T) {
	t.Parallel()
	holder := struct {
		S ledger.Secret
		M map[string]ledger.Secret
	}{"SECRETS", map[string]ledger.Secret{"a": "SECRETS"}}
	var shown strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
		slog.New(h).Info("x", "secret", holder.S, "holder", holder)
	}
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(encoded)
	fmt.Fprintf(&shown, "%v %+v %#v %s %q %v", holder, holder, holder, holder, holder, holder.S)
	if strings.Contains(shown.String(), "SECRETS") || strings.Count(shown.String(), "[secret]") < 10 {
		t.Error(shown.String())
	}
}

// TestNewRefused: a target that ParseTargets has not made is refused in words.
func TestNewRefused(t *testing.T) {
	t.Parallel()
	_, err := ledger.New(ledger.Target{Name: "saw", Protocol: "fabric"}, ledger.Options{})
	if err == nil || err.Error() != `ledger saw: there is no protocol "fabric"` {
		t.Error(err)
	}
}
