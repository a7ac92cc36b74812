package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/sequencer/lifecycle"
)

// byteSize is a number of bytes, written with a binary unit: 512, 64KiB, 1MiB.
type byteSize int64

// EnvDecode reads a size.
func (s *byteSize) EnvDecode(text string) error {
	digits := strings.TrimRight(text, "KMGiB")
	shift, ok := map[string]uint{"": 0, "B": 0, "KiB": 10, "MiB": 20, "GiB": 30}[text[len(digits):]]
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil {
		return refusal("is not a size in bytes, KiB, MiB or GiB")
	}
	*s = byteSize(n << shift)
	return nil
}

func (s byteSize) String() string {
	for shift, unit := range map[uint]string{30: "GiB", 20: "MiB", 10: "KiB"} {
		if s >= 1<<shift && s%(1<<shift) == 0 && s>>shift < 1024 {
			return strconv.FormatInt(int64(s>>shift), 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// minaFee is a fee in nanomina, written in MINA.
type minaFee uint64

// EnvDecode reads a decimal number of MINA exactly.
func (f *minaFee) EnvDecode(text string) error {
	n, err := mina.FeeFromMina(text)
	if err != nil {
		return refusal("is not an amount of MINA with at most 9 decimals")
	}
	*f = minaFee(n)
	return nil
}

func (f minaFee) String() string { return lifecycle.FormatMina(uint64(f)) }

// firstFee is a fee, or auto: by what others pay. Where nobody knows that, auto pays what
// the setting is by default.
type firstFee struct {
	minaFee
	auto bool
}

// EnvDecode reads auto, or a fee.
func (f *firstFee) EnvDecode(text string) error {
	f.auto = text == "auto"
	if f.auto {
		f.minaFee = lifecycle.NanoPerMina / 10
		return nil
	}
	return f.minaFee.EnvDecode(text)
}

func (f firstFee) String() string {
	if f.auto {
		return "auto"
	}
	return f.minaFee.String()
}

// first is the fee that is paid where nobody knows what others pay.
func (f *feeConfig) first() minaFee {
	if f.First.auto {
		return min(max(f.First.minaFee, f.Min), f.Max)
	}
	return f.First.minaFee
}

// factor multiplies fees. It is kept as the exact fraction it was written as.
type factor struct{ rat *big.Rat }

// EnvDecode reads a decimal number without an exponent.
func (f *factor) EnvDecode(text string) error {
	if len(text) > 20 || strings.Trim(text, "0123456789.") != "" {
		return refusal("is not a decimal number")
	}
	rat, ok := new(big.Rat).SetString(text)
	if !ok {
		return refusal("is not a decimal number")
	}
	f.rat = rat
	return nil
}

func (f factor) String() string {
	if f.rat == nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(f.rat.FloatString(18), "0"), ".")
}

// Float is the factor as the nearest float64.
func (f factor) Float() float64 {
	x, _ := f.rat.Float64()
	return x
}

// urlList holds http and https addresses without a trailing slash.
type urlList []string

// EnvDecode reads comma-separated addresses.
func (l *urlList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		if err := checkURL(item); err != nil {
			return err
		}
		*l = append(*l, strings.TrimRight(item, "/"))
	}
	if len(*l) > 64 {
		return refusal("names more than 64 addresses")
	}
	sorted := slices.Sorted(slices.Values(*l))
	if len(slices.Compact(sorted)) != len(*l) {
		return refusal("names an address twice")
	}
	return nil
}

// String shows hosts alone: the rest of an address may hold a key.
func (l urlList) String() string {
	shown := make([]string, len(l))
	for i, item := range l {
		if u, err := url.Parse(item); err == nil {
			shown[i] = u.Host
		}
	}
	return strings.Join(shown, ",")
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return refusal("holds what is no http:// or https:// address")
	}
	if u.Fragment != "" {
		return refusal("holds an address with a #fragment")
	}
	return nil
}

// originList holds origins as browsers send them: scheme, host and port.
type originList []string

// EnvDecode reads comma-separated origins.
func (l *originList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		u, err := url.Parse(item)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || item != u.Scheme+"://"+u.Host || strings.Contains(item, "*") {
			return refusal("holds what is no origin, such as https://app.example")
		}
		if *l = append(*l, item); len(*l) > 64 {
			return refusal("names more than 64 origins")
		}
	}
	return nil
}

func (l originList) String() string { return strings.Join(l, ",") }

// nameList holds type names.
type nameList []string

// EnvDecode reads comma-separated names of A-Z 0-9 _.
func (l *nameList) EnvDecode(text string) error {
	for _, name := range splitList(text) {
		if len(name) > 64 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			return refusal("holds what cannot be a type name")
		}
		if slices.Contains(*l, name) {
			return refusal("names a type twice")
		}
		*l = append(*l, name)
	}
	return nil
}

func (l nameList) String() string { return strings.Join(l, ",") }

// overlapModes says how types go together, by their names.
type overlapModes map[string]dispatcher.Mode

// EnvDecode reads comma-separated TYPE=mode.
func (m *overlapModes) EnvDecode(text string) error {
	modes, err := dispatcher.ParseOverlap(text)
	if err != nil {
		return refusal("holds what is none: " + err.Error())
	}
	*m = modes
	return nil
}

func (m overlapModes) String() string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		items = append(items, name+"="+m[name].String())
	}
	return strings.Join(items, ",")
}

// splitList splits at commas and drops blanks and empty items.
func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// An apiKey lets its holder do what scope says, in queues whose names begin with one of
// Within, if there are any; Name is for logs.
type apiKey struct {
	Name, Scope, Key string
	Within           queues.Prefixes
}

type apiKeys []apiKey

// EnvDecode reads name:scope:key,… or one a line, with name:scope@prefix|prefix:key for a
// key of some queues; a key may contain colons.
func (k *apiKeys) EnvDecode(text string) error {
	for _, item := range splitList(strings.ReplaceAll(text, "\n", ",")) {
		parts := strings.SplitN(item, ":", 3)
		if len(parts) != 3 || !isName(parts[0], 64) || !isToken(parts[2]) {
			return refusal("holds an entry that is not name:scope:key")
		}
		scope, prefixes, limited := strings.Cut(parts[1], "@")
		if !slices.Contains([]string{"submit", "read", "admin"}, scope) {
			return refusal("holds a scope that is not submit, read or admin")
		}
		var within queues.Prefixes
		if limited {
			within = strings.Split(prefixes, "|")
		}
		if slices.ContainsFunc(within, func(begin string) bool { return !isName(begin, 128) }) {
			return refusal("holds a prefix that no queue's name begins with")
		}
		if limited && scope == "admin" {
			return refusal("limits a key to queues whose scope is admin")
		}
		if slices.ContainsFunc(*k, func(other apiKey) bool { return other.Key == parts[2] }) {
			return refusal("gives one key twice")
		}
		*k = append(*k, apiKey{Name: parts[0], Scope: scope, Key: parts[2], Within: within})
	}
	return nil
}

// keys are the same as the API takes them.
func (k apiKeys) keys() []api.Key {
	scopes := map[string]api.Scope{"read": api.Read, "submit": api.Submit, "admin": api.Admin}
	var keys []api.Key
	for _, key := range k {
		keys = append(keys, api.Key{Name: key.Name, Scope: scopes[key.Scope], Secret: key.Key, Within: key.Within})
	}
	return keys
}

// String shows names, scopes and limits, never a key.
func (k apiKeys) String() string {
	shown := make([]string, len(k))
	for i, key := range k {
		limit := ""
		if len(key.Within) > 0 {
			limit = "@" + strings.Join(key.Within, "|")
		}
		shown[i] = key.Name + ":" + key.Scope + limit + ":" + masked
	}
	return strings.Join(shown, ",")
}

// isName reports whether text is 1 to most of A-Z a-z 0-9 . _ : -.
func isName(text string, most int) bool {
	return text != "" && len(text) <= most && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-") == ""
}

// isToken reports whether text can travel in a header as a bearer token.
func isToken(text string) bool {
	return text != "" && len(text) <= 4096 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// logFormat is text, json, or empty for whichever suits the output.
type logFormat string

// EnvDecode reads text or json.
func (f *logFormat) EnvDecode(text string) error {
	if text != "" && text != "text" && text != "json" {
		return refusal("is no log format")
	}
	*f = logFormat(text)
	return nil
}

// explorerURL is the address of a transaction in a block explorer, with {hash}
// in the place of its hash.
type explorerURL string

// EnvDecode reads an address that a page may link to.
func (e *explorerURL) EnvDecode(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(strings.ReplaceAll(text, "{hash}", "hash"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || !strings.Contains(text, "{hash}") {
		return refusal("is not such an address")
	}
	*e = explorerURL(text)
	return nil
}

// decodeList reads a file that holds a list in JSON, each entry with the fields of T and no
// others. No value is shown: some are secret.
func decodeList[T any](content []byte, what string) ([]T, error) {
	var written []json.RawMessage
	if json.Unmarshal(content, &written) != nil {
		return nil, refusal("is a file that holds no JSON list of " + what)
	}
	entries := make([]T, len(written))
	for i, entry := range written {
		decoder := json.NewDecoder(bytes.NewReader(entry))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&entries[i]); err != nil {
			return nil, refusal(fmt.Sprintf("has entry %d, which %s", i+1, misfit(err)))
		}
	}
	return entries, nil
}

// misfit says why JSON does not fit the fields that it is for.
func misfit(err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "has the field " + terminal.Shorten(name, 70) + ", which is not known"
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return "has a field " + terminal.Shorten(wrong.Field, 70) + " that is of another kind"
	}
	return "is no JSON object"
}
