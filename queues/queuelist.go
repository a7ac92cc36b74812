package queues

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/sequencer/tx"
)

// A QueueFilter chooses queues, and says in which order; its zero value is all of them, by name.
type QueueFilter struct {
	Prefix string   // of their names
	Within Prefixes // which limit them further; they are no part of a cursor
	// State chooses by what they do. Those with a sender come in the order in which what runs was
	// accepted, whatever else is asked for.
	State tx.QueueState
	// Paused chooses those that are paused. They come by name.
	Paused bool
	// Active chooses those in which something waits or runs, in the order in which the cycle takes
	// them: those that run were taken before, then by how long they have been ready, and those that
	// cannot be bound now by when they were last looked at. Where several post, their turns come
	// between; see Store.Ahead.
	Active bool
	// Oldest chooses the same, by the sequence of the first that is not over. While a queue waits for a
	// callback it has the place that it had before.
	Oldest bool
}

// index names the shortest one that has all that f admits, in the order that is promised.
func (f *QueueFilter) index() string {
	switch {
	case f.State != "" && f.State != tx.QueueFree:
		return "bound"
	case f.Paused:
		return "paused"
	case f.Oldest:
		return "oldest"
	case f.Active:
		return "active"
	}
	return "queues"
}

func (f *QueueFilter) admits(q *Queue) bool {
	active := len(q.InFlight) > 0 || q.Counts[tx.Waiting] > 0
	return strings.HasPrefix(q.Name, f.Prefix) && f.Within.Admit(q.Name) && (f.State == "" || f.State == q.State()) &&
		(!f.Paused || q.Paused != "") && (active || !f.Active && !f.Oldest)
}

// ListQueues returns the queues that f chooses, at most limit, and the cursor of the next page, ""
// if there is none. Its cost follows what the index has that it reads: those with a sender, the
// paused, or the active ones; all of them only where f asks for all, or for FREE alone. It looks at no
// more than 10,000, so a page may be short and still have a next one. What changes its place
// meanwhile may be missed, or come twice. Errors: ErrBadCursor, ErrUnavailable.
func (s *Store) ListQueues(ctx context.Context, f QueueFilter, limit int, cursor string) ([]*Queue, string, error) {
	index := f.index()
	at, err := openPlace(index, cursor)
	if err != nil || !strings.HasPrefix(at.name, f.Prefix) && index == "queues" && cursor != "" {
		return nil, "", ErrBadCursor
	}
	var page []*Queue
	// Where everything is admitted, what is read is what is asked for.
	for looked, step := 0, limit; looked < maxLooked && len(page) < limit; step = max(step, listStep) {
		places, err := s.walkQueues(ctx, index, f, at, min(step, maxLooked-looked))
		if err != nil {
			return nil, "", err
		}
		if len(places) == 0 {
			return page, "", s.FindOldest(ctx, page...)
		}
		looked += len(places)
		qs, err := s.Named(ctx, namesOf(places))
		if err != nil {
			return nil, "", err
		}
		for _, at = range places {
			i := slices.IndexFunc(qs, func(q *Queue) bool { return q.Name == at.name })
			if i < 0 || at.uid != "" && at.uid != qs[i].Running || !f.admits(qs[i]) {
				continue // it is gone, or stands there by another one
			}
			if page = append(page, qs[i]); len(page) == limit {
				break
			}
		}
	}
	return page, at.seal(index), s.FindOldest(ctx, page...)
}

// A queuePlace is where a queue stands in an index; uid is what it stands there by, where that is one.
type queuePlace struct {
	score     int64
	name, uid string
}

func namesOf(places []queuePlace) []string {
	names := make([]string, 0, len(places))
	for _, p := range places {
		if !slices.Contains(names, p.name) { // several of one run
			names = append(names, p.name)
		}
	}
	return names
}

// seal is the cursor behind a place: of what is by name the name alone.
func (p queuePlace) seal(index string) string {
	if index == "queues" || index == "paused" {
		return p.name
	}
	return fmt.Sprintf("%s:%d:%s", index, p.score, p.name)
}

func openPlace(index, cursor string) (p queuePlace, err error) {
	p.score = -1
	if cursor == "" {
		return p, nil
	}
	p.name = cursor
	if index != "queues" && index != "paused" {
		words := strings.SplitN(cursor, ":", 3)
		if len(words) != 3 || words[0] != index {
			return p, ErrBadCursor
		}
		if p.score, err = strconv.ParseInt(words[1], 10, 64); err != nil || p.score < 0 {
			return p, ErrBadCursor
		}
		p.name = words[2]
	}
	if !ValidName(p.name) {
		return p, ErrBadCursor
	}
	return p, nil
}

// walkQueues returns what stands in an index behind a place; nothing at its end.
func (s *Store) walkQueues(ctx context.Context, index string, f QueueFilter, at queuePlace,
	most int) ([]queuePlace, error) {
	var places []queuePlace
	switch index {
	case "queues", "paused":
		names, _, err := s.queueNames(ctx, index, f.Prefix, f.Within, most, at.name)
		for _, name := range names {
			places = append(places, queuePlace{name: name})
		}
		return places, err
	case "bound":
		v, err := s.Run(ctx, boundScript, at.score, most)
		if err != nil {
			return nil, err
		}
		r := reply{name: "bound"}
		l := r.list(v)
		for i := 0; i < len(l); i += 3 {
			places = append(places, queuePlace{r.int(r.at(l, i+1)), r.string(r.at(l, i+2)), r.string(l[i])})
		}
		return places, r.err
	}
	// Queues of one score stand by name. No sequence comes near to a turn, in microseconds since 1970.
	const turns = "100000000000000"
	part := &redis.ZRangeBy{Min: strconv.FormatInt(at.score, 10), Max: "(" + turns, Count: int64(most) + 1}
	if index == "active" {
		part.Max = "+inf"
		if at.score < 0 {
			part.Min = turns
		}
	}
	zs, err := s.client.ZRangeByScoreWithScores(ctx, s.key("active"), part).Result()
	if err != nil {
		return nil, storeError("listing queues", err)
	}
	for _, z := range zs {
		name, _ := z.Member.(string)
		name = strings.TrimPrefix(name, "#")
		if p := (queuePlace{score: int64(z.Score), name: name}); p.score > at.score || p.name > at.name {
			places = append(places, p)
		}
	}
	return places[:min(len(places), most)], nil
}

// Relist has all queues stand in the lists of QueueFilter once, for a namespace that was begun by a
// build which did not keep them. Where that is done already it costs one command.
// Error: ErrUnavailable.
func (s *Store) Relist(ctx context.Context) error {
	done, err := s.client.Exists(ctx, s.key("is:listed")).Result()
	if err != nil {
		return storeError("listing queues", err)
	}
	if done > 0 {
		return nil
	}
	for cursor := ""; ; {
		names, next, err := s.queueNames(ctx, "queues", "", nil, listStep, cursor)
		if err == nil && len(names) > 0 {
			args := make([]any, len(names))
			for i, name := range names {
				args[i] = name
			}
			_, err = s.Run(ctx, relistScript, args...)
		}
		if err != nil {
			return err
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	_, err = s.Remember(ctx, "listed", "1")
	return err
}
