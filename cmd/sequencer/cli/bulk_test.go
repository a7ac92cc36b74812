package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/cmd/sequencer/command"
)

func TestBulkCommands(t *testing.T) {
	t.Parallel()
	const (
		counted = `POST /transactions/cancel {"filter":{"queue":"q","state":"WAITING"},"dryRun":true}`
		done    = `POST /transactions/cancel {"filter":{"queue":"q","state":"WAITING"},"dryRun":false}`
		more    = `POST /transactions/cancel {"filter":{"queue":"q","state":"WAITING"},"dryRun":false,"cursor":"c"}`
	)
	count := fakeAnswer{200, `{"matched":12,"done":0,"refused":0,"refusals":{},"nextCursor":null}`}
	first := fakeAnswer{200, `{"matched":10,"done":9,"refused":1,"refusals":{"NOT_CANCELLABLE":1},"nextCursor":"c"}`}
	rest := fakeAnswer{200, `{"matched":2,"done":2,"refused":0,"refusals":{},"nextCursor":null}`}
	clean := fakeAnswer{200, `{"matched":12,"done":12,"refused":0,"refusals":{},"nextCursor":null}`}
	away := fakeAnswer{503, `{"code":"STORE_UNAVAILABLE","title":"away"}`}
	for _, tc := range []struct {
		name    string
		args    []string
		stdin   string
		answers []fakeAnswer
		want    outcome
	}{
		{"asks first", []string{"cancel"}, "yes\n", []fakeAnswer{count, first, rest}, outcome{
			Code: 4, Stdout: "12 match  11 done  1 refused  NOT_CANCELLABLE 1\n",
			Stderr: "cancel 12 transaction(s)? [y/N] sequencer: 1 of 12 were refused\n", Asked: []string{counted, done, more},
		}},
		{"no", []string{"cancel"}, "no\n", []fakeAnswer{count}, outcome{
			Code: 1, Stderr: "cancel 12 transaction(s)? [y/N] sequencer: nothing was done: answer with yes, or give --yes\n", Asked: []string{counted},
		}},
		{"nobody to ask", []string{"cancel"}, "", []fakeAnswer{count}, outcome{
			Code: 1, Stderr: "cancel 12 transaction(s)? [y/N] sequencer: nothing was done: answer with yes, or give --yes\n", Asked: []string{counted},
		}},
		{"yes is given", []string{"cancel", "--yes"}, "", []fakeAnswer{clean}, outcome{Stdout: "12 match  12 done  0 refused\n", Asked: []string{done}}},
		{"json", []string{"cancel", "--yes", "--json"}, "", []fakeAnswer{first, rest}, outcome{
			Code: 4, Stdout: `{"dryRun":false,"matched":12,"done":11,"refused":1,"refusals":{"NOT_CANCELLABLE":1}}` + "\n",
			Stderr: "sequencer: 1 of 12 were refused\n", Asked: []string{done, more},
		}},
		{"counts only", []string{"cancel", "--dry-run", "--yes"}, "", []fakeAnswer{count}, outcome{Stdout: "12 match\n", Asked: []string{counted}}},
		{"nothing matches", []string{"cancel"}, "", []fakeAnswer{{200, `{"matched":0,"done":0,"refused":0,"refusals":{},"nextCursor":null}`}},
			outcome{Stdout: "0 match\n", Asked: []string{counted}}},
		{"fails on the way", []string{"cancel", "--yes"}, "", []fakeAnswer{first, away}, outcome{
			Code: 6, Stdout: "10 match  9 done  1 refused  NOT_CANCELLABLE 1\n",
			Stderr: "sequencer: away (STORE_UNAVAILABLE HTTP 503)\n  → docs/codes.md#http-problems says what STORE_UNAVAILABLE means\n", Asked: []string{done, more},
		}},
		{"fails at once", []string{"cancel", "--yes"}, "", []fakeAnswer{away}, outcome{Code: 6, Stderr: "sequencer: away (STORE_UNAVAILABLE HTTP 503)\n  → docs/codes.md#http-problems says what STORE_UNAVAILABLE means\n", Asked: []string{done}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"txn"}, append(tc.args, "--queue", "q", "--state", "WAITING")...)
			got, _ := runClient(t, map[string][]fakeAnswer{"POST /transactions/cancel": tc.answers}, tc.stdin, args...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	retried, _ := runClient(t, map[string][]fakeAnswer{"POST /transactions/retry": {clean}}, "", "txn", "retry", "--type", "T", "--sender", "B", "--yes")
	if diff := cmp.Diff(outcome{Stdout: "12 match  12 done  0 refused\n", Asked: []string{`POST /transactions/retry {"filter":{"type":"T","sender":"B"},"dryRun":false}`}}, retried); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct{ args, path, body string }{
		{"queue pause --tenant shop --reason leaked --yes", "/queues/pause", `{"filter":{"key":"shop"},"reason":"leaked","dryRun":false}`},
		{"queue pause --prefix shop- --until 2999-01-01T00:00:00Z --yes", "/queues/pause", `{"filter":{"prefix":"shop-"},"until":"2999-01-01T00:00:00Z","dryRun":false}`},
		{"queue resume --tenant shop --yes", "/queues/resume", `{"filter":{"key":"shop"},"dryRun":false}`},
		{"txn cancel --prefix shop- --yes", "/transactions/cancel", `{"filter":{"prefix":"shop-"},"dryRun":false}`},
	} {
		got, _ := runClient(t, map[string][]fakeAnswer{"POST " + tc.path: {clean}}, "", strings.Fields(tc.args)...)
		if diff := cmp.Diff(outcome{Stdout: "12 match  12 done  0 refused\n", Asked: []string{"POST " + tc.path + " " + tc.body}}, got); diff != "" {
			t.Errorf("%s: %s", tc.args, diff)
		}
	}
	asked, _ := runClient(t, map[string][]fakeAnswer{"POST /queues/pause": {count}}, "no\n", "queue", "pause", "--tenant", "shop")
	if !strings.Contains(asked.Stderr, "pause 12 queue(s), and those that come to be later? [y/N]") || len(asked.Asked) != 1 {
		t.Errorf("it asks %+v", asked)
	}
	nothing := fakeAnswer{200, `{"matched":0,"done":0,"refused":0,"refusals":{},"nextCursor":null}`}
	for _, verb := range []string{"pause", "resume"} { // of a tenant that has no queue yet
		got, _ := runClient(t, map[string][]fakeAnswer{"POST /queues/" + verb: {nothing, nothing}}, "yes\n", "queue", verb, "--tenant", "shop")
		if len(got.Asked) != 2 || got.Stdout != "0 match  0 done  0 refused\n" {
			t.Errorf("%s of none yet: %+v", verb, got)
		}
	}
	for _, args := range [][]string{{"queue", "pause"}, {"queue", "resume", "q", "--tenant", "shop"}, {"queue", "pause", "--prefix", "a", "--tenant", "b"}, {"txn", "cancel"}, {"txn", "retry", "--yes"}, {"txn", "cancel", "u1", "--queue", "q"}, {"txn", "retry", "u1", "--yes"}, {"txn", "cancel", "a", "b"}} {
		if got, _ := runClient(t, nil, "yes\n", args...); got.Code != command.ExitUsage || got.Asked != nil {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
