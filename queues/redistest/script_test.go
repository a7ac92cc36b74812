package redistest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues/redistest"
)

// TestScriptsAnswerAlike: the embedded Redis, which runs scripts in interpreters
// of its own, answers as a real one does, at the first call and at later ones.
func TestScriptsAnswerAlike(t *testing.T) {
	t.Parallel()
	mini, real := redistest.Mini(t), redistest.Start(t)
	for _, script := range []string{
		`return 1.9`, `return -3`, `return 'text'`, `return true`, `return false`, `return nil`, ``,
		`return {1, 'two', {3, false}, 'four'}`, `return {1, nil, 3}`, `return {}`,
		`return {KEYS[1], ARGV[1], ARGV[2], #KEYS, #ARGV}`, `return ARGV[3]`,
		`return {ok = 'FINE'}`, `return {err = 'MINE is an error'}`,
		`return redis.status_reply('FINE')`, `return redis.error_reply('MINE is an error')`,
		`return redis.call('SET', KEYS[1], ARGV[1])`, `return redis.call('GET', KEYS[1])`, `return redis.call('GET', 'none')`,
		`return redis.call('SET', KEYS[1], 7)`, `return redis.call('INCRBY', KEYS[1], 5)`,
		`return redis.call('HSET', 'h', 'a', 1, 'b', 2.5)`, `return redis.call('HGETALL', 'h')`,
		`return redis.call('HMGET', 'h', 'a', 'x')`,
		`return redis.call('ZADD', 'z', 3, 'm')`, `return redis.call('ZRANGE', 'z', 0, -1, 'WITHSCORES')`,
		`return type(redis.call('TIME')[1])`, `return redis.call('GET', 'none') == false`,
		`return redis.call('INCR', 'h')`, `return redis.pcall('INCR', 'h')`, `return redis.pcall('INCR', 'h').err`,
		`return redis.call('SET', KEYS[1], 'ab\r\ncd')`, `return redis.call('GET', KEYS[1])`,
		`return unpack({1, 2})`, `return {string.match('ab 12', '^(%S+) (%d+)$')}`,
		`return {string.match('ab 12', '(%S+)()')}`, `return {string.match('ab 12', '(%S+)()', 2)}`,
		`return {string.match('ab', '%d') == nil, string.match(12, '.')}`, `return {string.match('ab 12', '(%S+)()')}`,
		`return math.floor(7.5)`,
		`return redis.sha1hex('name')`, `return redis.sha1hex('')`,
	} {
		for range 2 {
			want, wantErr := eval(t, real.Client, script)
			got, err := eval(t, mini.Client, script)
			if !cmp.Equal(got, want) || kind(err) != kind(wantErr) {
				t.Errorf("%s\nembedded: %v, %v\nreal:     %v, %v", script, got, err, want, wantErr)
			}
		}
	}
}

// TestScriptsEndInErrors: what goes wrong in a script is an error in both, in
// words that may differ, and leaves the next script alone.
func TestScriptsEndInErrors(t *testing.T) {
	t.Parallel()
	mini, real := redistest.Mini(t), redistest.Start(t)
	for _, script := range []string{
		`global = 1`, `return global`, `error('mine')`, `return nothing.field`, `return redis.call()`,
		`return redis.call({})`,
		`return redis.call('NOSUCH')`, `syntax error`, `return redis.call('EVAL', 'return 1', 0)`,
	} {
		for name, client := range map[string]*redis.Client{"embedded": mini.Client, "real": real.Client} {
			for range 2 {
				if got, err := eval(t, client, script); err == nil {
					t.Errorf("%s: %s answers %v", name, script, got)
				}
			}
			if got, err := eval(t, client, `return #ARGV`); err != nil || got != int64(2) {
				t.Errorf("%s: after %s: %v, %v", name, script, got, err)
			}
		}
	}
}

// TestScriptsAreForgotten: after SCRIPT FLUSH, as after a restart, a digest says nothing.
func TestScriptsAreForgotten(t *testing.T) {
	t.Parallel()
	mini := redistest.Mini(t)
	script := redis.NewScript(`return 5`)
	ctx := t.Context()
	if err := script.EvalSha(ctx, mini.Client, nil).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("unknown: %v", err)
	}
	if err := script.Load(ctx, mini.Client).Err(); err != nil {
		t.Fatal(err)
	}
	if got := script.EvalSha(ctx, mini.Client, nil).Val(); got != int64(5) {
		t.Errorf("loaded: %v", got)
	}
	if err := mini.Client.ScriptFlush(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	if err := script.EvalSha(ctx, mini.Client, nil).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("flushed: %v", err)
	}
	// Inside MULTI a script waits for EXEC.
	_, err := mini.Client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "k", "before", 0)
		p.Eval(ctx, `return redis.call('SET', 'k', redis.call('GET', 'k') .. ' and after')`, nil)
		return nil
	})
	if got := mini.Client.Get(ctx, "k").Val(); err != nil || got != "before and after" {
		t.Errorf("in a transaction: %q, %v", got, err)
	}
}

// TestSetError: the server refuses everything, and then nothing.
func TestSetError(t *testing.T) {
	t.Parallel()
	mini := redistest.Mini(t)
	mini.SetError("LOADING Redis is loading")
	if err := mini.Client.Eval(t.Context(), `return 1`, nil).Err(); !redis.HasErrorPrefix(err, "LOADING") {
		t.Errorf("while refusing: %v", err)
	}
	mini.SetError("")
	if err := mini.Client.Eval(t.Context(), `return 1`, nil).Err(); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func eval(t *testing.T, client *redis.Client, script string) (any, error) {
	t.Helper()
	return redis.NewScript(script).Run(t.Context(), client, []string{"key"}, "a", "b").Result()
}

// kind is the first word of an error.
func kind(err error) string {
	if err == nil {
		return ""
	}
	word, _, _ := strings.Cut(err.Error(), " ")
	return word
}
