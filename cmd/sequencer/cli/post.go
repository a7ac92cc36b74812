package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/amounts"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// lineBytes bounds one transaction, however it is given.
const lineBytes = 64 << 20

func newPostCommand(a *command.App, types cobra.CompletionFunc) *cobra.Command {
	var item client.Item
	var data, batch, run, notBefore, expires, maxFee string
	var wait time.Duration
	var dryRun bool
	cmd := clientCommand(a, &cobra.Command{
		Use:   "post",
		Short: "Post a transaction, or a file of them",
		Long: `Posts one transaction, or a file with one {"queue","type","data","uid",…} per line.

Posting the same again with the same uid is harmless: the service answers with
the first one. A single transaction without --uid gets one, which is printed where
no answer comes. A line without a uid gets one made of what it holds, the first,
second, … such line its own: so the same command after an interruption repeats
nothing, and lines may be added, corrected or taken out meanwhile. --run gives
them others, to post the same work once more. A key is known for as long as the
service's SEQUENCER_RETENTION says.

With --dry-run nothing is posted: it is told whether it would be accepted, and,
where a worker simulates its type (those of the kit do), what it would do by the
accounts as they are, and what it would cost. It fails where the transaction
would (exit code 1).

With --batch and --json there is one object for each line, {"line","uid"} with
"existed" and "transaction", or with "problem".`,
		Example: command.Examples(`post --queue claim-1 --type SEND_CLAIM_VOTE --data '{"vote":1,…}'`,
			"post --queue claim-1 --type SEND_CLAIM_VOTE --data @vote.json --uid vote-7 --wait 10m --expires-at 2h",
			"post --queue claim-1 --type SEND_CLAIM_VOTE --data @vote.json --dry-run",
			"post --batch votes.ndjson", "post --batch votes.ndjson --run second-round", "post --batch - < votes.ndjson"),
		Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, s *session, _ []string) error {
		if batch != "" {
			switch {
			case dryRun:
				return command.Usagef("--dry-run is for one transaction: POST /transactions/batch?dryRun=true tells of many")
			case notBefore+expires+maxFee+item.Queue+item.Type+data+item.UID != "" || wait != 0:
				return command.Usagef("--batch stands alone: each line has its own queue, type, data and uid")
			}
			return postBatch(cmd.Context(), s, batch, run)
		}
		if item.Queue == "" || item.Type == "" || data == "" {
			return command.Usagef("--queue, --type and --data are needed, or --batch")
		}
		if err := readTerms(&item, notBefore, expires, maxFee); err != nil {
			return err
		}
		var err error
		if item.Data, err = readData(a.Stdin, data); err != nil {
			return err
		}
		switch {
		case dryRun && wait != 0:
			return command.Usagef("--dry-run posts nothing that --wait could wait for")
		case dryRun:
			return tryOne(cmd.Context(), s, item)
		}
		return postOne(cmd.Context(), s, item, wait)
	})
	flags := cmd.Flags()
	flags.StringVar(&item.Queue, "queue", "", "queue to put it in")
	flags.StringVar(&item.Type, "type", "", "type of the transaction")
	flags.StringVar(&data, "data", "", "its data: JSON, @file, or - for standard input")
	flags.StringVar(&item.UID, "uid", "", "idempotency key, and name of the transaction")
	flags.StringVar(&notBefore, "not-before", "", "when it may be dispatched at the earliest: "+momentText)
	flags.StringVar(&expires, "expires-at", "", "its deadline, after which it does not land: "+momentText)
	flags.StringVar(&maxFee, "max-fee", "", "the most MINA that an attempt of it may pay")
	flags.BoolVar(&dryRun, "dry-run", false, "post nothing, and tell what would become of it")
	flags.DurationVar(&wait, "wait", 0, "wait this long until its state is final")
	flags.StringVar(&batch, "batch", "", "file of transactions, one JSON object per line, or - for standard input")
	flags.StringVar(&run, "run", "", "name of this run, part of the uids that lines without one get")
	completeFlag(cmd, "queue", completeQueues(a))
	completeFlag(cmd, "type", types)
	return cmd
}

// momentText is what momentOf takes.
const momentText = "a time such as 2026-03-01T18:00:00Z, or how long from now, such as 2h"

// momentOf reads a time that a flag gives, zero for "".
func momentOf(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, command.Usagef("--%s: want %s", flag, momentText)
	}
	return t, nil
}

func readTerms(item *client.Item, notBefore, expires, maxFee string) (err error) {
	if item.NotBefore, err = momentOf("not-before", notBefore); err != nil {
		return err
	}
	if item.ExpiresAt, err = momentOf("expires-at", expires); err != nil {
		return err
	}
	if maxFee != "" {
		if item.MaxFee, err = amounts.Nano(maxFee); err != nil || item.MaxFee == 0 {
			return command.Usagef("--max-fee: want an amount of MINA above 0, such as 0.5")
		}
	}
	return nil
}

func postOne(ctx context.Context, s *session, item client.Item, wait time.Duration) error {
	item.UID = cmp.Or(item.UID, rand.Text())
	posted, err := s.Post(ctx, item)
	if err != nil {
		if e, answered := errors.AsType[*client.Error](err); !answered || e.Status >= 500 {
			fmt.Fprintf(s.app.Stderr, "%[1]s may have been accepted: the same command with --uid %[1]s is safe\n", terminal.Clean(item.UID))
		}
		return err
	}
	if wait > 0 {
		return s.waitFinal(ctx, posted.UID, wait) // of a batch that was posted before: that one's
	}
	if s.asJSON {
		return s.raw(posted.Raw)
	}
	state := string(posted.State)
	return s.print(terminal.Line{terminal.Bold.Of(posted.UID), terminal.Plain.Of("  " + posted.Queue + "  "), board.StyleOf(state).Of(state)})
}

// tryOne shows what posting a transaction would come to, and returns an error where it would fail.
func tryOne(ctx context.Context, s *session, item client.Item) error {
	t, err := s.DryRun(ctx, item)
	if err != nil {
		return err
	}
	if err := s.showTrial(t); err != nil {
		return err
	}
	if x := t.Simulation; x != nil && !x.OK {
		return command.ExitWith(command.ExitFailure, "it would fail"+terminal.Prefixed(": ", x.Failure.String()))
	}
	return nil
}

func (s *session) showTrial(t *client.Trial) error {
	if s.asJSON {
		return s.raw(t.Raw)
	}
	says := "would be accepted; nothing was posted"
	if t.Existed {
		says = "was accepted before: " + t.UID + " is " + string(t.State)
	}
	lines := []terminal.Line{{terminal.Bold.Of(t.Queue), terminal.Plain.Of("  " + says)}}
	add := func(text string) { lines = append(lines, terminal.Line{terminal.Plain.Of("  " + text)}) }
	x := t.Simulation
	if x == nil {
		add("not simulated: " + t.NotSimulated)
		return s.print(lines...)
	}
	if x.OK {
		add("by the accounts as " + as(x.Ahead) + " it would do")
	}
	if x.Weight > 0 {
		add(fmt.Sprintf("weight %d, fee %s MINA", x.Weight, amounts.MINA(x.Fee)))
	}
	if x.Seconds > 0 {
		took := time.Duration(x.Seconds * float64(time.Second)).Round(time.Second / 10)
		add(fmt.Sprintf("a proof of its type takes about %s there", took))
	}
	for _, a := range x.Touched {
		does := "touches "
		if a.Creates {
			does = "creates "
		}
		add(does + a.PublicKey + terminal.Prefixed(" of token ", notMina(a.TokenID)))
	}
	return s.print(lines...)
}

// as is how the accounts are by which something was simulated.
func as(ahead int) string {
	if ahead == 0 {
		return "they are"
	}
	return fmt.Sprintf("what is in flight of its queue leaves them (%d)", ahead)
}

// notMina is the id of a token, "" for that of MINA.
func notMina(token string) string {
	if token == "wSHV2S4qX9jFsLjQo8r1BsMLH2ZRKsZx6EJd1sbozGPieEC4Jf" { //nolint:gosec // the id of MINA itself, no secret
		return ""
	}
	return token
}

// readData reads JSON from the argument itself, from @file or from stdin.
func readData(stdin io.Reader, source string) ([]byte, error) {
	data := []byte(source)
	if name, isFile := strings.CutPrefix(source, "@"); isFile || source == "-" {
		in := stdin
		if isFile {
			file, err := os.Open(name)
			if err != nil {
				return nil, command.Usagef("--data: %w", err)
			}
			defer func() { _ = file.Close() }()
			in = file
		}
		var err error
		if data, err = io.ReadAll(io.LimitReader(in, lineBytes+1)); err != nil {
			return nil, fmt.Errorf("reading --data: %w", err)
		}
		if len(data) > lineBytes {
			return nil, command.Usagef("--data is larger than 64MiB")
		}
	}
	if !json.Valid(data) {
		return nil, command.Usagef("--data is not JSON (a file is named @file)")
	}
	return data, nil
}
