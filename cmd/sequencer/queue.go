package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// A queueInfo is a queue as the API shows it.
type queueInfo struct {
	Name    string         `json:"name"`
	State   string         `json:"state"`
	Sender  string         `json:"sender"`
	Running string         `json:"running"`
	Retries int            `json:"retries"`
	Counts  map[string]int `json:"counts"`
	Paused  bool           `json:"paused"`
	Reason  string         `json:"reason"`
	NextAt  string         `json:"nextAt"`
}

// countText names the states that occur, in the order of a transaction's life.
func (q queueInfo) countText() string {
	var parts []string
	for _, look := range slices.Backward(looks()) {
		if n := q.Counts[look.state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, look.word))
		}
	}
	return strings.Join(parts, ", ")
}

func (q queueInfo) stateSpan() span {
	if q.Paused {
		return span{q.State + " (paused)", magenta}
	}
	return span{q.State, stateStyle(q.State)}
}

func newQueueCommand(a *app) *cobra.Command {
	list := newListCommand(a, "List queues", "/queues",
		line{{"QUEUE", dim}, {"STATE", dim}, {"TRANSACTIONS", dim}, {"RUNNING", dim}, {"SENDER", dim}, {"RETRIES", dim}, {"NEXT AT", dim}},
		func(raw json.RawMessage) (line, error) {
			var q queueInfo
			err := decode(raw, &q)
			return line{
				{q.Name, plain}, q.stateSpan(), {q.countText(), plain}, {shorten(q.Running, 28), plain},
				{shorten(q.Sender, 12), plain}, {fmt.Sprint(q.Retries), plain}, {q.NextAt, dim},
			}, err
		})
	show := clientCommand(a, &cobra.Command{Use: "show QUEUE", Short: "Show one queue", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, c *client, args []string) error {
			path, err := pathOf("queues", args[0])
			if err != nil {
				return err
			}
			var q queueInfo
			raw, err := c.get(cmd.Context(), path, nil, &q)
			if err != nil {
				return err
			}
			if c.asJSON {
				return c.raw(raw)
			}
			return c.print(facts("queue", q.Name, "state", q.stateSpan().text, "transactions", q.countText(), "running", q.Running,
				"sender", q.Sender, "retries", fmt.Sprint(q.Retries), "reason", q.Reason, "next at", q.NextAt)...)
		})
	act := func(name, short, done string) *cobra.Command {
		return newNamedActCommand(a, "queues", name+" QUEUE", short, http.MethodPost, "/"+name, done)
	}
	return newGroup("queue", "Look at queues, pause and resume them", list, show,
		act("pause", "Start nothing more of a queue; what runs is finished", "is paused"),
		act("resume", "Let a paused queue go on", "goes on"))
}

// newListCommand lists everything at path in a table, page by page.
func newListCommand(a *app, short, path string, head line, row func(json.RawMessage) (line, error)) *cobra.Command {
	var cursor string
	all := false
	cmd := clientCommand(a, &cobra.Command{Use: "list", Short: short, Args: cobra.NoArgs},
		func(cmd *cobra.Command, c *client, _ []string) error {
			query := url.Values{}
			if cursor != "" {
				query.Set("cursor", cursor)
			}
			rows := []line{head}
			next, err := c.pages(cmd.Context(), path, query, all, func(item json.RawMessage) error {
				r, err := row(item)
				rows = append(rows, r)
				return err
			})
			if err != nil || c.asJSON {
				return err
			}
			return c.printList(rows, next)
		})
	cmd.Flags().StringVar(&cursor, "cursor", "", "go on where a list ended")
	cmd.Flags().BoolVar(&all, "all", false, "follow the cursors to the end")
	return cmd
}

// newNamedActCommand does one thing to one named item of a collection.
func newNamedActCommand(a *app, collection, use, short, method, suffix, done string) *cobra.Command {
	return clientCommand(a, &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, c *client, args []string) error {
			path, err := pathOf(collection, args[0])
			if err != nil {
				return err
			}
			return c.act(cmd.Context(), method, path+suffix, nil, clean(args[0])+" "+done)
		})
}

// facts shows name and value pairs, one per line, without the empty ones.
func facts(pairs ...string) []line {
	var lines []line
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			lines = append(lines, append(line{{pair[0], dim}}.to(14), span{pair[1], plain}))
		}
	}
	return lines
}
