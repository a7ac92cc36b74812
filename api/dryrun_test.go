package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/tx"
)

const token = "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf"

// simulating has dry runs be simulated so.
func simulating(simulate func(context.Context, *tx.Transaction) (dispatcher.Simulation, uint64, error)) func(*Options) {
	return func(o *Options) { o.Simulate = simulate }
}

// TestDryRun: it answers as posting would, with what the transaction would do, and stores nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	posts := 0
	s := setup(t, func(o *Options) {
		o.Meter.Posted = func(string, string, string) { posts++ }
		o.Simulate = func(_ context.Context, t *tx.Transaction) (dispatcher.Simulation, uint64, error) {
			if t.UID == "" || t.Queue != "q" || string(t.Data) != `{"n":1E400}` {
				return dispatcher.Simulation{}, 0, fmt.Errorf("asked of %+v", t)
			}
			return dispatcher.Simulation{
				Ahead:   3,
				Failure: &dispatcher.SimulatedFailure{Index: 1, Code: "Overflow", Message: "account update 1 of 1: Overflow"},
				Weight:  2, Touched: []dispatcher.Touched{{PublicKey: "B62x", TokenID: token, Creates: true}}, Seconds: 21.5,
			}, 200_000_000, nil
		}
	})
	const body = `{"queue":"q","type":"ANY","data":{"n":1E400},"uid":"u"}`
	r := s.ask("POST", "/transactions?dryRun=true", body).want(200)
	if got := r.Header().Get("Location"); got != "/api/v1/transactions/u" {
		t.Errorf("Location %q", got)
	}
	got := r.read()
	want := map[string]any{
		"ahead": json.Number("3"), "ok": false, "failure": map[string]any{"index": json.Number("1"), "code": "Overflow", "message": "account update 1 of 1: Overflow"},
		"weight": json.Number("2"), "seconds": json.Number("21.5"), "fee": "200000000",
		"touched": []any{map[string]any{"publicKey": "B62x", "tokenId": token, "creates": true}},
	}
	if diff := cmp.Diff(want, got["simulation"]); diff != "" {
		t.Error(diff)
	}
	if got["dryRun"] != true || got["existed"] != false || got["notSimulated"] != nil || got["uid"] != "u" ||
		got["state"] != "WAITING" || got["sequence"] != json.Number("1") {
		t.Errorf("answered %v", got)
	}
	s.ask("GET", "/transactions/u", "").wantProblem(404, "NOT_FOUND")
	if posts != 0 {
		t.Errorf("%d posts are counted", posts)
	}
	// It is refused as a post is, and known by its key as a post is.
	s.ask("POST", "/transactions?dryRun=true", `{"queue":"q","type":"STRICT","data":{}}`).wantProblem(422, "INVALID_DATA")
	s.ask("POST", "/transactions?dryRun=yes", body).wantProblem(400, "BAD_REQUEST")
	s.ask("POST", "/transactions?dryRun=false", body).want(202)
	got = s.ask("POST", "/transactions?dryRun=true", body).want(200).read()
	if got["existed"] != true || got["simulation"] != nil || got["notSimulated"] == nil {
		t.Errorf("of what was posted: %v", got)
	}
	s.ask("POST", "/transactions?dryRun=true", strings.Replace(body, `"q"`, `"r"`, 1)).wantProblem(409, "KEY_REUSED")
}

// TestDryRunNotSimulated: what cannot be simulated is checked all the same, and why is told, without
// addresses to those who may see some queues only; where all workers are at work it is 503.
func TestDryRunNotSimulated(t *testing.T) {
	t.Parallel()
	var err error
	s := setup(t, func(o *Options) {
		o.Keys = NewKeyring([]Key{{"all", Admin, "aaaaaaaa", nil}, {"shop", Submit, "ssssssss", queues.Prefixes{"q"}}})
	}, simulating(func(context.Context, *tx.Transaction) (dispatcher.Simulation, uint64, error) {
		return dispatcher.Simulation{}, 0, err
	}))
	ask := func(key string) reply {
		return s.ask("POST", "/transactions?dryRun=true", `{"queue":"q","type":"ANY","data":{},"uid":"u"}`, "Authorization", "Bearer "+key)
	}
	err = dispatcher.ErrNoSimulator
	if got := ask("ssssssss").want(200).read(); got["simulation"] != nil || got["notSimulated"] != err.Error() || got["uid"] != "u" {
		t.Errorf("without a simulator: %v", got)
	}
	err = &dispatcher.LostError{Err: errors.New("dial tcp 10.0.0.7:3000: refused")}
	if got := fmt.Sprint(ask("ssssssss").want(200).read()["notSimulated"]); strings.Contains(got, "10.0.0.7") {
		t.Errorf("to a shop: %s", got)
	}
	if got := fmt.Sprint(ask("aaaaaaaa").want(200).read()["notSimulated"]); !strings.Contains(got, "10.0.0.7") {
		t.Errorf("to an operator: %s", got)
	}
	err = &dispatcher.BusyError{RetryAfter: 7 * time.Second}
	r := ask("aaaaaaaa")
	if r.wantProblem(503, "SIMULATORS_BUSY"); r.Header().Get("Retry-After") != "7" {
		t.Errorf("Retry-After %q", r.Header().Get("Retry-After"))
	}
	err = fmt.Errorf("listing: %w", queues.ErrUnavailable)
	ask("aaaaaaaa").wantProblem(503, "STORE_UNAVAILABLE")
}

// TestDryRunShare: one key has as many simulated at a time as it may, and no more, while another
// still has its share.
func TestDryRunShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		s := setup(t, func(o *Options) {
			o.Keys = NewKeyring([]Key{{"a", Submit, "aaaaaaaa", nil}, {"b", Submit, "bbbbbbbb", nil}})
		}, simulating(func(context.Context, *tx.Transaction) (dispatcher.Simulation, uint64, error) {
			<-end
			return dispatcher.Simulation{OK: true}, 1, nil
		}))
		ask := func(key string) reply {
			return s.ask("POST", "/transactions?dryRun=true", `{"queue":"q","type":"ANY","data":{}}`, "Authorization", "Bearer "+key)
		}
		answers := make(chan int, simulationsAtOnce)
		for range simulationsEach {
			go func() { answers <- ask("aaaaaaaa").Code }()
		}
		synctest.Wait()
		ask("aaaaaaaa").wantProblem(503, "SIMULATORS_BUSY")
		go func() { answers <- ask("bbbbbbbb").Code }()
		synctest.Wait()
		close(end)
		for range simulationsEach + 1 {
			if code := <-answers; code != 200 {
				t.Errorf("answered %d", code)
			}
		}
		ask("aaaaaaaa").want(200)
	})
}
