package doctor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/audit"
)

// AuditCommand is `sequencer audit`.
func AuditCommand(a *command.App) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check the promises on a live system, read-only",
		Long: `Reads the store and the chain of a running system, in small steps and without
a change, and checks the promises: each transaction on the chain once and in
order, none lost, no sender leaked, nonces and indexes as they should be. It is
configured as serve is. What looks wrong is looked at again after a moment.
Ends with 0 if all is well, with 1 if anything is found, one finding per line,
with 6 if store or chain cannot be read.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAudit(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// A finding is one line of the report.
type finding struct {
	Check  string `json:"check"`
	UID    string `json:"uid,omitempty"`
	Queue  string `json:"queue,omitempty"`
	Sender string `json:"sender,omitempty"`
	Detail string `json:"detail"`
	Means  string `json:"means"`
}

func runAudit(ctx context.Context, a *command.App, asJSON bool) error {
	cfg, _, err := settings.Load(ctx, a.Env)
	if err != nil {
		return err
	}
	client := cfg.Redis.Client()
	if client == nil {
		return command.Usagef("audit reads a live system: set SEQUENCER_REDIS_URL to its store")
	}
	defer func() { _ = client.Close() }()
	store, err := queues.Open(client, queues.Options{Namespace: cfg.Redis.Namespace})
	if err != nil {
		return err
	}
	if err := store.CheckLayout(ctx); err != nil && ctx.Err() == nil { // all that is there would look wrong
		return command.ExitWith(command.ExitUnavailable, "auditing: "+cfg.Redis.Blame(err).Error())
	}
	var nodes []*mina.Node
	for _, u := range cfg.Mina.URLs {
		nodes = append(nodes, mina.NewNode(u, mina.NodeOptions{Timeout: cfg.Mina.Timeout}))
	}
	ledgers, _, err := cfg.Ledgers.Open()
	if err != nil {
		return err
	}
	types, err := cfg.Registry(nil)
	if err != nil {
		return err
	}
	auditor := audit.Audit{
		Store: store, Senders: senders.New(store, client), Nodes: nodes, Ledgers: ledgers,
		Namespace: cfg.Redis.Namespace, Policy: cfg.Policy(),
		Commutes: func(typ string) bool { return types.Overlap(typ) == dispatcher.Commuting },
	}
	report, err := auditor.Run(ctx)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("auditing: %w", ctx.Err())
	case err != nil:
		// 1 would say that something was found.
		return command.ExitWith(command.ExitUnavailable, "auditing: "+cfg.Redis.Blame(err).Error())
	}
	meanings := audit.Meanings()
	found := []finding{}
	for _, f := range report.Findings {
		found = append(found, finding{f.Check, f.UID, f.Queue, f.Sender, f.Detail, meanings[f.Check]})
	}
	if err := printAudit(a, report, found, asJSON); err != nil {
		return err
	}
	if len(found) > 0 {
		return command.ExitWith(command.ExitFailure, fmt.Sprintf("%d finding(s), see docs/reference.md", len(found)))
	}
	return nil
}

func printAudit(a *command.App, r audit.Report, found []finding, asJSON bool) error {
	if asJSON {
		doc, err := json.Marshal(map[string]any{
			"clean": len(found) == 0, "transactions": r.Transactions, "senders": r.Senders,
			"fromHeight": r.From, "toHeight": r.To, "findings": found,
		})
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
		return a.WriteDoc(doc)
	}
	var lines []terminal.Line
	for _, f := range found {
		about := terminal.Prefixed("  txn ", f.UID) + terminal.Prefixed("  queue ", f.Queue) + terminal.Prefixed("  sender ", f.Sender)
		lines = append(lines, terminal.Line{terminal.Alarm.Of(f.Check), terminal.Bold.Of(about), terminal.Plain.Of("  " + f.Detail), terminal.Dim.Of(" (" + f.Means + ")")})
	}
	lines = append(lines, terminal.Line{terminal.Plain.Of(fmt.Sprintf("%d transactions, %d senders, blocks %d to %d: %s", r.Transactions, r.Senders, r.From, r.To,
		map[bool]string{true: "all promises hold", false: fmt.Sprintf("%d finding(s)", len(found))}[len(found) == 0]))})
	return terminal.NewScreen(a.Stdout, a.Env).Print(lines...)
}
