package queues

import (
	"mina-sequencer/sequencer/lifecycle"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryMeetsRedis: what this process has stored is let go of when it is old, but
// not before the Redis of now has it.
func TestMemoryMeetsRedis(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m memory
		m.tidy("P", "before", true)
		m.keep(&lifecycle.Transaction{UID: "a", Revision: 3, Phase: lifecycle.PhaseDone}, nil)
		<-time.After(2 * memoryLife)
		m.tidy("P", "after", true)
		if len(m.all()) != 1 {
			t.Error("forgotten before it could be written back")
		}
		m.writtenBack("after")
		m.tidy("P", "after", true)
		if len(m.all()) != 0 {
			t.Error("remembered for ever")
		}
	})
}
