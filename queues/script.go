package queues

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// A Script is one atomic step in Redis. The functions of lib.lua stand around
// it, so that scripts share code instead of copying it.
type Script struct {
	name string
	*redis.Script
	// shared: it takes the arguments of several calls, each headed by how many
	// they are, and answers each in a list.
	shared bool
}

// NewScript composes a script from what body needs of the shared parts, lib.lua,
// load.lua and sender.lua, and body. Its keys are those of every script; see lib.lua. It
// goes on when Redis is full; see memory.lua.
func NewScript(name, body string) *Script { return newPlainScript(name, source("memory")+body) }

// newSharedScript is for scripts that run for several calls at once.
func newSharedScript(name, body string) *Script {
	s := NewScript(name, source("several")+body)
	s.shared = true
	return s
}

// newPlainScript is for scripts that only read or may be refused for want of memory. Their
// first line is their name, for whoever meets one in Redis.
func newPlainScript(name, body string) *Script {
	shared := source("lib") + source("load") + source("sender")
	return &Script{name: name, Script: redis.NewScript("-- " + name + "\n" + composed(shared, body))}
}

// definition is a function of the shared parts, or one value.
var definition = regexp.MustCompile(
	`(?m)^local function (\w+)\((?:[^\n]*\bend|[^\n]*\n(?:[ \t][^\n]*\n)*end)\n|` +
		`^local (\w+)(?: = [^\n]*\n(?:[ \t][^\n]*\n)*(?:}\n)?|\n)`)

// composed is a script with what it needs of the shared parts: each function and each value
// that is made costs Redis time in each run, and the more the more there is around it that it
// can name. So the values stand first, the functions in some more, one within the other, and the
// script within the last. Each stands behind those that it names.
func composed(shared, body string) string {
	shared, body = remarks.ReplaceAllString(shared, ""), remarks.ReplaceAllString(body, "")
	var values string
	var functions []string // from the last on
	needs := func(name string) bool {
		named := regexp.MustCompile(`\b` + name)
		return named.MatchString(values) || slices.ContainsFunc(functions, named.MatchString) || named.MatchString(body)
	}
	if rest := definition.ReplaceAllString(shared, ""); rest != "" {
		panic("a shared part of the scripts is no function and no value: " + rest) // embedded at build time
	}
	all := definition.FindAllStringSubmatch(shared, -1)
	for _, d := range slices.Backward(all) {
		switch function, value := d[1], d[2]; {
		case value != "" && needs(value+`\b`):
			values = d[0] + values
		case function != "" && needs(function+`[(,)]`):
			functions = append(functions, d[0])
		}
	}
	const together = 22 // functions
	slices.Reverse(functions)
	within := 0
	text := values
	for some := range slices.Chunk(functions, together) {
		text, within = text+"return (function()\n"+strings.Join(some, ""), within+1
	}
	return text + "return (function()\n" + body + "\nend)()\n" + strings.Repeat("end)()\n", within)
}

// remarks are lines that say why.
var remarks = regexp.MustCompile(`(?m)^[ \t]*(?:--[^\n]*)?\n`)

func source(name string) string {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // embedded at build time
	}
	return string(b)
}

var (
	enqueueScript   = newPlainScript("enqueue", source("enqueue"))
	rateScript      = NewScript("rate", source("rate"))
	historyScript   = newPlainScript("history", source("history"))
	rightsScript    = NewScript("rights", source("rights"))
	getScript       = newPlainScript("get", source("get"))
	bindScript      = NewScript("bind", source("bind"))
	advanceScript   = newSharedScript("advance", source("advance"))
	factsScript     = NewScript("facts", source("facts"))
	heartbeatScript = NewScript("heartbeat", source("heartbeat"))
	leaveScript     = NewScript("leave", source("leave"))
	roundScript     = newPlainScript("round", source("round"))
	joinScript      = NewScript("join", source("join"))
	takeoverScript  = NewScript("takeover", source("takeover"))
	tickScript      = NewScript("tick", source("removal")+source("tick"))
	removeScript    = NewScript("remove", source("removal")+source("remove"))
	calledScript    = newSharedScript("called", source("called"))
	pauseScript     = NewScript("pause", source("removal")+source("pause"))
	stopScript      = NewScript("stop", source("stop"))
	widthScript     = NewScript("width", source("removal")+source("width"))
	raceScript      = NewScript("race", source("race"))
	lineScript      = newPlainScript("line", source("line"))
	oldestScript    = newPlainScript("oldest", source("oldest"))
	boundScript     = newPlainScript("bound", source("bound"))
	relistScript    = NewScript("relist", source("relist"))
	postponeScript  = NewScript("postpone", source("postpone"))
	turnScript      = NewScript("turn", source("turn"))
	regainScript    = NewScript("regain", source("regain"))
	standingScript  = newPlainScript("standing", source("standing"))
	auditScript     = newPlainScript("audit", source("audit"))
	settleScript    = NewScript("settle", source("settle"))
	yieldScript     = NewScript("yield", source("yield"))
	missScript      = NewScript("miss", source("miss"))
	adoptScript     = NewScript("adopt", source("adopt"))
	repostScript    = NewScript("repost", source("repost"))
	logScript       = newPlainScript("log", source("log"))
	overviewScript  = newPlainScript("overview", source("overview"))
	marketScript    = NewScript("market", source("market"))
	spentScript     = newPlainScript("spent", source("spent"))
)

// ErrUnavailable: Redis did not answer, or cannot take writes now. What was
// asked for may or may not have happened; asking again is harmless.
var ErrUnavailable = errors.New("the store is not available")

// ErrFull: Redis has no memory left for new transactions.
var ErrFull = errors.New("the store is full")

// Run runs a script in the store's namespace. Calls that come together share a
// round trip. Errors: ErrUnavailable, ErrFull.
func (s *Store) Run(ctx context.Context, script *Script, args ...any) (any, error) {
	if err := ctx.Err(); err != nil {
		return nil, storeError(script.name, err)
	}
	s.calls.Add(1)
	c := scriptCall{script, args, make(chan scriptAnswer, 1)}
	s.scripts.add(ctx, c)
	select {
	case a := <-c.done:
		return a.value, a.err
	case <-ctx.Done():
		// While Redis is slow, what nobody waits for any more would hold up the rest.
		s.scripts.drop(func(o scriptCall) bool { return o.done == c.done })
		return nil, storeError(script.name, ctx.Err())
	}
}

// runAlone runs a script in a round trip of its own, behind nothing that waits.
func (s *Store) runAlone(ctx context.Context, script *Script, args ...any) (any, error) {
	s.calls.Add(1)
	c := scriptCall{script, args, make(chan scriptAnswer, 1)}
	s.runAll(ctx, []scriptCall{c})
	a := <-c.done
	return a.value, a.err
}

// A scriptCall is one script on its way to Redis.
type scriptCall struct {
	script *Script
	args   []any
	done   chan scriptAnswer
}

type scriptAnswer struct {
	value any
	err   error
}

// scriptCalls is how many round trips are under way at a time.
const scriptCalls = 2

func newScripts(s *Store) *group[scriptCall] {
	return &group[scriptCall]{calls: scriptCalls, most: maxShared, send: s.runAll}
}

// A run is one script in Redis, for one call or, where it is shared, for several.
type run struct {
	script *Script
	args   []any
	calls  []scriptCall
}

// maxShared bounds how long one run keeps Redis from other work.
const maxShared = 16

// runs has calls of the same shared script run together. No two of them depend
// on each other: whoever makes one waits for its answer.
func runs(calls []scriptCall) []*run {
	all := make([]*run, 0, len(calls))
	open := map[*Script]*run{}
	for _, c := range calls {
		r := open[c.script]
		if r == nil || len(r.calls) == maxShared {
			r = &run{script: c.script}
			all = append(all, r)
			if c.script.shared {
				open[c.script] = r
			}
		}
		r.add(c)
	}
	return all
}

func (r *run) add(c scriptCall) {
	r.calls = append(r.calls, c)
	if r.script.shared {
		r.args = append(r.args, len(c.args))
	}
	r.args = append(r.args, c.args...)
}

// runAll runs scripts in one round trip.
func (s *Store) runAll(ctx context.Context, calls []scriptCall) {
	all := runs(calls)
	defer s.observe(all, time.Now())
	if len(all) == 1 {
		all[0].answer(all[0].script.Run(ctx, s.client, s.keys, all[0].args...).Result())
		return
	}
	pipe := s.client.Pipeline()
	answers := make([]*redis.Cmd, len(all))
	for i, r := range all {
		answers[i] = r.script.EvalSha(ctx, pipe, s.keys, r.args...)
	}
	_, _ = pipe.Exec(ctx) // each command keeps its own error
	for i, r := range all {
		v, err := answers[i].Result()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			v, err = r.script.Run(ctx, s.client, s.keys, r.args...).Result()
		}
		r.answer(v, err)
	}
}

// observe tells how long scripts took that shared a round trip.
func (s *Store) observe(all []*run, began time.Time) {
	if s.Observe == nil {
		return
	}
	took := time.Since(began)
	for _, r := range all {
		s.Observe(r.script.name, len(r.calls), took)
	}
}

// answer gives each call its part.
func (r *run) answer(v any, err error) {
	list, _ := v.([]any)
	for i, c := range r.calls {
		switch {
		case err != nil, !r.script.shared:
			c.answer(v, err)
		case len(list) != len(r.calls):
			c.answer(nil, fmt.Errorf("%d answers for %d calls", len(list), len(r.calls)))
		default:
			c.answer(list[i], nil)
		}
	}
}

func (c scriptCall) answer(v any, err error) {
	if err != nil && !errors.Is(err, redis.Nil) {
		c.done <- scriptAnswer{err: storeError(c.script.name, err)}
		return
	}
	c.done <- scriptAnswer{value: v}
}

func storeError(doing string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
	case redis.HasErrorPrefix(err, "OOM"):
		return fmt.Errorf("%s: %w", doing, ErrFull)
	case isReply(err) && !transient(err):
		return fmt.Errorf("%s: %w", doing, err) // a fault of the script: never hidden as an outage
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrUnavailable, err)
}

func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// transient reports whether Redis itself says that it cannot serve now.
func transient(err error) bool {
	for _, p := range []string{
		"LOADING", "READONLY", "MOVED", "ASK", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "MISCONF", "NOREPLICAS",
		"UNBLOCKED",
	} {
		if redis.HasErrorPrefix(err, p) {
			return true
		}
	}
	return false
}

// counter counts the calls to Redis, for benchmarks and metrics.
type counter struct{ atomic.Int64 }
