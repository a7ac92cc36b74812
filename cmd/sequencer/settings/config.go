// Package settings is everything that can be set from the environment: what is read, what
// is refused and why, and what is made of it (the policy of the decisions, the registry of
// types, clients of Redis and of ledgers). Every command may use it that serves, or looks at
// what serves; the client commands do not.
package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"

	"mina-sequencer/cmd/sequencer/terminal"
)

// Config is everything that can be set from the environment, as [Load] reads it. The tags of
// a field are its whole story: env names the variable and its default, min and max bound it,
// wants says what is accepted, means explains it, shown replaces a default that is computed,
// and secret keeps the value out of every message, or where it says refused out of that
// which refuses it: an address may hold a password or a key, and only one that was read can
// be shown without.
type Config struct {
	HTTP    httpConfig
	Redis   redisConfig
	Mina    minaConfig
	Ledgers ledgersConfig
	Senders sendersConfig
	Provers proversConfig
	Types   typesConfig
	Cycle   cycleConfig
	Retry   retryConfig
	Depth   depthConfig
	Fee     feeConfig
	Claim   claimConfig
	Keep    keepConfig
	Webhook webhookConfig
	Log     Log
}

type cycleConfig struct {
	Interval          time.Duration `env:"SEQUENCER_CYCLE_INTERVAL,default=5s" min:"1ms" max:"10m" wants:"a duration from 1ms to 10m" means:"The longest sleep of the run cycle"`
	InclusionInterval time.Duration `env:"SEQUENCER_INCLUSION_INTERVAL,default=10s" min:"1ms" max:"10m" wants:"a duration from 1ms to 10m" means:"How often the chain is asked"`
	DispatchTimeout   time.Duration `env:"SEQUENCER_DISPATCH_TIMEOUT,default=10m" min:"10ms" max:"6h" wants:"a duration from 10ms to 6h" means:"The longest one worker call may take"`
	CallbackWait      time.Duration `env:"SEQUENCER_CALLBACK_WAIT,default=2m" min:"0s" max:"6h" wants:"a duration from 0s to 6h" means:"How long a queue waits until the callback of its last transaction is answered"`
}

type retryConfig struct {
	Max             int           `env:"SEQUENCER_MAX_RETRIES,default=3" min:"0" max:"1000" wants:"a number from 0 to 1000" means:"Retries after the first try, where type and worker name none"`
	Delay           time.Duration `env:"SEQUENCER_RETRY_DELAY,default=1m" min:"0s" max:"24h" wants:"a duration from 0s to SEQUENCER_RETRY_DELAY_MAX" means:"Delay before the first retry; it doubles with each one, with jitter"`
	DelayMax        time.Duration `env:"SEQUENCER_RETRY_DELAY_MAX,default=10m" min:"0s" max:"24h" wants:"a duration from 0s to 24h" means:"Where that delay stops growing"`
	UnresolvedLimit int           `env:"SEQUENCER_UNRESOLVED_LIMIT,default=3" min:"1" max:"1000" wants:"a number from 1 to 1000" means:"UNRESOLVED in a row that pause a queue; of a sender, from when on another one is asked, too"`
}

func (c retryConfig) check(r *report) {
	if c.Delay > c.DelayMax {
		r.bad("is longer than SEQUENCER_RETRY_DELAY_MAX="+c.DelayMax.String(), "SEQUENCER_RETRY_DELAY", "SEQUENCER_RETRY_DELAY_MAX")
	}
}

type depthConfig struct {
	Confirmations int `env:"SEQUENCER_CONFIRMATIONS,default=1" min:"1" max:"1000" wants:"a number of blocks from 1 to 1000" means:"Blocks, its own included, that make a transaction DONE; order survives reorgs shallower than this"`
	Settle        int `env:"SEQUENCER_SETTLE_DEPTH,default=15" min:"1" max:"1000" wants:"a number of blocks from 1 to 1000" means:"How deep a nonce must be lost before a transaction takes a new one; at most one effect survives reorgs shallower than this"`
	Finality      int `env:"SEQUENCER_FINALITY,default=15" min:"1" max:"1000" wants:"a number of blocks from SEQUENCER_CONFIRMATIONS to 1000" means:"How deep a DONE transaction is still watched for a reorg"`
}

func (c depthConfig) check(r *report) {
	if c.Finality < c.Confirmations {
		r.bad("is less than SEQUENCER_CONFIRMATIONS: nothing can be final before it is DONE", "SEQUENCER_FINALITY", "SEQUENCER_CONFIRMATIONS")
	}
	if c.Settle < c.Confirmations {
		r.odd("SEQUENCER_SETTLE_DEPTH is less than SEQUENCER_CONFIRMATIONS: at most one effect is promised against shallower reorgs than order is")
	}
}

type claimConfig struct {
	TTL   time.Duration `env:"SEQUENCER_CLAIM_TTL,default=15s" min:"100ms" max:"10m" wants:"a duration from 100ms to 10m" means:"Silence after which other processes take over a process's queues"`
	Limit int           `env:"SEQUENCER_CLAIM_LIMIT,default=0" min:"0" max:"1000000" wants:"a number from 0 (no limit) to 1000000" means:"The most queues this process has claimed at a time before it claims no more: Grid's claim_limit; the rest is left to others. What it takes over is never refused"`
}

type keepConfig struct {
	Retention       time.Duration `env:"SEQUENCER_RETENTION,default=168h" min:"1s" max:"87600h" wants:"a duration from 1s to 87600h" means:"How long DONE transactions are kept after finality, and keys are known at least"`
	RetentionFailed time.Duration `env:"SEQUENCER_RETENTION_FAILED,default=0s" shown:"for ever" min:"0s" max:"87600h" wants:"a duration from 1s to 87600h, or 0s for ever" means:"How long FAILED and UNRESOLVED transactions are kept from their end on, once nothing of them can land"`
	Events          time.Duration `env:"SEQUENCER_EVENTS_KEEP,default=24h" min:"1s" max:"8760h" wants:"a duration from 1s to 8760h" means:"How long the event stream can be resumed"`
	MaxWaiting      int           `env:"SEQUENCER_MAX_WAITING,default=0" min:"0" max:"100000000" wants:"a number from 0 (no limit) to 100000000" means:"Waiting transactions per queue; more are refused"`
	MaxWaitingInAll int           `env:"SEQUENCER_MAX_WAITING_TOTAL,default=0" min:"0" max:"100000000" wants:"a number from 0 (no limit) to 100000000" means:"Waiting transactions of all queues together; more are refused"`
}

// Log says what is logged, and how it looks. The zero value is what no setting means.
type Log struct {
	Level  slog.Level `env:"SEQUENCER_LOG_LEVEL,default=info" wants:"debug, info, warn or error" means:"The least level that is logged"`
	Format logFormat  `env:"SEQUENCER_LOG_FORMAT" shown:"text on a terminal, else json" wants:"text or json" means:"How log lines look"`
}

// needs says what a command cannot do without.
type needs struct {
	Mina  bool     // SEQUENCER_MINA_URL must be set, unless no type of Mina is dispatched
	Types []string // the built-in types that SEQUENCER_TYPES may name
}

// Load reads and checks every variable, as a command wants them that has to do with
// transactions. An empty variable counts as not set. Warnings are for the log: settings that
// work but hardly mean what they say. The error is an *[Error] that holds every bad
// variable, not only the first.
func Load(ctx context.Context, env map[string]string) (cfg Config, warnings []string, err error) {
	return read(ctx, env, needs{Mina: true, Types: BuiltinTypes()})
}

func read(ctx context.Context, env map[string]string, need needs) (Config, []string, error) {
	given := env
	env, bad := withSecrets(given)
	cfg, err := decode(ctx, env, bad)
	if err != nil {
		return Config{}, nil, err
	}
	vars := variables(&cfg)
	for _, v := range vars {
		if _, seen := bad[v.name]; !seen && !v.within() {
			bad[v.name] = Problem{Reason: "is out of range"}
		}
	}
	r := &report{need: need, found: bad}
	cfg.check(r)
	warnings := slices.Concat(r.warnings, unknownVariables(vars, given))
	if len(bad) == 0 {
		return cfg, warnings, nil
	}
	failure := &Error{}
	for _, v := range vars {
		p, ok := bad[v.name]
		if !ok {
			continue
		}
		if file := v.name + FileSuffix; v.secret && given[file] != "" {
			p.Reason = "in " + file + " " + p.Reason
		}
		p.Name, p.Wants = v.name, v.wants
		switch value := env[v.name]; {
		case value == "":
			p.Value = v.fallback
		case v.secret, v.masked:
			p.Value = masked
		default:
			p.Value = value
		}
		failure.Problems = append(failure.Problems, p)
	}
	return Config{}, warnings, failure
}

// decode reads all that can be read, and notes in bad what cannot.
func decode(ctx context.Context, env map[string]string, bad map[string]Problem) (Config, error) {
	for {
		// The library stops at the first value it cannot read. What it looked up
		// last is the culprit: note it, and go on without.
		var last string
		cfg := Config{}
		err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: &cfg, Lookuper: envconfig.LookuperFunc(func(key string) (string, bool) {
			last = key
			if _, skip := bad[key]; skip || env[key] == "" {
				return "", false
			}
			return env[key], true
		})})
		if err == nil {
			return cfg, nil
		}
		if _, again := bad[last]; again || env[last] == "" {
			return Config{}, fmt.Errorf("reading %s: %w", last, err)
		}
		bad[last] = Problem{Reason: reasonOf(err)}
	}
}

const masked = "***"

// A Problem is one variable that cannot be used: its value, masked where that may be secret,
// why it was refused, and what it wants.
type Problem struct{ Name, Value, Reason, Wants string }

// An Error lists every bad variable, in the order of the documentation.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bad setting(s):", len(e.Problems))
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n  %s", p.Name)
		if p.Value != "" {
			fmt.Fprintf(&b, "=%s", terminal.Shorten(strconv.Quote(p.Value), 80))
		}
		fmt.Fprintf(&b, " %s; it wants %s", p.Reason, p.Wants)
	}
	return b.String()
}

// ExitCode is that of wrong usage.
func (e *Error) ExitCode() int { return 2 }

// refusal is an error of our own decoders: safe to show, also for secrets.
type refusal string

func (r refusal) Error() string { return string(r) }

// reasonOf keeps foreign error texts, which may quote a secret, out of the
// message.
func reasonOf(err error) string {
	if r, ok := errors.AsType[refusal](err); ok {
		return string(r)
	}
	return "cannot be read"
}

// A variable is one setting, as the struct tags describe it.
type variable struct {
	name, fallback, shown, wants, means string
	min, max                            string
	secret, masked                      bool // masked: where it is refused
	value                               reflect.Value
}

// variables lists all settings in the order of the struct.
func variables(cfg *Config) []variable {
	var all []variable
	groups := reflect.ValueOf(cfg).Elem()
	for _, group := range groups.Fields() {
		for field, value := range group.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("env"), ",")
			fallback := strings.TrimPrefix(options, "default=")
			v := variable{
				name: name, fallback: fallback, shown: fallback,
				wants: field.Tag.Get("wants"), means: field.Tag.Get("means"),
				min: field.Tag.Get("min"), max: field.Tag.Get("max"),
				secret: field.Tag.Get("secret") == "true", masked: field.Tag.Get("secret") == "refused", value: value,
			}
			if shown := field.Tag.Get("shown"); shown != "" {
				v.shown = shown
			}
			all = append(all, v)
		}
	}
	return all
}

// within reports whether the value lies between the bounds in its tags.
func (v variable) within() bool {
	if v.min == "" {
		return true
	}
	bound := func(text string) int64 {
		switch v.value.Interface().(type) {
		case time.Duration:
			d, _ := time.ParseDuration(text)
			return int64(d)
		case byteSize:
			var size byteSize
			_ = size.EnvDecode(text)
			return int64(size)
		default:
			n, _ := strconv.ParseInt(text, 10, 64)
			return n
		}
	}
	n := v.value.Int()
	return bound(v.min) <= n && n <= bound(v.max)
}

// text is the value in effect, secrets masked.
func (v variable) text() string {
	text := fmt.Sprint(v.value.Interface())
	if v.secret && text != "" {
		if _, ok := v.value.Interface().(fmt.Stringer); !ok {
			return masked
		}
	}
	return text
}

// String lists the configuration in effect, one variable per line, secrets
// masked.
func (c Config) String() string {
	var b strings.Builder
	for _, v := range variables(&c) {
		fmt.Fprintf(&b, "%s=%s\n", v.name, v.text())
	}
	return b.String()
}

// LogValue is the configuration in effect as one group, secrets masked.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, v := range variables(&c) {
		attrs = append(attrs, slog.String(strings.ToLower(strings.TrimPrefix(v.name, "SEQUENCER_")), v.text()))
	}
	return slog.GroupValue(attrs...)
}

// configTable is the reference of all variables as a Markdown table.
func configTable() string {
	var b strings.Builder
	b.WriteString("| variable | default | accepts | meaning |\n|---|---|---|---|\n")
	for _, v := range variables(&Config{}) {
		shown := v.shown
		switch shown {
		case "":
			shown = "empty"
		case v.fallback:
			shown = "`" + shown + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.name, shown, strings.ReplaceAll(v.wants, "|", `\|`), v.means)
	}
	return b.String()
}

// clientVariables are read by the client commands, not by the service.
func clientVariables() []string { return []string{"SEQUENCER_URL", "SEQUENCER_KEY"} }

// unknownVariables warns of every SEQUENCER_ variable that nothing reads, with
// the nearest name that something does.
func unknownVariables(vars []variable, env map[string]string) []string {
	known := clientVariables()
	for _, v := range vars {
		known = append(known, v.name)
	}
	var warnings []string
	for name := range env {
		if !strings.HasPrefix(name, "SEQUENCER_") || slices.Contains(known, name) {
			continue
		}
		nearest := slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
		hint := ""
		if distance(name, nearest) <= 4 {
			hint = ", did you mean " + nearest + "?"
		}
		warnings = append(warnings, terminal.Shorten(name, 80)+" is not a setting"+hint)
	}
	slices.Sort(warnings)
	return warnings
}

// distance is the Levenshtein distance of two short names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
