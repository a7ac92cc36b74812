package mina

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/sequencer/tx"
)

// TestSurvey: what any synced node shows of a payer is found, by as few questions
// as it takes.
func TestSurvey(t *testing.T) {
	t.Parallel()
	of := func(label string, nonce uint32) Command {
		return Command{Hash: hashOf(label), Payer: keyA, Nonce: nonce, Fee: 5, Memo: memoOf(t, "ours")}
	}
	base := chainOf(30)
	with := extend(grow(extend(grow(base, "", of("seven", 7)), 2, ""), "", of("eight", 8)), 2, "")
	type found struct {
		Label  string
		Nonce  uint32
		Pooled bool
		Height uint32
	}
	for _, tt := range []struct {
		name   string
		wanted Wanted
		change func(nodes []*daemon)
		want   []found
		next   uint32
		blocks int // read from all nodes together
	}{
		{"nothing is new", Wanted{Payer: keyA, From: 9}, nil, nil, 9, 0},
		{"more is known than the ledger has", Wanted{Payer: keyA, From: 10}, nil, nil, 9, 0},
		{"one nonce", Wanted{Payer: keyA, From: 8}, nil, []found{{"eight", 8, false, 134}}, 9, 3},
		{"two nonces", Wanted{Payer: keyA, From: 7}, nil, []found{{"seven", 7, false, 131}, {"eight", 8, false, 134}}, 9, 7},
		{"no nonce is known", Wanted{Payer: keyA, Whole: true}, nil, []found{{"seven", 7, false, 131}, {"eight", 8, false, 134}}, 9, 36},
		{"no nonce is known, and the ledger has one", Wanted{Payer: keyA, Whole: true}, func(nodes []*daemon) {
			for _, d := range nodes {
				d.accounts[keyA] = 1
			}
		}, []found{{"seven", 7, false, 131}, {"eight", 8, false, 134}}, 1, 36},
		{"never used", Wanted{Payer: keyB, Whole: true}, nil, nil, 0, 0},
		{"not in the chain", Wanted{Payer: keyA, From: 6}, nil, []found{{"seven", 7, false, 131}, {"eight", 8, false, 134}}, 9, 36},
		{"pool of one node", Wanted{Payer: keyA, From: 9}, func(nodes []*daemon) {
			nodes[1].pool = []Command{of("old", 8), of("ten", 10), of("nine", 9)}
		}, []found{{"nine", 9, true, 0}, {"ten", 10, true, 0}}, 9, 0},
		{"in the pool of one, in a block of the other", Wanted{Payer: keyA, From: 8}, func(nodes []*daemon) {
			nodes[0].pool = []Command{of("eight", 8)}
		}, []found{{"eight", 8, false, 134}}, 9, 3},
		{"in the pool of one that is behind, in a block of the others", Wanted{Payer: keyA, From: 8}, func(nodes []*daemon) {
			nodes[0].set(with[:33])
			nodes[0].accounts[keyA], nodes[0].pool = 8, []Command{of("eight", 8)}
		}, []found{{"eight", 8, false, 134}}, 9, 3},
		{"one node is behind", Wanted{Payer: keyA, From: 8}, func(nodes []*daemon) {
			nodes[0].set(with[:33])
			nodes[0].accounts[keyA] = 8
		}, []found{{"eight", 8, false, 134}}, 9, 3},
		{"the last node is behind", Wanted{Payer: keyA, From: 8}, func(nodes []*daemon) {
			nodes[2].set(with[:33])
			nodes[2].accounts[keyA] = 8
		}, []found{{"eight", 8, false, 134}}, 9, 3},
		{"one node has no vote", Wanted{Payer: keyA, From: 9}, func(nodes []*daemon) {
			nodes[2].sync = "BOOTSTRAP"
			nodes[2].pool = []Command{of("nine", 9)}
		}, nil, 9, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNet(t, 3, with)
			for _, d := range n.nodes {
				d.accounts[keyA] = 9
			}
			if tt.change != nil {
				tt.change(n.nodes)
			}
			all, err := n.Survey(t.Context(), []Wanted{tt.wanted})
			if err != nil {
				t.Fatal(err)
			}
			var got []found
			for _, c := range all[tt.wanted.Payer].Commands {
				label := ""
				for _, l := range []string{"seven", "eight", "nine", "ten", "old"} {
					if hashOf(l) == c.Hash {
						label = l
					}
				}
				got = append(got, found{label, c.Nonce, c.Pooled, c.Block.Height})
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("found (-want +got):\n%s", d)
			}
			if all[tt.wanted.Payer].Next != tt.next {
				t.Errorf("next nonce %d, want %d", all[tt.wanted.Payer].Next, tt.next)
			}
			blocks := 0
			for _, d := range n.nodes {
				blocks += d.calls["blocks"]
			}
			if blocks != tt.blocks {
				t.Errorf("%d blocks read, want %d", blocks, tt.blocks)
			}
			// Of the ten that are known 1, 2, 4 and 3; of those below 1, 2, 4, 8, 10 and 1.
			if questions := n.nodes[0].calls["block"]; blocks == 36 && questions != 10 {
				t.Errorf("%d questions for %d blocks", questions, blocks)
			}
		})
	}
}

// TestSurveyTwice: what several nodes show of a command is put together, in whatever order they do.
func TestSurveyTwice(t *testing.T) {
	t.Parallel()
	pooled, failed, fine := Use{Pooled: true}, Use{}, Use{}
	failed.Failed, failed.Block.Height, fine.Block.Height = true, 7, 8
	for name, c := range map[string]struct {
		shown          []Use
		pooled, failed bool
		height         uint32
	}{
		"in pools":                      {[]Use{pooled, pooled}, true, false, 0},
		"in a pool and a block":         {[]Use{pooled, failed}, false, true, 7},
		"in a block and a pool":         {[]Use{failed, pooled}, false, true, 7},
		"failed in two blocks":          {[]Use{failed, failed}, false, true, 7},
		"failed in one of two":          {[]Use{failed, fine}, false, false, 7},
		"failed in the other":           {[]Use{fine, failed}, false, false, 8},
		"in a pool and in both of them": {[]Use{pooled, failed, fine}, false, false, 7},
	} {
		var u Used
		for _, s := range c.shown {
			s.Hash = "5J"
			u.add(s, Wanted{Whole: true})
		}
		if len(u.Commands) != 1 || u.Commands[0].Pooled != c.pooled || u.Commands[0].Failed != c.failed ||
			u.Commands[0].Block.Height != c.height {
			t.Errorf("%s: %+v", name, u.Commands)
		}
	}
}

// TestSurveyMoves: a node lets go of old blocks while it is asked for them, one at each new
// one. All that it still has are read, and none is asked for that it has not: neither what
// it lets go of meanwhile, nor what it had let go of before anybody asked.
func TestSurveyMoves(t *testing.T) {
	t.Parallel()
	const k = 60
	ours := Command{Hash: hashOf("eight"), Payer: keyA, Nonce: 8, Fee: 5, Memo: memoOf(t, "ours")}
	const deep = 20 // ours, when it is surveyed
	for _, tt := range []struct {
		name   string
		before int // new blocks after the node was known, and before it was surveyed
		moves  int // new blocks at each question for some
		wanted int // whose commands are read
	}{
		{"it stands", 0, 0, k + 1},
		{"a block at each question", 0, 1, k - 3},
		{"three at each", 0, 3, k - 18},
		{"what is known begins below what it has", 90, 0, k + 1},
		{"both", 90, 1, k - 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := newNet(t, 1, chainOf(80))
			d := n.nodes[0]
			d.k, d.accounts[keyA] = k, 9
			if tt.before > 0 {
				n.Watch("old", tx.Watch{Payer: keyB, Since: d.blocks[70].Slot})
			}
			for range tt.before {
				n.Poll(t.Context())
				d.blocks = extend(d.blocks, 1, "")
			}
			d.blocks = extend(grow(d.blocks, "", ours), deep-1, "")
			d.do(func() {
				d.during = func(field string) {
					if field == "block" {
						d.blocks = extend(d.blocks, tt.moves, "")
					}
				}
			})
			all, err := n.Survey(t.Context(), []Wanted{{Payer: keyA, Whole: true}})
			if err != nil {
				t.Fatal(err)
			}
			if got := all[keyA].Commands; len(got) != 1 || got[0].Hash != ours.Hash {
				t.Errorf("found %+v", got)
			}
			read := 0
			for _, l := range n.views[0].links {
				if l.known && n.views[0].holds(l) {
					read++
				}
			}
			if read < tt.wanted {
				t.Errorf("%d blocks of those that the node holds are read, want %d", read, tt.wanted)
			}
			if c := n.Poll(t.Context()); !c.Quorum {
				t.Errorf("afterwards: %v", c.Err)
			}
		})
	}
}

// TestSurveyReorg: what falls out of a block after the pool was asked has gone back there. It
// is looked for again.
func TestSurveyReorg(t *testing.T) {
	t.Parallel()
	base := chainOf(40)
	n := newNet(t, 1, grow(base, "", commandA(t)))
	d := n.nodes[0]
	d.accounts[keyA] = 8
	d.do(func() {
		d.during = func(field string) {
			if field == "account" {
				d.blocks, d.pool, d.accounts[keyA], d.during = extend(base, 2, "r"), []Command{commandA(t)}, 7, nil
			}
		}
	})
	wanted := []Wanted{{Payer: keyA, Whole: true}}
	if all, err := n.Survey(t.Context(), wanted); class(err) != Transport {
		t.Errorf("it was in no block and no pool: %+v, %v", all, err)
	}
	all, err := n.Survey(t.Context(), wanted)
	if err != nil || len(all[keyA].Commands) != 1 || !all[keyA].Commands[0].Pooled {
		t.Errorf("then: %+v, %v", all, err)
	}
}

// TestSurveyBeside: a survey leaves a node alone that is still being asked: what was read of
// it is being written. The race detector has to see it.
func TestSurveyBeside(t *testing.T) {
	t.Parallel()
	n := newNet(t, 3, chainOf(280))
	late := n.nodes[2]
	for _, d := range n.nodes {
		d.accounts[keyA] = 9
	}
	late.status = 503
	n.Watch("half", tx.Watch{Payer: keyB, Since: late.blocks[150].Slot})
	n.Poll(t.Context())
	late.do(func() { late.status = 0 })
	n.views[2].late.Store(true)
	if _, err := n.Survey(t.Context(), []Wanted{{Payer: keyA, Whole: true}}); err != nil {
		t.Error(err)
	}
	for n.Poll(t.Context()).Synced < 3 { // the last look has ended
	}
}

// TestSurveyWithout: no node may be missed that has a vote, but one that has failed surveys for a
// minute, and answered none.
func TestSurveyWithout(t *testing.T) {
	slowly(t, func(n *net) {
		fails := func(i int, some bool) {
			n.nodes[i].do(func() {
				n.nodes[i].status = 0
				if n.nodes[i].during = nil; some {
					n.nodes[i].during = func(field string) {
						if n.nodes[i].status = 0; field == "account" || field == "pooledZkappCommands" {
							n.nodes[i].status = 503
						}
					}
				}
			})
		}
		survey := func(what string, wants bool) {
			n.Helper()
			used, err := n.Survey(n.Context(), []Wanted{{Payer: keyA, From: 7}})
			if (err == nil) != wants || wants && used[keyA].Next != 7 {
				n.Errorf("%s: %+v, %v", what, used, err)
			}
			<-time.After(20 * time.Second)
		}
		fails(1, true)
		for range 3 {
			survey("a node fails", false)
		}
		survey("for a minute", true)
		survey("and then", true)
		fails(2, true)
		for range 5 {
			survey("no quorum is left", false)
		}
		fails(1, false)
		survey("the other is there again", true)
		fails(2, false)
		survey("both are", true)
		for range 3 {
			fails(1, true)
			survey("a node fails now and then", false)
			fails(1, false)
			survey("and answers in between", true)
		}
		fails(1, true)
		survey("a node fails", false)
		<-time.After(forgiven)
		survey("a node fails long after", false)
	})
}

// TestSurveySlow: a slow node is waited for: what it alone shows may be ours.
func TestSurveySlow(t *testing.T) {
	slowly(t, func(n *net) {
		n.poll()
		c := commandA(t)
		n.nodes[2].do(func() { n.nodes[2].delay, n.nodes[2].pool = time.Second, []Command{c} })
		n.takes(3*time.Second, "a survey", func() { // a question for the chain, two for the payer
			all, err := n.Survey(n.Context(), []Wanted{{Payer: keyA, From: 7}})
			if err != nil || len(all[keyA].Commands) != 1 || !all[keyA].Commands[0].Pooled {
				n.Errorf("%+v, %v", all, err)
			}
		})
	})
}

// TestSurveyFails: without a quorum there is none. Questions are as large as they may be.
func TestSurveyFails(t *testing.T) {
	t.Parallel()
	wanted := []Wanted{{Payer: keyA, From: 7}}
	n := newNet(t, 3, chainOf(10))
	n.nodes[0].sync, n.nodes[1].sync = "CATCHUP", "OFFLINE"
	if _, err := n.Survey(t.Context(), wanted); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("without a quorum: %v", err)
	}
	n = newNet(t, 1, chainOf(10))
	if _, err := n.Survey(t.Context(), []Wanted{{Payer: "nobody"}}); !errors.Is(err, ErrBase58Check) {
		t.Errorf("what is no key: %v", err)
	} else if !n.views[0].failedLast.IsZero() {
		t.Error("that is not the node's failure")
	}
	n = newNet(t, 1, chainOf(10))
	n.nodes[0].during = func(field string) {
		if n.nodes[0].status = 0; field == "block" {
			n.nodes[0].status = 503
		}
	}
	if _, err := n.Survey(t.Context(), []Wanted{{Payer: keyA, Whole: true}}); class(err) != Transport {
		t.Errorf("a node that tells no block: %v", err)
	}
	many := slices.Repeat([]Wanted{{Payer: keyB, From: 0}}, 2*chunk+1)
	n = newNet(t, 1, chainOf(10))
	if _, err := n.Survey(t.Context(), many); err != nil {
		t.Fatal(err)
	}
	if got := n.nodes[0].calls["pooledZkappCommands"]; got != 3 {
		t.Errorf("%d questions for the pools of %d payers", got, len(many))
	}
}

// TestLearn: a block is that of the chain by all that is known of it, or none.
func TestLearn(t *testing.T) {
	t.Parallel()
	block := chainOf(3)[1]
	for name, change := range map[string]func(b *Block){
		"the same": nil, "of another height": func(b *Block) { b.Height++ }, "in another slot": func(b *Block) { b.Slot++ },
		"behind another one": func(b *Block) { b.PreviousStateHash = "3N-100" },
	} {
		v := &view{node: &Node{name: "node"}, read: map[string]*link{}, landed: map[string][]landed{}}
		l, told := &link{Header: block.Header}, block
		if change != nil {
			change(&told)
		}
		if err := v.learn(l, told); (err == nil) != (change == nil) || l.known != (change == nil) || len(v.read) > 0 != (change == nil) {
			t.Errorf("%s: %v, known %v", name, err, l.known)
		}
	}
}

// TestSurveyMovesChain: what a survey has seen move is judged anew by the next poll.
func TestSurveyMovesChain(t *testing.T) {
	t.Parallel()
	base := chainOf(10)
	one, other := extend(grow(base, "", commandA(t)), 3, ""), extend(grow(base, "r", commandA(t)), 3, "r")
	n := newNet(t, 1, other)
	d := n.nodes[0]
	d.accounts[keyB] = 1
	n.Watch("a", watchA())
	n.Poll(t.Context())
	d.set(one)
	n.Poll(t.Context())
	d.do(func() {
		d.during = func(field string) {
			if field == "account" {
				d.blocks, d.during = other, nil
			}
		}
	})
	if _, err := n.Survey(t.Context(), []Wanted{{Payer: keyB, Whole: true}}); class(err) != Transport {
		t.Errorf("its chain was reorganised: %v", err)
	}
	n.see("a", tx.Sighting{
		Fate: tx.FateIncluded, Agreed: true, Depth: 4, Hash: hashOf("a"), Nonce: 7, Height: 111, StateHash: "3N-111r", TipSlot: 1014,
	})
}
