package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// cost is figure 8: what one life costs Redis, from its POST until it is final, in a
// running service: its commands, those inside of scripts included, and the CPU time of
// Redis' main thread. What the service asks in as long an idle time is taken off. The limit
// is the time of the same commands in scripts that decide nothing.
func (b *bench) cost(ctx context.Context) ([]row, error) {
	const queues = 4 * senderCount
	at, err := b.chain(ctx)
	if err != nil {
		return nil, err
	}
	_, load, err := b.serve(ctx, queues, "SEQUENCER_SENDERS="+senderSetting(at, 0, senderCount),
		"SEQUENCER_INCLUSION_INTERVAL=20ms", "SEQUENCER_BUMP_AFTER=10000", "SEQUENCER_VALID_SLOTS=100000")
	if err != nil {
		return nil, err
	}
	done := 0
	live := func(count int) error {
		if err := load.send(count); err != nil {
			return err
		}
		done += count
		return errors.Join(awaitDone(ctx, at, done), b.awaitFinal(ctx))
	}
	if err := live(senderCount); err != nil { // connections, scripts, first nonces
		return nil, err
	}
	var commands, micros []float64
	for range b.scale.rounds {
		begin, before := time.Now(), b.spent(ctx)
		if err := live(b.scale.cycles); err != nil {
			return nil, err
		}
		took, busy := time.Since(begin), b.spent(ctx)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
		idle := b.spent(ctx).since(busy)
		part, lives := took.Seconds()/2, float64(b.scale.cycles)
		spent := busy.since(before)
		commands = append(commands, (spent.commands-idle.commands*part)/lives)
		micros = append(micros, (spent.micros-idle.micros*part)/lives)
	}
	heard, err := b.overhear(ctx, func() error { return live(b.scale.cycles) })
	if err != nil {
		return nil, err
	}
	var alone []float64
	for range b.scale.rounds {
		spent, err := b.repeat(ctx, heard)
		if err != nil {
			return nil, err
		}
		alone = append(alone, spent.micros/float64(b.scale.cycles))
	}
	n, t, limit := median(commands), median(micros), median(alone)
	return []row{
		{"8 Redis commands of a life", fmt.Sprintf("%.1f", n), "", "", "≤ 35", n <= 35},
		{"8 Redis time of a life", fmt.Sprintf("%.0f µs", t), fmt.Sprintf("%.0f µs", limit), fmt.Sprintf("%.2f", t/limit), "", true},
	}, nil
}

// overhear returns the commands that Redis runs meanwhile: those inside of scripts, and not the
// scripts, nor what this process asks.
func (b *bench) overhear(ctx context.Context, during func() error) ([][]any, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", b.addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(conn)
	if _, err := lines.ReadString('\n'); err != nil {
		return nil, err
	}
	const last = "that was all"
	all, failed := make(chan [][]any, 1), make(chan error, 1)
	go func() {
		var heard [][]any
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				failed <- err
				return
			}
			if strings.Contains(line, last) {
				all <- heard
				return
			}
			if command := monitored(line); command != nil {
				heard = append(heard, command)
			}
		}
	}()
	if err := during(); err != nil {
		return nil, err
	}
	if err := b.redis.Echo(ctx, last).Err(); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case err := <-failed:
		return nil, err
	case heard := <-all:
		return heard, nil
	}
}

var argument = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// monitored is the command of a line of MONITOR, nil for a script as a whole, and for what is
// asked about Redis itself from outside of scripts.
func monitored(line string) (command []any) {
	for _, quoted := range argument.FindAllString(line, -1) {
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return nil
		}
		command = append(command, arg)
	}
	from, _, _ := strings.Cut(line, "]")
	if len(command) == 0 || !strings.HasSuffix(from, " lua") &&
		slices.Contains([]string{"evalsha", "eval", "script", "info", "keys", "hello", "client"}, strings.ToLower(command[0].(string))) {
		return nil
	}
	return command
}

// runAll runs commands, each headed by how many words it has.
var runAll = redis.NewScript(`
local i = 1
while i < #ARGV do
  redis.call(unpack(ARGV, i + 1, i + ARGV[i]))
  i = i + ARGV[i] + 1
end`)

// repeat runs commands once more, on a database of its own, by scripts that decide nothing.
func (b *bench) repeat(ctx context.Context, commands [][]any) (spending, error) {
	options := *b.redis.Options()
	options.DB = 1
	client := redis.NewClient(&options)
	defer func() { _ = client.Close() }()
	if err := errors.Join(client.FlushDB(ctx).Err(), runAll.Load(ctx, client).Err()); err != nil {
		return spending{}, err
	}
	before := b.spent(ctx)
	for some := range slices.Chunk(commands, 64) {
		var args []any
		for _, command := range some {
			args = append(append(args, len(command)), command...)
		}
		if err := runAll.EvalSha(ctx, client, nil, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
			return spending{}, err
		}
	}
	return b.spent(ctx).since(before), nil
}

// A spending is what Redis has done since it began.
type spending struct{ commands, micros float64 }

func (s spending) since(before spending) spending {
	return spending{s.commands - before.commands, s.micros - before.micros}
}

var calls = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+),`)

func (b *bench) spent(ctx context.Context) (s spending) {
	for _, m := range calls.FindAllStringSubmatch(b.redis.Info(ctx, "commandstats").Val(), -1) {
		if n, err := strconv.ParseFloat(m[2], 64); err == nil && m[1] != "keys" {
			s.commands += n
		}
	}
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		if seconds, err := strconv.ParseFloat(b.infoField(ctx, "cpu", name), 64); err == nil {
			s.micros += seconds * 1e6
		}
	}
	return s
}

// awaitFinal waits until no process has a claim: nothing is watched any more.
func (b *bench) awaitFinal(ctx context.Context) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		held := 0
		for _, key := range b.redis.Keys(ctx, "*}:own:*").Val() {
			if !strings.HasSuffix(key, ":own:") {
				held++
			}
		}
		if held == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
	return errors.New("not all lives became final within a minute")
}
