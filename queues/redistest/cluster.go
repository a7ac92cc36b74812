package redistest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Cluster is a real Redis Cluster of three masters, which share the slots, and a
// replica of each, on loopback ports. A master is failed over when a test says so. Its
// methods are for one goroutine.
type Cluster struct {
	// Nodes are its servers. The first three began as masters; who is one now may have changed.
	Nodes []*Server

	tb testing.TB
}

const (
	masters = 3
	slots   = 16384

	// A server that is only slow, on a machine that has much else to do, is not to be
	// judged dead: it would go on taking writes for a moment, and they would be lost.
	patient   = time.Minute
	impatient = time.Second // once a test has failed one
)

// StartCluster starts one, with directives as Start takes them, and waits until it works.
func StartCluster(tb testing.TB, directives ...string) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	buses := make([]string, 2*masters)
	for i := range buses {
		_, bus, err := net.SplitHostPort(FreeAddr(tb, 1))
		if err != nil {
			tb.Fatal(err)
		}
		buses[i] = bus
		c.Nodes = append(c.Nodes, Start(tb, append([]string{
			"cluster-enabled yes", "cluster-port " + bus, fmt.Sprint("cluster-node-timeout ", patient.Milliseconds()),
			"cluster-replica-validity-factor 0", "cluster-migration-barrier 9", "repl-diskless-sync-delay 0",
		}, directives...)...))
	}
	for i, n := range c.Nodes {
		c.do(n, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		if i < masters {
			c.do(n, "CLUSTER", "ADDSLOTSRANGE", i*slots/masters, (i+1)*slots/masters-1)
		}
		host, port, _ := net.SplitHostPort(n.Addr)
		c.do(c.Nodes[0], "CLUSTER", "MEET", host, port, buses[i])
	}
	c.Works()
	for i, n := range c.Nodes[masters:] {
		c.until("a node knows its master", func() bool {
			return n.Client.Do(context.Background(), "CLUSTER", "REPLICATE", c.ID(c.Nodes[i])).Err() == nil
		})
	}
	c.Replicated()
	return c
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var out []string
	for _, n := range c.Nodes {
		out = append(out, n.Addr)
	}
	return out
}

// ID is the name of a node among the others.
func (c *Cluster) ID(n *Server) string {
	c.tb.Helper()
	return fmt.Sprint(c.do(n, "CLUSTER", "MYID"))
}

// Works waits until all nodes know each other and say that every slot is served.
func (c *Cluster) Works() {
	c.tb.Helper()
	for _, n := range c.Nodes {
		c.until("the Cluster works", func() bool {
			info, err := n.Client.ClusterInfo(context.Background()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r\n", len(c.Nodes))) &&
				strings.Contains(info, "cluster_slots_ok:16384\r\n")
		})
	}
}

// Replicated waits until every master has a replica that follows it, and has all that
// the master was told before.
func (c *Cluster) Replicated() {
	c.tb.Helper()
	c.until("every master has a replica", func() bool { return followed(c.Nodes) == masters })
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // what is not told is 0
	return n
}

// Slot is the slot of a key.
func (c *Cluster) Slot(key string) int64 {
	c.tb.Helper()
	var slot int64
	c.until("a node tells the slot of a key", func() bool {
		for _, n := range c.Nodes {
			var err error
			if !n.answers() {
				continue
			}
			if slot, err = n.control().ClusterKeySlot(context.Background(), key).Result(); err == nil {
				return true
			}
		}
		return false
	})
	return slot
}

// Master is the node that serves a key now, as more than half of the nodes have it, or nil.
func (c *Cluster) Master(key string) *Server {
	c.tb.Helper()
	slot := c.Slot(key)
	votes := map[string]int{}
	for _, n := range c.Nodes {
		if !n.answers() {
			continue
		}
		shards, _ := n.control().ClusterShards(context.Background()).Result()
		for _, s := range shards {
			has := slices.ContainsFunc(s.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End })
			for _, n := range s.Nodes {
				if has && n.Role == "master" && n.Health == "online" {
					votes[fmt.Sprintf("%s:%d", n.Endpoint, n.Port)]++
				}
			}
		}
	}
	for _, n := range c.Nodes {
		if votes[n.Addr] > len(c.Nodes)/2 {
			return n
		}
	}
	return nil
}

// Succeed waits until the master of a key, which a test has failed, has a successor.
func (c *Cluster) Succeed(key string, master *Server) {
	c.tb.Helper()
	c.patience(impatient)
	c.until("another node is master", func() bool { m := c.Master(key); return m != nil && m != master })
	c.patience(patient)
}

// patience is how long a node may be silent before the others judge it dead.
func (c *Cluster) patience(d time.Duration) {
	c.tb.Helper()
	for _, n := range c.Nodes {
		if n.answers() {
			c.do(n, "CONFIG", "SET", "cluster-node-timeout", d.Milliseconds())
		}
	}
}

// Other is a master that does not serve a key.
func (c *Cluster) Other(key string) *Server {
	c.tb.Helper()
	has := c.Master(key)
	for _, n := range c.Nodes {
		if n != has && n.info("replication")["role"] == "master" {
			return n
		}
	}
	c.tb.Fatal("there is no other master")
	return nil
}

func (c *Cluster) do(n *Server, args ...any) any {
	c.tb.Helper()
	return do(c.tb, n, args...)
}

func do(tb testing.TB, n *Server, args ...any) any {
	tb.Helper()
	v, err := n.Client.Do(context.Background(), args...).Result()
	if err != nil {
		tb.Fatalf("%v on %s: %v", args, n.Addr, err)
	}
	return v
}

func (c *Cluster) until(what string, happened func() bool) {
	c.tb.Helper()
	until(c.tb, what, happened)
}

// until waits for what servers agree on among themselves.
func until(tb testing.TB, what string, happened func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !happened() {
		select {
		case <-ctx.Done():
			tb.Fatalf("did not happen: %s", what)
		case <-again.C:
		}
	}
}

// Pause stops the server's process, as a partition or a machine that hangs would: its
// connections stay, and nothing answers.
func (s *Server) Pause() { s.tb.Helper(); s.signal(syscall.SIGSTOP, true) }

// Resume ends a Pause.
func (s *Server) Resume() { s.tb.Helper(); s.signal(syscall.SIGCONT, false) }

func (s *Server) answers() bool { return s.running != nil && !s.running.paused }

func (s *Server) signal(sig syscall.Signal, paused bool) {
	s.tb.Helper()
	s.running.paused = paused
	if err := s.running.cmd.Process.Signal(sig); err != nil {
		s.tb.Fatalf("%v to %s: %v", sig, s.Addr, err)
	}
}

// info is a section of INFO, empty if the server does not answer.
func (s *Server) info(section string) map[string]string {
	if !s.answers() {
		return nil
	}
	text, _ := s.control().Info(context.Background(), section).Result()
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[k] = v
		}
	}
	return m
}

// control is a client that gives a server up at once that does not answer.
func (s *Server) control() *redis.Client {
	if s.controls == nil {
		s.controls = redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second})
		s.tb.Cleanup(func() { _ = s.controls.Close() })
	}
	return s.controls
}

// Waits is how many times each node was told to WAIT.
func (c *Cluster) Waits() map[string]int {
	c.tb.Helper()
	all := map[string]int{}
	for _, n := range c.Nodes {
		stats := n.info("commandstats")["cmdstat_wait"]
		calls, _, _ := strings.Cut(strings.TrimPrefix(stats, "calls="), ",")
		all[n.Addr] = number(calls)
	}
	return all
}

// Replicas are the nodes that follow one.
func (c *Cluster) Replicas(of *Server) []*Server {
	var all []*Server
	for _, n := range c.Nodes {
		if info := n.info("replication"); info["role"] == "slave" && info["master_host"]+":"+info["master_port"] == of.Addr {
			all = append(all, n)
		}
	}
	return all
}

// Move moves the slot of a key as an administrator would, key by key, and calls during
// before the first, after the first half, and after the last of them.
func (c *Cluster) Move(key string, from, to *Server, during func()) {
	c.tb.Helper()
	slot, ctx := c.Slot(key), context.Background()
	host, port, err := net.SplitHostPort(to.Addr)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", c.ID(from))
	c.do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", c.ID(to))
	during()
	keys, err := from.Client.ClusterGetKeysInSlot(ctx, int(slot), 1<<20).Result()
	if err != nil {
		c.tb.Fatalf("listing the keys of slot %d: %v", slot, err)
	}
	for i, k := range keys {
		if i == len(keys)/2 {
			during()
		}
		c.do(from, "MIGRATE", host, port, k, 0, 5000)
	}
	during()
	for _, n := range []*Server{to, from} {
		c.do(n, "CLUSTER", "SETSLOT", slot, "NODE", c.ID(to))
	}
	c.until("all know that the slot has moved", func() bool { return c.Master(key) == to })
}
