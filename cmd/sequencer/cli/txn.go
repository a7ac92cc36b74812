package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/amounts"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

func newTxnCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	group := command.Group("txn", "Look at transactions and act on them",
		newTxnListCommand(a, types), newTxnShowCommand(a), newTxnExplainCommand(a), newTxnWaitCommand(a),
		newTxnRetryCommand(a, types), newTxnCancelCommand(a, types), newTxnResolveCommand(a), newTxnDeleteCommand(a, types))
	group.Aliases = []string{"transaction"}
	return group
}

// filterFlags gives cmd the flags that choose transactions.
func filterFlags(a *command.App, cmd *cobra.Command, f *client.Filter, types cobra.CompletionFunc) {
	flags := cmd.Flags()
	flags.StringVar(&f.Queue, "queue", "", "only of this queue")
	flags.StringVar((*string)(&f.State), "state", "", "only in this state")
	flags.StringVar(&f.Type, "type", "", "only of this type")
	flags.StringVar(&f.Sender, "sender", "", "only of this sender")
	flags.StringVar(&f.Error, "error", "", "only with this code of an error")
	completeFlag(cmd, "queue", completeQueues(a))
	completeFlag(cmd, "state", completeStates)
	completeFlag(cmd, "type", types)
	completeFlag(cmd, "sender", completeSenders(a))
}

func newTxnListCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	var f client.Filter
	var l listing
	cmd := clientCommand(a, &cobra.Command{
		Use: "list", Short: "List transactions", Args: cobra.NoArgs,
		Example: command.Examples("txn list --state FAILED --all", "txn list --zkapp B62q… --state FAILED",
			"txn list --queue claim-1 --json | jq '.items[].uid'"),
	}, func(cmd *cobra.Command, s *session, _ []string) error {
		return list(s, &l, heads("SEQ", "UID", "QUEUE", "TYPE", "STATE", "RETRIES", "SENDER", "HASH", "RECEIVED", "ERROR"),
			func(cut client.Cut) (*client.Page[client.Transaction], error) {
				return s.Transactions(cmd.Context(), f, cut)
			},
			func(t *client.Transaction) terminal.Line {
				return terminal.Line{
					terminal.Plain.Of(fmt.Sprint(t.Sequence)), terminal.Plain.Of(t.UID), terminal.Plain.Of(terminal.Shorten(t.Queue, 40)), terminal.Plain.Of(t.Type),
					board.StyleOf(string(t.State)).Of(string(t.State)), terminal.Plain.Of(fmt.Sprint(t.Retries)), terminal.Plain.Of(terminal.Shorten(t.Sender, 12)),
					terminal.Plain.Of(terminal.Shorten(t.Hash, 12)), terminal.Dim.Of(timeText(t.ReceivedAt)),
					terminal.Plain.Of(terminal.Shorten(t.Error.String(), 100)),
				}
			})
	})
	filterFlags(a, cmd, &f, types)
	cmd.Flags().StringVar(&f.Hash, "hash", "", "only what has an attempt with this hash")
	cmd.Flags().StringVar(&f.ZkApp, "zkapp", "", "only what has an attempt that touches this account: B62…, or B62…:TOKEN")
	l.flags(cmd)
	return cmd
}

func newTxnShowCommand(a *command.App) *cobra.Command {
	explained := false
	cmd := clientCommand(a, &cobra.Command{Use: "show UID", Short: "Show one transaction with its attempts", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, s *session, args []string) error {
			if explained {
				return s.explain(cmd.Context(), args[0])
			}
			t, err := s.Transaction(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.showTransaction(t)
		})
	cmd.Flags().BoolVar(&explained, "explain", false, "say what it waits for and what happens next")
	return cmd
}

func newTxnExplainCommand(a *command.App) *cobra.Command {
	return clientCommand(a, &cobra.Command{
		Use: "explain UID", Short: "Say why a transaction does not move, and what comes next",
		Long: "Says what a transaction waits for and what happens next. The codes are in docs/reference.md.", Args: cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, s *session, args []string) error { return s.explain(cmd.Context(), args[0]) })
}

func (s *session) explain(ctx context.Context, uid string) error {
	e, err := s.Explain(ctx, uid)
	if err != nil {
		return err
	}
	if s.asJSON {
		return s.raw(e.Raw)
	}
	lines := []terminal.Line{{board.StyleOf(string(e.State)).Of(string(e.State)), terminal.Dim.Of(terminal.Prefixed("  since ", timeText(e.Since)))}, {terminal.Plain.Of(e.Summary)}}
	if w := e.WaitingFor; w.Code != "" {
		lines = append(lines, terminal.Line{terminal.Dim.Of("waits for  "), terminal.Bold.Of(w.Code), terminal.Plain.Of(terminal.Prefixed("  until ", timeText(w.Until)) + terminal.Prefixed("  ", w.Detail))})
	}
	if e.Next.Action != "" {
		lines = append(lines, terminal.Line{terminal.Dim.Of("next       "), terminal.Bold.Of(e.Next.Action), terminal.Plain.Of(terminal.Prefixed("  at ", timeText(e.Next.At)))})
	}
	for _, at := range e.Attempts {
		open := ""
		if at.Open {
			open = "  may still land"
		}
		lines = append(lines, terminal.Line{terminal.Dim.Of("attempt    "), terminal.Bold.Of(fmt.Sprint(at.Number, "  ", at.Outcome)),
			terminal.Plain.Of(open + terminal.Prefixed("  ", terminal.Shorten(at.Hash, 12)) + terminal.Prefixed("  ", at.Detail))})
	}
	return s.print(lines...)
}

// callbackText says what became of telling its worker how it ended.
func callbackText(c *client.Callback) string {
	switch {
	case c == nil:
		return ""
	case c.Told:
		return fmt.Sprintf("%s answered%s%s", c.Name, terminal.Prefixed(" ", compact(c.Answer)), terminal.Prefixed("; ", c.Error))
	case c.Tries == 0:
		return c.Name + " is to be told"
	}
	return fmt.Sprintf("%s told %d times in vain, last at %s%s", c.Name, c.Tries, timeText(c.At), terminal.Prefixed(": ", c.Error))
}

func maxFeeText(nano uint64) string {
	if nano == 0 {
		return ""
	}
	return amounts.Known(&nano)
}

// showTransaction prints one transaction, with --json as it came.
func (s *session) showTransaction(t *client.Transaction) error {
	if s.asJSON {
		return s.raw(t.Raw)
	}
	state := terminal.Line{terminal.Dim.Of("state"), board.StyleOf(string(t.State)).Of(string(t.State))}
	if t.Reopened {
		state = append(state, terminal.Magenta.Of("reopened"))
	}
	if t.CancelRequested {
		state = append(state, terminal.Magenta.Of("cancel requested"))
	}
	rows := []terminal.Line{{terminal.Dim.Of("uid"), terminal.Bold.Of(t.UID)}, state}
	for _, field := range []struct{ name, value string }{
		{"queue", t.Queue}, {"sequence", fmt.Sprint(t.Sequence)}, {"type", t.Type}, {"sender", t.Sender}, {"hash", t.Hash},
		{"retries", fmt.Sprint(t.Retries)}, {"error", t.Error.String()}, {"done", compact(t.Done)}, {"received", timeText(t.ReceivedAt)},
		{"not before", timeText(t.NotBefore)}, {"expires", timeText(t.ExpiresAt)}, {"max fee", maxFeeText(t.MaxFee)},
		{"submitted", timeText(t.SubmittedAt)}, {"retried", timeText(t.RetriedAt)}, {"done at", timeText(t.DoneAt)},
		{"final at", timeText(t.FinalAt)}, {"callback", callbackText(t.Callback)}, {"claimed by", t.Claim.String()}, {"to Grid", submissionText(t)}, {"data", compact(t.Data)},
	} {
		if field.value != "" {
			rows = append(rows, terminal.Line{terminal.Dim.Of(field.name), terminal.Plain.Of(field.value)})
		}
	}
	var lines []terminal.Line
	for _, row := range rows {
		l := terminal.Line{row[0]}.To(11)
		for _, s := range row[1:] {
			l = append(l, s, terminal.Plain.Of("  "))
		}
		lines = append(lines, l)
	}
	if len(t.Attempts) > 0 {
		lines = append(append(lines, terminal.Line{}), attemptTable(t.Attempts)...)
	}
	return s.print(append(lines, touchedLines(t.Attempts)...)...)
}

// touchedLines name the accounts of the last attempt that was signed.
func touchedLines(attempts []client.Attempt) (lines []terminal.Line) {
	for _, at := range slices.Backward(attempts) {
		for _, account := range at.Touched {
			lines = append(lines, append(terminal.Line{terminal.Dim.Of("touches")}.To(11), terminal.Plain.Of(account.String())))
		}
		if len(lines) > 0 {
			return append([]terminal.Line{{}}, lines...)
		}
	}
	return nil
}

// submissionText is what a batch is in Grid's words, "" for what is none.
func submissionText(t *client.Transaction) string {
	if t.Submitted == nil {
		return ""
	}
	said := "not submitted"
	if *t.Submitted {
		said = "submitted"
	}
	return said + terminal.Prefixed(", ", t.SubmissionError+terminal.Prefixed(": ", t.SubmissionErrorMessage))
}

func attemptTable(attempts []client.Attempt) []terminal.Line {
	rows := []terminal.Line{heads("ATTEMPT", "OUTCOME", "NONCE", "FEE", "VALID UNTIL", "BLOCK", "CONF", "HASH", "STARTED", "ERROR")}
	for _, at := range attempts {
		rows = append(rows, terminal.Line{
			terminal.Plain.Of(fmt.Sprint(at.Number)), terminal.Plain.Of(at.Outcome), terminal.Plain.Of(fmt.Sprint(at.Nonce)), terminal.Plain.Of(amounts.Known(&at.Fee)),
			terminal.Plain.Of(numberText(at.ValidUntil)), terminal.Plain.Of(numberText(at.BlockHeight)), terminal.Plain.Of(numberText(at.Confirmations)),
			terminal.Plain.Of(terminal.Shorten(at.Hash, 12)), terminal.Dim.Of(timeText(at.StartedAt)), terminal.Red.Of(at.Error.String()),
		})
	}
	return terminal.Table(rows)
}

// compact is the JSON without blanks, its tokens unchanged; none is nothing.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

func newTxnWaitCommand(a *command.App) *cobra.Command {
	wait := 10 * time.Minute
	cmd := clientCommand(a, &cobra.Command{
		Use: "wait UID", Short: "Wait until a transaction is over",
		Long:    "Waits until the transaction is final and shows it. Ends with 0 for DONE, with 1 for FAILED or UNRESOLVED, with 7 when the wait is over before.",
		Example: command.Examples("txn wait vote-7 --for 1h"),
		Args:    cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, s *session, args []string) error {
		return s.waitFinal(cmd.Context(), args[0], wait)
	})
	cmd.Flags().DurationVar(&wait, "for", wait, "the longest wait")
	return cmd
}

// waitFinal shows the transaction as soon as it is final, or as it is when the
// wait is over, and returns an error unless it is DONE.
func (s *session) waitFinal(ctx context.Context, uid string, wait time.Duration) error {
	if wait < 0 {
		return command.Usagef("a wait cannot be negative")
	}
	t, err := s.Wait(ctx, uid, wait)
	if err != nil {
		return err
	}
	if err := s.showTransaction(t); err != nil {
		return err
	}
	switch t.State {
	case client.Done:
		return nil
	case client.Failed, client.Unresolved:
		return command.ExitWith(command.ExitFailure, t.UID+" ended "+string(t.State)+terminal.Prefixed(": ", t.Error.String())+
			"\n  → docs/codes.md#errors-of-transactions says what its code means; 'sequencer txn explain' what comes next")
	}
	return command.ExitWith(command.ExitNotFinal, t.UID+" is still "+string(t.State))
}

func newTxnResolveCommand(a *command.App) *cobra.Command {
	var outcome, hash string
	cmd := clientCommand(a, &cobra.Command{
		Use: "resolve UID", Short: "Say what became of a transaction that the service cannot follow",
		Example: command.Examples("txn resolve vote-7 --outcome landed --hash 5Ju…", "txn resolve vote-7 --outcome dead"),
		Args:    cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, s *session, args []string) error {
		if outcome != "landed" && outcome != "dead" {
			return command.Usagef("--outcome is landed or dead")
		}
		t, err := s.Resolve(cmd.Context(), args[0], outcome == "landed", hash)
		if err != nil {
			return err
		}
		return s.answer(t.Raw, terminal.Clean(args[0])+" is recorded as "+outcome)
	})
	cmd.Flags().StringVar(&outcome, "outcome", "", "landed or dead")
	cmd.Flags().StringVar(&hash, "hash", "", "hash of the transaction that landed")
	completeFlag(cmd, "outcome", cobra.FixedCompletions([]string{"landed", "dead"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
