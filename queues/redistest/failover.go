package redistest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// SetError makes every command fail with a message, until it is set to "".
func (e *Embedded) SetError(message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.error = message
}

// answer stands before all commands: it fails them as SetError says, and tells
// the replication id, which the library's own INFO does not know.
func (e *Embedded) answer(c *server.Peer, command string, args ...string) bool {
	e.mu.Lock()
	next := command == "INFO" && len(args) == 1 && args[0] == nextServer
	if next {
		e.run++
	}
	message, run := e.error, e.run
	e.mu.Unlock() // who is written to may not read just now
	switch {
	case message != "":
		c.WriteError(message)
	case next:
		c.WriteOK()
	case command == "INFO" && len(args) == 1 && strings.EqualFold(args[0], "replication"):
		c.WriteBulk(fmt.Sprintf("# Replication\r\nrole:master\r\nmaster_replid:%040x\r\n", run))
	default:
		return false
	}
	return true
}

// nextServer is the section of INFO by which a script becomes another server.
const nextServer = "embedded-next-server"

// keep notes a connection, for a failover to break.
func (e *Embedded) keep(b *buffered) net.Conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.conns[b] = true
	b.ended = func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.conns, b)
	}
	return b
}

// A Snapshot is what a replica has that has got no further.
type Snapshot struct {
	pattern  string // of the keys
	commands [][]any
}

// TakeSnapshot takes one of the keys of a pattern, at one instant.
func TakeSnapshot(tb testing.TB, client *redis.Client, pattern string) Snapshot {
	tb.Helper()
	v, err := client.Eval(context.Background(), dumpScript, nil, pattern).Slice()
	if err != nil {
		tb.Fatalf("taking a snapshot: %v", err)
	}
	s := Snapshot{pattern: pattern}
	for _, command := range v {
		s.commands = append(s.commands, command.([]any))
	}
	return s
}

// Load puts the keys of the pattern back to what they were, at one instant. What
// the clock has ended meanwhile stays ended.
func (s Snapshot) Load(tb testing.TB, client *redis.Client) { tb.Helper(); s.load(tb, client, "") }

func (s Snapshot) load(tb testing.TB, client *redis.Client, section string) {
	tb.Helper()
	args := []any{section, s.pattern}
	for _, c := range s.commands {
		args = append(append(args, len(c)), c...)
	}
	if err := client.Eval(context.Background(), loadScript, nil, args...).Err(); err != nil {
		tb.Fatalf("loading a snapshot: %v", err)
	}
}

// Snapshot takes one of all there is. SetError must not be in force.
func (e *Embedded) Snapshot() Snapshot { e.tb.Helper(); return TakeSnapshot(e.tb, e.Client, "*") }

// FailOver promotes a replica that has a snapshot: what was written since is
// gone, the replication id is another one, and every connection breaks. What the clock
// has ended meanwhile stays ended. SetError must not be in force.
func (e *Embedded) FailOver(s Snapshot) { e.tb.Helper(); e.become(s) }

// Restart is a restart that loses nothing: the replication id changes, and every
// connection breaks. SetError must not be in force.
func (e *Embedded) Restart() { e.tb.Helper(); e.become(Snapshot{}) }

func (e *Embedded) become(s Snapshot) {
	e.tb.Helper()
	ctx := context.Background()
	// One script: no command of others comes between the old server and the new.
	s.load(e.tb, e.Client, nextServer)
	if err := e.Client.ScriptFlush(ctx).Err(); err != nil { // a new server knows no scripts
		e.tb.Fatalf("failing over: %v", err)
	}
	e.hangUp()
}

// hangUp breaks every connection, as the end of a server does.
func (e *Embedded) hangUp() {
	e.mu.Lock()
	conns := slices.Collect(maps.Keys(e.conns))
	e.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// dumpScript writes all there is as commands that make it again.
const dumpScript = `
local call, out = redis.call, {}
local function list(command, key, values)
	for i = 1, #values do out[#out + 1] = { command, key, values[i] } end
end
for _, key in ipairs(call('KEYS', ARGV[1])) do
	local kind = call('TYPE', key).ok
	if kind == 'string' then out[#out + 1] = { 'SET', key, call('GET', key) }
	elseif kind == 'list' then list('RPUSH', key, call('LRANGE', key, 0, -1))
	elseif kind == 'hash' then
		local v = call('HGETALL', key)
		for i = 1, #v, 2 do out[#out + 1] = { 'HSET', key, v[i], v[i + 1] } end
	elseif kind == 'zset' then
		local v = call('ZRANGE', key, 0, -1, 'WITHSCORES')
		for i = 1, #v, 2 do out[#out + 1] = { 'ZADD', key, v[i + 1], v[i] } end
	elseif kind == 'stream' then
		for _, entry in ipairs(call('XRANGE', key, '-', '+')) do
			local command = { 'XADD', key, entry[1] }
			for _, word in ipairs(entry[2]) do command[#command + 1] = word end
			out[#out + 1] = command
		end
	else error('a snapshot cannot hold a ' .. kind)
	end
	local left = call('PTTL', key)
	if left >= 0 then
		local clock = call('TIME')
		out[#out + 1] = { 'PEXPIREAT', key, string.format('%d', clock[1] * 1000 + math.floor(clock[2] / 1000) + left) }
	end
end
return out`

// loadScript replaces the keys of a pattern by what the commands make, and
// becomes the next server before if it is told the section for that.
const loadScript = `
if ARGV[1] ~= '' then redis.call('INFO', ARGV[1]) end
for _, key in ipairs(ARGV[2] ~= '' and redis.call('KEYS', ARGV[2]) or {}) do redis.call('DEL', key) end
local at = 3
while at <= #ARGV do
	local n = tonumber(ARGV[at])
	local command = {}
	for i = 1, n do command[i] = ARGV[at + i] end
	redis.call(unpack(command))
	at = at + 1 + n
end
return 1`
