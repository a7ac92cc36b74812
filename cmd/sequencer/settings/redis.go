package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
)

type redisConfig struct {
	URL       redisURL `env:"SEQUENCER_REDIS_URL" secret:"true" wants:"redis://, rediss:// or unix://; host:port,… after it: Cluster; ?master_name=…: Sentinel" means:"The store. Empty: an embedded one that forgets everything when the process ends"`
	URLFile   string   `env:"SEQUENCER_REDIS_URL_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_REDIS_URL, which is not set itself" means:"The same from a file, read at the start"`
	Wait      replicas `env:"SEQUENCER_REDIS_WAIT,default=auto" wants:"auto, or a number from 0 to 16" means:"Replicas of Redis that must confirm an attempt before its first byte leaves; auto: all that are online, and one at least where there ever was one"`
	Namespace string   `env:"SEQUENCER_NAMESPACE,default=seq" wants:"1 to 64 of A-Z a-z 0-9 . _ -" means:"Key prefix and hash tag; namespaces on one Redis never meet"`
}

func (c redisConfig) check(r *report) {
	if !isName(c.Namespace, 64) || strings.Contains(c.Namespace, ":") {
		r.bad("holds a character that keys cannot have, or is too long", "SEQUENCER_NAMESPACE")
	}
	if c.URL.options == nil && c.Wait > 0 {
		r.bad("asks for replicas, but SEQUENCER_REDIS_URL is empty and the embedded Redis has none", "SEQUENCER_REDIS_WAIT", "SEQUENCER_REDIS_URL")
	}
}

// Client returns a client of the Redis that is configured, nil where it is to be an
// embedded one. The caller closes it.
func (c redisConfig) Client() redis.UniversalClient {
	options := c.URL.Options()
	if options == nil {
		return nil
	}
	options.ClientName = cmp.Or(options.ClientName, "sequencer")
	return queues.NewClient(options)
}

// Blame returns err with the setting and what to do, where it is of a store that cannot be
// used.
func (c redisConfig) Blame(err error) error {
	_, reply := errors.AsType[redis.Error](err)
	if !reply && !errors.Is(err, queues.ErrUnavailable) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("SEQUENCER_REDIS_URL, %s, cannot be used: %w; ask 'sequencer doctor'", c.URL, err)
}

// replicas is how many have to confirm, or queues.AllReplicas.
type replicas int

// EnvDecode reads auto, or a number from 0 to 16.
func (r *replicas) EnvDecode(text string) error {
	if text == "auto" {
		*r = queues.AllReplicas
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 16 {
		return refusal("is neither auto nor a number from 0 to 16")
	}
	*r = replicas(n)
	return nil
}

func (r replicas) String() string {
	if r == queues.AllReplicas {
		return "auto"
	}
	return strconv.Itoa(int(r))
}

// redisURL says where Redis is, in one of these forms:
//
//	redis://[user:password@]host[:port][/db][?option=…]    one server
//	rediss://…                                             the same over TLS
//	unix:///path/to/socket[?db=…]                          one server on this machine
//	redis://host:port,host:port,…                          a Cluster
//	redis://host:port[,host:port…]?master_name=…           Sentinels, with the name of their master
//
// Options are those of go-redis (pool_size, read_timeout, …). User, password
// and options are those of the first address and hold for all; in a password a comma
// is written %2C and a # %23. Sentinels that want a password of their own have
// it by sentinel_username and sentinel_password.
type redisURL struct {
	text    string
	options *redis.UniversalOptions
}

// EnvDecode reads one of the forms. Its errors never quote the address, which
// may hold a password.
func (r *redisURL) EnvDecode(text string) error {
	if strings.Contains(text, "#") {
		return refusal("holds a #, which ends an address: in a user or password write it %23")
	}
	first, query, _ := strings.Cut(text, "?")
	addresses := splitList(first)
	if len(addresses) == 0 {
		return refusal("names no address")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return refusal("has options that cannot be read")
	}
	options := new(redis.UniversalOptions)
	for name, place := range map[string]*string{
		"master_name": &options.MasterName, "sentinel_username": &options.SentinelUsername,
		"sentinel_password": &options.SentinelPassword,
	} {
		*place = values.Get(name)
		values.Del(name)
	}
	if options.MasterName == "" && options.SentinelUsername+options.SentinelPassword != "" {
		return refusal("gives Sentinels a user or password, and no master_name")
	}
	base, rest := addresses[0], addresses[1:]
	if len(values) > 0 {
		base += "?" + values.Encode()
	}
	one, err := redis.ParseURL(base)
	if err != nil {
		return refusal("is no redis://, rediss:// or unix:// address with known options")
	}
	if !keep(options, one) {
		return refusal("has an option that cannot be used here")
	}
	options.Addrs, options.IsClusterMode = []string{one.Addr}, len(rest) > 0 && options.MasterName == ""
	if options.TLSConfig != nil {
		options.TLSConfig.ServerName = "" // each server has to show the name that it is dialled by
	}
	if one.Network == "unix" && (len(rest) > 0 || options.MasterName != "") {
		return refusal("gives a unix socket and further addresses or a master")
	}
	scheme, _, _ := strings.Cut(base, "://")
	for _, address := range rest {
		address = strings.TrimPrefix(address, scheme+"://")
		parsed, err := redis.ParseURL(scheme + "://" + address)
		if err != nil || parsed.Password != "" || strings.ContainsAny(address, "/@") {
			return refusal("has a further address that is not host:port")
		}
		options.Addrs = append(options.Addrs, parsed.Addr)
	}
	if options.IsClusterMode && options.DB != 0 {
		return refusal("chooses a database, which a Cluster does not have")
	}
	r.text, r.options = text, options
	return nil
}

// keep copies all that an address has set but where it leads to, and reports whether there
// is a place for it.
func keep(options *redis.UniversalOptions, one *redis.Options) bool {
	places := reflect.ValueOf(options).Elem()
	for field, value := range reflect.ValueOf(one).Elem().Fields() {
		if value.IsZero() || field.Name == "Network" || field.Name == "Addr" {
			continue
		}
		place := places.FieldByName(field.Name)
		if !place.CanSet() {
			return false
		}
		place.Set(value)
	}
	return true
}

// Options are the connection options, nil for the embedded Redis. The caller
// may change them.
func (r redisURL) Options() *redis.UniversalOptions {
	if r.options == nil {
		return nil
	}
	options := *r.options
	options.Addrs, options.TLSConfig = slices.Clone(options.Addrs), options.TLSConfig.Clone()
	return &options
}

// String shows the addresses without user, password and options.
func (r redisURL) String() string {
	if r.options == nil {
		return ""
	}
	scheme, _, _ := strings.Cut(r.text, "://")
	shown := scheme + "://" + strings.Join(r.options.Addrs, ",")
	if r.options.DB != 0 {
		shown += "/" + strconv.Itoa(r.options.DB)
	}
	if r.options.MasterName != "" {
		shown += "?master_name=" + r.options.MasterName
	}
	return shown
}
