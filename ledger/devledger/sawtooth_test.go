package devledger_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "mina-sequencer/ledger/devledger"
)

// A vector is a BatchList made with Sawtooth's own SDK, or one spoilt by hand.
type vector struct {
	Name, Why string
	BatchID   string
	BatchList []byte
	Batches   []struct {
		HeaderSignature, SignerPublicKey string
		Trace                            bool
		Transactions                     []struct {
			HeaderSignature, SignerPublicKey, BatcherPublicKey string
			Dependencies                                       []string
			FamilyName, FamilyVersion, Nonce, PayloadSha512    string
			Payload                                            string
		}
	}
}

type vectorFile struct{ Vectors, Refuse, Accept []vector }

func vectors(t *testing.T) (f vectorFile) {
	t.Helper()
	raw, err := os.ReadFile("testdata/batches.json")
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil || len(f.Vectors) == 0 || len(f.Refuse) == 0 || len(f.Accept) == 0 {
		t.Fatal(err)
	}
	return f
}

func named(t *testing.T, list []vector, name string) vector {
	t.Helper()
	for _, v := range list {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no vector %s", name)
	return vector{}
}

func TestBytesAreReadAsTheSDKWroteThem(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t).Vectors {
		list, err := ParseBatchList(v.BatchList)
		if err != nil || len(list) != len(v.Batches) {
			t.Fatalf("%s: %v", v.Name, err)
		}
		for i, want := range v.Batches {
			got := list[i]
			if got.ID != want.HeaderSignature || got.Signer != want.SignerPublicKey || got.Trace != want.Trace {
				t.Errorf("%s: read %+v", v.Name, got)
			}
			for j, tx := range want.Transactions {
				g := got.Transactions[j]
				ours := []any{g.ID, g.Signer, g.Batcher, g.Family, g.FamilyVersion, g.Nonce, g.PayloadSHA512, string(g.Payload)}
				theirs := []any{tx.HeaderSignature, tx.SignerPublicKey, tx.BatcherPublicKey, tx.FamilyName, tx.FamilyVersion,
					tx.Nonce, tx.PayloadSha512, tx.Payload}
				if diff := cmp.Diff(theirs, ours); diff != "" || !slices.Equal(tx.Dependencies, g.Dependencies) {
					t.Errorf("%s: transaction (-want +got):\n%s", v.Name, diff)
				}
			}
		}
	}
}

func TestSawtoothTakesWhatTheSDKSigned(t *testing.T) {
	f := vectors(t)
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		for _, v := range append(f.Vectors, f.Accept...) {
			if a := r.postBytes(time.Hour, v.BatchList); a.status != http.StatusAccepted {
				r.Errorf("%s: %v", v.Name, a)
			}
		}
		<-time.After(10 * time.Second)
		r.expect("COMMITTED COMMITTED COMMITTED INVALID", Made{ID: f.Vectors[0].Batches[0].HeaderSignature},
			Made{ID: f.Vectors[1].Batches[0].HeaderSignature}, Made{ID: f.Vectors[2].Batches[0].HeaderSignature},
			Made{ID: f.Vectors[2].Batches[1].HeaderSignature})
	})
}

func TestSawtoothErrorsOfPosts(t *testing.T) {
	f := vectors(t)
	good, octets := batch("a").List, "application/octet-stream"
	forged := slices.Clone(good)
	forged[len(forged)-1] ^= 1 // of the payload
	refuse := func(name string) []byte { return named(t, f.Refuse, name).BatchList }
	resigned := []byte(strings.Replace(string(good), batch("a").ID, batch("b").ID, 1))
	other := NewSigner(2)
	stranger := NewSigner(1).Wrap(other.Batch("n", "x")) // signed for another batcher
	twice := batch("twice")
	tests := []struct {
		name, kind   string
		body         []byte
		status, code int
	}{
		{"the content type is compared as a whole", octets + "; charset=utf-8", good, 400, 42},
		{"another content type", "application/json", good, 400, 42},
		{"the content type is missing: a bare 500", "", good, 500, 0},
		{"empty body", octets, nil, 400, 34},
		{"no protobuf", octets, []byte("\xff\xff"), 400, 35},
		{"a text that is not UTF-8", octets, []byte("\n\x03\x12\x01\xff"), 400, 35},
		{"truncated", octets, refuse("truncated"), 400, 35},
		{"over 10 MiB", octets, make([]byte, 10<<20+1), 413, 0},
		{"ids differ", octets, refuse("ids-differ"), 400, 30},
		{"extra transaction", octets, refuse("extra-transaction"), 400, 30},
		{"the signature is of another batch", octets, resigned, 400, 30},
		{"payload hash wrong", octets, forged, 400, 30},
		{"batcher is not the signer", octets, stranger.List, 400, 30},
		{"a transaction twice", octets, NewSigner(1).Wrap(twice, twice).List, 400, 30},
	}
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		for _, tt := range tests {
			r.header = http.Header{}
			if tt.kind != "" {
				r.header.Set("Content-Type", tt.kind)
			}
			if a := r.postBytes(time.Hour, tt.body); a.status != tt.status || a.code() != tt.code {
				r.Errorf("%s: %v", tt.name, a)
			}
		}
		<-time.After(time.Minute)
		r.effects()
	})
}

func TestSawtoothTakesAllOrNothing(t *testing.T) {
	bad := named(t, vectors(t).Refuse, "ids-differ")
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		good := batch("a")
		if a := r.post(good, Made{List: bad.BatchList}); a.code() != 30 {
			r.Fatal(a)
		}
		<-time.After(time.Minute)
		r.expect("UNKNOWN", good)
	})
}

func TestSawtoothAnswers202WithALink(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		b := batches(2)
		a := r.post(b...)
		want := `{"link":"http://ledger/batch_statuses?id=` + b[0].ID + "," + b[1].ID + `"}`
		if strings.TrimSpace(a.body) != want {
			r.Errorf("%v, want %s", a, want)
		}
	})
}

func TestSawtoothIsUnknownForAMomentThenPendingThenCommittedInABlock(t *testing.T) {
	onSawtooth(t, SawtoothConfig{HandOver: time.Second}, func(r *rig, _ *Sawtooth) {
		b := batches(2)
		r.mustPost(b[0])
		r.expect("UNKNOWN UNKNOWN", b...)
		<-time.After(time.Second)
		r.expect("PENDING UNKNOWN", b...)
		r.mustPost(b[1])
		<-time.After(9 * time.Second)
		r.expect("COMMITTED COMMITTED", b...)
		r.effects(b...)
		if e := r.Effects(); e[0].Block != 1 || e[1].Block != 1 || e[0].Times != 1 {
			r.Errorf("effects are %+v", e)
		}
	})
}

func TestSawtoothCommitsWhatIsPostedAgainOnce(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		b := batch("a")
		for range 4 { // on its way, pending, committed, long committed
			r.mustPost(b)
			<-time.After(9 * time.Second)
		}
		<-time.After(time.Hour)
		r.mustPost(b)
		if s := r.State(); s.Queued != 0 || s.Undecided != 0 {
			r.Errorf("%+v", s)
		}
		<-time.After(time.Minute)
		if s := r.State(); s.Queued != 0 || s.Undecided != 0 {
			r.Errorf("%+v", s)
		}
		r.expect("COMMITTED", b)
		r.effects(b)
	})
}

func TestSawtoothStatusCalls(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		b := batches(2)
		r.mustPost(b[1])
		<-time.After(10 * time.Second)
		asked := b[0].ID + "," + b[1].ID + "," + b[0].ID
		data := `"data":[{"id":"` + b[0].ID + `","status":"UNKNOWN","invalid_transactions":[]},` +
			`{"id":"` + b[1].ID + `","status":"COMMITTED","invalid_transactions":[]},` +
			`{"id":"` + b[0].ID + `","status":"UNKNOWN","invalid_transactions":[]}]`
		a := r.get("/batch_statuses?id="+asked, nil)
		want := "{" + data + `,"link":"http://ledger/batch_statuses?id=` + asked + `"}`
		if strings.TrimSpace(a.body) != want {
			r.Errorf("GET answers %v, want %s", a, want)
		}
		ids, _ := json.Marshal(strings.Split(asked, ","))
		a = r.do(r.Context(), http.MethodPost, "/batch_statuses", http.Header{"Content-Type": {"application/json"}}, ids)
		if want := "{" + data + "}"; strings.TrimSpace(a.body) != want {
			r.Errorf("POST answers %v, want %s", a, want)
		}
	})
}

func TestSawtoothErrorsOfStatusCalls(t *testing.T) {
	id := batch("a").ID
	tests := []struct {
		name, method, target, kind, body string
		status, code                     int
	}{
		{"no id", "GET", "/batch_statuses", "", "", 400, 66},
		{"an id in upper case", "GET", "/batch_statuses?id=" + id + "," + strings.ToUpper(id), "", "", 400, 60},
		{"a short id", "GET", "/batch_statuses?id=" + id[1:], "", "", 400, 60},
		{"content type", "POST", "/batch_statuses", "application/json; charset=utf-8", `["` + id + `"]`, 400, 43},
		{"an empty array", "POST", "/batch_statuses", "application/json", `[]`, 400, 46},
		{"no array", "POST", "/batch_statuses", "application/json", `{"ids":[]}`, 400, 46},
		{"an id in the body", "POST", "/batch_statuses", "application/json", `["x"]`, 400, 60},
		{"not in the chain", "GET", "/batches/" + id, "", "", 404, 71},
		{"no such id", "GET", "/batches/x", "", "", 400, 60},
		{"no such method", "PUT", "/batches", "", "", 405, 0},
		{"no such route", "GET", "/block", "", "", 404, 0},
	}
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		for _, tt := range tests {
			header := http.Header{}
			if tt.kind != "" {
				header.Set("Content-Type", tt.kind)
			}
			a := r.do(r.Context(), tt.method, tt.target, header, []byte(tt.body))
			if a.status != tt.status || a.code() != tt.code {
				r.Errorf("%s: %v", tt.name, a)
			}
		}
	})
}

func TestSawtoothTakesAboutSixtyIDsInOneGet(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		target := func(n int) string {
			return "/batch_statuses?id=" + strings.TrimSuffix(strings.Repeat(batch("a").ID+",", n), ",")
		}
		if a := r.get(target(60), nil); a.status != http.StatusOK {
			r.Errorf("60 ids: %v", a)
		}
		if a := r.get(target(64), nil); a.status != http.StatusBadRequest || a.code() != 0 {
			r.Errorf("64 ids: %v", a)
		}
	})
}

func TestSawtoothFindsABatchInTheChain(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		b := batch("a")
		r.mustPost(b)
		<-time.After(10 * time.Second)
		var got struct {
			Data struct {
				ID string `json:"header_signature"`
			}
		}
		if a := r.get("/batches/"+b.ID, &got); a.status != http.StatusOK || got.Data.ID != b.ID {
			r.Errorf("%v", a)
		}
	})
}

func TestSawtoothInvalidSaysWhy(t *testing.T) {
	refuse := func(tx Transaction, _ int) *Refusal {
		switch string(tx.Payload) {
		case "with data":
			return &Refusal{Message: "no", Data: []byte{0, 1, 255}}
		case "without":
			return &Refusal{}
		}
		return nil
	}
	onSawtooth(t, SawtoothConfig{Refuse: refuse}, func(r *rig, _ *Sawtooth) {
		b := []Made{NewSigner(1).Batch("n", "fine", "with data", "never run"), batch("without")}
		r.mustPost(b...)
		<-time.After(10 * time.Second)
		var got struct{ Data []map[string]any }
		r.get("/batch_statuses?id="+b[0].ID+","+b[1].ID, &got)
		want := []map[string]any{
			{"id": b[0].ID, "status": "INVALID", "invalid_transactions": []any{map[string]any{
				"id": b[0].Transactions[1], "message": "no", "extended_data": base64.StdEncoding.EncodeToString([]byte{0, 1, 255}),
			}}},
			{"id": b[1].ID, "status": "INVALID", "invalid_transactions": []any{map[string]any{"id": b[1].Transactions[0]}}},
		}
		if diff := cmp.Diff(want, got.Data); diff != "" {
			r.Errorf("(-want +got):\n%s", diff)
		}
		r.effects()
	})
}

func TestSawtoothWaits(t *testing.T) {
	tests := []struct {
		name, query string
		posted      bool
		fault       Fault
		want        string
		code        int
		after       time.Duration
	}{
		{"until none is PENDING", "&wait=60", true, Fault{}, "COMMITTED", 0, 9 * time.Second},
		{"until the time is over", "&wait=3", true, Fault{}, "PENDING", 0, 3 * time.Second},
		{"UNKNOWN is not waited for", "&wait=60", false, Fault{}, "UNKNOWN", 0, 0},
		{"without a number 285 s", "&wait", true, Fault{Fate: Stuck}, "PENDING", 0, 285 * time.Second},
		{"not at all", "", true, Fault{}, "PENDING", 0, 0},
		{"longer than the API does", "&wait=400", true, Fault{Fate: Stuck}, "", 17, 300 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
				b := batch("a")
				if tt.posted {
					r.Fail(tt.fault)
					r.mustPost(b)
				}
				<-time.After(time.Second)
				before := time.Now()
				var got struct{ Data []struct{ Status string } }
				a := r.get("/batch_statuses?id="+b.ID+tt.query, &got)
				if took := time.Since(before); took != tt.after || a.code() != tt.code {
					r.Errorf("%v after %v", a, took)
				}
				if tt.want != "" && got.Data[0].Status != tt.want {
					r.Errorf("%v, want %s", a, tt.want)
				}
			})
		})
	}
}
