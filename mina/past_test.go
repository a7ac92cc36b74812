package mina

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/sequencer/tx"
)

// An annals answers as an archive does, of blocks that are named by their heights.
type annals struct {
	fork  uint32      // below it what it tells is of another chain; 0 for none
	asked [][2]uint32 // from, and up to and including
	holds map[uint32][]Command
}

func (a *annals) name(height uint32) string {
	if height < a.fork {
		return fmt.Sprintf("fork-%d", height)
	}
	return fmt.Sprint("block-", height)
}

func (a *annals) RoundTrip(r *http.Request) (*http.Response, error) {
	var ask struct {
		Variables struct {
			Query struct {
				From uint32 `json:"blockHeight_gte"`
				To   uint32 `json:"blockHeight_lt"`
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		return nil, err
	}
	q := ask.Variables.Query
	a.asked = append(a.asked, [2]uint32{q.From, q.To - 1})
	blocks := []map[string]any{}
	for h := q.From; h < q.To; h++ {
		parent := a.name(h - 1)
		if h == a.fork {
			parent = fmt.Sprint("block-", h-1)
		}
		zkapps := []map[string]any{}
		for _, c := range a.holds[h] {
			zkapps = append(zkapps, map[string]any{"hash": c.Hash, "feePayer": c.Payer, "memo": c.Memo, "status": "applied"})
		}
		blocks = append(blocks, map[string]any{
			"blockHeight": h, "stateHash": a.name(h), "parentHash": parent, "transactions": map[string]any{"zkappCommands": zkapps},
		})
	}
	rec := httptest.NewRecorder()
	err := json.NewEncoder(rec).Encode(map[string]any{"data": map[string]any{"blocks": blocks}})
	return rec.Result(), err
}

// TestPastReads: the archive is asked for what there is from where the highest node's history
// begins down to the slot of the watch, and believed where it is the chain of each node.
func TestPastReads(t *testing.T) {
	t.Parallel()
	floor := func(height uint32, hash string) *view {
		return &view{said: said{floor: Header{Height: height, Slot: 5000, StateHash: hash}}}
	}
	for _, tt := range []struct {
		name   string
		floors []*view
		fork   uint32
		since  uint32
		asked  [][2]uint32
		fails  bool
	}{
		{"all of it", []*view{floor(1000, "block-1000")}, 0, 4700, [][2]uint32{{801, 1000}, {699, 800}}, false},
		{"one question", []*view{floor(1000, "block-1000")}, 0, 4802, [][2]uint32{{801, 1000}}, false},
		{"one block more", []*view{floor(1000, "block-1000")}, 0, 4801, [][2]uint32{{801, 1000}, {800, 800}}, false},
		{"down to the genesis block", []*view{floor(100, "block-100")}, 0, 0, [][2]uint32{{1, 100}}, false},
		{"since it began", []*view{floor(100, "block-100")}, 0, 6000, [][2]uint32{{99, 100}}, false},
		{"from the highest of two", []*view{floor(990, "block-990"), floor(1000, "block-1000")}, 0, 4900, [][2]uint32{{899, 1000}}, false},
		{"from the highest, which is the first", []*view{floor(1000, "block-1000"), floor(990, "block-990")}, 0, 4900, [][2]uint32{{899, 1000}}, false},
		{"of another chain", []*view{floor(1000, "other")}, 0, 4900, [][2]uint32{{899, 1000}}, true},
		{"of another chain than one node", []*view{floor(1000, "block-1000"), floor(990, "other")}, 0, 4900, [][2]uint32{{899, 1000}}, true},
		{"of another chain from the second question on", []*view{floor(1000, "block-1000")}, 801, 4700, [][2]uint32{{801, 1000}, {699, 800}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			source := &annals{fork: tt.fork}
			archive := NewArchive("http://archive", NodeOptions{Client: &http.Client{Transport: source}})
			w := newWatched(tx.Watch{Payer: keyA, Since: tt.since})
			w.sighting.Pruned = true
			var err error
			p := newPast([]*watched{w}, tt.floors)
			for done := false; !done && err == nil; {
				done, err = p.read(t.Context(), archive)
			}
			if diff := cmp.Diff(tt.asked, source.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if (err != nil) != tt.fails || err != nil && !strings.Contains(err.Error(), "not that of the nodes") || w.soughtAt.IsZero() != tt.fails {
				t.Errorf("%v, sought at %v", err, w.soughtAt)
			}
		})
	}
	w := newWatched(tx.Watch{Payer: keyA})
	if w.sighting.Pruned = true; newPast([]*watched{w}, nil) != nil {
		t.Error("a search without a node")
	}
	w.soughtAt = time.Now()
	if newPast([]*watched{w}, []*view{floor(9, "x")}) != nil {
		t.Error("it was searched just now")
	}
}

// TestPastFinds: each watch gets what is its own, the latest of it, and nothing of another payer.
func TestPastFinds(t *testing.T) {
	t.Parallel()
	of := func(payer, label, memo string) Command {
		return Command{Hash: hashOf(label), Payer: payer, Memo: memoOf(t, memo)}
	}
	source := &annals{holds: map[uint32][]Command{
		95: {of(keyB, "b", "theirs")}, 90: {of(keyA, "a", "ours"), of(keyB, "x", "ours")}, 85: {of(keyA, "earlier", "ours")},
	}}
	a := newWatched(tx.Watch{Payer: keyA, Memo: "ours"})
	b := newWatched(tx.Watch{Payer: keyB, Hashes: []string{hashOf("b")}, Memo: "not told"})
	none := newWatched(tx.Watch{Payer: offX2, Memo: "ours"})
	all := []*watched{none, a, b}
	for _, w := range all {
		w.sighting.Pruned = true
	}
	p := newPast(all, []*view{{said: said{floor: Header{Height: 100, Slot: 5000, StateHash: "block-100"}}}})
	archive := NewArchive("http://archive", NodeOptions{Client: &http.Client{Transport: source}})
	if done, err := p.read(t.Context(), archive); !done || err != nil {
		t.Fatal(done, err)
	}
	if none.archived != nil || a.archived == nil || b.archived == nil {
		t.Fatalf("%+v, %+v, %+v", none.archived, a.archived, b.archived)
	}
	if a.archived.command.Hash != hashOf("a") || a.archived.in.Height != 90 || b.archived.command.Hash != hashOf("b") || b.archived.in.Height != 95 {
		t.Errorf("%+v, %+v", a.archived, b.archived)
	}
}

// TestKnows: what the archive tells without a nonce is ours by its hash, or by a memo that we gave it.
func TestKnows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, hash, ours, memo string
		want                   bool
	}{
		{"by its hash", "a", "ours", memoOf(t, "other"), true},
		{"by its memo", "x", "ours", memoOf(t, "ours"), true},
		{"neither", "x", "ours", memoOf(t, "other"), false},
		{"we gave it none", "x", "", memoOf(t, ""), false},
		{"its memo cannot be read", "x", "", "nonsense", false},
	} {
		w := &tx.Watch{Hashes: []string{hashOf("a")}, Memo: tt.ours}
		if got := knows(w, &Command{Hash: hashOf(tt.hash), Memo: tt.memo}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// TestTell: what the archive told is as deep as it is by the node that is the furthest behind.
func TestTell(t *testing.T) {
	t.Parallel()
	a := &archived{Command{Hash: "a", Failed: true, Failures: []Failure{{1, []string{"Predicate"}}}}, Header{Height: 100, StateHash: "A"}}
	for _, heights := range [][]uint32{{110, 112, 111}, {112, 110, 111}, {112, 111, 110}, {110}} {
		var voters []*view
		for _, h := range heights {
			voters = append(voters, &view{said: said{tip: Header{Height: h}}})
		}
		want := tx.Sighting{
			Fate: tx.FateFailed, Agreed: true, Archived: true, Hash: "a", Nonce: 7, Height: 100, StateHash: "A", Depth: 11,
			Failure: a.command.failure(), TipSlot: 5,
		}
		if diff := cmp.Diff(want, a.tell(tx.Sighting{Pruned: true, TipSlot: 5}, 7, voters)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", heights, diff)
		}
	}
	a.command.Failed = false
	if s := a.tell(tx.Sighting{}, 7, nil); s.Fate != tx.FateIncluded || s.Failure != (tx.Failure{}) {
		t.Errorf("%+v", s)
	}
}
