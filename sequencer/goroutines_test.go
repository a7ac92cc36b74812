package sequencer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// TestGoroutines: goroutines that have ended are used again, so many stay and no more, and all
// end with the process: a bubble that one outlives fails.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c goroutines
		c.open(t.Context())
		work := func(n int) {
			t.Helper()
			end := make(chan struct{})
			for range n {
				if !c.Go(func(context.Context) { <-end }) {
					t.Fatal("no work is done")
				}
			}
			if len(c.spare) != max(0, mostSpare-n) && n <= mostSpare || c.running != n {
				t.Errorf("of %d goroutines %d wait while %d run", n, len(c.spare), c.running)
			}
			close(end)
			synctest.Wait()
			if len(c.spare) != mostSpare || c.running != 0 {
				t.Errorf("%d goroutines wait for work, and %d run", len(c.spare), c.running)
			}
		}
		work(mostSpare + 10)
		work(mostSpare - 10)
		end, more := make(chan struct{}), false
		c.Go(func(context.Context) {
			<-end
			more = c.Go(func(context.Context) {}) // who runs may begin more
		})
		idle := c.close()
		close(end)
		<-idle
		if !more || c.Go(func(context.Context) {}) {
			t.Error("work does not end with what runs")
		}
	})
}

// BenchmarkGoroutines is what work costs on a goroutine that is kept, beside a new one by a
// sync.WaitGroup, by how deep its stack gets.
func BenchmarkGoroutines(b *testing.B) {
	for _, kib := range []int{1, 4, 8, 16, 32} {
		work := func(context.Context) { deep(kib) }
		b.Run(fmt.Sprintf("kept/%dKiB", kib), func(b *testing.B) {
			var c goroutines
			c.open(b.Context())
			var end sync.WaitGroup
			for b.Loop() {
				end.Add(1)
				c.Go(func(ctx context.Context) { defer end.Done(); work(ctx) })
				end.Wait()
			}
			<-c.close()
		})
		b.Run(fmt.Sprintf("new/%dKiB", kib), func(b *testing.B) {
			var all sync.WaitGroup
			for b.Loop() {
				all.Go(func() { work(b.Context()) })
				all.Wait()
			}
		})
	}
}

// deep takes so many KiB of stack.
//
//go:noinline
func deep(kib int) byte {
	var some [1000]byte
	if kib > 1 {
		some[kib] = deep(kib - 1)
	}
	return some[kib/2]
}
