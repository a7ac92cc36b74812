package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// A table is a database, by way of its own command line: so this program needs no driver.
type table struct {
	command []string
	order   string // by which rows of one moment stay in the order in which they were made
	array   string // what makes one JSON array of a query
}

// open is a database at a place; nothing is opened before the first query.
func open(place string) table {
	if strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://") {
		return table{
			command: []string{"psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", place}, order: "ctid",
			array: "SELECT coalesce(json_agg(t), '[]') FROM (%s) t;",
		}
	}
	return table{
		command: []string{"sqlite3", "-bail", "-json", "-cmd", ".timeout 10000", place}, order: "rowid", array: "%s;",
	}
}

// A row is what a query found.
type row map[string]any

func (r row) text(name string) string {
	s, _ := r[name].(string)
	return s
}

func (t table) query(ctx context.Context, sql string) ([]row, error) {
	out, err := t.run(ctx, fmt.Sprintf(t.array, sql))
	if err != nil || len(bytes.TrimSpace(out)) == 0 {
		return nil, err
	}
	var rows []row
	if err := json.Unmarshal(out, &rows); err != nil {
		return nil, fmt.Errorf("reading what %s answered: %w", t.command[0], err)
	}
	return rows, nil
}

func (t table) exec(ctx context.Context, sql string) error {
	_, err := t.run(ctx, sql+";")
	return err
}

func (t table) run(ctx context.Context, sql string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.command[0], t.command[1:]...)
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
