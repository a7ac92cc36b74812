package grid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A table is a database with Grid's tables, by way of its own command line: so the program needs no driver.
type table struct {
	command []string
	env     []string
	// What the two databases write differently.
	array string                                        // makes one JSON array of a query
	begin string                                        // begins a transaction that writes, one at a time
	later func(time.Duration) string                    // the time in a while
	bytes string                                        // orders texts by their bytes
	id    string                                        // of a new receipt; "" where the database gives one
	has   func(table string) string                     // whether it has a table, 1 or 0
	run   func(context.Context, string) ([]byte, error) // a script, as one
}

// lock is any number by which those who claim rows keep apart.
const lock = 4_027_119

// open is a database at a place, an SQLite file or postgres://…; nothing is opened before the first query.
// A password in the place is not shown to other programs of the machine.
func open(place string) (*table, error) {
	t := sqlite(place)
	if scheme, _, _ := strings.Cut(place, "://"); scheme == "postgres" || scheme == "postgresql" {
		u, err := url.Parse(place)
		if err != nil {
			return nil, errors.New("the address of the database cannot be read: want postgres://user@host/name")
		}
		t = postgres(u)
	}
	t.run = t.script
	if _, err := exec.LookPath(t.command[0]); err != nil {
		return nil, fmt.Errorf("%s is needed to work on the database: install it, and see that it is in PATH", t.command[0])
	}
	return t, nil
}

func sqlite(place string) *table {
	return &table{
		command: []string{"sqlite3", "-bail", "-json", "-cmd", ".timeout 10000", place},
		array:   "%s;", begin: "BEGIN IMMEDIATE;", bytes: "COLLATE BINARY",
		later: func(d time.Duration) string { return fmt.Sprintf("datetime('now', '+%d seconds')", seconds(d)) },
		id:    "(SELECT coalesce(max(id), 0) + 1 FROM transaction_receipts)",
		has: func(table string) string {
			return fmt.Sprintf("SELECT %[1]s AS name, count(*) AS n FROM sqlite_master WHERE type = 'table' AND name = %[1]s", literal(table))
		},
	}
}

func postgres(u *url.URL) *table {
	var env []string
	if password, is := u.User.Password(); is {
		u.User = url.User(u.User.Username())
		env = append(env, "PGPASSWORD="+password)
	}
	return &table{
		command: []string{"psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", u.String()}, env: env,
		array: "SELECT coalesce(json_agg(t), '[]') FROM (%s) t;",
		begin: fmt.Sprintf("BEGIN; DO $$ BEGIN PERFORM pg_advisory_xact_lock(%d); END $$;", lock), bytes: `COLLATE "C"`,
		later: func(d time.Duration) string {
			return fmt.Sprintf("CURRENT_TIMESTAMP + interval '%d seconds'", seconds(d))
		},
		has: func(table string) string {
			return fmt.Sprintf("SELECT %[1]s AS name, CASE WHEN to_regclass(%[1]s) IS NULL THEN 0 ELSE 1 END AS n", literal(table))
		},
	}
}

func seconds(d time.Duration) int64 { return max(1, int64(d/time.Second)) }

// A row is what a query found.
type row map[string]any

func (r row) text(name string) string {
	s, _ := r[name].(string)
	return s
}

// is reads a truth: SQLite has numbers for it.
func (r row) is(name string) bool { return r[name] == true || r[name] == 1.0 }

func (r row) number(name string) int {
	n, _ := r[name].(float64)
	return int(n)
}

// query runs before, statements that answer nothing, in one transaction with what it asks.
func (t *table) query(ctx context.Context, sql string, before ...string) ([]row, error) {
	sql = fmt.Sprintf(t.array, sql)
	if len(before) > 0 {
		sql = t.begin + strings.Join(before, ";\n") + ";\n" + sql + "\nCOMMIT;"
	}
	out, err := t.run(ctx, sql)
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return nil, err
	}
	var rows []row
	if err := json.Unmarshal(out, &rows); err != nil {
		return nil, fmt.Errorf("reading what %s answered: %w", t.command[0], err)
	}
	return rows, nil
}

// exec runs statements in one transaction.
func (t *table) exec(ctx context.Context, statements ...string) error {
	if len(statements) == 0 {
		return nil
	}
	_, err := t.run(ctx, t.begin+"\n"+strings.Join(statements, ";\n")+";\nCOMMIT;")
	return err
}

func (t *table) script(ctx context.Context, sql string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.command[0], t.command[1:]...)
	cmd.Env = append(os.Environ(), t.env...)
	cmd.Stdin = strings.NewReader(sql + "\n")
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %.500s", t.command[0], err, problem.String())
	}
	return out.Bytes(), nil
}

// quote is a text in SQL, NULL for none.
func quote(text string) string {
	if text == "" {
		return "NULL"
	}
	return literal(text)
}

// literal is a text in SQL, also where it is empty.
func literal(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, "\x00", ""), "'", "''") + "'"
}

// list is texts in SQL.
func list(texts []string) string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = literal(text)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

func truth(is bool) string {
	if is {
		return "TRUE"
	}
	return "FALSE"
}
