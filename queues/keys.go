package queues

import (
	"fmt"
	"regexp"
)

// Every key of a namespace, behind its prefix "{namespace}:". The hash tag puts
// all of them into one slot of a Redis Cluster, so that one script may change
// a transaction, its queue, its sender and the event log together.
//
//	t:<uid>        string  "<sequence> <received ms> <type> <queue>\n<payload>": what was posted, never changed;
//	                       behind the queue, if there is any of it, " <not before ms> <expires ms> <max fee>
//	                       <batch id> <traceparent> <key>", empty for none; key is the name of the API
//	                       key that it was posted with. Of a batch the type is "<type>/<ledger>", here
//	                       and in ready, round, waiting and gone
//	batch:<ledger>/<batch id>  string  uid of the transaction of a batch; "" of one that was removed, for
//	                       as long as its key is known
//	x:<uid>        string  what changes about it; there is none before the first change: a line
//	                       of words that scripts read or write (lib.lua names them), and behind
//	                       it the record as JSON, which they do not read (codec.go). Once its worker was told
//	                       how it ended, that begins with a line {"told":{…} of what it said, which a
//	                       change of the record keeps
//	f:<uid>        hash    facts of its attempts that were brought beside the record, by number,
//	                       sender and nonce of the attempt; only ever added to
//	b:<uid>        string  signed bytes of the attempt that is sent again, compressed
//	gone:<uid>     string  "<type> <queue>" of a removed one, for as long as its key is known
//	line:<queue>   list    uids that have waited since they were posted, in order; "#<sequence>"
//	                       where one was removed
//	back:<queue>   zset    uids that came back to waiting, or that a line which was mostly vacant
//	                       has handed on, by sequence; all have an x, and stand before the line
//	past:<queue>   zset    uids that have changed since they were posted (have an x), by sequence
//	q:<queue>      string  waiting, done, failed, unresolved: counts; back: how many of those that
//	                       wait came back; popped: sequence up to which the line is taken;
//	                       run: uids that are bound, in order, with commas between them, sender: to
//	                       which; hold: until when it waits, holder: uids whose callbacks it waits
//	                       for, and first, behind a !, until when it is left alone; ready: the
//	                       type it stands ready for, or "<type>@<seat>" where that is in the round,
//	                       first: with which head, since: from when on; streak:
//	                       UNRESOLVED in a row; till: when its pause ends; width: how many may be
//	                       in flight as a person has set it, narrow: as it is now that some have
//	                       broken; and on a line of its own why it is paused
//	queues         zset    all queue names, for listing
//	paused         zset    those that are paused
//	active         zset    those in which something waits or is bound, by when they became ready for it, as
//	                       in ready, or else were last looked at; and, behind a #, by the sequence of what
//	                       runs or is next, as they were last looked at, which is far below
//	limited        zset    queues that SEQUENCER_UNRESOLVED_LIMIT has paused, by since when
//	stops          string  what applies to queues that come to be, by how their names begin: a line
//	                       each, "<since ms> <until ms> <beginning> <who said so> <why they are
//	                       paused>", empty for none; of those that fit a queue the last, and
//	                       without a reason it runs
//	ready:<type>   zset    queues that can be bound and whose head has this type, and was posted without
//	                       a key, by when they became ready or their last transaction ended, in
//	                       microseconds
//	round:<type>   zset    those whose head was posted with one, as "<since> <queue>", since being the same
//	                       in sixteen digits, by the seat of its name: those of a seat stand in order
//	n:round:<sha1> string  seat that had the last turn, 0 for no key, by the types that are bound together
//	bound          zset    uids that have a sender bound, by sequence
//	st:<STATE>     zset    uids by sequence, for DONE, FAILED and UNRESOLVED
//	page:<n>       list    uids with sequence n×512 … n×512+511, for listing
//	pages          zset    pages that exist
//	s:<sender>     hash    an empty field is none: url, group, source, proves, queue, next (nonce), balance;
//	                       why:<REASON>[:by]: until when it is out of use for that, 0 if no clock
//	                       ends it, and why in words; reason, until, detail: the gravest of them,
//	                       since: from when on; streak: UNRESOLVED in a row; by: the process that named it last, where
//	                       only that can call its worker
//	landed:<sender> zset   uids that landed and may still be orphaned, by nonce
//	senders        zset    all senders, for listing
//	provers        hash    id → "<source> <registered, ms> <drained, ms, or 0> <by> <URL>" of the provers
//	                       without a key; #: counts changes. Kept by package provers
//	with:<uid>     string  "<process> <id>" of the prover that a transaction was given to last, for a day, so
//	                       that whoever takes it over finds what is proved. Kept by package provers
//	waiting        hash    how many transactions wait, by type
//	over:<seconds> hash    what happened in the last parts of so many seconds, by their number since 1970; see
//	                       history.go
//	fees:<day>     hash    nanomina that attempts of that day (since 1970, UTC) cost, by sender; *: of all
//	spent:<day>    zset    the same by queue
//	budgets:<day>  hash    the same by budget, "q:<queue>" or "k:<name of an API key>", where there are any
//	market:looks   list    the last looks at the pool of a node, the latest first: "<ms> <size> <ranks …>"
//	market:weights hash    what weighs what workers have signed last, by type
//	free:<group>   zset    free senders by when they were last released
//	own:<process>  zset    uids that a process has claimed, by when it is to look at them; and
//	                       those that a person took from it, until it has looked
//	procs          zset    processes, by when their claims end
//	said           hash    process → what it says of itself; see living.go
//	due            zset    "q:<queue>" "p:<queue>" (end of its pause) "s:<sender>" "c:<uid>" (callback)
//	                       "d:<uid>" (deadline of what waits) "x:<uid>" (removal), by time
//	events         stream  the log, 0-<n> for event n; events.go describes its one field
//	is:<name>      string  what the namespace was first used with: network, layout; server: the
//	                       replication id it was last reconciled on; epoch: of the event log;
//	                       replicas: when there was one last, ms; listed: that paused and active
//	                       hold what was there before they were kept
//	recovery       hash    of a reconciliation under way: run, since, lost; by, till: whose turn it
//	                       is; passed: who gave it on; back:<process>: has written back
//	n:seq          counter
//	n:claim        the last number of a claim: microseconds since 1970, or one more than the one before
//	ping           string  that Redis takes writes
//	turn:<name>    string  one process does what has the name, for as long as this lasts
//	rate:<key>     string  microseconds up to which the name of an API key has used its rate up; NAME:posts: of posts
//	hooks          zset    webhook endpoints by the number of the event that each has come to: the
//	                       log keeps what is behind the lowest. What follows is kept by
//	                       package webhooks
//	hook:<id>      hash    what: its definition as JSON, with its secrets; rev: count of people's
//	                       changes; holder, token, until: the lease; rest: until when nothing is
//	                       sent; parked, bytes, dropped: counts
//	park:<id>      zset    its lanes with parked events, by when the first is tried, +inf: when a
//	                       person asks
//	lane:<id>:<lane> list  parked events of a transaction (t:<uid>), queue (q:) or sender (s:), in
//	                       order: "<number> <tries> <length> <event> <ms>\n<body>"
//	sent:<id>      list    its last deliveries as JSON, the latest first
//	wake           channel "": a bind may have become possible; a uid: its owner is to look at it; a
//	                       queue behind a !: whoever drives what runs of it is to read it; behind
//	                       an @, in how many milliseconds the first of all is due; behind a ~, a uid:
//	                       the process with its worker is to tell it how it ended; a +: the
//	                       provers have changed
//
// Other packages name keys only through these functions.

func (s *Store) key(name string) string { return s.prefix + name }

// SenderKey is the hash of a sender; SendersKey the set of all.
func (s *Store) SenderKey(account string) string { return s.key("s:" + account) }

// SendersKey is the sorted set of all senders.
func (s *Store) SendersKey() string { return s.key("senders") }

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ValidName reports whether s can name a queue: 1 to 128 of [A-Za-z0-9._:-],
// and not "." or "..", which no URL path can hold.
func ValidName(s string) bool { return ValidUID(s) && s != "." && s != ".." }

// ValidUID reports whether s can be a uid: 1 to 128 of [A-Za-z0-9._:-].
func ValidUID(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 128
}

func prefix(namespace string) (string, error) {
	if !namespacePattern.MatchString(namespace) {
		return "", fmt.Errorf("namespace %q: want 1 to 64 of [A-Za-z0-9._-]", namespace)
	}
	return "{" + namespace + "}:", nil
}
