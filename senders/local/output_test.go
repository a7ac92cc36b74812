//go:build unix

package local

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 3*maxLine)
	for name, tc := range map[string]struct {
		printed string
		want    []string
	}{
		"lines":           {"one\ntwo\r\n\nlast", []string{"one", "two", "last"}},
		"long":            {long + "\nnext\n", []string{long[:maxLine] + "…", "next"}},
		"cut in a rune":   {"x" + long + "\n", []string{("x" + long)[:maxLine-1] + "…"}},
		"not text":        {"a\xffb\n", []string{"a\uFFFDb"}},
		"secrets":         {"key EKabc123, short 42, line two: of a PEM\n", []string{"key ***, short 42, line two: ***"}},
		"secret at a cut": {strings.Repeat("x", maxLine-3) + "EKabc123\n", []string{strings.Repeat("x", maxLine-3) + "***"}},
		"longer first":    {"EKabc123456\n", []string{"***"}},
		"long secret": {strings.Repeat("x", maxLine-3) + longSecret + "\n",
			[]string{strings.Repeat("x", maxLine-3) + "***"}},
		"in JSON":       {`{"k":"pa\"ss\\wo<r>d"}` + "\n", []string{`{"k":"***"}`}},
		"in JSON of Go": {`{"k":"pa\"ss\\wo\u003cr\u003ed"}` + "\n", []string{`{"k":"***"}`}},
		"lines in JSON": {`{"k":"of a PEM\nand \"more\""}` + "\n", []string{`{"k":"***\n***"}`}},
		"nothing":       {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log logged
			pour(t, slog.New(slog.NewJSONHandler(&log, nil)), tc.printed)
			var got []string
			for line := range strings.Lines(log.String()) {
				var one struct{ Msg string }
				if err := json.Unmarshal([]byte(line), &one); err != nil {
					t.Fatal(err)
				}
				got = append(got, strings.TrimPrefix(one.Msg, "worker: "))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("logged %.300q\nwant %.300q", got, tc.want)
			}
		})
	}
}

// TestSecretsOverTheCut: however a long line of secrets is cut, no part of one is
// logged.
func TestSecretsOverTheCut(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"EKabc123", `pa\"ss\\wo<r>d`, longSecret} {
		var log logged
		for shift := range len("EKabc123") {
			line := strings.Repeat("-", shift) + strings.Repeat(secret, 4*maxLine/len(secret)+2) + "\n"
			pour(t, slog.New(slog.NewTextHandler(&log, nil)), line)
		}
		logged := regexp.MustCompile(`msg="worker: -*(.*?)" stream`).FindAllStringSubmatch(log.String(), -1)
		if len(logged) != len("EKabc123") {
			t.Fatalf("%d lines logged: %.300s", len(logged), log.String())
		}
		for _, one := range logged {
			if strings.Trim(one[1], "*…") != "" {
				t.Errorf("of %.20s it logged %q", secret, one[1])
			}
		}
	}
}

// longSecret is longer than all that is logged of a line.
var longSecret = strings.Repeat("Az09", maxLine) + "!"

// pour passes a text through as if a process had printed it.
func pour(t *testing.T, log *slog.Logger, printed string) {
	t.Helper()
	o, err := newOutput(new(exec.Cmd), log, []string{"EKabc123", "EKabc123456", "42", "of a PEM\nand \"more\"", "",
		`pa"ss\wo<r>d`, longSecret})
	if err != nil {
		t.Fatal(err)
	}
	w := o.streams[0].w
	_ = o.streams[1].w.Close()
	o.parts.Go(func() { o.pass(o.streams[0]) })
	if _, err := w.WriteString(printed); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	o.close()
}

// TestFlood: of what comes too fast some is dropped, and how much is told.
func TestFlood(t *testing.T) {
	t.Parallel()
	var log logged
	const lines = 20 * maxRate
	pour(t, slog.New(slog.NewTextHandler(&log, nil)), strings.Repeat("again\n", lines))
	logged := strings.Count(log.String(), "worker: again")
	dropped := 0
	for line := range strings.Lines(log.String()) {
		if _, n, ok := strings.Cut(line, "lines="); ok {
			var k int
			if _, err := fmt.Sscan(n, &k); err != nil {
				t.Fatal(err)
			}
			dropped += k
		}
	}
	if logged < maxRate || logged+dropped != lines {
		t.Errorf("%d logged and %d told to be dropped, of %d", logged, dropped, lines)
	}
}
