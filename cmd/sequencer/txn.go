package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// A transaction as the API shows it; numbers are kept as they are written.
type transaction struct {
	UID             string          `json:"uid"`
	Queue           string          `json:"queue"`
	Sequence        json.Number     `json:"sequence"`
	Type            string          `json:"type"`
	Data            json.RawMessage `json:"data"`
	State           string          `json:"state"`
	Hash            string          `json:"hash"`
	Retries         json.Number     `json:"retries"`
	Sender          string          `json:"sender"`
	Done            json.RawMessage `json:"done"`
	Error           *apiFault       `json:"error"`
	Attempts        []attempt       `json:"attempts"`
	ReceivedAt      string          `json:"receivedAt"`
	SubmittedAt     string          `json:"submittedAt"`
	RetriedAt       string          `json:"retriedAt"`
	DoneAt          string          `json:"doneAt"`
	FinalAt         string          `json:"finalAt"`
	Reopened        bool            `json:"reopened"`
	CancelRequested bool            `json:"cancelRequested"`
}

type attempt struct {
	Number        json.Number `json:"number"`
	Nonce         json.Number `json:"nonce"`
	Fee           json.Number `json:"fee"`
	ValidUntil    json.Number `json:"validUntil"`
	Hash          string      `json:"hash"`
	Outcome       string      `json:"outcome"`
	BlockHeight   json.Number `json:"blockHeight"`
	Confirmations json.Number `json:"confirmations"`
	Error         *apiFault   `json:"error"`
	StartedAt     string      `json:"startedAt"`
}

type apiFault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *apiFault) String() string {
	if f == nil {
		return ""
	}
	return f.Code + ": " + f.Message
}

func (t *transaction) final() bool {
	return t.State == "DONE" || t.State == "FAILED" || t.State == "UNRESOLVED"
}

func newTxnCommand(a *app) *cobra.Command {
	group := newGroup("txn", "Look at transactions and act on them",
		newTxnListCommand(a), newTxnShowCommand(a), newTxnExplainCommand(a), newTxnWaitCommand(a), newTxnResolveCommand(a),
		newNamedActCommand(a, "transactions", "retry UID", "Give a FAILED or UNRESOLVED transaction fresh retries", http.MethodPost, "/retry", "will be tried again"),
		newNamedActCommand(a, "transactions", "cancel UID", "Make no further attempt of a transaction", http.MethodPost, "/cancel", "is cancelled; an open attempt may still land"),
		newNamedActCommand(a, "transactions", "delete UID", "Forget a transaction that is final", http.MethodDelete, "", "is deleted"),
	)
	group.Aliases = []string{"transaction"}
	return group
}

func newTxnListCommand(a *app) *cobra.Command {
	query := url.Values{}
	all := false
	filters := map[string]*string{}
	limit := 0
	cmd := clientCommand(a, &cobra.Command{Use: "list", Short: "List transactions", Args: cobra.NoArgs},
		func(cmd *cobra.Command, c *client, _ []string) error {
			for name, value := range filters {
				if *value != "" {
					query.Set(name, *value)
				}
			}
			if limit > 0 {
				query.Set("limit", strconv.Itoa(limit))
			}
			rows := []line{{{"SEQ", dim}, {"UID", dim}, {"QUEUE", dim}, {"TYPE", dim}, {"STATE", dim}, {"RETRIES", dim}, {"SENDER", dim}, {"HASH", dim}, {"RECEIVED", dim}}}
			next, err := c.pages(cmd.Context(), "/transactions", query, all, func(item json.RawMessage) error {
				var t transaction
				if err := decode(item, &t); err != nil {
					return err
				}
				rows = append(rows, line{
					{t.Sequence.String(), plain}, {t.UID, plain}, {shorten(t.Queue, 40), plain}, {t.Type, plain},
					{t.State, stateStyle(t.State)}, {t.Retries.String(), plain}, {shorten(t.Sender, 12), plain},
					{shorten(t.Hash, 12), plain}, {t.ReceivedAt, dim},
				})
				return nil
			})
			if err != nil || c.asJSON {
				return err
			}
			return c.printList(rows, next)
		})
	flags := cmd.Flags()
	for _, f := range []struct{ name, usage string }{
		{"queue", "only of this queue"}, {"state", "only in this state"}, {"type", "only of this type"},
		{"sender", "only of this sender"}, {"cursor", "go on where a list ended"},
	} {
		filters[f.name] = flags.String(f.name, "", f.usage)
	}
	flags.IntVar(&limit, "limit", 0, "the most per page")
	flags.BoolVar(&all, "all", false, "follow the cursors to the end")
	return cmd
}

// pages reads a list, one page or all, and hands over each item. With --json
// it prints the pages instead. It returns the cursor of the page after.
func (c *client) pages(ctx context.Context, path string, query url.Values, all bool, each func(json.RawMessage) error) (string, error) {
	for {
		var page struct {
			Items      []json.RawMessage `json:"items"`
			NextCursor string            `json:"nextCursor"`
		}
		raw, err := c.get(ctx, path, query, &page)
		if err != nil {
			return "", err
		}
		if c.asJSON {
			err = c.raw(raw)
		}
		for i := 0; err == nil && !c.asJSON && i < len(page.Items); i++ {
			err = each(page.Items[i])
		}
		if err != nil || !all || page.NextCursor == "" || page.NextCursor == query.Get("cursor") {
			return page.NextCursor, err
		}
		query.Set("cursor", page.NextCursor)
	}
}

func (c *client) printList(rows []line, next string) error {
	if len(rows) == 1 {
		rows = []line{{{"none", dim}}}
	}
	lines := table(rows)
	if next != "" {
		lines = append(lines, line{{"more: --cursor " + next + " (or --all)", dim}})
	}
	return c.print(lines...)
}

func newTxnShowCommand(a *app) *cobra.Command {
	explain := false
	cmd := clientCommand(a, &cobra.Command{Use: "show UID", Short: "Show one transaction with its attempts", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, c *client, args []string) error {
			path, err := pathOf("transactions", args[0])
			if err != nil {
				return err
			}
			if explain {
				return c.explain(cmd.Context(), path)
			}
			var t transaction
			raw, err := c.get(cmd.Context(), path, nil, &t)
			if err != nil {
				return err
			}
			return c.showTransaction(raw, &t)
		})
	cmd.Flags().BoolVar(&explain, "explain", false, "say what it waits for and what happens next")
	return cmd
}

func newTxnExplainCommand(a *app) *cobra.Command {
	return clientCommand(a, &cobra.Command{Use: "explain UID", Short: "Say what a transaction waits for and what happens next", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, c *client, args []string) error {
			path, err := pathOf("transactions", args[0])
			if err != nil {
				return err
			}
			return c.explain(cmd.Context(), path)
		})
}

func (c *client) explain(ctx context.Context, path string) error {
	var e struct {
		State      string `json:"state"`
		Since      string `json:"since"`
		Summary    string `json:"summary"`
		WaitingFor *struct {
			Code   string `json:"code"`
			Until  string `json:"until"`
			Detail string `json:"detail"`
		} `json:"waitingFor"`
		Attempts []struct {
			Number  json.Number `json:"number"`
			Outcome string      `json:"outcome"`
			Open    bool        `json:"open"`
			Hash    string      `json:"hash"`
			Detail  string      `json:"detail"`
		} `json:"attempts"`
		Next *struct {
			Action string `json:"action"`
			At     string `json:"at"`
		} `json:"next"`
	}
	raw, err := c.get(ctx, path+"/explain", nil, &e)
	if err != nil {
		return err
	}
	if c.asJSON {
		return c.raw(raw)
	}
	lines := []line{{{e.State, stateStyle(e.State)}, {"  since " + e.Since, dim}}, {{e.Summary, plain}}}
	if w := e.WaitingFor; w != nil {
		lines = append(lines, line{{"waits for  ", dim}, {w.Code, bold}, {suffix("  until ", w.Until) + suffix("  ", w.Detail), plain}})
	}
	if e.Next != nil {
		lines = append(lines, line{{"next       ", dim}, {e.Next.Action, bold}, {suffix("  at ", e.Next.At), plain}})
	}
	for _, at := range e.Attempts {
		open := ""
		if at.Open {
			open = "  may still land"
		}
		lines = append(lines, line{{"attempt    ", dim}, {at.Number.String() + "  " + at.Outcome, bold},
			{open + suffix("  ", shorten(at.Hash, 12)) + suffix("  ", at.Detail), plain}})
	}
	return c.print(lines...)
}

// suffix is prefix and text, or nothing without text.
func suffix(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// showTransaction prints one transaction, with --json as it came.
func (c *client) showTransaction(raw []byte, t *transaction) error {
	if c.asJSON {
		return c.raw(raw)
	}
	state := line{{"state", dim}, {t.State, stateStyle(t.State)}}
	if t.Reopened {
		state = append(state, span{"reopened", magenta})
	}
	if t.CancelRequested {
		state = append(state, span{"cancel requested", magenta})
	}
	rows := []line{{{"uid", dim}, {t.UID, bold}}, state}
	for _, field := range []struct{ name, value string }{
		{"queue", t.Queue}, {"sequence", t.Sequence.String()}, {"type", t.Type}, {"sender", t.Sender}, {"hash", t.Hash},
		{"retries", t.Retries.String()}, {"error", t.Error.String()}, {"done", compact(t.Done)}, {"received", t.ReceivedAt},
		{"submitted", t.SubmittedAt}, {"retried", t.RetriedAt}, {"done at", t.DoneAt}, {"final at", t.FinalAt}, {"data", compact(t.Data)},
	} {
		if field.value != "" {
			rows = append(rows, line{{field.name, dim}, {field.value, plain}})
		}
	}
	var lines []line
	for _, row := range rows {
		l := line{row[0]}.to(11)
		for _, s := range row[1:] {
			l = append(l, s, span{"  ", plain})
		}
		lines = append(lines, l)
	}
	if len(t.Attempts) > 0 {
		attempts := []line{{{"ATTEMPT", dim}, {"OUTCOME", dim}, {"NONCE", dim}, {"FEE", dim}, {"VALID UNTIL", dim}, {"BLOCK", dim}, {"CONF", dim}, {"HASH", dim}, {"STARTED", dim}, {"ERROR", dim}}}
		for _, at := range t.Attempts {
			attempts = append(attempts, line{
				{at.Number.String(), plain}, {at.Outcome, plain}, {at.Nonce.String(), plain}, {minaText(at.Fee.String()), plain},
				{at.ValidUntil.String(), plain}, {at.BlockHeight.String(), plain}, {at.Confirmations.String(), plain},
				{shorten(at.Hash, 12), plain}, {at.StartedAt, dim}, {at.Error.String(), red},
			})
		}
		lines = append(append(lines, line{}), table(attempts)...)
	}
	return c.print(lines...)
}

// compact is the JSON without blanks, its tokens unchanged; null is nothing.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.String() == "null" {
		return ""
	}
	return b.String()
}

func newTxnWaitCommand(a *app) *cobra.Command {
	wait := 10 * time.Minute
	cmd := clientCommand(a, &cobra.Command{
		Use: "wait UID", Short: "Wait until a transaction is final",
		Long: "Waits until the transaction is final and shows it. Ends with 0 for DONE, with 1 for FAILED or UNRESOLVED, with 7 when the wait is over before.",
		Args: cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, c *client, args []string) error {
		return waitFinal(cmd.Context(), c, args[0], wait)
	})
	cmd.Flags().DurationVar(&wait, "for", wait, "the longest wait")
	return cmd
}

// waitFinal shows the transaction as soon as it is final, or as it is when the
// wait is over, and returns an error unless it is DONE.
func waitFinal(ctx context.Context, c *client, uid string, wait time.Duration) error {
	path, err := pathOf("transactions", uid)
	if err != nil {
		return err
	}
	if wait < 0 {
		return usagef("a wait cannot be negative")
	}
	// The service holds a call for as long as it likes to; the rest is asked for
	// again, and never faster than the app's poll interval.
	const longest = 30 * time.Second
	deadline := time.Now().Add(wait)
	for seen := false; ; {
		left := max(0, min(time.Until(deadline), longest))
		asked := time.Now()
		raw, err := c.call(ctx, request{
			method: http.MethodGet, path: path, wait: left,
			query: url.Values{"wait": {left.Truncate(time.Millisecond).String()}},
		})
		if seen && err != nil && exitCode(ctx, err) == exitUnavailable && time.Now().Before(deadline) {
			// A service that restarts loses nothing: the answer is still to come.
			pause(ctx, min(c.app.poll, time.Until(deadline)))
			continue
		}
		if err != nil {
			return err
		}
		seen = true
		var t transaction
		if err := decode(raw, &t); err != nil {
			return err
		}
		if t.final() || !time.Now().Before(deadline) {
			if err := c.showTransaction(raw, &t); err != nil {
				return err
			}
			switch t.State {
			case "DONE":
				return nil
			case "FAILED", "UNRESOLVED":
				return outcomeError{exitFailure, t.UID + " ended " + t.State + suffix(": ", t.Error.String())}
			}
			return outcomeError{exitNotFinal, t.UID + " is still " + t.State}
		}
		pause(ctx, min(c.app.poll-time.Since(asked), time.Until(deadline)))
	}
}

func newTxnResolveCommand(a *app) *cobra.Command {
	var outcome, hash string
	cmd := clientCommand(a, &cobra.Command{
		Use: "resolve UID", Short: "Settle an attempt whose outcome only a person can know",
		Args: cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, c *client, args []string) error {
		if outcome != "landed" && outcome != "dead" {
			return usagef("--outcome is landed or dead")
		}
		path, err := pathOf("transactions", args[0])
		if err != nil {
			return err
		}
		body, err := json.Marshal(map[string]string{"outcome": outcome, "hash": hash})
		if hash == "" {
			body, err = json.Marshal(map[string]string{"outcome": outcome})
		}
		if err != nil {
			return fmt.Errorf("writing the outcome: %w", err)
		}
		return c.act(cmd.Context(), http.MethodPost, path+"/resolve", body, clean(args[0])+" is settled as "+outcome)
	})
	cmd.Flags().StringVar(&outcome, "outcome", "", "landed or dead")
	cmd.Flags().StringVar(&hash, "hash", "", "hash of the transaction that landed")
	return cmd
}

// minaText shows nanomina as MINA, and what is no amount as it is.
func minaText(nano string) string {
	n, err := strconv.ParseUint(nano, 10, 64)
	if err != nil {
		return nano
	}
	return cmp.Or(minaFee(n).String(), nano)
}
