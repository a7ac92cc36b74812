package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// redisURL says where Redis is, in one of these forms:
//
//	redis://[user:password@]host[:port][/db][?option=…]    one server
//	rediss://…                                             the same over TLS
//	unix:///path/to/socket[?db=…]                          one server on this machine
//	redis://host:port,host:port,…                          a Cluster
//	redis://host:port[,host:port…]?master_name=…           Sentinels, with the name of their master
//
// Options are those of go-redis (pool_size, read_timeout, …). User, password
// and options are those of the first address and hold for all; a comma inside
// a password is written %2C.
type redisURL struct {
	text    string
	options *redis.UniversalOptions
}

// EnvDecode reads one of the forms. Its errors never quote the address, which
// may hold a password.
func (r *redisURL) EnvDecode(text string) error {
	first, query, _ := strings.Cut(text, "?")
	addresses := splitList(first)
	if len(addresses) == 0 {
		return refusal("names no address")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return refusal("has options that cannot be read")
	}
	master := values.Get("master_name")
	values.Del("master_name")
	base, rest := addresses[0], addresses[1:]
	if len(values) > 0 {
		base += "?" + values.Encode()
	}
	one, err := redis.ParseURL(base)
	if err != nil {
		return refusal("is no redis://, rediss:// or unix:// address with known options")
	}
	options := &redis.UniversalOptions{
		Addrs: []string{one.Addr}, MasterName: master, IsClusterMode: len(rest) > 0 && master == "",
		Username: one.Username, Password: one.Password, DB: one.DB, Protocol: one.Protocol,
		ClientName: one.ClientName, TLSConfig: one.TLSConfig,
		MaxRetries: one.MaxRetries, MinRetryBackoff: one.MinRetryBackoff, MaxRetryBackoff: one.MaxRetryBackoff,
		DialTimeout: one.DialTimeout, ReadTimeout: one.ReadTimeout, WriteTimeout: one.WriteTimeout,
		PoolFIFO: one.PoolFIFO, PoolSize: one.PoolSize, PoolTimeout: one.PoolTimeout,
		MinIdleConns: one.MinIdleConns, MaxIdleConns: one.MaxIdleConns, MaxActiveConns: one.MaxActiveConns,
		ConnMaxIdleTime: one.ConnMaxIdleTime, ConnMaxLifetime: one.ConnMaxLifetime,
	}
	if one.Network == "unix" && (len(rest) > 0 || master != "") {
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

// Options are the connection options, nil for the embedded Redis. The caller
// may change them.
func (r redisURL) Options() *redis.UniversalOptions {
	if r.options == nil {
		return nil
	}
	options := *r.options
	options.Addrs = slices.Clone(options.Addrs)
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
