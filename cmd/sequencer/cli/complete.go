package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/board"
	"mina-sequencer/cmd/sequencer/command"
)

// completeTime is how long a shell that completes waits for the service.
const completeTime = 2 * time.Second

func completeFlag(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is there
	}
}

func completeStates(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var states []cobra.Completion
	for _, look := range board.Looks() {
		states = append(states, look.State)
	}
	return states, cobra.ShellCompDirectiveNoFileComp
}

func completeTypes(types []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(types, cobra.ShellCompDirectiveNoFileComp)
}

// completeFirst completes the first argument and no other.
func completeFirst(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, typed)
	}
}

func completeQueues(a *command.App) cobra.CompletionFunc {
	return completeNames(a, func(ctx context.Context, c *client.Client) (names []cobra.Completion) {
		if p, err := c.Queues(ctx, client.Cut{Limit: 500}); err == nil {
			for _, q := range p.Items {
				names = append(names, q.Name)
			}
		}
		return names
	})
}

func completeSenders(a *command.App) cobra.CompletionFunc {
	return completeNames(a, func(ctx context.Context, c *client.Client) (names []cobra.Completion) {
		if p, err := c.Senders(ctx, client.Cut{Limit: 500}); err == nil {
			for _, s := range p.Items {
				names = append(names, s.AccountID)
			}
		}
		return names
	})
}

// completeNames completes with what the service knows; a service that does not
// answer knows nothing.
func completeNames(a *command.App, names func(context.Context, *client.Client) []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		url, _ := cmd.Flags().GetString("url")
		key, _ := cmd.Flags().GetString("key")
		c, err := client.New(client.Options{URL: url, Key: cmp.Or(key, a.Env["SEQUENCER_KEY"]), Timeout: completeTime, Retries: -1})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer c.Close()
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		return names(ctx, c), cobra.ShellCompDirectiveNoFileComp
	}
}
