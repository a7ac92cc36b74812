package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWebhookCommands(t *testing.T) {
	t.Parallel()
	ok := func(body string) []fakeAnswer { return []fakeAnswer{{200, body}} }
	endpoint := `{"id":"a","url":"https://x","types":null,"queues":["q*"],"states":["DONE"],"source":"api","enabled":true,"reason":null,` +
		`"disabledAt":null,"createdAt":"2026-01-05T09:00:00Z","behind":7,"behindSince":null,"health":"RETRYING","parked":2,"parkedBytes":99,"waiting":0,"dropped":0,"restsUntil":null}`
	for _, tc := range []struct {
		args    string
		answers map[string][]fakeAnswer
		want    outcome
	}{
		{
			"webhook list", map[string][]fakeAnswer{"GET /webhooks": ok(`{"items":[` + endpoint + `],"nextCursor":null}`)},
			outcome{Stdout: "ID  STATE        BEHIND  PARKED  WAITING  DROPPED  URL\na   tries again  7       2       0        0        https://x\n", Asked: []string{"GET /webhooks"}},
		},
		{
			"webhook show a", map[string][]fakeAnswer{"GET /webhooks/a": ok(endpoint)},
			outcome{Stdout: "id            a\nurl           https://x\nstate         tries again\nsource        api\nqueues        q*\nstates        DONE\nbehind        7\nparked        2\nwaiting       0\ndropped       0\n", Asked: []string{"GET /webhooks/a"}},
		},
		{
			"webhook add a https://x --queue q* --state done --type T", map[string][]fakeAnswer{"POST /webhooks": {{201, `{"id":"a","secret":"whsec_x"}`}}},
			outcome{
				Stdout: "a is told what happens from now on; its secret, shown only here:\nwhsec_x\n",
				Asked:  []string{`POST /webhooks {"id":"a","url":"https://x","types":["T"],"queues":["q*"],"states":["DONE"]}`},
			},
		},
		{
			"webhook rotate a", map[string][]fakeAnswer{"POST /webhooks/a/secret": ok(`{"secret":"whsec_y"}`)},
			outcome{Stdout: "what a gets is signed with both for a day; the new secret, shown only here:\nwhsec_y\n", Asked: []string{"POST /webhooks/a/secret {}"}},
		},
		{
			"webhook ping a", map[string][]fakeAnswer{"POST /webhooks/a/ping": ok(`{"delivered":true,"status":204,"tookMs":12}`)},
			outcome{Stdout: "a took it, 204, in 12 ms\n", Asked: []string{"POST /webhooks/a/ping"}},
		},
		{
			"webhook ping b", map[string][]fakeAnswer{"POST /webhooks/b/ping": ok(`{"delivered":false,"status":null,"failure":"TIMEOUT"}`)},
			outcome{Code: 1, Stderr: "sequencer: b did not take it: TIMEOUT\n", Asked: []string{"POST /webhooks/b/ping"}},
		},
		{
			"webhook replay a --after 1-5", map[string][]fakeAnswer{"POST /webhooks/a/replay": ok(`{}`)},
			outcome{Stdout: "a is sent what waited for it\n", Asked: []string{`POST /webhooks/a/replay {"after":"1-5"}`}},
		},
		{
			"webhook deliveries a --limit 3", map[string][]fakeAnswer{"GET /webhooks/a/deliveries": ok(`{"items":[{"event":"1-5","at":null,"try":1,"delivered":false,"status":500,"tookMs":3}],"nextCursor":null}`)},
			outcome{Stdout: "AT  EVENT  TRY  ANSWER  MS\n    1-5    1    500     3\n", Asked: []string{"GET /webhooks/a/deliveries?limit=3"}},
		},
		{
			"webhook parked a", map[string][]fakeAnswer{"GET /webhooks/a/parked": ok(`{"items":[{"lane":"t:u","events":2,"first":"1-5","at":null,"tries":10,"nextAt":null}],"nextCursor":null}`)},
			outcome{Stdout: "LANE  EVENTS  FIRST  AT  TRIES  NEXT AT\nt:u   2       1-5        10     on replay\n", Asked: []string{"GET /webhooks/a/parked"}},
		},
		{"webhook discard a t:u", map[string][]fakeAnswer{"DELETE /webhooks/a/parked": {{204, ""}}}, outcome{Stdout: "the events that waited are dropped\n", Asked: []string{"DELETE /webhooks/a/parked?lane=t%3Au"}}},
		{"webhook discard a --all", map[string][]fakeAnswer{"DELETE /webhooks/a/parked": {{204, ""}}}, outcome{Stdout: "the events that waited are dropped\n", Asked: []string{"DELETE /webhooks/a/parked"}}},
		{"webhook discard a", nil, outcome{Code: 2, Stderr: "sequencer: name a lane as 'webhook parked' lists it, or give --all\nSee 'sequencer webhook discard --help'.\n"}},
		{"webhook disable a", map[string][]fakeAnswer{"POST /webhooks/a/disable": ok("{}")}, outcome{Stdout: "a is told nothing\n", Asked: []string{"POST /webhooks/a/disable"}}},
		{"webhook enable a", map[string][]fakeAnswer{"POST /webhooks/a/enable": ok("{}")}, outcome{Stdout: "a is told again\n", Asked: []string{"POST /webhooks/a/enable"}}},
		{"webhook remove a", map[string][]fakeAnswer{"DELETE /webhooks/a": {{204, ""}}}, outcome{Stdout: "a is removed\n", Asked: []string{"DELETE /webhooks/a"}}},
		{
			"webhook remove b", map[string][]fakeAnswer{"DELETE /webhooks/b": {{409, `{"code":"WEBHOOK_CONFIGURED","title":"It is in a file"}`}}},
			outcome{Code: 4, Stderr: "sequencer: It is in a file (WEBHOOK_CONFIGURED HTTP 409)\n  → docs/codes.md#http-problems says what WEBHOOK_CONFIGURED means\n", Asked: []string{"DELETE /webhooks/b"}},
		},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Parallel()
			got, _ := runClient(t, tc.answers, "", strings.Fields(tc.args)...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
