package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// SetError makes every command fail with a message, until it is set to "".
func (e *Embedded) SetError(message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.error = message
}

// answer stands before all commands: it fails them as SetError says, and tells
// the run id, which the library's own INFO does not know.
func (e *Embedded) answer(c *server.Peer, command string, args ...string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.error != "":
		c.WriteError(e.error)
		return true
	case command == "INFO" && len(args) == 1 && args[0] == nextServer:
		e.run++
		c.WriteOK()
		return true
	case command == "INFO" && len(args) == 1 && strings.EqualFold(args[0], "server"):
		c.WriteBulk(fmt.Sprintf("# Server\r\nredis_version:7.0.0\r\nrun_id:%040x\r\n", e.run))
		return true
	}
	return false
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

// A Snapshot is what a replica holds that has got no further.
type Snapshot struct{ commands [][]any }

// Snapshot takes one, at one instant. SetError must not be in force.
func (e *Embedded) Snapshot() Snapshot {
	e.tb.Helper()
	v, err := e.Client.Eval(context.Background(), dumpScript, nil).Slice()
	if err != nil {
		e.tb.Fatalf("taking a snapshot: %v", err)
	}
	var s Snapshot
	for _, command := range v {
		s.commands = append(s.commands, command.([]any))
	}
	return s
}

// FailOver promotes a replica that holds a snapshot: what was written since is
// gone, the run id is another one, and every connection breaks. What the clock
// has ended meanwhile stays ended. SetError must not be in force.
func (e *Embedded) FailOver(s Snapshot) { e.tb.Helper(); e.become(s.commands, "1") }

// Restart is a restart that loses nothing: the run id changes, and every
// connection breaks. SetError must not be in force.
func (e *Embedded) Restart() { e.tb.Helper(); e.become(nil, "") }

func (e *Embedded) become(commands [][]any, forget string) {
	e.tb.Helper()
	ctx := context.Background()
	args := []any{nextServer, forget}
	for _, c := range commands {
		args = append(append(args, len(c)), c...)
	}
	// One script: no command of others comes between the old server and the new.
	if err := e.Client.Eval(ctx, loadScript, nil, args...).Err(); err != nil {
		e.tb.Fatalf("failing over: %v", err)
	}
	if err := e.Client.ScriptFlush(ctx).Err(); err != nil { // a new server knows no scripts
		e.tb.Fatalf("failing over: %v", err)
	}
	e.mu.Lock()
	conns := make([]net.Conn, 0, len(e.conns))
	for c := range e.conns {
		conns = append(conns, c)
	}
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
for _, key in ipairs(call('KEYS', '*')) do
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

// loadScript becomes the next server, with what the commands make.
const loadScript = `
redis.call('INFO', ARGV[1])
if ARGV[2] == '' then return 1 end
redis.call('FLUSHALL')
local at = 3
while at <= #ARGV do
	local n = tonumber(ARGV[at])
	local command = {}
	for i = 1, n do command[i] = ARGV[at + i] end
	redis.call(unpack(command))
	at = at + 1 + n
end
return 1`
