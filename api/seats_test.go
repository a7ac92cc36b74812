package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSeats: what is free anybody may have; who wants some where there are none gets as many as
// another less one, at once with push and after some patience without; the line goes by who has
// the fewest.
func TestSeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newSeats(4, 0)
		asked := 0
		own := make([]*seat, 4)
		for i := range own {
			if own[i] = p.take("a", true); own[i] == nil {
				t.Fatal("what is free is not given")
			}
		}
		if p.take("b", true) != nil {
			t.Error("one is taken that cannot be")
		}
		for _, s := range own {
			s.lend(func() { asked++ })
		}
		if p.take("a", true) != nil || p.take("b", false) != nil {
			t.Error("more than there are")
		}
		first, second := p.take("b", true), p.take("b", true)
		if first == nil || second == nil || asked != 2 || !own[3].lost() || !own[2].lost() || own[1].lost() {
			t.Errorf("%d of the last of a were asked to go", asked)
		}
		if p.take("b", true) != nil || p.take("c", true) == nil || p.take("c", true) != nil {
			t.Error("not each has its share")
		}
		own[3].release() // it has gone as it was asked: nothing is free
		if p.take("d", false) != nil {
			t.Error("a seat was given twice")
		}
		got := make(chan string, 2)
		for _, name := range []string{"b", "d"} {
			go func() {
				if p.await(t.Context(), name, time.Hour) != nil {
					got <- name
				}
			}()
			synctest.Wait()
		}
		own[2].release() // which was taken, too
		synctest.Wait()
		if len(got) > 0 || len(p.line) != 2 {
			t.Error("who waits was given what is not free")
		}
		second.release()
		if name := <-got; name != "d" {
			t.Errorf("the turn is of %s, which has one", name)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if p.await(ctx, "e", time.Minute) != nil || len(p.line) != 1 {
			t.Error("who has left the line is in it")
		}
		first.release()
		if name := <-got; name != "b" {
			t.Errorf("the turn is of %s", name)
		}
		few := newSeats(3, 0)
		for _, name := range []string{"a", "a", "b"} {
			few.take(name, false).lend(func() {})
		}
		if few.take("b", true) != nil {
			t.Error("one is taken from who would have fewer then")
		}
	})
}
