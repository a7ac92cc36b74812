package redistest

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// scripts runs EVAL and EVALSHA in place of miniredis, which opens a new interpreter with
// all its libraries for each call. What a test over hours of simulated time pays
// is mostly that. The commands that a script calls are those of miniredis, under
// its lock as ever, so a script is one step.
type scripts struct {
	redis *miniredis.Miniredis

	mu sync.Mutex
	// nested is what miniredis keeps of a connection on which a script calls
	// commands; it is taken from a script that miniredis ran.
	nested any
	known  map[string]*lua.FunctionProto // by digest
	plain  bool                          // a connection has a state that is not followed here
}

func newScripts(m *miniredis.Miniredis) *scripts {
	return &scripts{redis: m, known: map[string]*lua.FunctionProto{}}
}

// probe is called by the script from which nested is taken.
const probe = `return redis.call('ECHO', 'nested')`

// hook is called before each command, and answers those that it has done.
func (s *scripts) hook(c *server.Peer, cmd string, args ...string) bool {
	switch cmd {
	case "EVALSHA":
		return len(args) > 1 && s.do(c, strings.ToLower(args[0]), args[1], args[2:])
	case "EVAL":
		return len(args) > 1 && s.do(c, s.learn(args[0]), args[1], args[2:])
	case "SCRIPT":
		switch {
		case len(args) == 2 && strings.EqualFold(args[0], "load"):
			s.learn(args[1])
		case len(args) > 0 && strings.EqualFold(args[0], "flush"):
			s.mu.Lock()
			clear(s.known)
			s.mu.Unlock()
		}
	case "ECHO":
		s.mu.Lock()
		if s.nested == nil && len(args) == 1 && args[0] == "nested" {
			s.nested = c.Ctx
		}
		s.mu.Unlock()
	case "MULTI", "SELECT", "AUTH":
		s.mu.Lock()
		s.plain = true
		s.mu.Unlock()
	}
	return false
}

// compiled holds every script of the test binary, by its text.
var compiled sync.Map

// learn returns the digest of a script.
func (s *scripts) learn(text string) string {
	proto, ok := compiled.Load(text)
	if !ok {
		chunk, err := parse.Parse(strings.NewReader(text), "script")
		if err != nil {
			return "" // miniredis says so
		}
		p, err := lua.Compile(chunk, "script")
		if err != nil {
			return ""
		}
		proto, _ = compiled.LoadOrStore(text, p)
	}
	sum := sha1.Sum([]byte(text))
	digest := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[digest] = proto.(*lua.FunctionProto)
	return digest
}

// do runs a script that is known, and reports whether it could.
func (s *scripts) do(c *server.Peer, digest, numkeys string, args []string) bool {
	s.mu.Lock()
	proto, nested, plain := s.known[digest], s.nested, s.plain
	s.mu.Unlock()
	keys, err := strconv.Atoi(numkeys)
	if proto == nil || nested == nil || plain || c.Ctx == nested || err != nil || keys < 0 || keys > len(args) {
		return false
	}
	s.run(c, proto, nested, args[:keys], args[keys:])
	return true
}

// interpreters are kept from call to call: scripts leave nothing behind in them,
// for they can set no global.
var interpreters = sync.Pool{New: func() any { return newInterpreter() }}

func (s *scripts) run(c *server.Peer, proto *lua.FunctionProto, nested any, keys, argv []string) {
	in := interpreters.Get().(*interpreter)
	in.server, in.peer.Ctx = s.redis.Server(), nested
	s.redis.Lock()
	defer s.redis.Unlock()
	if err := in.call(proto, keys, argv); err != nil {
		c.WriteError(err.Error())
		return // what a failed script leaves behind is not looked into
	}
	reply(c, in.lua.Get(1))
	in.lua.SetTop(0)
	in.server, in.peer.Ctx = nil, nil
	interpreters.Put(in)
}

// No script asks for the table that Lua 5.0 has beside "...", which would be made at each call.
func init() { lua.CompatVarArg = false }

// An interpreter runs one script at a time.
type interpreter struct {
	lua    *lua.LState
	global *lua.LTable
	server *server.Server
	peer   *server.Peer // whose commands the script calls
	answer bytes.Buffer // what they answered
	args   []string
	found  map[match][]lua.LValue
}

// A match is what string.match is asked for. It always answers the same, the same records are read again and
// again, and the library compiles the pattern each time.
type match struct {
	text, pattern string
	from          int
}

// manyMatches are forgotten at once.
const manyMatches = 10_000

// remember has string.match answer as it did before.
func (in *interpreter) remember() {
	lib := in.global.RawGetString("string").(*lua.LTable)
	find := lib.RawGetString("match").(*lua.LFunction).GFunction
	lib.RawSetString("match", in.lua.NewFunction(func(l *lua.LState) int {
		m := match{l.CheckString(1), l.CheckString(2), l.OptInt(3, 1)}
		known, ok := in.found[m]
		if !ok {
			top := l.GetTop()
			for i := range find(l) {
				known = append(known, l.Get(top+1+i))
			}
			if len(in.found) == manyMatches {
				clear(in.found)
			}
			in.found[m] = known
			return len(known)
		}
		for _, v := range known {
			l.Push(v)
		}
		return len(known)
	}))
}

func newInterpreter() *interpreter {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	in := &interpreter{lua: l, global: l.G.Global, found: map[match][]lua.LValue{}}
	in.peer = server.NewPeer(bufio.NewWriter(&in.answer))
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable,
		lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	in.remember()
	redis := l.NewTable()
	redis.RawSetString("call", l.NewFunction(in.redisCall))
	redis.RawSetString("pcall", l.NewFunction(func(l *lua.LState) int {
		l.Push(in.command())
		return 1
	}))
	redis.RawSetString("sha1hex", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LString(fmt.Sprintf("%x", sha1.Sum([]byte(l.CheckString(1))))))
		return 1
	}))
	for name, field := range map[string]string{"error_reply": "err", "status_reply": "ok"} {
		redis.RawSetString(name, l.NewFunction(func(l *lua.LState) int {
			t := l.NewTable()
			t.RawSetString(field, lua.LString(l.CheckString(1)))
			l.Push(t)
			return 1
		}))
	}
	in.global.RawSetString("redis", redis)
	guard := l.NewTable()
	guard.RawSetString("__newindex", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table: global variable '%s'", l.Get(2).String())
		return 0
	}))
	guard.RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.Get(2).String())
		return 0
	}))
	l.SetMetatable(in.global, guard)
	return in
}

func (in *interpreter) call(proto *lua.FunctionProto, keys, argv []string) error {
	in.global.RawSetString("KEYS", in.list(keys))
	in.global.RawSetString("ARGV", in.list(argv))
	in.lua.Push(in.lua.NewFunctionFromProto(proto))
	err := in.lua.PCall(0, 1, nil)
	if err == nil {
		return nil
	}
	text := err.Error()
	if e, ok := errors.AsType[*lua.ApiError](err); ok {
		text = e.Object.String()
		if t, ok := e.Object.(*lua.LTable); ok {
			return fmt.Errorf("%s", lua.LVAsString(t.RawGetString("err")))
		}
	}
	return fmt.Errorf("ERR %s", text)
}

func (in *interpreter) list(values []string) *lua.LTable {
	t := in.lua.CreateTable(len(values), 0)
	for _, v := range values {
		t.Append(lua.LString(v))
	}
	return t
}

// redisCall is redis.call: an error of the command ends the script.
func (in *interpreter) redisCall(l *lua.LState) int {
	answer := in.command()
	if t, ok := answer.(*lua.LTable); ok && t.RawGetString("err") != lua.LNil {
		l.Error(t, 0)
	}
	l.Push(answer)
	return 1
}

// command runs the command on the stack.
func (in *interpreter) command() lua.LValue {
	in.args = in.args[:0]
	for i := 1; i <= in.lua.GetTop(); i++ {
		switch v := in.lua.Get(i).(type) {
		case lua.LString:
			in.args = append(in.args, string(v))
		case lua.LNumber:
			in.args = append(in.args, v.String())
		default:
			return in.failure("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	if len(in.args) == 0 {
		return in.failure("ERR Please specify at least one argument for this redis lib call")
	}
	in.answer.Reset()
	// A command may keep its arguments.
	in.server.Dispatch(in.peer, append([]string(nil), in.args...))
	in.peer.Flush()
	return in.parse()
}

func (in *interpreter) failure(text string) lua.LValue {
	t := in.lua.NewTable()
	t.RawSetString("err", lua.LString(text))
	return t
}

// parse reads one answer of a command, in RESP 2, as Redis shows it to a script.
func (in *interpreter) parse() lua.LValue {
	line, err := in.answer.ReadString('\n')
	if err != nil || len(line) < 3 {
		return in.failure("ERR the command did not answer")
	}
	kind, rest := line[0], line[1:len(line)-2]
	n, _ := strconv.Atoi(rest)
	switch kind {
	case ':':
		return lua.LNumber(n)
	case '$':
		if n < 0 {
			return lua.LFalse
		}
		v := lua.LString(in.answer.Next(n))
		in.answer.Next(2)
		return v
	case '*':
		if n < 0 {
			return lua.LFalse
		}
		t := in.lua.CreateTable(n, 0)
		for i := range n {
			t.RawSetInt(i+1, in.parse())
		}
		return t
	case '+':
		t := in.lua.NewTable()
		t.RawSetString("ok", lua.LString(rest))
		return t
	default:
		return in.failure(rest)
	}
}

// reply writes what a script returned, as Redis does.
func reply(c *server.Peer, v lua.LValue) {
	switch v := v.(type) {
	case lua.LBool:
		if v {
			c.WriteInt(1)
		} else {
			c.WriteNull()
		}
	case lua.LNumber:
		c.WriteInt(int(math.Trunc(float64(v))))
	case lua.LString:
		c.WriteBulk(string(v))
	case *lua.LTable:
		if e := v.RawGetString("err"); e != lua.LNil {
			c.WriteError(e.String())
			return
		}
		if ok := v.RawGetString("ok"); ok != lua.LNil {
			c.WriteInline(ok.String())
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		c.WriteLen(n)
		for i := range n {
			reply(c, v.RawGetInt(i+1))
		}
	default:
		c.WriteNull()
	}
}
