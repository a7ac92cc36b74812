package mina_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/sequencer/tx"
)

// A served handler answers without a network, so that it runs in a bubble.
type served struct{ http.Handler }

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// A scene is a network whose nodes remember 20 blocks, and its archive.
type scene struct {
	*testing.T
	net     *devnet.Network
	archive *mina.Archive
	asked   int
}

const payer = 1

func newScene(t *testing.T) *scene {
	t.Helper()
	n, err := devnet.New(devnet.Config{Nodes: 3, FundAll: true, FillRate: 1, K: 20, SlotTime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t, net: n}
	count := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.asked++; n.ServeHTTP(w, r) })
	s.archive = mina.NewArchive("http://archive/archive", mina.NodeOptions{Client: &http.Client{Transport: served{count}}})
	return s
}

func (s *scene) node(i int) *mina.Node {
	return mina.NewNode("http://node/graphql", mina.NodeOptions{Client: &http.Client{Transport: served{s.net.Node(i)}}})
}

func (s *scene) tracker(a *mina.Archive) *mina.Tracker {
	return mina.NewTracker(mina.TrackerOptions{Nodes: []*mina.Node{s.node(0), s.node(1), s.node(2)}, Depth: 5, Archive: a})
}

// send gives a command to node 0 and returns its hash.
func (s *scene) send(p devnet.Plan) string {
	s.Helper()
	command, err := devnet.Build(p)
	if err != nil {
		s.Fatal(err)
	}
	hash, err := s.node(0).Send(s.Context(), command)
	if err != nil {
		s.Fatal(err)
	}
	return hash
}

// slots lets so many pass, each with a block.
func (s *scene) slots(n int) {
	for range n {
		s.net.Step()
	}
}

func ours(nonce uint32) devnet.Plan {
	return devnet.Plan{Payer: devnet.Key(payer), Nonce: nonce, Fee: 1e8, Memo: "ours", ValidUntil: 30}
}

func TestArchiveBlocks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.net.FailNext(devnet.Key(2), 2, "Update_not_permitted_balance")
	good := s.send(ours(0))
	bad := s.send(devnet.Plan{Payer: devnet.Key(2), Fee: 2e8, Memo: "bad"})
	s.slots(1)
	if err := s.net.Reorg(devnet.Reorg{Depth: 1}); err != nil { // its orphan is not told of
		t.Fatal(err)
	}
	s.slots(60)
	blocks, err := s.archive.Blocks(t.Context(), 2, 42)
	if err != nil || len(blocks) != 41 || blocks[0].Height != 2 || blocks[40].Height != 42 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	got := map[string]mina.Command{}
	for _, b := range blocks {
		for _, c := range b.Commands {
			got[c.Hash] = c
		}
	}
	if c := got[good]; len(got) != 2 || c.Payer != devnet.Key(payer) || c.Failed || c.Fee != 1e8 {
		t.Errorf("commands %+v", got)
	}
	if memo, err := mina.DecodeMemo(got[good].Memo); err != nil || memo != "ours" {
		t.Errorf("memo %q, %v", memo, err)
	}
	if class, code := mina.ClassifyFailures(got[bad].Failures); !got[bad].Failed || class != mina.Permanent || code != "Update_not_permitted_balance" {
		t.Errorf("failed: %+v", got[bad])
	}
	for name, tt := range map[string]struct {
		faults devnet.ArchiveFaults
		want   string
	}{
		"out of order":   {devnet.ArchiveFaults{Status: 503}, "503"},
		"without detail": {devnet.ArchiveFaults{Bare: true}, "ENABLE_BLOCK_TRANSACTION_DETAILS"},
		"behind":         {devnet.ArchiveFaults{Behind: 30}, "blocks of height 2 to 42, want 41"},
	} {
		s.net.SetArchive(tt.faults)
		_, err := s.archive.Blocks(t.Context(), 2, 42)
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, mina.ErrNoDetails) != tt.faults.Bare {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.net.SetArchive(devnet.ArchiveFaults{})
	if _, err := s.archive.Blocks(t.Context(), 1, 20_000); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("too many: %v", err)
	}
}

// TestArchiveStatus: what an archive says of a command is believed only where it is a word
// that is known; to guess a failure would have made anew what is on the chain.
func TestArchiveStatus(t *testing.T) {
	t.Parallel()
	for status, failed := range map[string]bool{"applied": false, "failed": true} {
		blocks, err := saying(t, status).Blocks(t.Context(), 7, 7)
		if err != nil || len(blocks) != 1 || len(blocks[0].Commands) != 1 || blocks[0].Commands[0].Failed != failed {
			t.Errorf("%s: %+v, %v", status, blocks, err)
		}
	}
	for _, status := range []string{"", "Applied", "pending"} {
		_, err := saying(t, status).Blocks(t.Context(), 7, 7)
		if e, ok := errors.AsType[*mina.Error](err); !ok || e.Class != mina.Transport || !strings.Contains(e.Message, strconv.Quote(status)) {
			t.Errorf("%q: %v", status, err)
		}
	}
}

// saying is an archive of one block, whose one command has that status.
func saying(t *testing.T, status string) *mina.Archive {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"data":{"blocks":[{"blockHeight":7,"stateHash":"3NK7","parentHash":"3NK6","transactions":{
			"zkappCommands":[{"hash":"5J","feePayer":"B62","fee":"1","memo":"","status":%q,"failureReason":null}]}}]}}`, status)
	}))
	t.Cleanup(server.Close)
	return mina.NewArchive(server.URL, mina.NodeOptions{})
}

// TestPastGap: what happened while nodes told which blocks there are and not what is in them,
// for longer than they remember, is looked for in the archive; they have their votes back.
func TestPastGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.slots(2)
		mute := false
		gateway := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil || mute && strings.Contains(string(body), "block(stateHash") {
				http.Error(w, "too much", http.StatusTooManyRequests)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			s.net.Node(0).ServeHTTP(w, r)
		})
		node := mina.NewNode("http://node/graphql", mina.NodeOptions{Client: &http.Client{Transport: served{gateway}}})
		k := mina.NewTracker(mina.TrackerOptions{Nodes: []*mina.Node{node}, Depth: 5, Archive: s.archive})
		w := tx.Watch{Payer: devnet.Key(payer), Hashes: []string{s.send(ours(0))}, ValidUntil: 30, Since: 1}
		k.Watch("a", w)
		k.Poll(t.Context())
		mute = true
		for range 40 {
			s.slots(1)
			if c := k.Poll(t.Context()); c.Quorum {
				t.Fatal("a node that tells no block has a vote")
			}
		}
		mute = false
		for range 5 {
			if c := k.Poll(t.Context()); !c.Quorum {
				t.Errorf("then: %v", c.Err)
			}
		}
		if got := k.Sighting("a"); got.Fate != tx.FateIncluded || !got.Archived || got.Hash != w.Hashes[0] {
			t.Errorf("%+v", got)
		}
	})
}

// TestPastNonce: what the archive tells is of the nonce that was watched.
func TestPastNonce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.slots(2)
		s.send(ours(0))
		hash := s.send(ours(1))
		s.slots(100)
		k := s.tracker(s.archive)
		k.Watch("x", tx.Watch{Payer: devnet.Key(payer), Nonce: 1, Hashes: []string{hash}, Since: 1})
		k.Poll(t.Context())
		if g := k.Sighting("x"); !g.Archived || g.Fate != tx.FateIncluded || g.Nonce != 1 {
			t.Errorf("%+v", g)
		}
	})
}

// TestPast: a tracker that begins long after the fact. The nonce is spent, and
// the nodes no longer hold the block that did it; the archive knows the rest.
func TestPast(t *testing.T) {
	t.Parallel()
	watch := func(hashes ...string) tx.Watch {
		return tx.Watch{Payer: devnet.Key(payer), Hashes: hashes, Memo: "ours", ValidUntil: 30, Since: 1}
	}
	for _, tt := range []struct {
		name  string
		fails bool
		watch func(hash string) tx.Watch
		sent  bool
		found bool
		want  tx.Sighting
	}{
		{"included", false, func(h string) tx.Watch { return watch(h) }, true, true, tx.Sighting{Fate: tx.FateIncluded, Archived: true}},
		{"failed", true, func(h string) tx.Watch { return watch(h) }, true, true, tx.Sighting{Fate: tx.FateFailed, Archived: true}},
		{"known by its memo", false, func(string) tx.Watch { return watch() }, true, true, tx.Sighting{Fate: tx.FateIncluded, Archived: true}},
		{"legacy, by its hash", false, func(h string) tx.Watch {
			w := watch(h)
			w.Legacy, w.Memo, w.ValidUntil = true, "another", 0
			return w
		}, true, true, tx.Sighting{Fate: tx.FateIncluded, Archived: true}},
		{"a stranger's", false, func(string) tx.Watch {
			w := watch()
			w.Memo = "another"
			return w
		}, true, false, tx.Sighting{Fate: tx.FateUnknown, Pruned: true, Sought: true}},
		{"legacy, nothing to know it by", false, func(string) tx.Watch {
			w := watch()
			w.Legacy, w.Memo = true, "another"
			return w
		}, true, false, tx.Sighting{Fate: tx.FateUnknown, Pruned: true, Sought: true}},
		{"never sent", false, func(string) tx.Watch { return watch() }, false, false, tx.Sighting{Fate: tx.FateExpired}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				s.slots(2)
				if tt.fails {
					s.net.FailNext("", 1, "Predicate")
				}
				hash := ""
				if tt.sent {
					hash = s.send(ours(0))
				}
				s.slots(100)
				// The last node is behind: depth is counted from the lowest tip.
				if err := s.net.Node(2).SetFaults(devnet.Faults{Lag: 2}); err != nil {
					t.Fatal(err)
				}
				s.slots(2)
				// What the nodes alone say.
				alone := s.tracker(nil)
				alone.Watch("x", tt.watch(hash))
				alone.Poll(t.Context())
				if g := alone.Sighting("x"); g.Pruned != tt.sent || g.Agreed == tt.sent || g.Archived || tt.sent != errors.Is(alone.Chain().Archive, mina.ErrNoArchive) {
					t.Errorf("without an archive: %+v", g)
				}
				k := s.tracker(s.archive)
				k.Watch("x", tt.watch(hash))
				k.Poll(t.Context())
				g := k.Sighting("x")
				if g.Fate != tt.want.Fate || g.Pruned != tt.want.Pruned || g.Sought != tt.want.Sought || g.Archived != tt.want.Archived {
					t.Errorf("%+v, %v", g, k.Chain().Archive)
				}
				if e := s.net.Effects(); tt.found && (!g.Agreed || g.Hash != hash || g.Height != e[0].Height || g.StateHash != e[0].StateHash ||
					g.Depth != int(k.Chain().Height-e[0].Height)+1) {
					t.Errorf("%+v, in fact %+v", g, e)
				}
				asked := s.asked
				if asked > 0 != tt.sent {
					t.Errorf("the archive was asked %d times", asked)
				}
				for range 5 {
					s.slots(1)
					k.Poll(t.Context())
				}
				if s.asked != asked {
					t.Errorf("asked %d times more", s.asked-asked)
				}
			})
		})
	}
}

// searching is a tracker that has begun a search of the archive, by one poll of some that it
// takes: 2004 blocks are 11 questions, five of them in a poll. The command of the watch "x",
// whose hash is returned, is in the oldest.
func searching(t *testing.T) (s *scene, k *mina.Tracker, hash string) {
	t.Helper()
	s = newScene(t)
	hash = s.send(ours(0))
	s.slots(2023)
	k = s.tracker(s.archive)
	k.Watch("x", tx.Watch{Payer: devnet.Key(payer), Hashes: []string{hash}, Since: 0})
	if k.Poll(t.Context()); s.asked != 5 {
		t.Errorf("%d questions in the first poll", s.asked)
	}
	return s, k, hash
}

// TestPastInSteps: a long search goes on from poll to poll, and again some time
// after it was in vain.
func TestPastInSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, k, _ := searching(t)
		polls := 1
		for ; !k.Sighting("x").Agreed && polls < 10; polls++ {
			k.Poll(t.Context())
		}
		if polls != 3 || s.asked != 11 {
			t.Errorf("%d polls, %d questions: %+v, %v", polls, s.asked, k.Sighting("x"), k.Chain().Archive)
		}
		// Another one, in vain at first.
		k.Watch("y", tx.Watch{Payer: devnet.Key(payer), Memo: "nobody's", Since: 1950})
		for range 9 {
			k.Poll(t.Context())
		}
		if g := k.Sighting("y"); !g.Sought || s.asked != 12 {
			t.Errorf("%d questions: %+v", s.asked, g)
		}
		<-time.After(10 * time.Minute)
		k.Poll(t.Context())
		if s.asked != 13 {
			t.Errorf("%d questions: not searched again", s.asked)
		}
	})
}

// TestPastWithoutQuorum: what the archive tells when too few nodes are left is nothing.
func TestPastWithoutQuorum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, k, hash := searching(t)
		k.Poll(t.Context())
		if c := k.Chain(); !c.Searching || !c.Quorum {
			t.Fatalf("%+v", c)
		}
		for i := range 2 {
			if err := s.net.Node(i).SetFaults(devnet.Faults{Status: 503}); err != nil {
				t.Fatal(err)
			}
		}
		k.Poll(t.Context())
		if g, c := k.Sighting("x"), k.Chain(); c.Searching || c.Quorum || g.Agreed || g.Archived {
			t.Errorf("%+v, %+v", g, c)
		}
		for i := range 2 {
			if err := s.net.Node(i).SetFaults(devnet.Faults{}); err != nil {
				t.Fatal(err)
			}
		}
		k.Poll(t.Context())
		if g := k.Sighting("x"); !g.Agreed || !g.Archived || g.Hash != hash {
			t.Errorf("%+v", g)
		}
	})
}

// TestArchiveNotBelieved: an archive that is not that of the nodes' chain, or
// cannot be asked, settles nothing; when it can, it does.
func TestArchiveNotBelieved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, other := newScene(t), newScene(t)
		hash := s.send(ours(0))
		if other.send(ours(0)) != hash {
			t.Fatal("both networks have to have the same command")
		}
		other.net.MakeBlock() // so that its chain is another
		s.slots(100)
		other.slots(100)
		for name, tt := range map[string]struct {
			archive *mina.Archive
			faults  devnet.ArchiveFaults
			want    string
		}{
			"of another chain": {other.archive, devnet.ArchiveFaults{}, "not that of the nodes"},
			"out of order":     {s.archive, devnet.ArchiveFaults{Status: 500}, "500"},
			"bare":             {s.archive, devnet.ArchiveFaults{Bare: true}, "ENABLE_BLOCK"},
			"behind":           {s.archive, devnet.ArchiveFaults{Behind: 30}, "blocks of height"},
		} {
			s.net.SetArchive(tt.faults)
			k := s.tracker(tt.archive)
			k.Watch("x", tx.Watch{Payer: devnet.Key(payer), Hashes: []string{hash}})
			for range 3 {
				k.Poll(t.Context())
			}
			if g := k.Sighting("x"); g.Agreed || !g.Pruned || g.Sought {
				t.Errorf("%s: %+v", name, g)
			}
			if err := k.Chain().Archive; err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v", name, err)
			}
			s.net.SetArchive(devnet.ArchiveFaults{})
			k.Poll(t.Context())
			if g := k.Sighting("x"); tt.archive == s.archive && (g.Fate != tx.FateIncluded || !g.Agreed || k.Chain().Archive != nil) {
				t.Errorf("%s, and then well: %+v, %v", name, g, k.Chain().Archive)
			}
		}
		// That there is none is told for as long as it is wanted.
		without := s.tracker(nil)
		without.Watch("x", tx.Watch{Payer: devnet.Key(payer), Hashes: []string{hash}})
		if without.Poll(t.Context()); !errors.Is(without.Chain().Archive, mina.ErrNoArchive) {
			t.Error(without.Chain().Archive)
		}
		without.Forget("x")
		if without.Poll(t.Context()); without.Chain().Archive != nil {
			t.Error(without.Chain().Archive)
		}
		// Too few nodes: what the archive says alone is nothing.
		for i := range 2 {
			if err := s.net.Node(i).SetFaults(devnet.Faults{Status: 503}); err != nil {
				t.Fatal(err)
			}
		}
		k := s.tracker(s.archive)
		k.Watch("x", tx.Watch{Payer: devnet.Key(payer), Hashes: []string{hash}})
		asked := s.asked
		for range 3 {
			k.Poll(t.Context())
		}
		if g := k.Sighting("x"); g.Agreed || g.Pruned || s.asked != asked {
			t.Errorf("one node of three: %+v", g)
		}
	})
}
