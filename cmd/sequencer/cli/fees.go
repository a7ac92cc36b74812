package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/amounts"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

func newFeesCommand(a *command.App) *cobra.Command {
	return clientCommand(a, &cobra.Command{
		Use: "fees", Short: "Show what others pay, what ours would pay, and what was spent", Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, s *session, _ []string) error {
		f, err := s.Fees(cmd.Context())
		if err != nil {
			return err
		}
		if s.asJSON {
			return s.raw(f.Raw)
		}
		return s.print(feeLines(f)...)
	})
}

func feeLines(f *client.Fees) []terminal.Line {
	lines := facts("pool", "nobody has looked at it: SEQUENCER_FEE is a number, or there was no work")
	if p := f.Pool; p != nil {
		lines = facts("pool", fmt.Sprintf("%d commands at %s; a block takes %d zkApp commands", p.Size, timeText(p.At),
			p.Capacity))
		var ranks []string
		for _, r := range p.Ranks {
			ranks = append(ranks, fmt.Sprintf("%s at the end of block %d", amounts.MINA(r.FeePerWeight), r.Blocks))
		}
		pays := "nothing that counts: all that waits fits into a block"
		if len(ranks) > 0 {
			pays = "MINA for each unit of weight: " + strings.Join(ranks, ", ")
		}
		lines = append(lines, facts("others pay", pays)...)
	}
	rows := []terminal.Line{heads("TYPE", "WEIGHT", "FEE", "PER WEIGHT", "WHY")}
	for _, t := range f.Types {
		rows = append(rows, terminal.Line{terminal.Plain.Of(t.Type), terminal.Plain.Of(numberText(t.Weight)), terminal.Plain.Of(amounts.MINA(t.Fee)),
			terminal.Plain.Of(maxFeeText(t.FeePerWeight)), terminal.Plain.Of(t.Why)})
	}
	lines = append(append(lines, terminal.Line{}), terminal.Table(rows)...)
	rows = []terminal.Line{heads("DAY", "MINA", "SENDER", "QUEUE")}
	for _, x := range f.Spent {
		rows = append(rows, terminal.Line{terminal.Plain.Of(x.Day), terminal.Plain.Of(amounts.MINA(x.Fee)), terminal.Plain.Of(x.Sender), terminal.Plain.Of(terminal.Shorten(x.Queue, 40))})
	}
	if len(rows) == 1 {
		return append(lines, terminal.Line{}, terminal.Line{terminal.Dim.Of("nothing was spent in the last seven days")})
	}
	return append(append(lines, terminal.Line{}), terminal.Table(rows)...)
}
