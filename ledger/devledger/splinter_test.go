package devledger_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "mina-sequencer/ledger/devledger"
)

func TestScabbardIsPendingBeforeThe202ThenValidThenCommitted(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		b := batches(2)
		a := r.post(b...)
		want := `{"link":"/scabbard/devnt-local/a000/batch_statuses?ids=` + b[0].ID + "," + b[1].ID + `"}`
		if a.status != http.StatusAccepted || strings.TrimSpace(a.body) != want {
			r.Errorf("%v", a)
		}
		r.expect("Valid Pending", b...) // one proposal at a time
		<-time.After(10 * time.Second)
		r.expect("Committed Valid", b...)
		<-time.After(10 * time.Second)
		r.expect("Committed Committed", b...)
		r.effects(b...)
		if e := r.Effects()[0]; e.Service != "devnt-local::a000" || e.Times != 1 {
			r.Errorf("%+v", e)
		}
	})
}

func TestScabbardExecutesAgainWhatIsPostedAgain(t *testing.T) {
	t.Run("and it stays Valid for ever", func(t *testing.T) {
		onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
			b := batch("a")
			r.mustPost(b)
			<-time.After(time.Minute)
			r.mustPost(b)
			<-time.After(time.Hour)
			r.expect("Valid", b)
			r.effects(b, b)
			if e := r.Effects()[1]; e.Times != 2 {
				r.Errorf("%+v", e)
			}
		})
	})
	t.Run("or its contract refuses it, from Committed to Invalid", func(t *testing.T) {
		onScabbard(t, SplinterConfig{Refuse: RefuseRepeated}, func(r *rig, _ *Splinter) {
			b := batch("a")
			r.mustPost(b)
			<-time.After(time.Minute)
			r.expect("Committed", b)
			r.mustPost(b)
			r.expect("Invalid", b)
			<-time.After(time.Minute)
			r.effects(b)
		})
	})
	t.Run("while it is pending too", func(t *testing.T) {
		onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
			b := batch("a")
			r.mustPost(b)
			r.mustPost(b)
			<-time.After(time.Minute)
			r.effects(b, b)
		})
	})
	t.Run("in a batch of another id", func(t *testing.T) {
		onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
			b := batch("a")
			again := NewSigner(1).Wrap(b, batch("b"))
			r.mustPost(b)
			r.mustPost(again)
			<-time.After(time.Minute)
			r.expect("Committed Valid", b, again)
			r.effects(b, again)
		})
	})
}

func TestScabbardStatusCalls(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		good, bad, waiting := batch("a"), batch("INVALID\x00\xff"), batch("c")
		r.mustPost(good, bad)
		<-time.After(10 * time.Second)
		r.mustPost(batch("b"))
		r.mustPost(waiting)
		asked := []string{waiting.ID, "of any form", good.ID, bad.ID, good.ID}
		got := r.scabbardStatuses(strings.ReplaceAll(strings.Join(asked, ","), " ", "%20"))
		if len(got) != 4 {
			r.Fatalf("ids named twice come once: %v", got)
		}
		data := []any{}
		for _, b := range []byte("INVALID\x00\xff") {
			data = append(data, float64(b))
		}
		want := map[string][]map[string]any{
			"Committed": {{"transaction_id": good.Transactions[0]}},
			"Pending":   {},
			"Unknown":   {},
			"Invalid": {{
				"transaction_id": bad.Transactions[0], "error_message": "the payload says that it is invalid", "error_data": data,
			}},
		}
		for _, s := range got {
			if diff := cmp.Diff(want[s.Status.StatusType], s.Status.Message); diff != "" {
				r.Errorf("%s (-want +got):\n%s", s.Status.StatusType, diff)
			}
		}
		var raw []struct {
			Timestamp struct {
				Seconds int64 `json:"secs_since_epoch"`
			}
		}
		r.get(r.path+"/batch_statuses?ids="+good.ID, &raw)
		if at := time.Unix(raw[0].Timestamp.Seconds, 0); time.Since(at) != 10*time.Second {
			r.Errorf("timestamp %v", at)
		}
	})
}

func TestScabbardErrors(t *testing.T) {
	f := vectors(t)
	good := batch("a").List
	forged := slices.Clone(good)
	forged[len(forged)-1] ^= 1
	noHex := []byte(strings.Replace(string(good), batch("a").ID, "zz"+batch("a").ID[2:], 1))
	resigned := []byte(strings.Replace(string(good), batch("a").ID, batch("b").ID, 1))
	refuse := func(name string) []byte { return named(t, f.Refuse, name).BatchList }
	path := "/scabbard/devnt-local/a000"
	tests := []struct {
		name, method, target string
		body                 []byte
		status               int
		want                 string // begins the body
	}{
		{"no list of batches", "POST", path + "/batches", []byte("\xff"), 400, `{"code":"400","message":"`},
		{"payload hash wrong", "POST", path + "/batches", forged, 400, `{"code":"400","message":"`},
		{"the signature is of another batch", "POST", path + "/batches", resigned, 400, `{"code":"400","message":"`},
		{"ids differ", "POST", path + "/batches", refuse("ids-differ"), 400, `{"code":"400","message":"`},
		{"header is none", "POST", path + "/batches", refuse("header-not-protobuf"), 400, `{"code":"400"`},
		{"a signature that is no hex", "POST", path + "/batches", noHex, 500, `{"code":"500","message":"`},
		{"no such service", "POST", "/scabbard/devnt-local/a001/batches", good, 404, `{"message":"`},
		{"no such service to ask", "GET", "/scabbard/devnt-local/a001/batch_statuses?ids=x", nil, 404, `{"message":"`},
		{"without ids", "GET", path + "/batch_statuses", nil, 400, `{`},
		{"id, not ids", "GET", path + "/batch_statuses?id=x", nil, 400, `{`},
		{"there is no POST of statuses", "POST", path + "/batch_statuses", []byte(`["x"]`), 405, ""},
		{"over 8 KB of ids", "GET", path + "/batch_statuses?ids=" + strings.Repeat("x", 8192), nil, 414, ""},
	}
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		for _, tt := range tests {
			a := r.do(r.Context(), tt.method, tt.target, http.Header{}, tt.body)
			if a.status != tt.status || !strings.HasPrefix(a.body, tt.want) {
				r.Errorf("%s: %v", tt.name, a)
			}
		}
		<-time.After(time.Minute)
		r.effects()
	})
}

func TestScabbardAsksForNoContentType(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		r.header = http.Header{}
		r.mustPost(batch("a"))
	})
}

func TestScabbardTakesWhatTheSDKSigned(t *testing.T) {
	f := vectors(t)
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		for _, v := range f.Vectors {
			if a := r.postBytes(time.Hour, v.BatchList); a.status != http.StatusAccepted {
				r.Errorf("%s: %v", v.Name, a)
			}
		}
		<-time.After(time.Minute)
		if n := len(r.Effects()); n != 3 {
			r.Errorf("%d took effect, want all but the one marked INVALID", n)
		}
	})
}

func TestSplinterProtocolVersion(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		r.header.Set("SplinterProtocolVersion", "1")
		r.mustPost(batch("a"))
		r.header.Set("SplinterProtocolVersion", "2")
		a := r.post(batch("b"))
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, `"requested_protocol":2,"splinter_protocol":1`) {
			r.Errorf("%v", a)
		}
	})
}

func TestSplinterAuthorization(t *testing.T) {
	config := SplinterConfig{Tokens: map[string][]string{
		"Bearer Cylinder:both": {ScabbardRead, ScabbardWrite}, "Bearer OAuth2:read": {ScabbardRead},
	}}
	onScabbard(t, config, func(r *rig, _ *Splinter) {
		for token, want := range map[string][2]int{
			"":                     {401, 401},
			"Bearer Biome:wrong":   {401, 401},
			"Bearer OAuth2:read":   {401, 200},
			"Bearer Cylinder:both": {202, 200},
		} {
			r.header.Set("Authorization", token)
			post := r.post(batch("a" + token))
			status := r.do(r.Context(), http.MethodGet, r.path+"/batch_statuses?ids=x", r.header, nil)
			if post.status != want[0] || status.status != want[1] {
				r.Errorf("%q: %v, %v", token, post, status)
			}
		}
	})
}

func TestScabbardRefusesFrom30QueuedUntilFewerThan15(t *testing.T) {
	services := []string{"devnt-local::a000", "devnt-local::a001"}
	tests := []struct {
		name    string
		config  SplinterConfig
		refuses bool
	}{
		{"0.6", SplinterConfig{Services: services}, true},
		{"main", SplinterConfig{Services: services, Release: "main"}, true},
		{"0.4 has no limit", SplinterConfig{Services: services, Release: "0.4"}, false},
		{"nor has protocol V1", SplinterConfig{Services: services, V1: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onScabbard(t, tt.config, func(r *rig, n *Splinter) {
				b := batches(33)
				r.mustPost(b[:31]...) // one of them is proposed
				full := r.post(b[31])
				if refused := full.status == http.StatusTooManyRequests && full.body == ""; refused != tt.refuses {
					r.Fatalf("%v", full)
				}
				if !tt.refuses {
					return
				}
				r.path = "/scabbard/devnt-local/a001"
				if a := r.post(b[31]); a.status != http.StatusTooManyRequests {
					r.Errorf("another service of the circuit: %v", a)
				}
				for n.State().Queued > 15 {
					<-time.After(10 * time.Second)
				}
				if a := r.post(b[31]); a.status != http.StatusTooManyRequests {
					r.Errorf("with 15 queued: %v", a)
				}
				<-time.After(10 * time.Second)
				r.mustPost(b[32])
			})
		})
	}
}

func TestScabbardWaits(t *testing.T) {
	tests := []struct {
		name, release, query, want string
		status                     int
		after                      time.Duration
	}{
		{"until all are final", "0.6", "&wait=60", "Committed", 200, 10 * time.Second},
		{"0.6 says nothing when the time is over", "0.6", "&wait=3", "", 408, 3 * time.Second},
		{"0.4 too", "0.4", "&wait=3", "", 408, 3 * time.Second},
		{"main says what is known", "main", "&wait=3", "Valid", 200, 3 * time.Second},
		{"not at all", "0.6", "", "Valid", 200, 0},
		{"wait is no number", "0.6", "&wait=x", "", 400, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onScabbard(t, SplinterConfig{Release: tt.release}, func(r *rig, _ *Splinter) {
				b := batch("a")
				r.mustPost(b)
				before := time.Now()
				a := r.get(r.path+"/batch_statuses?ids="+b.ID+tt.query, nil)
				if took := time.Since(before); a.status != tt.status || took != tt.after || !strings.Contains(a.body, tt.want) {
					r.Errorf("%v after %v", a, took)
				}
				if tt.status == http.StatusRequestTimeout && a.body != "" {
					r.Errorf("408 says %v", a)
				}
			})
		})
	}
}

func TestScabbardRemembersThe100LastBatchesThoseOfPeersToo(t *testing.T) {
	config := SplinterConfig{Services: []string{"devnt-local::a000", "devnt-local::a001"}, ProposalTime: time.Second}
	onScabbard(t, config, func(r *rig, _ *Splinter) {
		b := batches(102)
		for i, one := range b {
			r.path = "/scabbard/devnt-local/a00" + strconv.Itoa(i%2)
			r.mustPost(one)
			<-time.After(time.Second)
		}
		for _, r.path = range []string{"/scabbard/devnt-local/a000", "/scabbard/devnt-local/a001"} {
			r.expect("Unknown Unknown Committed Committed", b[0], b[1], b[2], b[101])
		}
		r.effects(b...) // though nobody can tell any more
	})
}

func TestScabbardProposalWithoutVotesIsRolledBackAfter30sAndStaysValid(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, _ *Splinter) {
		b := batches(2)
		r.Fail(Fault{Batch: b[0].ID, Fate: Stuck})
		r.mustPost(b[0])
		r.mustPost(b[1])
		<-time.After(29 * time.Second)
		r.expect("Valid Pending", b...)
		<-time.After(time.Second)
		r.expect("Valid Valid", b...)
		<-time.After(time.Hour)
		r.expect("Valid Committed", b...)
		r.effects(b[1])
	})
}

func TestScabbardForgetsItsQueueAndHistoryWhenItRestarts(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, n *Splinter) {
		b := batches(3)
		r.mustPost(b...)
		<-time.After(15 * time.Second)
		r.expect("Committed Valid Pending", b...)
		if err := n.Restart(5 * time.Second); err != nil {
			r.Fatal(err)
		}
		if a := r.post(b[0]); a.status != http.StatusNotFound {
			r.Errorf("while the node starts: %v", a)
		}
		<-time.After(5 * time.Second)
		r.expect("Unknown Unknown Unknown", b...)
		<-time.After(time.Hour)
		r.effects(b[0])
		if err := n.Restart(0, "devnt-local::zzzz"); err == nil {
			r.Error("restarted what there is not")
		}
	})
}

func TestScabbardStatusCallBreaksWhenItRestarts(t *testing.T) {
	onScabbard(t, SplinterConfig{}, func(r *rig, n *Splinter) {
		b := batch("a")
		r.mustPost(b)
		got := make(chan reply)
		go func() { got <- r.get(r.path+"/batch_statuses?wait=60&ids="+b.ID, nil) }()
		<-time.After(time.Second)
		_ = n.Restart(0)
		if a := <-got; !a.cut() {
			r.Errorf("%v", a)
		}
	})
}
