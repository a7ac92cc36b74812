package devledger_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "mina-sequencer/ledger/devledger"
)

// order posts to a control route, which has to take it, and returns the state.
func (r *rig) order(name, body string) (s State) {
	r.Helper()
	a := r.do(r.Context(), http.MethodPost, "/control/"+name, http.Header{}, []byte(body))
	if err := json.Unmarshal([]byte(a.body), &s); err != nil || a.status != http.StatusOK {
		r.Fatalf("%s %s: %v", name, body, a)
	}
	return s
}

func TestControlOfSawtooth(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
		b := batches(3)
		if got := r.order("fail", `{"status":429,"code":31,"drop":true}`); len(got.Faults) != 1 {
			r.Errorf("%+v", got)
		}
		if a := r.post(b[0]); a.code() != 31 {
			r.Errorf("%v", a)
		}
		if got := r.order("fail", ` [{"answer":"cut"}, {"answer":"hang","times":-1}]`); len(got.Faults) != 2 {
			r.Errorf("%+v", got)
		}
		if got := r.order("heal", ""); len(got.Faults) != 0 {
			r.Errorf("%+v", got)
		}
		r.mustPost(b[0])
		<-time.After(time.Second)
		want := State{Kind: KindSawtooth, Queued: 1, Undecided: 1, Faults: []Fault{}}
		if diff := cmp.Diff(want, s.State()); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
		want = State{Kind: KindSawtooth, Effects: 1, Batches: 1, Blocks: 1, Faults: []Fault{}}
		if diff := cmp.Diff(want, r.order("block", "")); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
		if got := r.order("fork", `{"depth":1}`); got.Blocks != 0 || got.Queued != 1 {
			r.Errorf("%+v", got)
		}
		r.Fail(Fault{Fate: Lost})
		r.mustPost(b[1])
		r.order("commit", `{"batch":"`+b[1].ID+`"}`)
		r.order("restart", `{"down":"1m"}`)
		if a := r.post(b[2]); a.code() != 19 {
			r.Errorf("%v", a)
		}
		r.order("dice", `{"seed":1,"trouble":1}`)
		if a := r.postFor(time.Millisecond, b[2]); a.status == http.StatusAccepted {
			r.Errorf("%v", a)
		}
		var got struct{ Effects []Effect }
		r.get("/control/effects", &got)
		if len(got.Effects) != 1 || got.Effects[0].Batch != b[1].ID || got.Effects[0].Times != 1 {
			r.Errorf("%+v", got)
		}
	})
}

func TestControlOfSplinter(t *testing.T) {
	config := SplinterConfig{Services: []string{"devnt-local::a000", "devnt-local::a001"}}
	onScabbard(t, config, func(r *rig, _ *Splinter) {
		b := batches(2)
		r.mustPost(b...)
		want := State{Kind: KindScabbard, Queued: 1, Undecided: 3, Faults: []Fault{}}
		if got := r.order("release", ""); cmp.Diff(want, got) != "" {
			r.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
		<-time.After(20 * time.Second)
		r.mustPost(b[0])
		<-time.After(10 * time.Second)
		if got := r.order("heal", ""); got.Effects != 3 || got.Batches != 2 {
			r.Errorf("%+v", got)
		}
		r.order("restart", `{"services":["devnt-local::a000"]}`)
		r.expect("Unknown Unknown", b...)
		r.path = "/scabbard/devnt-local/a001"
		r.expect("Valid Committed", b...)
		var got struct{ Effects []Effect }
		r.get("/control/effects", &got)
		var times []int
		for _, e := range got.Effects {
			times = append(times, e.Times)
		}
		if diff := cmp.Diff([]int{1, 1, 2}, times); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestControlRefuses(t *testing.T) {
	orders := [][2]string{
		{"no-such", ""}, {"fail", ""}, {"fail", "[1]"}, {"fail", `{"status":1}`}, {"fail", `{} {}`},
		{"fail", strings.Repeat(" ", 1<<20+1)}, {"dice", `{"trouble":2}`}, {"dice", `{"fates":-1}`}, {"dice", `{"x":1}`},
		{"restart", `{"down":"-1s"}`}, {"restart", `{"down":"x"}`}, {"restart", `[]`}, {"restart", `{"services":["x"]}`},
	}
	refused := func(r *rig, orders [][2]string) {
		for _, o := range orders {
			a := r.do(r.Context(), http.MethodPost, "/control/"+o[0], http.Header{}, []byte(o[1]))
			if a.status != http.StatusBadRequest || !strings.HasPrefix(a.body, `{"error":"`) {
				r.Errorf("%.60v: %v", o, a)
			}
		}
	}
	t.Run("sawtooth", func(t *testing.T) {
		onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
			refused(r, orders)
			refused(r, [][2]string{{"fork", `{"depth":0}`}, {"fork", ""}, {"commit", `{"batch":"x"}`}})
		})
	})
	t.Run("splinter", func(t *testing.T) {
		onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
			refused(r, orders)
			refused(r, [][2]string{{"block", ""}, {"fork", `{"depth":1}`}})
		})
	})
}

func TestConfigsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []SawtoothConfig{{BlockTime: 1}, {Timeout: -1}, {MaxPerBlock: -1}, {QueueLimit: -1}} {
		if _, err := NewSawtooth(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	for _, c := range []SplinterConfig{
		{ProposalTime: -1}, {Release: "0.5"}, {Services: []string{"devnt-local"}}, {Services: []string{"devnt-local::a00"}},
		{Services: []string{"devntxlocal::a000"}}, {Services: []string{"devnt-loca/::a000"}},
		{Services: []string{"devnt-local::a-00"}},
		{Services: []string{"devnt-local::a000", "devnt-local::a000"}},
	} {
		if _, err := NewSplinter(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestManyClientsOverTCP: the same batches come from many sides at once.
func TestManyClientsOverTCP(t *testing.T) {
	t.Parallel()
	s, err := NewSawtooth(SawtoothConfig{BlockTime: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	r := &rig{T: t, Ledger: s, client: server.Client(), at: server.URL}
	r.header = http.Header{"Content-Type": {"application/octet-stream"}}
	all := batches(8)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			if a := r.post(all[i%len(all)]); a.status != http.StatusAccepted {
				t.Errorf("%v", a)
			}
		})
	}
	wg.Wait()
	for end := time.Now().Add(time.Minute); len(s.Effects()) < len(all) && time.Now().Before(end); {
		r.get("/batch_statuses?wait=1&id="+all[0].ID, nil)
	}
	times := map[string]int{}
	for _, e := range s.Effects() {
		times[e.Batch]++
	}
	for i, b := range all {
		if times[b.ID] != 1 {
			t.Error("batch " + strconv.Itoa(i) + " took effect " + strconv.Itoa(times[b.ID]) + " times")
		}
	}
}
