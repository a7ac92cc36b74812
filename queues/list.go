package queues

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"mina-sequencer/sequencer/tx"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Filter chooses transactions; empty fields choose all.
type Filter struct {
	Queue, Type, Sender string
	State               tx.State
	Error               string // the code that they ended with, or last failed with
	Hash                string // of one of their attempts
	// ZkApp is an account that one of their attempts touches; without a token, one of any token.
	ZkApp tx.Account
	// Since and Until bound when they were received: from Since on, before Until.
	Since, Until time.Time
	Newest       bool // the newest first
	// Within leaves out what is in other queues. It is not part of a cursor.
	Within Prefixes
}

func (f Filter) admits(t *tx.Transaction) bool {
	return f.Within.Admit(t.Queue) && (f.Queue == "" || f.Queue == t.Queue) && (f.Type == "" || f.Type == t.Type) &&
		(f.Sender == "" || f.Sender == t.Sender) && (f.State == "" || f.State == t.State()) &&
		(f.Error == "" || t.Error != nil && t.Error.Code == f.Error) && (f.Hash == "" || f.made(t)) &&
		(f.ZkApp.Key == "" || slices.ContainsFunc(t.Attempts, f.touched)) &&
		!t.ReceivedAt.Before(f.Since) && (f.Until.IsZero() || t.ReceivedAt.Before(f.Until))
}

// made reports whether an attempt of t has the hash that f wants, or its batch that id.
func (f Filter) made(t *tx.Transaction) bool {
	return t.BatchID == f.Hash || slices.ContainsFunc(t.Attempts, func(a tx.Attempt) bool { return a.Is(f.Hash) })
}

// touched reports whether an attempt touches the account that f wants.
func (f Filter) touched(a tx.Attempt) bool {
	return slices.ContainsFunc(a.Touched, func(o tx.Account) bool {
		return o.Key == f.ZkApp.Key && (f.ZkApp.Token == "" || f.ZkApp.Token == o.Token)
	})
}

// clockSlack is how far the times of receipt may lie from the order of
// acceptance: they are those of a Redis, and another one may have taken over.
const clockSlack = time.Minute

// past reports whether t lies so far behind the times that f admits, on the way
// that f goes, that nothing behind it can be within them.
func (f Filter) past(t *tx.Transaction) bool {
	if f.Newest {
		return t.ReceivedAt.Before(f.Since.Add(-clockSlack))
	}
	return !f.Until.IsZero() && t.ReceivedAt.After(f.Until.Add(clockSlack))
}

// ErrBadCursor: the cursor is not one of this list.
var ErrBadCursor = errors.New("the cursor does not belong to this list")

const (
	// maxLooked is how many entries one listing looks at.
	maxLooked = 10_000
	listStep  = 100
	pageBytes = 8 << 20 // of payloads in a page, about
	pageSize  = 512     // as in enqueue.lua
	behindAll = 1 << 53 // more than any sequence
)

// List returns transactions in order of acceptance, or in the other direction if
// f says so, at most limit of them, and the cursor of the next page, "" if there is none.
// It looks at no more than 10,000 entries and ends a page with what brings its payloads
// over 8 MiB, so a page may be short and still have a next one.
// Errors: ErrBadCursor, ErrUnavailable.
func (s *Store) List(ctx context.Context, f Filter, limit int,
	cursor string) ([]*tx.Transaction, string, error) {
	after, err := openCursor(cursor, f)
	if err != nil {
		return nil, "", err
	}
	next := s.source(f)
	var page []*tx.Transaction
	bytes := 0
	// Where everything is admitted, what is read is what is asked for.
	step := min(limit, listStep)
	for looked := 0; looked < maxLooked; step = min(2*step, listStep) {
		entries, last, n, err := next(ctx, after, min(step, maxLooked-looked))
		if err != nil {
			return nil, "", err
		}
		if n == 0 {
			return page, "", nil
		}
		looked += n
		uids := make([]string, len(entries))
		for i, e := range entries {
			uids[i] = e.uid
		}
		for len(uids) > 0 {
			ts, n, err := s.getSome(ctx, uids)
			if err != nil {
				return nil, "", err
			}
			uids = uids[n:]
			for _, t := range ts {
				if f.past(t) {
					return page, "", nil
				}
				if !f.admits(t) {
					continue
				}
				page, bytes = append(page, t), bytes+len(t.Data)
				if len(page) == limit || bytes >= pageBytes {
					return page, sealCursor(t.Sequence, f), nil
				}
			}
		}
		after = last
	}
	return page, sealCursor(after, f), nil
}

type entry struct {
	uid      string
	sequence int64
}

// A walk returns the entries behind a sequence, or before it where it goes back,
// the sequence up to which it has looked, and how many entries it looked at; none
// at the end.
type walk func(ctx context.Context, after int64, most int) (entries []entry, last int64, looked int, err error)

// source chooses the shortest index that has all that f admits.
func (s *Store) source(f Filter) walk {
	switch {
	case f.Queue != "":
		return s.walkQueue(f.Queue, f.Newest)
	case f.State != "" && f.State != tx.Waiting:
		return s.walkSet(s.key(stateIndex(f.State)), f.Newest)
	case f.Newest:
		return s.walkPagesBack
	}
	return s.walkPages
}

// stateIndex names the index with all transactions of a state; "" for those that
// wait, which are in none. Those bound share one: they are as many as there are
// senders at most, and change their state often.
func stateIndex(state tx.State) string {
	switch state {
	case tx.Waiting:
		return ""
	case tx.Dispatching, tx.Revision, tx.Retry:
		return "bound"
	}
	return "st:" + string(state)
}

func (s *Store) walkSet(key string, back bool) walk {
	return func(ctx context.Context, after int64, most int) ([]entry, int64, int, error) {
		var zs []redis.Z
		var err error
		if bound := "(" + strconv.FormatInt(after, 10); back {
			zs, err = s.client.ZRevRangeByScoreWithScores(ctx, key,
				&redis.ZRangeBy{Min: "-inf", Max: bound, Count: int64(most)}).Result()
		} else {
			zs, err = s.client.ZRangeByScoreWithScores(ctx, key,
				&redis.ZRangeBy{Min: bound, Max: "+inf", Count: int64(most)}).Result()
		}
		if err != nil {
			return nil, 0, 0, storeError("listing", err)
		}
		entries := make([]entry, len(zs))
		for i, z := range zs {
			uid, _ := z.Member.(string)
			entries[i] = entry{uid, int64(z.Score)}
			after = int64(z.Score)
		}
		return entries, after, len(zs), nil
	}
}

// Which of a line are read; "" is all.
const (
	unchanged = "unchanged" // since they were posted
	waiting   = "waiting"   // that wait, or cannot be read
)

func (s *Store) walkLine(ctx context.Context, list string, after int64, most int,
	which string, back bool) ([]entry, int64, int, error) {
	v, err := s.Run(ctx, lineScript, list, after, most, which, back)
	if err != nil {
		return nil, 0, 0, err
	}
	r := reply{name: "line"}
	l := r.list(v)
	var entries []entry
	for i := 2; i+1 < len(l); i += 2 {
		entries = append(entries, entry{r.string(l[i]), r.int(l[i+1])})
	}
	looked := int(r.int(r.at(l, 0)))
	if looked > 0 {
		after = r.int(r.at(l, 1))
	}
	return entries, after, looked, r.err
}

// walkQueue merges those that wait since they were posted with all others.
func (s *Store) walkQueue(queue string, back bool) walk {
	past := s.walkSet(s.key("past:"+queue), back)
	nearer, farther := func(a, b int64) int64 { return min(a, b) }, func(a, b int64) int64 { return max(a, b) }
	if back {
		nearer, farther = farther, nearer
	}
	return func(ctx context.Context, after int64, most int) ([]entry, int64, int, error) {
		// The line first: what leaves it meanwhile is found among the past.
		line, lineLast, looked, err := s.walkLine(ctx, "line:"+queue, after, most, unchanged, back)
		if err != nil {
			return nil, 0, 0, err
		}
		gone, goneLast, n, err := past(ctx, after, most)
		if err != nil {
			return nil, 0, 0, err
		}
		// What lies behind the end of the shorter look is left to the next step.
		last := farther(goneLast, lineLast)
		if n == most {
			last = nearer(last, goneLast)
		}
		if looked == most {
			last = nearer(last, lineLast)
		}
		both := slices.DeleteFunc(append(gone, line...), func(e entry) bool { return farther(e.sequence, last) != last })
		slices.SortFunc(both, func(a, b entry) int {
			if back {
				a, b = b, a
			}
			return cmp.Compare(a.sequence, b.sequence)
		})
		return slices.Compact(both), last, n + looked, nil
	}
}

func (s *Store) walkPages(ctx context.Context, after int64, most int) ([]entry, int64, int, error) {
	for number := (after + 1) / pageSize; ; number++ {
		pages, err := s.client.ZRangeByScore(ctx, s.key("pages"), &redis.ZRangeBy{
			Min: strconv.FormatInt(number, 10), Max: "+inf", Count: 1,
		}).Result()
		if err != nil {
			return nil, 0, 0, storeError("listing", err)
		}
		if len(pages) == 0 {
			return nil, after, 0, nil
		}
		if number, err = strconv.ParseInt(pages[0], 10, 64); err != nil {
			return nil, 0, 0, fmt.Errorf("page %q: %w", pages[0], err)
		}
		entries, last, n, err := s.walkLine(ctx, "page:"+pages[0], after, most, "", false)
		if n > 0 || err != nil {
			return entries, last, n, err
		}
	}
}

func (s *Store) walkPagesBack(ctx context.Context, before int64, most int) ([]entry, int64, int, error) {
	for number := (before - 1) / pageSize; number >= 0; number-- {
		pages, err := s.client.ZRevRangeByScore(ctx, s.key("pages"), &redis.ZRangeBy{
			Min: "-inf", Max: strconv.FormatInt(number, 10), Count: 1,
		}).Result()
		if err != nil {
			return nil, 0, 0, storeError("listing", err)
		}
		if len(pages) == 0 {
			break
		}
		if number, err = strconv.ParseInt(pages[0], 10, 64); err != nil {
			return nil, 0, 0, fmt.Errorf("page %q: %w", pages[0], err)
		}
		entries, last, n, err := s.walkLine(ctx, "page:"+pages[0], before, most, "", true)
		if n > 0 || err != nil {
			return entries, last, n, err
		}
	}
	return nil, before, 0, nil
}

func sealCursor(after int64, f Filter) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %x", after, f.sum()))
}

func openCursor(cursor string, f Filter) (after int64, err error) {
	if cursor == "" {
		if f.Newest {
			return behindAll, nil
		}
		return 0, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, ErrBadCursor
	}
	number, sum, _ := strings.Cut(string(b), " ")
	after, err = strconv.ParseInt(number, 10, 64)
	if err != nil || after < 0 || sum != fmt.Sprintf("%x", f.sum()) {
		return 0, ErrBadCursor
	}
	return after, nil
}

func (f Filter) sum() uint32 {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%q %q %q %q %q %q %q %d %d %t",
		f.Queue, f.Type, f.Sender, f.State, f.Error, f.Hash, f.ZkApp, millis(f.Since), millis(f.Until), f.Newest)
	return h.Sum32()
}
