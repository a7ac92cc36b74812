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
