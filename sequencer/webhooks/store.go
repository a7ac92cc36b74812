package webhooks

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/queues"
)

//go:embed lua/*.lua
var sources embed.FS

func script(name string) *queues.Script {
	read := func(name string) string {
		b, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // embedded at build time
		}
		return string(b)
	}
	return queues.NewScript("webhooks_"+name, read("held")+read(name))
}

var (
	leaseScript  = script("lease")
	loadScript   = script("load")
	passScript   = script("pass")
	dueScript    = script("due")
	triedScript  = script("tried")
	putScript    = script("put")
	actScript    = script("act")
	showScript   = script("show")
	parkedScript = script("parked")
)

var (
	// ErrExists: the id is that of another endpoint.
	ErrExists = errors.New("there is another endpoint of this id")
	// ErrTooMany: there are as many endpoints as there may be.
	ErrTooMany = errors.New("there are as many endpoints as there may be")
	// ErrConfigured: the file defines the endpoint, and is to be changed instead.
	ErrConfigured = errors.New("the endpoint is defined by SEQUENCER_WEBHOOKS_FILE")
	// ErrGone: the log does not have the events any more.
	ErrGone = errors.New("the events have left the log")
	// ErrAhead: the endpoint has not come as far as that event.
	ErrAhead = errors.New("the endpoint has not come to that event yet")
	// ErrNotFound: there is no such endpoint.
	ErrNotFound = queues.ErrNotFound

	errLost  = errors.New("the lease is another's")
	errStale = errors.New("the endpoint has changed meanwhile")
)

// A store is what is kept of endpoints in Redis: keys.go of package queues names the keys,
// and lua/ has the scripts.
type store struct{ *queues.Store }

// words are the answer of a script.
func (s store) words(ctx context.Context, x *queues.Script, args ...any) ([]any, error) {
	v, err := s.Run(ctx, x, args...)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("a script of webhooks answered %T", v)
	}
	return list, nil
}

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

func number(v any) int64 {
	if n, ok := v.(int64); ok {
		return n
	}
	n, _ := strconv.ParseInt(text(v), 10, 64) // scripts write what they answer
	return n
}

func millis(v any) time.Duration { return time.Duration(number(v)) * time.Millisecond }

// inMillis rounds up, so that nothing is due too early; what is below 0 has a meaning.
func inMillis(d time.Duration) int64 {
	if d < 0 {
		return int64(d)
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// A held lease. Every write names the fence.
type held struct{ id, fence string }

// lease renews and takes leases for d; 0 gives them up.
func (s store) lease(ctx context.Context, process string, d time.Duration) ([]held, error) {
	l, err := s.words(ctx, leaseScript, process, inMillis(d))
	if err != nil {
		return nil, err
	}
	out := make([]held, 0, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		out = append(out, held{text(l[i]), text(l[i+1])})
	}
	return out, nil
}

// A loaded endpoint is what its holder begins with.
type loaded struct {
	*Endpoint
	epoch         string
	cursor        int64
	rest          time.Duration
	parked, bytes int64
	lanes         map[string]int // how many events each has parked
}

const slice = 500 // lanes read at a time

// load reads an endpoint. Error: errLost.
func (s store) load(ctx context.Context, h held) (*loaded, error) {
	out := &loaded{lanes: map[string]int{}}
	for skip := 0; ; skip += slice {
		l, err := s.words(ctx, loadScript, h.id, h.fence, skip, slice)
		if err != nil {
			return nil, err
		}
		if len(l) < 6 {
			return nil, errLost
		}
		if out.Endpoint, err = decodeEndpoint(h.id, text(l[2])); err != nil {
			return nil, err
		}
		out.epoch, out.cursor, out.rest = text(l[0]), number(l[1]), millis(l[3])
		out.parked, out.bytes = number(l[4]), number(l[5])
		for i := 6; i+1 < len(l); i += 2 {
			out.lanes[text(l[i])] = int(number(l[i+1]))
		}
		if (len(l)-6)/2 == slice {
			continue
		}
		sum := int64(0)
		for _, n := range out.lanes {
			sum += int64(n)
		}
		if sum != out.parked { // a replay moved lanes between two slices
			return nil, errStale
		}
		return out, nil
	}
}

// A parked event as it is stored: "<number> <tries> <length> <id> <at ms>\n<body>". The
// length is that of the part of the body that never changes, without the transaction.
type parked struct {
	lane   string
	number int64
	tries  int
	fixed  int
	id     string
	at     time.Time
	body   []byte
	delay  time.Duration // until it is tried
}

// text is what is stored behind the number.
func (p *parked) text() string {
	return fmt.Sprintf("%d %d %s %d\n%s", p.tries, p.fixed, p.id, p.at.UnixMilli(), p.body)
}

func parseParked(lane, entry string) (parked, error) {
	head, body, _ := strings.Cut(entry, "\n")
	w := strings.Split(head, " ")
	if len(w) != 5 {
		return parked{}, fmt.Errorf("what is parked in %s cannot be read", strconv.Quote(lane))
	}
	return parked{
		lane: lane, number: number(w[0]), tries: int(number(w[1])), fixed: int(number(w[2])), id: w[3],
		at: time.UnixMilli(number(w[4])), body: []byte(body),
	}, nil
}

// A passage is how far an endpoint has come.
type passage struct {
	epoch    string
	from, to int64
	rest     time.Duration
	dropped  int
	told     []string
	parked   []*parked
}

// pass stores a passage. Error: errLost.
func (s store) pass(ctx context.Context, h held, p *passage) error {
	args := []any{h.id, h.fence, p.epoch, p.from, p.to, inMillis(p.rest), p.dropped, len(p.told)}
	for _, t := range p.told {
		args = append(args, t)
	}
	for _, e := range p.parked {
		args = append(args, e.lane, e.number, inMillis(e.delay), e.text())
	}
	v, err := s.Run(ctx, passScript, args...)
	if err == nil && number(v) != 1 {
		err = errLost
	}
	return err
}

// due reads parked events that are to be tried, and after how long there is another one,
// never if there is none. Of each lane it is the first.
func (s store) due(ctx context.Context, h held, most int) (out []parked, next time.Duration, err error) {
	l, err := s.words(ctx, dueScript, h.id, h.fence, most)
	if err != nil || len(l) == 0 {
		return nil, never, err
	}
	if next = never; number(l[0]) >= 0 {
		next = millis(l[0])
	}
	for i := 1; i+1 < len(l); i += 2 {
		p, err := parseParked(text(l[i]), text(l[i+1]))
		if err != nil {
			return nil, never, err
		}
		out = append(out, p)
	}
	return out, next, nil
}

const wasDelivered = time.Duration(-2)

// tried stores what came of a try of a parked event, and when it is tried again. left are
// the bytes that are parked in all lanes. Error: errLost.
func (s store) tried(
	ctx context.Context, h held, p *parked, again, rest time.Duration, told string,
) (left int64, _ error) {
	v, err := s.Run(ctx, triedScript, h.id, h.fence, p.lane, p.number, inMillis(again), p.tries, inMillis(rest), told)
	if err != nil {
		return 0, err
	}
	if left = number(v); left < 0 {
		return 0, errLost
	}
	return left, nil
}

// put stores a definition; rev is what it was made from, 0 for a new one.
func (s store) put(ctx context.Context, e *Endpoint, rev int64) error {
	v, err := s.Run(ctx, putScript, e.ID, rev, e.encode(), mostEndpoints)
	if err != nil {
		return err
	}
	return verdictOf(v)
}

// act does what a person asks, step by step.
func (s store) act(ctx context.Context, id, op string, args ...any) error {
	for {
		v, err := s.Run(ctx, actScript, append([]any{id, op}, args...)...)
		if err != nil {
			return err
		}
		if text(v) != "more" {
			return verdictOf(v)
		}
	}
}

func verdictOf(v any) error {
	switch text(v) {
	case "ok":
		return nil
	case "none":
		return fmt.Errorf("webhook endpoint: %w", ErrNotFound)
	case "exists":
		return ErrExists
	case "stale":
		return errStale
	case "many":
		return ErrTooMany
	case "gone":
		return ErrGone
	case "ahead":
		return ErrAhead
	}
	return fmt.Errorf("a script of webhooks answered %v", v)
}

// show reads how one endpoint is, or all of them with id "".
func (s store) show(ctx context.Context, id string) ([]*Status, error) {
	l, err := s.words(ctx, showScript, id)
	if err != nil {
		return nil, err
	}
	const head, width = 2, 13
	now, last := time.UnixMilli(number(l[0])), number(l[1])
	var out []*Status
	for l = l[head:]; len(l) >= width; l = l[width:] {
		e, err := decodeEndpoint(text(l[0]), text(l[2]))
		if err != nil {
			return nil, err
		}
		x := &Status{
			Endpoint: *e, Behind: max(0, last-number(l[1])), rev: number(l[3]),
			Parked: number(l[5]), ParkedBytes: number(l[6]),
			Lanes: number(l[7]), Waiting: number(l[8]), Dropped: number(l[9]), Holder: text(l[10]),
		}
		if rest := millis(l[4]); rest > 0 {
			x.RestsUntil = now.Add(rest)
		}
		if at := text(l[11]); at != "" {
			x.BehindSince = time.UnixMilli(number(at))
		}
		if line := text(l[12]); line != "" {
			d := decodeDelivery(line)
			x.last = &d
		}
		out = append(out, x)
	}
	if id != "" && len(out) == 0 {
		return nil, fmt.Errorf("webhook endpoint %s: %w", id, ErrNotFound)
	}
	return out, nil
}

// lanes lists what is parked behind a cursor, "" for the first, and the last deliveries.
func (s store) lanes(ctx context.Context, id, cursor string, most, deliveries int) ([]Lane, []string, error) {
	due, lane, _ := strings.Cut(cursor, "~")
	if _, err := strconv.ParseUint(due, 10, 64); cursor != "" && (due != "inf" && err != nil || lane == "") {
		return nil, nil, fmt.Errorf("what is parked behind %q: %w", cursor, queues.ErrBadCursor)
	}
	l, err := s.words(ctx, parkedScript, id, due, lane, most, deliveries)
	if err != nil {
		return nil, nil, err
	}
	if len(l) < 2 {
		return nil, nil, fmt.Errorf("webhook endpoint %s: %w", id, ErrNotFound)
	}
	var told []string
	sent, _ := l[1].([]any)
	for _, x := range sent {
		told = append(told, text(x))
	}
	var out []Lane
	for i := 2; i+3 < len(l); i += 4 {
		p, err := parseParked(text(l[i]), text(l[i+3]))
		if err != nil {
			return nil, nil, err
		}
		x := Lane{Name: text(l[i]), Events: int(number(l[i+1])), First: p.id, At: p.at, Tries: p.tries}
		if due := text(l[i+2]); due != "inf" {
			x.NextAt = time.UnixMilli(number(due))
		}
		out = append(out, x)
	}
	return out, told, nil
}
