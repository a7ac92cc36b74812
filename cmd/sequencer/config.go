package main

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

// config is everything that can be set from the environment. The tags of a
// field are its whole story: env names the variable and its default, min and
// max bound it, wants says what is accepted, means explains it, shown replaces
// a default that is computed, and secret keeps the value out of every message, or where it
// says refused out of that which refuses it: an address may hold a password or a key, and
// only one that was read can be shown without.
type config struct {
	HTTP    httpConfig
	Redis   redisConfig
	Mina    minaConfig
	Ledgers ledgersConfig
	Senders sendersConfig
	Types   typesConfig
	Cycle   cycleConfig
	Retry   retryConfig
	Depth   depthConfig
	Fee     feeConfig
	Claim   claimConfig
	Keep    keepConfig
	Webhook webhookConfig
	Log     logConfig
}

type httpConfig struct {
	Addr            string        `env:"SEQUENCER_ADDR,default=127.0.0.1:8080" wants:"host:port" means:"Listen address. One that is not loopback needs SEQUENCER_API_KEYS or SEQUENCER_INSECURE"`
	Insecure        bool          `env:"SEQUENCER_INSECURE,default=false" wants:"true or false" means:"Where nobody needs a key: serve a non-loopback address too, and answer whatever name the service is asked by"`
	APIKeys         apiKeys       `env:"SEQUENCER_API_KEYS" secret:"true" wants:"name:scope:key,… with scope submit, read or admin, and @prefix|prefix behind submit or read for some queues" means:"Who may do what: read sees everything, submit also posts and cancels, admin does all"`
	APIKeysFile     string        `env:"SEQUENCER_API_KEYS_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_API_KEYS, which is not set itself" means:"The same from a file, one key a line or as above; it is read again when it changes"`
	RateLimit       int           `env:"SEQUENCER_RATE_LIMIT,default=0" min:"0" max:"1000000" wants:"a number from 0 (no limit) to 1000000" means:"Requests per second that the keys of one name may make, at all processes together, after a pause up to ten seconds' worth at once; each transaction of a batch is one"`
	CORSOrigins     originList    `env:"SEQUENCER_CORS_ORIGINS" secret:"refused" wants:"http:// or https:// origins without a path, comma-separated" means:"Sites whose pages may use the API with a key; pages of others may not"`
	TLSCert         string        `env:"SEQUENCER_TLS_CERT" wants:"a PEM file with the certificate of SEQUENCER_TLS_KEY and those that vouch for it" means:"Serve HTTPS; the file is read again when it changes"`
	TLSKey          string        `env:"SEQUENCER_TLS_KEY" wants:"a PEM file with the private key of SEQUENCER_TLS_CERT" means:"See SEQUENCER_TLS_CERT"`
	Explorer        explorerURL   `env:"SEQUENCER_EXPLORER_URL" secret:"refused" wants:"an http:// or https:// address with {hash} in it" means:"A block explorer's address of a transaction, linked by the dashboard"`
	BodyLimit       byteSize      `env:"SEQUENCER_BODY_LIMIT,default=1MiB" min:"1KiB" max:"64MiB" wants:"a size from 1KiB to 64MiB" means:"The largest single transaction"`
	BatchLimit      byteSize      `env:"SEQUENCER_BATCH_LIMIT,default=32MiB" min:"1KiB" max:"1GiB" wants:"a size from 1KiB to 1GiB" means:"The largest batch"`
	ShutdownDelay   time.Duration `env:"SEQUENCER_SHUTDOWN_DELAY,default=0s" min:"0s" max:"1h" wants:"a duration from 0s to 1h" means:"How long connections are still served after the first signal, while /readyz answers 503 and proxies learn of it"`
	ShutdownTimeout time.Duration `env:"SEQUENCER_SHUTDOWN_TIMEOUT,default=30s" min:"0s" max:"1h" wants:"a duration from 0s to 1h" means:"How long running dispatches may take to finish after the first signal, and running requests after SEQUENCER_SHUTDOWN_DELAY"`
}

type redisConfig struct {
	URL       redisURL `env:"SEQUENCER_REDIS_URL" secret:"true" wants:"redis://, rediss:// or unix://; host:port,… after it: Cluster; ?master_name=…: Sentinel" means:"The store. Empty: an embedded one that forgets everything when the process ends"`
	URLFile   string   `env:"SEQUENCER_REDIS_URL_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_REDIS_URL, which is not set itself" means:"The same from a file, read at the start"`
	Wait      int      `env:"SEQUENCER_REDIS_WAIT,default=0" min:"0" max:"16" wants:"a number from 0 to 16" means:"Replicas that must confirm an attempt before its first byte leaves"`
	Namespace string   `env:"SEQUENCER_NAMESPACE,default=seq" wants:"1 to 64 of A-Z a-z 0-9 . _ -" means:"Key prefix and hash tag; namespaces on one Redis never meet"`
}

type minaConfig struct {
	URLs       urlList       `env:"SEQUENCER_MINA_URL" secret:"refused" shown:"required by serve, unless SEQUENCER_TYPES is SUBMIT_BATCH" wants:"http:// or https:// GraphQL addresses, comma-separated" means:"The Mina nodes"`
	Quorum     int           `env:"SEQUENCER_MINA_QUORUM,default=0" shown:"a majority" min:"0" max:"64" wants:"a number from 1 to the number of nodes" means:"Synced nodes that must agree before a nonce is given up or a transaction ends"`
	Timeout    time.Duration `env:"SEQUENCER_MINA_TIMEOUT,default=30s" min:"10ms" max:"10m" wants:"a duration from 10ms to 10m" means:"The longest one call to a node may take"`
	ArchiveURL urlList       `env:"SEQUENCER_ARCHIVE_URL" secret:"refused" wants:"one http:// or https:// address" means:"An Archive-Node-API, asked for what the nodes no longer hold"`
}

type ledgersConfig struct {
	Targets  ledgerList    `env:"SEQUENCER_LEDGERS" secret:"refused" wants:"name=sawtooth+http://host:8008,name=splinter+http://host:8080/scabbard/{circuit}/{service},…" means:"Ledgers that take batches (SUBMIT_BATCH), each by a name"`
	Slots    int           `env:"SEQUENCER_LEDGER_SLOTS,default=8" min:"1" max:"1024" wants:"a number from 1 to 1024" means:"Submissions in flight per ledger; as senders they are named {ledger}/{n}"`
	Timeout  time.Duration `env:"SEQUENCER_LEDGER_TIMEOUT,default=15s" min:"10ms" max:"10m" wants:"a duration from 10ms to 10m" means:"The longest one call to a ledger may take"`
	Patience time.Duration `env:"SEQUENCER_LEDGER_PATIENCE,default=1h" min:"1s" max:"8760h" wants:"a duration from 1s to 8760h" means:"How long a batch may be PENDING, Valid or UNKNOWN before a person is asked"`
	Auth     string        `env:"SEQUENCER_LEDGER_AUTH" secret:"true" wants:"name=value of its Authorization header, one per line or comma-separated, for ledgers of SEQUENCER_LEDGERS" means:"What ledgers are shown of us"`
	AuthFile string        `env:"SEQUENCER_LEDGER_AUTH_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_LEDGER_AUTH, which is not set itself" means:"The same from a file; it is read again when it changes"`
}

type sendersConfig struct {
	List            senderList    `env:"SEQUENCER_SENDERS" secret:"refused" wants:"accountId=workerUrl,… where accountId is a B62… public key" means:"Fee payers, each with its worker"`
	File            senderFile    `env:"SEQUENCER_SENDERS_FILE" wants:"a JSON file of at most 1MiB: [{\"accountId\",\"workerUrl\"},…], or {\"accountId\",\"command\":[…],\"env\":{…}} for a worker that this process runs" means:"The same from a file; see below for workers that are commands"`
	WorkerToken     string        `env:"SEQUENCER_WORKER_TOKEN" secret:"true" wants:"printable ASCII without spaces" means:"Bearer token that workers are shown"`
	WorkerTokenFile string        `env:"SEQUENCER_WORKER_TOKEN_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_WORKER_TOKEN, which is not set itself" means:"The same from a file; it is read again when it changes"`
	MinBalance      minaFee       `env:"SEQUENCER_MIN_BALANCE,default=1" wants:"MINA with at most 9 decimals" means:"What a sender must hold to be given work, in MINA; never less than SEQUENCER_FEE"`
	BalanceInterval time.Duration `env:"SEQUENCER_BALANCE_INTERVAL,default=1m" min:"1s" max:"1h" wants:"a duration from 1s to 1h" means:"How often the balances of all senders are read"`
	StateDir        string        `env:"SEQUENCER_STATE_DIR" shown:"in the user's cache folder" wants:"an absolute path" means:"Folder in which it is noted what workers run, so that those left over are found"`
}

type typesConfig struct {
	Types       nameList     `env:"SEQUENCER_TYPES" shown:"all known" wants:"known type names, comma-separated" means:"Types that this process dispatches"`
	WorkerTypes nameList     `env:"SEQUENCER_WORKER_TYPES" wants:"names of 1 to 64 of A-Z 0-9 _, comma-separated" means:"Further types, done wholly by their worker; their data is any JSON object"`
	Overlap     overlapModes `env:"SEQUENCER_OVERLAP" wants:"TYPE=chained, TYPE=commuting or TYPE=alone for known types, comma-separated" means:"How several transactions of a type go together in flight, over what the type says itself; see below"`
	Width       int          `env:"SEQUENCER_WIDTH,default=1" min:"1" max:"24" wants:"a number from 1 to 24" means:"The most transactions of one queue in flight and in no block, where nobody has set another width for it"`
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

type depthConfig struct {
	Confirmations int `env:"SEQUENCER_CONFIRMATIONS,default=1" min:"1" max:"1000" wants:"a number of blocks from 1 to 1000" means:"Blocks, its own included, that make a transaction DONE; order survives reorgs shallower than this"`
	Settle        int `env:"SEQUENCER_SETTLE_DEPTH,default=15" min:"1" max:"1000" wants:"a number of blocks from 1 to 1000" means:"How deep a nonce must be lost before a transaction takes a new one; at most one effect survives reorgs shallower than this"`
	Finality      int `env:"SEQUENCER_FINALITY,default=15" min:"1" max:"1000" wants:"a number of blocks from SEQUENCER_CONFIRMATIONS to 1000" means:"How deep a DONE transaction is still watched for a reorg"`
}

type feeConfig struct {
	First       firstFee `env:"SEQUENCER_FEE,default=0.1" wants:"MINA, from 0.000000001 to SEQUENCER_FEE_MAX, or auto" means:"The first attempt's fee, in MINA; auto: by what others pay, see fees.md"`
	Min         minaFee  `env:"SEQUENCER_FEE_MIN,default=0.01" wants:"MINA, above 0 and with SEQUENCER_FEE=auto at most SEQUENCER_FEE_MAX" means:"The least that auto pays, in MINA"`
	Target      int      `env:"SEQUENCER_FEE_TARGET,default=2" min:"1" max:"20" wants:"a number of blocks from 1 to 20" means:"Blocks within which auto wants a transaction included"`
	Bump        factor   `env:"SEQUENCER_FEE_BUMP,default=1.5" wants:"a decimal number above 1 and at most 100" means:"Factor of each retry and each bump"`
	Max         minaFee  `env:"SEQUENCER_FEE_MAX,default=5" wants:"MINA, at least SEQUENCER_FEE" means:"The most a fee may become, in MINA"`
	LimitSender minaFee  `env:"SEQUENCER_FEE_LIMIT_SENDER,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The most that the attempts of one sender may cost in a day (UTC), in MINA"`
	Limit       minaFee  `env:"SEQUENCER_FEE_LIMIT,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The same for all senders together"`
	LimitQueue  minaFee  `env:"SEQUENCER_FEE_LIMIT_QUEUE,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The same for the transactions of one queue: then it waits for the next day, and its sender is free"`
	LimitKey    minaFee  `env:"SEQUENCER_FEE_LIMIT_KEY,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The same for what is posted with the API keys of one name"`
	BumpAfter   int      `env:"SEQUENCER_BUMP_AFTER,default=5" min:"1" max:"100000" wants:"a number of slots from 1 to 100000" means:"Slots in a pool before the fee is raised"`
	ValidSlots  int      `env:"SEQUENCER_VALID_SLOTS,default=40" min:"1" max:"100000" wants:"a number of slots from 1 to 100000" means:"Slots that an attempt stays valid, beside the time its dispatch may take"`
}

type claimConfig struct {
	TTL   time.Duration `env:"SEQUENCER_CLAIM_TTL,default=15s" min:"100ms" max:"10m" wants:"a duration from 100ms to 10m" means:"Silence after which other processes take over a process's queues"`
	Limit int           `env:"SEQUENCER_CLAIM_LIMIT,default=0" min:"0" max:"1000000" wants:"a number from 0 (no limit) to 1000000" means:"The most queues this process binds at a time"`
}

type keepConfig struct {
	Retention       time.Duration `env:"SEQUENCER_RETENTION,default=168h" min:"1s" max:"87600h" wants:"a duration from 1s to 87600h" means:"How long DONE transactions are kept after finality, and keys are known at least"`
	RetentionFailed time.Duration `env:"SEQUENCER_RETENTION_FAILED,default=0s" shown:"for ever" min:"0s" max:"87600h" wants:"a duration from 1s to 87600h, or 0s for ever" means:"How long FAILED and UNRESOLVED transactions are kept from their end on, once nothing of them can land"`
	Events          time.Duration `env:"SEQUENCER_EVENTS_KEEP,default=24h" min:"1s" max:"8760h" wants:"a duration from 1s to 8760h" means:"How long the event stream can be resumed"`
	MaxWaiting      int           `env:"SEQUENCER_MAX_WAITING,default=0" min:"0" max:"100000000" wants:"a number from 0 (no limit) to 100000000" means:"Waiting transactions per queue; more are refused"`
	MaxWaitingInAll int           `env:"SEQUENCER_MAX_WAITING_TOTAL,default=0" min:"0" max:"100000000" wants:"a number from 0 (no limit) to 100000000" means:"Waiting transactions of all queues together; more are refused"`
}

type webhookConfig struct {
	File    webhookFile `env:"SEQUENCER_WEBHOOKS_FILE" wants:"a JSON file of at most 1MiB: [{\"id\",\"url\",\"secret\",\"types\"?,\"queues\"?,\"states\"?},…]" means:"Endpoints that are told every change, see webhooks.md; the file is read again when it changes"`
	Private networkList `env:"SEQUENCER_WEBHOOKS_PRIVATE" wants:"networks like 10.1.0.0/16 or fd00::/8, comma-separated" means:"Networks that webhooks may be sent to although they are not public, also without TLS"`
}

type logConfig struct {
	Level  slog.Level `env:"SEQUENCER_LOG_LEVEL,default=info" wants:"debug, info, warn or error" means:"The least level that is logged"`
	Format logFormat  `env:"SEQUENCER_LOG_FORMAT" shown:"text on a terminal, else json" wants:"text or json" means:"How log lines look"`
}

// needs says what a command cannot do without.
type needs struct {
	Mina  bool     // SEQUENCER_MINA_URL must be set, unless no type of Mina is dispatched
	Types []string // the built-in types that SEQUENCER_TYPES may name
}

// loadConfig reads and checks every variable. An empty variable counts as not
// set. Warnings are for the log: settings that work but hardly mean what they
// say. The error is a *configError that holds every bad variable, not only the
// first.
func loadConfig(ctx context.Context, env map[string]string, need needs) (config, []string, error) {
	given := env
	env, bad := withSecrets(given)
	var cfg config
	for {
		// The library stops at the first value it cannot read. What it looked up
		// last is the culprit: note it, and go on without.
		var last string
		cfg = config{}
		err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: &cfg, Lookuper: envconfig.LookuperFunc(func(key string) (string, bool) {
			last = key
			if _, skip := bad[key]; skip || env[key] == "" {
				return "", false
			}
			return env[key], true
		})})
		if err == nil {
			break
		}
		if _, again := bad[last]; again || env[last] == "" {
			return config{}, nil, fmt.Errorf("reading %s: %w", last, err)
		}
		bad[last] = problem{reason: reasonOf(err)}
	}
	vars := variables(&cfg)
	for _, v := range vars {
		if _, seen := bad[v.name]; !seen && !v.within() {
			bad[v.name] = problem{reason: "is out of range"}
		}
	}
	warnings := cfg.check(need, func(reason, name string, against ...string) {
		// What is wrong only beside another bad value may be right; so may be a value whose
		// file cannot be read.
		for _, other := range append(against, name) {
			_, seen := bad[other]
			if _, unread := bad[other+fileSuffix]; seen || unread {
				return
			}
		}
		bad[name] = problem{reason: reason}
	})
	warnings = append(warnings, unknownVariables(vars, given)...)
	if len(bad) == 0 {
		return cfg, warnings, nil
	}
	failure := &configError{}
	for _, v := range vars {
		p, ok := bad[v.name]
		if !ok {
			continue
		}
		if file := v.name + fileSuffix; v.secret && given[file] != "" {
			p.reason = "in " + file + " " + p.reason
		}
		p.name, p.wants = v.name, v.wants
		switch value := env[v.name]; {
		case value == "":
			p.value = v.fallback
		case v.secret, v.masked:
			p.value = masked
		default:
			p.value = value
		}
		failure.problems = append(failure.problems, p)
	}
	return config{}, warnings, failure
}

const masked = "***"

// A problem is one variable that cannot be used.
type problem struct{ name, value, reason, wants string }

// A configError lists every bad variable; secrets are masked.
type configError struct{ problems []problem }

func (e *configError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bad setting(s):", len(e.problems))
	for _, p := range e.problems {
		fmt.Fprintf(&b, "\n  %s", p.name)
		if p.value != "" {
			fmt.Fprintf(&b, "=%s", terminal.Shorten(strconv.Quote(p.value), 80))
		}
		fmt.Fprintf(&b, " %s; it wants %s", p.reason, p.wants)
	}
	return b.String()
}

// ExitCode is that of wrong usage.
func (e *configError) ExitCode() int { return 2 }

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
func variables(cfg *config) []variable {
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
func (c config) String() string {
	var b strings.Builder
	for _, v := range variables(&c) {
		fmt.Fprintf(&b, "%s=%s\n", v.name, v.text())
	}
	return b.String()
}

// LogValue is the configuration in effect as one group, secrets masked.
func (c config) LogValue() slog.Value {
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
	for _, v := range variables(&config{}) {
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
