package queues

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewClient returns a client of one Redis, of what Sentinels watch, or of a Cluster. By
// itself that of a Cluster asks who has which slots once a minute, and after a redirect,
// but a master that is gone redirects nobody: here every failure of a node has it ask.
func NewClient(o *redis.UniversalOptions) redis.UniversalClient {
	options := *o
	if options.IsClusterMode && options.ReadTimeout == 0 {
		options.ReadTimeout = readTimeout
	}
	client := redis.NewUniversalClient(&options)
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(follow{cluster}) })
	}
	return client
}

// readTimeout is how long a node of a Cluster has to answer unless something else is set.
// It is asked twice before another is: with the 5 s of go-redis one that hangs would hold
// up for 10 s what was under way.
const readTimeout = 3 * time.Second

// follow is a hook of a Cluster's nodes. ReloadState returns at once, and asks at most
// five times a second.
type follow struct{ cluster *redis.ClusterClient }

func (f follow) after(ctx context.Context, err error) error {
	if err != nil && !errors.Is(err, context.Canceled) && (!isReply(err) || transient(err)) {
		f.cluster.ReloadState(ctx)
	}
	return err
}

func (f follow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f follow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return f.after(ctx, next(ctx, cmd)) }
}

func (f follow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return f.after(ctx, next(ctx, cmds)) }
}

// node returns a client of the server that has the namespace, for what names no key: a
// Cluster sends that anywhere. Error: ErrUnavailable.
func (s *Store) node(ctx context.Context) (redis.Cmdable, error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return s.client, nil
	}
	master, err := cluster.MasterForKey(ctx, s.prefix)
	if err != nil {
		return nil, fmt.Errorf("finding the node of the namespace: %w: %w", ErrUnavailable, err)
	}
	return master, nil
}

// moved has a Cluster's client look where the namespace is now, if err says that it has
// moved, and reports whether it did.
func (s *Store) moved(ctx context.Context, err error) bool {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok || !redis.HasErrorPrefix(err, "MOVED") {
		return false
	}
	// Unlike ReloadState it waits for the answer.
	_ = cluster.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
	return true
}
