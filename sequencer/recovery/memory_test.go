package recovery

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/sequencer/lifecycle"
	"mina-sequencer/sequencer/tx"
)

// TestMemory: what is out is remembered, with its bytes, over a record that Redis has
// forgotten to have changed, and for a while after another process has it.
func TestMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := memory{txns: map[string]remembered{}}
		plan := &tx.Transaction{UID: "a", Revision: 3, Phase: tx.PhaseDispatching}
		out := plan.Clone()
		out.Revision, out.Attempts = 4, []tx.Attempt{{Number: 1, Sender: "S", State: tx.Signed}}
		bytes := &lifecycle.BytesRead{Number: 1, Command: []byte("signed")}
		m.Stored(plan, nil)
		m.Stored(out, bytes)
		m.Stored(plan, nil) // read again
		if all := m.all(); len(all) != 1 || all[0].out != out || all[0].last != out || all[0].bytes != bytes {
			t.Errorf("remembered: %+v", all)
		}
		over := out.Clone()
		over.Attempts[0].State, over.Attempts[0].EndedAt = tx.FailedIn, time.Now()
		m.Stored(over, nil)
		if all := m.all(); len(all) != 1 || all[0].out != nil || all[0].bytes != nil || m.size != 0 {
			t.Errorf("remembered: %+v, %d bytes", all, m.size)
		}
		m.Stored(out, &lifecycle.BytesRead{Number: 1, Command: make([]byte, maxRemembered+1)})
		if all := m.all(); all[0].bytes != nil {
			t.Error("more bytes are kept than may be")
		}
		m.Stored(out, bytes)
		elsewhere := out.Clone()
		elsewhere.Revision, elsewhere.Attempts[0].Sender = 5, "R"
		m.Stored(elsewhere, nil)
		if all := m.all(); all[0].out != elsewhere || all[0].bytes != nil || m.size != 0 {
			t.Errorf("remembered with what another has made: %+v, %d bytes", all, m.size)
		}
		m.Left("a")
		<-time.After(memoryLife)
		m.tidy()
		if len(m.all()) != 1 {
			t.Error("forgotten too early")
		}
		<-time.After(1)
		m.tidy()
		if len(m.all()) != 0 {
			t.Error("remembered for ever")
		}
	})
}

// TestMemoryTidiesInSteps: nobody waits under the lock for more than some, what is driven
// here is not looked at, and what was claimed again stays.
func TestMemoryTidiesInSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := memory{txns: map[string]remembered{}}
		stored := func(i int) {
			m.Stored(&tx.Transaction{UID: fmt.Sprint(i), Revision: 1, Phase: tx.PhaseDispatching}, nil)
		}
		for i := range 3 * tidied {
			stored(i)
			if i > 0 {
				m.Left(fmt.Sprint(i))
			}
		}
		stored(1)
		if m.tidySome(tidied) {
			t.Error("what is not due is tidied")
		}
		<-time.After(memoryLife / 2)
		stored(2)
		m.Left("2")
		<-time.After(memoryLife/2 + 1)
		if more := m.tidySome(tidied); !more || len(m.txns) != 2*tidied+2 {
			t.Errorf("after a step: more is %t, %d are remembered", more, len(m.txns))
		}
		m.tidy()
		if len(m.txns) != 3 || len(m.gone) != 1 {
			t.Errorf("%d are remembered, %d of them left", len(m.txns), len(m.gone))
		}
		<-time.After(memoryLife)
		m.tidy()
		if len(m.txns) != 2 || m.gone != nil {
			t.Errorf("%d are remembered in the end, %v", len(m.txns), m.gone)
		}
	})
}
