package redistest

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"
)

// MasterName is what the Sentinels call the master that they watch.
const MasterName = "main"

// Watched is a real master with two replicas, and three real Sentinels that make one of
// these the master when a test says so. Its methods are for one goroutine.
type Watched struct {
	// Nodes are the servers. The first began as master; who is one now may have changed.
	Nodes []*Server

	tb        testing.TB
	sentinels []*Server
}

// StartWatched starts one, and waits until all know each other.
func StartWatched(tb testing.TB) *Watched {
	tb.Helper()
	w := &Watched{tb: tb}
	// A master that comes back takes writes until a Sentinel has told it who is master now,
	// and forgets them then; one that has no replica refuses them.
	directives := []string{"repl-diskless-sync-delay 0", "min-replicas-to-write 1"}
	master := Start(tb, directives...)
	host, port, err := net.SplitHostPort(master.Addr)
	if err != nil {
		tb.Fatal(err)
	}
	w.Nodes = append(w.Nodes, master)
	for range 2 {
		w.Nodes = append(w.Nodes, Start(tb, append(directives, "replicaof "+host+" "+port)...))
	}
	w.Replicated()
	for range 3 {
		w.sentinels = append(w.sentinels, Start(tb, "sentinel monitor "+MasterName+" "+host+" "+port+" 2",
			"sentinel failover-timeout "+MasterName+" 3000"))
	}
	w.patience(patient)
	until(tb, "the Sentinels know each other and the replicas", func() bool {
		for _, s := range w.sentinels {
			known := s.sentinel()
			if known["num-other-sentinels"] != "2" || known["num-slaves"] != "2" {
				return false
			}
		}
		return true
	})
	return w
}

// Sentinels are the addresses of the Sentinels.
func (w *Watched) Sentinels() []string {
	var out []string
	for _, s := range w.sentinels {
		out = append(out, s.Addr)
	}
	return out
}

// Master is the server that the first Sentinel names as such, and that says so itself.
func (w *Watched) Master() *Server {
	w.tb.Helper()
	var master *Server
	until(w.tb, "a Sentinel names a master", func() bool {
		known := w.sentinels[0].sentinel()
		for _, n := range w.Nodes {
			if n.Addr == known["ip"]+":"+known["port"] {
				master = n
			}
		}
		return master != nil
	})
	return master
}

// Succeed waits until a master that a test has failed has a successor.
func (w *Watched) Succeed(master *Server) {
	w.tb.Helper()
	w.patience(impatient)
	until(w.tb, "the Sentinels make another one master", func() bool { return w.Master() != master })
	w.patience(patient)
}

// patience is how long a server may be silent before the Sentinels judge it dead.
func (w *Watched) patience(d time.Duration) {
	w.tb.Helper()
	for _, s := range w.sentinels {
		do(w.tb, s, "SENTINEL", "SET", MasterName, "down-after-milliseconds", d.Milliseconds())
	}
}

// Replicated waits until all servers are there, and the replicas have all that the
// master was told before.
func (w *Watched) Replicated() {
	w.tb.Helper()
	until(w.tb, "every replica follows the master", func() bool { return followed(w.Nodes) == len(w.Nodes)-1 })
}

// followed is how many of the servers follow another one and have all that it has.
func followed(all []*Server) int {
	told, has := map[string]int{}, 0
	for _, n := range all {
		if info := n.info("replication"); info["role"] == "master" {
			told[n.Addr] = number(info["master_repl_offset"])
		}
	}
	for _, n := range all {
		info := n.info("replication")
		offset, of := told[info["master_host"]+":"+info["master_port"]]
		if of && info["master_link_status"] == "up" && number(info["slave_repl_offset"]) >= offset {
			has++
		}
	}
	return has
}

// sentinel is what a Sentinel knows of the master.
func (s *Server) sentinel() map[string]string {
	v, err := s.control().Do(context.Background(), "SENTINEL", "MASTER", MasterName).Result()
	if err != nil {
		return nil
	}
	m := make(map[string]string)
	switch v := v.(type) {
	case []any:
		for i := 0; i+1 < len(v); i += 2 {
			m[fmt.Sprint(v[i])] = fmt.Sprint(v[i+1])
		}
	case map[any]any:
		for k, e := range v {
			m[fmt.Sprint(k)] = fmt.Sprint(e)
		}
	}
	return m
}
