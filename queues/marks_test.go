package queues

import (
	"fmt"
	"testing"
)

// TestMarks: a heartbeat to the Redis that is known leaves, of what was marked before it, the
// last of each kind; one to another leaves all. What cannot be kept is told.
func TestMarks(t *testing.T) {
	t.Parallel()
	var m marks
	accepted := func(from, to int64) {
		for n := from; n <= to; n++ {
			m.accept(fmt.Sprint("t", n), n)
		}
	}
	has := func(what string, want string, whole bool) {
		t.Helper()
		list, all := m.all()
		got := ""
		for _, one := range list {
			if got += one.uid; one.uid == "" {
				got += fmt.Sprint("e", one.shown.Number)
			}
		}
		if got != want || all != whole {
			t.Errorf("%s: %s, whole %t; want %s, %t", what, got, all, want, whole)
		}
	}
	accepted(1, 2)
	m.show(Event{Number: 7})
	m.show(Event{Number: 8})
	m.show(Event{Number: 5})
	m.accept("older", 1)
	before := m.place()
	accepted(3, 3)
	has("all", "t1t2e7e8t3", true)
	m.sure("A", before)
	has("after a heartbeat", "t2e8t3", true)
	m.sure("B", m.place())
	has("after one to another Redis", "t2e8t3", true)
	m.found("B")
	m.sure("B", m.place())
	has("when all was found there", "e8t3", true)

	accepted(4, mostMarks+10)
	if list, whole := m.all(); whole || len(list) != mostMarks {
		t.Errorf("%d are kept, whole %t", len(list), whole)
	}
	before = m.place() - 1
	m.sure("B", before)
	if _, whole := m.all(); whole {
		t.Error("what was left out was marked behind the heartbeat")
	}
	m.sure("B", m.place())
	if _, whole := m.all(); !whole {
		t.Error("what was left out lies before the heartbeat")
	}
	m.restart("C")
	has("at its beginning", "", true)
	accepted(1, 1)
	m.sure("C", m.place())
	has("after that", "t1", true)
}
