package sequencer

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestCrew: goroutines that have ended are used again, so many stay and no more, and all
// end with the crew: a bubble that one outlives fails.
func TestCrew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c crew
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
