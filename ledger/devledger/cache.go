package devledger

import (
	"container/list"
	"time"
)

// A cache forgets what nobody has looked at for a while, and what is too much.
type cache[V any] struct {
	keep  time.Duration // since the last look; 0: for ever
	most  int           // entries; 0: no limit
	byID  map[string]*list.Element
	order *list.List // looked at longest ago first
}

type cached[V any] struct {
	id    string
	value V
	at    time.Time // of the last look
}

func newCache[V any](keep time.Duration, most int) *cache[V] {
	return &cache[V]{keep: keep, most: most, byID: map[string]*list.Element{}, order: list.New()}
}

// look finds an entry, also one that is due to be forgotten, and renews it.
func (c *cache[V]) look(id string, now time.Time) (value V, ok bool) {
	e := c.byID[id]
	if e == nil {
		return value, false
	}
	entry := e.Value.(*cached[V])
	entry.at = now
	c.order.MoveToBack(e)
	return entry.value, true
}

// put adds or replaces an entry.
func (c *cache[V]) put(id string, value V, now time.Time) {
	c.drop(id)
	c.byID[id] = c.order.PushBack(&cached[V]{id, value, now})
	if c.most > 0 && c.order.Len() > c.most {
		c.drop(c.order.Front().Value.(*cached[V]).id)
	}
}

func (c *cache[V]) drop(id string) {
	if e := c.byID[id]; e != nil {
		c.order.Remove(e)
		delete(c.byID, id)
	}
}

// purge forgets what is due.
func (c *cache[V]) purge(now time.Time) {
	for e := c.order.Front(); e != nil && c.keep > 0; e = c.order.Front() {
		entry := e.Value.(*cached[V])
		if now.Sub(entry.at) < c.keep {
			return
		}
		c.drop(entry.id)
	}
}
