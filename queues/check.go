package queues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fault is something about a Redis that does not fit what is stored in it.
type Fault struct {
	Code string // one of FaultCodes
	// Fatal: what was accepted could be lost, or nothing be written at all.
	Fatal  bool
	Found  string
	Remedy string
}

// FaultCodes name what may not fit.
var FaultCodes = []string{"REDIS_VERSION", "REDIS_LAYOUT", "REDIS_EVICTS", "REDIS_FULL", "REDIS_REPLICA",
	"REDIS_RIGHTS", "REDIS_NOT_DURABLE", "REDIS_DISK", "REDIS_REPLICAS", "REDIS_MEMORY"}

// String says what does not fit, and what to do.
func (f Fault) String() string { return "this Redis " + f.Found + ": " + f.Remedy }

// Check refuses a Redis older than 7.0, which cannot number the events, and one
// that would lose what was accepted: that evicts keys when its memory is full, or
// is a replica, or a namespace that another build has laid out. It warns about all
// else that Faults finds. ErrUnavailable if Redis does not answer.
func (s *Store) Check(ctx context.Context) error {
	faults, err := s.Faults(ctx)
	if err != nil {
		return err
	}
	for _, f := range faults {
		if f.Fatal {
			return errors.New(f.String())
		}
		s.Log.Warn("the store is not set up as it should be", "fault", f.String())
	}
	if _, err := s.Remember(ctx, "layout", layout); err != nil {
		return err
	}
	return s.CheckLayout(ctx) // another build may have been first
}

// layout names how transactions are laid out in keys; see keys.go.
const layout = "8"

// CheckLayout refuses a namespace that another build has laid out, as Check does.
// ErrUnavailable if Redis does not answer.
func (s *Store) CheckLayout(ctx context.Context) error {
	f, err := s.layoutFault(ctx)
	if f != nil {
		return errors.New(f.String())
	}
	return err
}

// layoutFault is about a namespace in which this build would not find what is
// there: attempts that it does not see, it would make again.
func (s *Store) layoutFault(ctx context.Context) (*Fault, error) {
	stored, err := s.client.MGet(ctx, s.key("is:layout"), s.key("is:network")).Result()
	if err != nil {
		return nil, storeError("reading the layout", err)
	}
	if stored[0] == nil && stored[1] != nil {
		stored[0] = "1" // which was not noted
	}
	if stored[0] == nil || stored[0] == layout {
		return nil, nil
	}
	return &Fault{"REDIS_LAYOUT", true,
		fmt.Sprintf("holds the namespace in layout %v, and this build uses %s", stored[0], layout),
		"use another SEQUENCER_NAMESPACE, or the build that wrote it"}, nil
}

// Faults lists what does not fit about the Redis, the gravest first. Error:
// ErrUnavailable.
func (s *Store) Faults(ctx context.Context) ([]Fault, error) {
	faults, err := s.Look(ctx)
	if err == nil && !slices.ContainsFunc(faults, func(f Fault) bool { return f.Code == "REDIS_REPLICA" }) {
		rights, failed := s.rightsFault(ctx)
		if rights != nil {
			faults = append(faults, *rights)
			slices.SortStableFunc(faults, func(a, b Fault) int { return cmp.Compare(gravity(b), gravity(a)) })
		}
		if !errors.Is(failed, ErrUnavailable) && !errors.Is(failed, ErrFull) { // it takes no writes now
			err = failed
		}
	}
	switch {
	case lacksRight(err):
		return []Fault{s.lacking(err.Error())}, nil
	case err != nil:
		return nil, err
	}
	return faults, nil
}

func gravity(f Fault) int {
	if f.Fatal {
		return 1
	}
	return 0
}

// Look lists what may come to be while a process runs, at the cost of a handful of commands: all
// of Faults but missing rights. Error: ErrUnavailable.
func (s *Store) Look(ctx context.Context) ([]Fault, error) {
	info := make(map[string]string)
	for _, section := range []string{"server", "memory", "persistence", "replication"} {
		fields, err := s.info(ctx, section)
		if err != nil {
			return nil, err
		}
		for name, value := range fields {
			info[name] = value
		}
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(info[name], 10, 64) // what it does not say is 0
		return n
	}
	var faults []Fault
	if v := info["redis_version"]; tooOld(v) {
		faults = append(faults, Fault{"REDIS_VERSION", true, "is of version " + v, "7.0 or later is needed, or Valkey"})
	}
	f, err := s.layoutFault(ctx)
	if err != nil {
		return nil, err
	}
	if f != nil {
		faults = append(faults, *f)
	}
	if p := info["maxmemory_policy"]; p != "" && p != "noeviction" {
		faults = append(faults, Fault{"REDIS_EVICTS", true,
			"may drop transactions when its memory is full (maxmemory-policy is " + p + ")",
			"set maxmemory-policy to noeviction"})
	}
	if info["role"] == "slave" {
		faults = append(faults, Fault{"REDIS_REPLICA", true,
			"is a replica, which takes no writes", "name its primary, or the Sentinels and their master_name"})
	}
	full := errors.Is(s.Ping(ctx), ErrFull)
	if full {
		faults = append(faults, Fault{"REDIS_FULL", false,
			"is full, and new transactions are refused with 507; what was accepted goes on, and cancel and delete work",
			"raise its maxmemory, or delete what ended badly"})
	}
	if info["aof_enabled"] == "0" {
		faults = append(faults, Fault{"REDIS_NOT_DURABLE", false,
			"keeps no append-only file: what was accepted since its last snapshot is lost when it stops",
			"set appendonly to yes"})
	}
	if info["aof_enabled"] == "1" && info["aof_last_write_status"] != "" && info["aof_last_write_status"] != "ok" {
		faults = append(faults, Fault{"REDIS_DISK", false,
			"could not write its append-only file", "see its log, and whether its disk is full"})
	}
	if err := s.lookForReplicas(ctx, info); err != nil {
		return nil, err
	}
	if f := s.replicaFault(); f != nil {
		faults = append(faults, *f)
	}
	if most, used := number("maxmemory"), number("used_memory"); !full && most > 0 && used > most/10*9 {
		faults = append(faults, Fault{"REDIS_MEMORY", false,
			fmt.Sprintf("uses %d MiB of the %d MiB that maxmemory allows", used>>20, most>>20),
			"raise maxmemory, shorten SEQUENCER_RETENTION, or delete what ended badly"})
	}
	return faults, nil
}

// rightsFault is about a user that may not do all that is needed: a script that is stopped in
// its middle has written already.
func (s *Store) rightsFault(ctx context.Context) (*Fault, error) {
	var lacking []string
	v, err := s.Run(ctx, rightsScript)
	if err == nil {
		r := reply{name: "rights"}
		lacking = r.strings(v)
		if r.err != nil {
			return nil, r.err
		}
		sub := s.client.Subscribe(ctx, s.key("wake"))
		_, err = sub.Receive(ctx)
		_ = sub.Close()
		if err != nil {
			err = storeError("listening", err)
		}
	}
	switch {
	case lacksRight(err):
		lacking = append(lacking, err.Error())
	case err != nil:
		return nil, err
	}
	if len(lacking) == 0 {
		return nil, nil
	}
	return new(s.lacking(lacking...)), nil
}

// lacksRight reports whether Redis has refused something to its user.
func lacksRight(err error) bool { return isReply(err) && strings.Contains(err.Error(), "NOPERM") }

// lacking is the fault of what Redis says of rights, and how to grant them.
func (s *Store) lacking(all ...string) Fault {
	const shown = 3
	found := strings.Join(all[:min(shown, len(all))], "; ")
	if more := len(all) - shown; more > 0 {
		found += fmt.Sprintf("; and %d more", more)
	}
	return Fault{"REDIS_RIGHTS", true, "does not let its user do what is needed: " + found,
		"grant it: ACL SETUSER <user> ~" + s.prefix + "* &" + s.prefix + "* " + smallestRights}
}

// smallestRights are what a user needs beside the keys and channels of its namespace.
const smallestRights = "-@all +@read +@write +@pubsub +@scripting +@connection +info +time +wait +role +cluster"

// tooOld reports whether a Redis of the version lacks what the scripts use:
// entries of a stream that it numbers itself.
func tooOld(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 7
}

func (s *Store) info(ctx context.Context, section string) (map[string]string, error) {
	node, err := s.node(ctx)
	if err != nil {
		return nil, err
	}
	text, err := node.Info(ctx, section).Result()
	if err != nil {
		return nil, storeError("reading INFO "+section, err)
	}
	return infoOf(text), nil
}

// infoOf are the fields of what INFO says.
func infoOf(text string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[k] = v
		}
	}
	return m
}
