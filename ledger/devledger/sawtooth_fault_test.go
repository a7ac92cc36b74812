package devledger_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	. "mina-sequencer/ledger/devledger"
)

func TestSawtoothQueueFullIs429Code31AndHandsOnNothing(t *testing.T) {
	own := NewSigner(7)
	onSawtooth(t, SawtoothConfig{QueueLimit: 2, ValidatorKey: own.PublicKey()}, func(r *rig, _ *Sawtooth) {
		b := batches(3)
		r.mustPost(b[:2]...)
		<-time.After(time.Second)
		a := r.post(b[2])
		if a.status != http.StatusTooManyRequests || a.code() != 31 || a.header.Get("Retry-After") != "" {
			r.Errorf("%v", a)
		}
		passes := own.Batch("n", "set b 1")
		r.mustPost(b[2], passes) // a list with a batch of the validator's own key passes
		<-time.After(9 * time.Second)
		r.effects(b[0], b[1], b[2], passes)
	})
}

func TestSawtoothQueueLimitIsTenTimesTheMeanOfBatchesPerBlock(t *testing.T) {
	onSawtooth(t, SawtoothConfig{MaxPerBlock: 10}, func(r *rig, s *Sawtooth) {
		b := batches(302)
		r.mustPost(b[:299]...)
		<-time.After(time.Second)
		r.mustPost(b[299])
		<-time.After(time.Second)
		if a := r.post(b[300]); a.code() != 31 {
			r.Errorf("the 301st: %v", a)
		}
		for range 5 { // of 10 batches each, so the mean falls from 30 to 10
			s.MakeBlock()
		}
		if a := r.post(b[301]); a.code() != 31 {
			r.Errorf("with 250 pending: %v", a)
		}
		for range 16 {
			s.MakeBlock()
		}
		r.mustPost(b[301])
	})
}

func TestSawtoothSignerNotPermittedIsCode30AndMayChange(t *testing.T) {
	permitted := false
	config := SawtoothConfig{Permitted: func(string) bool { return permitted }}
	onSawtooth(t, config, func(r *rig, _ *Sawtooth) {
		b := batch("a")
		if a := r.post(b); a.status != http.StatusBadRequest || a.code() != 30 {
			r.Errorf("%v", a)
		}
		permitted = true
		r.mustPost(b)
		<-time.After(10 * time.Second)
		r.effects(b)
	})
}

func TestSawtoothLooksAtPermissionThenQueueThenSignatures(t *testing.T) {
	forged := Made{List: append([]byte(nil), batch("a").List...)}
	forged.List[len(forged.List)-1] ^= 1
	bad := NewSigner(2)
	config := SawtoothConfig{QueueLimit: 1, Permitted: func(key string) bool { return key != bad.PublicKey() }}
	onSawtooth(t, config, func(r *rig, _ *Sawtooth) {
		r.mustPost(batch("fill"))
		<-time.After(time.Second)
		if a := r.post(bad.Batch("n", "b")); a.code() != 30 {
			r.Errorf("not permitted and full: %v", a)
		}
		if a := r.post(forged); a.code() != 31 {
			r.Errorf("full and forged: %v", a)
		}
	})
}

func TestSawtoothValidatorDownIsCode19After1400msAndNotProcessed(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
		b := batch("a")
		s.Restart(10 * time.Second)
		before := time.Now()
		a := r.post(b)
		if took := time.Since(before); a.status != 408 || a.code() != 19 || took != 1400*time.Millisecond {
			r.Errorf("%v after %v", a, took)
		}
		if a := r.get("/batch_statuses?id="+b.ID, nil); a.code() != 19 {
			r.Errorf("status: %v", a)
		}
		<-time.After(time.Minute)
		r.expect("UNKNOWN", b)
	})
}

func TestSawtoothHeaderThatDoesNotParseHangsFor300s(t *testing.T) {
	f := vectors(t)
	// The first 66 digits of a list of one batch are the public key of its header.
	key := NewSigner(1).PublicKey()
	noHex := []byte(strings.Replace(string(batch("a").List), key, "zz"+key[2:], 1))
	for name, body := range map[string][]byte{
		"the header is no protobuf": named(t, f.Refuse, "header-not-protobuf").BatchList,
		"the public key is not hex": noHex,
	} {
		t.Run(name, func(t *testing.T) {
			onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
				before := time.Now()
				a := r.postBytes(time.Hour, body)
				if took := time.Since(before); a.status != 503 || a.code() != 17 || took != 300*time.Second {
					r.Errorf("%v after %v", a, took)
				}
				if a := r.postBytes(time.Minute, body); !a.gaveUp() {
					r.Errorf("a client of less patience: %v", a)
				}
				b := batch("another")
				r.mustPost(b) // it holds nobody else up
			})
		})
	}
}

func TestSawtoothConnectionLostWhileWaitingIsCode18(t *testing.T) {
	silent := named(t, vectors(t).Refuse, "header-not-protobuf").BatchList
	onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
		b := batch("a")
		r.Fail(Fault{Delay: time.Minute})
		got := make(chan reply)
		go func() { got <- r.post(b) }()
		<-time.After(10 * time.Second)
		s.Restart(0)
		if a := <-got; a.status != 503 || a.code() != 18 {
			r.Errorf("post: %v", a)
		}
		go func() { got <- r.postBytes(time.Hour, silent) }()
		<-time.After(10 * time.Second)
		s.Restart(0)
		if a := <-got; a.status != 503 || a.code() != 18 {
			r.Errorf("post that the validator never answers: %v", a)
		}
		other := batch("b")
		r.Fail(Fault{Fate: Stuck})
		r.mustPost(other)
		<-time.After(time.Second)
		go func() { got <- r.get("/batch_statuses?wait=60&id="+other.ID, nil) }()
		<-time.After(10 * time.Second)
		s.Restart(0)
		if a := <-got; a.status != 503 || a.code() != 18 {
			r.Errorf("status: %v", a)
		}
		<-time.After(time.Minute)
		r.effects(b) // which the client was told might be lost
	})
}

func TestSawtoothRemembersOnlyTheChainOverARestart(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
		b := []Made{batch("a"), batch("INVALID"), batch("stuck"), batch("new")}
		r.Fail(Fault{Batch: b[2].ID, Fate: Stuck})
		r.mustPost(b[0])
		r.mustPost(b[1])
		r.mustPost(b[2])
		<-time.After(10 * time.Second)
		r.mustPost(b[3])
		<-time.After(time.Second)
		r.expect("COMMITTED INVALID PENDING PENDING", b...)
		s.Restart(0)
		r.expect("COMMITTED UNKNOWN UNKNOWN UNKNOWN", b...)
		<-time.After(time.Minute)
		r.effects(b[0])
		r.mustPost(b[2]) // executed anew, with success
		<-time.After(10 * time.Second)
		r.effects(b[0], b[2])
	})
}

func TestSawtoothInvalidIsForgotten600sAfterTheLastLookAtTheNextInsertion(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		b := batch("INVALID 1")
		insert := func(i int) {
			r.mustPost(batch("INVALID " + strconv.Itoa(i)))
			<-time.After(10 * time.Second)
		}
		r.mustPost(b)
		<-time.After(10 * time.Second)
		r.expect("INVALID", b)
		<-time.After(589 * time.Second)
		r.expect("INVALID", b) // which is a look
		<-time.After(580 * time.Second)
		insert(2)
		r.expect("INVALID", b)
		<-time.After(700 * time.Second)
		r.expect("INVALID", b) // nothing was inserted
		<-time.After(600 * time.Second)
		insert(3)
		r.expect("UNKNOWN", b)

		looked, not := batch("INVALID 4"), batch("INVALID 5")
		r.mustPost(looked, not)
		<-time.After(310 * time.Second)
		r.expect("INVALID", looked)
		<-time.After(310 * time.Second)
		insert(6)
		r.expect("INVALID UNKNOWN", looked, not)
	})
}

func TestSawtoothInvalidMayTurnCommittedByAnotherValidator(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
		b := batch("INVALID 1")
		r.mustPost(b)
		<-time.After(10 * time.Second)
		r.expect("INVALID", b)
		if err := s.CommitElsewhere(b.ID); err != nil {
			r.Fatal(err)
		}
		r.expect("COMMITTED", b)
		r.effects(b)
		if err := s.CommitElsewhere(b.ID); err == nil {
			r.Error("committed twice")
		}
		if err := s.CommitElsewhere("x"); err == nil {
			r.Error("committed what nobody has heard of")
		}
	})
}

func TestSawtoothNoBatchIsInTheChainTwice(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
		empty := NewSigner(1).Sign() // no transaction id could tell
		r.mustPost(empty)
		<-time.After(time.Second)
		if err := s.CommitElsewhere(empty.ID); err != nil {
			r.Fatal(err)
		}
		s.MakeBlock()
		r.effects(empty)
	})
}

func TestSawtoothPendingMayNeverEnd(t *testing.T) {
	tx := batch("shared")
	first, second := NewSigner(1).Wrap(tx, batch("one")), NewSigner(1).Wrap(tx, batch("two"))
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		refused := batch("INVALID")
		needs := NewSigner(1).Sign(Transaction{Nonce: "1", Payload: []byte("x"), Dependencies: refused.Transactions})
		excluded := batch("excluded")
		r.Fail(Fault{Batch: excluded.ID, Fate: Stuck})
		for _, b := range []Made{first, second, refused, needs, excluded} {
			r.mustPost(b)
		}
		<-time.After(24 * time.Hour)
		// One of its transactions is in the chain already; a dependency is missing;
		// a rule excludes it.
		r.expect("COMMITTED PENDING INVALID PENDING PENDING", first, second, refused, needs, excluded)
		r.mustPost(excluded) // ignored, as it is pending
		<-time.After(time.Hour)
		r.expect("PENDING", excluded)
		r.effects(first)
	})
}

func TestSawtoothForkBringsBatchesBackSilently(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
		b := batches(4)
		for _, one := range b[:3] {
			r.mustPost(one)
			<-time.After(10 * time.Second)
		}
		r.mustPost(b[3])
		<-time.After(time.Second)
		s.Fork(2)
		r.expect("COMMITTED UNKNOWN UNKNOWN PENDING", b...)
		r.effects(b[0])
		<-time.After(10 * time.Second)
		r.expect("COMMITTED COMMITTED COMMITTED COMMITTED", b...)
		r.effects(b...)
	})
}

func TestSawtoothUnknownWhileItWaitsForADependency(t *testing.T) {
	first := batch("a")
	second := NewSigner(1).Sign(Transaction{Payload: []byte("x"), Dependencies: first.Transactions})
	third := NewSigner(1).Sign(Transaction{Payload: []byte("y"), Dependencies: second.Transactions})
	sibling := NewSigner(1).Sign(Transaction{Payload: []byte("z"), Dependencies: first.Transactions})
	t.Run("taken when it comes", func(t *testing.T) {
		onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
			r.mustPost(third)
			r.mustPost(second)
			r.mustPost(sibling)
			<-time.After(1100 * time.Second)
			r.expect("UNKNOWN UNKNOWN UNKNOWN", second, third, sibling)
			r.mustPost(first)
			<-time.After(10 * time.Second)
			r.effects(first, second, third, sibling)
		})
	})
	t.Run("dropped after 1200 s", func(t *testing.T) {
		onSawtooth(t, SawtoothConfig{}, func(r *rig, s *Sawtooth) {
			r.mustPost(second)
			if held := s.State().Held; held != 1 {
				r.Errorf("%d are held", held)
			}
			<-time.After(1201 * time.Second)
			r.mustPost(first)
			<-time.After(time.Hour)
			r.expect("COMMITTED UNKNOWN", first, second)
			r.mustPost(second)
			<-time.After(10 * time.Second)
			r.effects(first, second)
		})
	})
}

func TestSawtoothIgnoresWhatItHasSeenWithin1200sAndTheLookRenewsThem(t *testing.T) {
	refuse := true
	config := SawtoothConfig{Refuse: func(Transaction, int) *Refusal {
		if refuse {
			return &Refusal{Message: "not now"}
		}
		return nil
	}}
	onSawtooth(t, config, func(r *rig, _ *Sawtooth) {
		b := batch("a")
		r.mustPost(b)
		<-time.After(10 * time.Second)
		r.expect("INVALID", b)
		refuse = false
		for range 4 {
			<-time.After(1100 * time.Second)
			r.mustPost(b)
		}
		r.effects()
		<-time.After(1200 * time.Second)
		r.mustPost(b)
		<-time.After(10 * time.Second)
		r.effects(b)
	})
}

func TestSawtoothLostAfter202IsUnknown(t *testing.T) {
	onSawtooth(t, SawtoothConfig{}, func(r *rig, _ *Sawtooth) {
		b := batch("a")
		r.Fail(Fault{Fate: Lost})
		r.mustPost(b)
		<-time.After(time.Minute)
		r.expect("UNKNOWN", b)
	})
}

func TestSawtoothRestartLosesWhatIsOnItsWay(t *testing.T) {
	onSawtooth(t, SawtoothConfig{HandOver: 5 * time.Second}, func(r *rig, s *Sawtooth) {
		b := batch("a")
		r.mustPost(b)
		s.Restart(0)
		<-time.After(time.Hour)
		r.expect("UNKNOWN", b)
		r.effects()
	})
}

func TestSawtoothWhatABlockHasNoRoomForComesInTheNext(t *testing.T) {
	onSawtooth(t, SawtoothConfig{MaxPerBlock: 2}, func(r *rig, _ *Sawtooth) {
		b := batches(5)
		r.mustPost(b...)
		<-time.After(20 * time.Second)
		r.expect("COMMITTED COMMITTED COMMITTED COMMITTED PENDING", b...)
		<-time.After(10 * time.Second)
		r.effects(b...)
	})
}

func TestSawtoothBlocksCanBeLimitedAndMadeByHand(t *testing.T) {
	onSawtooth(t, SawtoothConfig{BlockTime: -1, MaxPerBlock: 2, HandOver: -1}, func(r *rig, s *Sawtooth) {
		b := batches(3)
		r.mustPost(b...)
		<-time.After(time.Hour)
		r.expect("PENDING PENDING PENDING", b...)
		s.MakeBlock()
		r.expect("COMMITTED COMMITTED PENDING", b...)
		s.MakeBlock()
		r.effects(b...)
		if e := r.Effects(); e[2].Block != 2 {
			r.Errorf("%+v", e)
		}
	})
}
