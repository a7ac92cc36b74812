package queues

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Stop is what a person has said of all queues whose names begin with Prefix, for those that come
// to be while it holds: of several that fit a queue it is the last.
type Stop struct {
	Prefix string
	Reason string    // why they are paused, "" if they run in spite of another one
	Since  time.Time // when it was said first
	Until  time.Time // when the pause ends, zero if it does not
	By     string    // whose word it was, "" for nobody in particular
}

// MostStops is how many are kept.
const MostStops = 64

// ErrTooManyStops: it would be more than MostStops, and nothing was changed.
var ErrTooManyStops = errors.New("too many beginnings of queues have a pause of their own")

// Stop has queues that come to be within some be paused, until a time if that is not zero, or with
// "" for a reason lets them run. Those that there are stay as they are; what was said of a part of
// within is over. Nothing within is nobody. Errors: ErrTooManyStops, ErrUnavailable.
func (s *Store) Stop(ctx context.Context, within Prefixes, reason string, until time.Time) error {
	till := ""
	if !until.IsZero() {
		till = strconv.FormatInt(millis(until), 10)
	}
	args := []any{strings.ReplaceAll(reason, "\n", " "), till, Actor(ctx), MostStops}
	for _, begin := range within {
		args = append(args, begin)
	}
	v, err := s.Run(ctx, stopScript, args...)
	if err != nil {
		return err
	}
	r := reply{name: "stop"}
	switch verdict := r.string(v); {
	case verdict == "many":
		return ErrTooManyStops
	case r.err == nil && verdict != "ok":
		r.fail("a verdict", verdict)
	}
	return r.err
}

var stopLine = regexp.MustCompile(`(?m)^(\d+) (\d*) (\S+) (\S*) (.*)$`)

// stops reads what is stored of them.
func (r *reply) stops(text string) (all []Stop) {
	for _, w := range stopLine.FindAllStringSubmatch(text, -1) {
		since, until := fromMillis(r.int(w[1])), time.Time{}
		if w[2] != "" {
			until = fromMillis(r.int(w[2]))
		}
		all = append(all, Stop{Prefix: w[3], Reason: w[5], Since: since, Until: until, By: w[4]})
	}
	return all
}
