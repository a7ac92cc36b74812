// Package grid moves batches from the tables of a Hyperledger Grid service through a sequencer, and
// writes what becomes of them back: docs/grid.md. It stands in the place of Grid's batch submitters. It
// keeps nothing itself and may be killed at any moment; several may work on one database.
package grid

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"mina-sequencer/api/client"
)

// Options say what is moved where.
type Options struct {
	Client *client.Client
	// Database is an SQLite file, or postgres://…; sqlite3 or psql has to be installed.
	Database string
	// Ledgers are names of ledgers of the sequencer, by service id; "" is that of rows without one.
	Ledgers map[string]string
	// Claim is how long a row is claimed while it is handed over, and ClaimLimit how many are at a time.
	// Default 1m and 100.
	Claim      time.Duration
	ClaimLimit int
	Every      time.Duration // between two rounds
	Once       bool          // one round only
	Err        io.Writer     // where is said what went wrong
}

// A mover is one Grid service's tables, and the sequencer.
type mover struct {
	Options
	table *table
	// Whether there are tables for the transactions of batches, and for their receipts; nil before it is known.
	has   map[string]bool
	waits string          // what was last said of services that wait,
	told  time.Time       // and when that was looked for
	lost  map[string]bool // what the sequencer does not know, as far as that was said
}

// Run moves batches until ctx ends; then it returns nil. Any other error is of the database.
func Run(ctx context.Context, o Options) error {
	o.Claim, o.ClaimLimit = cmp.Or(o.Claim, time.Minute), cmp.Or(o.ClaimLimit, 100)
	t, err := open(o.Database)
	if err != nil {
		return err
	}
	return newMover(o, t).run(ctx)
}

func newMover(o Options, t *table) *mover {
	return &mover{Options: o, table: t, lost: map[string]bool{}}
}

func (m *mover) run(ctx context.Context) error {
	for {
		err := m.round(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && m.Once:
			return err
		case err != nil:
			m.say("the database: %v; it is tried again in %v", err, m.Every)
		case m.Once:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(m.Every):
		}
	}
}

// round follows first: what the sequencer has stands before what it is given.
func (m *mover) round(ctx context.Context) error {
	if m.has == nil {
		rows, err := m.table.query(ctx, m.table.has(transactions)+" UNION ALL "+m.table.has(receipts))
		if err != nil {
			return err
		}
		m.has = map[string]bool{}
		for _, r := range rows {
			m.has[r.text("name")] = r.number("n") > 0
		}
	}
	if err := m.follow(ctx); err != nil {
		return err
	}
	return m.handOver(ctx)
}

// The tables beside that of batches.
const (
	transactions = "transactions"
	receipts     = "transaction_receipts"
)

// sayOnce says lines where they are news.
func (m *mover) sayOnce(lines []string) {
	if text := strings.Join(lines, "\n"); text != m.waits {
		m.waits = text
		for _, line := range lines {
			m.say("%s", line)
		}
	}
}

func (m *mover) say(format string, args ...any) { fmt.Fprintf(m.Err, "grid: "+format+"\n", args...) }

// services are those that a ledger is named for.
func (m *mover) services() []string {
	named := maps.Clone(m.Ledgers)
	maps.DeleteFunc(named, func(_, ledger string) bool { return ledger == "" })
	return slices.Sorted(maps.Keys(named))
}

// taken is the end of the claim of a row that the sequencer has: it needs none, for its own claims end
// with the process that holds them.
const taken = "9999-12-31 23:59:59"

// longest is the most that a VARCHAR(16) takes.
const longest = 16

// short is a text that fits there.
func short(text string) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), longest)])
}

// order is that of Grid's strategy: what its ledger does not know, what is to be tried again, then by age,
// and of one age by the alphabet.
func (m *mover) order() string {
	return "CASE dlt_status WHEN 'Unknown' THEN 0 WHEN 'Delayed' THEN 1 ELSE 2 END, created, header_signature " + m.table.bytes
}
