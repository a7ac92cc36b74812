package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/grid"
)

func newGridCommand(a *command.App) *cobra.Command {
	var o grid.Options
	var ledger string
	var services []string
	cmd := clientCommand(a, &cobra.Command{
		Use: "grid", Short: "Submit the batches of a Hyperledger Grid service's database",
		Long: `Hands over the batches that a Hyperledger Grid service has written into its
database, in order per service, and writes what becomes of them back, until
interrupted. It stands in the place of Grid's batch submitters: stop those
first. It keeps nothing, may be killed at any moment, and several may work on
one database. The work on the database is done by sqlite3 or psql, which has to
be installed. See docs/grid.md.`,
		Example: command.Examples("grid --db grid.sqlite --ledger saw",
			"grid --db postgres://grid@db/grid --ledger saw --services vzrQS-rvwf4::a001=orders"),
		Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, s *session, _ []string) error {
		o.Client, o.Err, o.Ledgers = s.Client, a.Stderr, map[string]string{"": ledger}
		for _, pair := range services {
			id, name, ok := strings.Cut(pair, "=")
			if !ok || id == "" || name == "" {
				return command.Usagef("--services wants service-id=ledger,…, such as vzrQS-rvwf4::a001=orders")
			}
			o.Ledgers[id] = name
		}
		switch {
		case o.Database == "":
			return command.Usagef("--db wants an SQLite file, or postgres://…")
		case ledger == "" && len(services) == 0:
			return command.Usagef("--ledger or --services has to name a ledger of the service's SEQUENCER_LEDGERS")
		case o.Every <= 0 || o.Claim < time.Second || o.ClaimLimit < 1:
			return command.Usagef("--every wants more than 0, --claim at least 1s, --claim-limit at least 1")
		}
		return grid.Run(cmd.Context(), o)
	})
	flags := cmd.Flags()
	flags.StringVar(&o.Database, "db", "", "an SQLite file, or postgres://…")
	flags.StringVar(&ledger, "ledger", "", "the ledger of rows without a service id")
	flags.StringSliceVar(&services, "services", nil, "service-id=ledger,…")
	flags.DurationVar(&o.Every, "every", 10*time.Second, "time between two rounds")
	flags.DurationVar(&o.Claim, "claim", time.Minute, "how long a row is claimed while it is handed over")
	flags.IntVar(&o.ClaimLimit, "claim-limit", 100, "how many rows are claimed at a time")
	flags.BoolVar(&o.Once, "once", false, "one round only")
	return cmd
}
