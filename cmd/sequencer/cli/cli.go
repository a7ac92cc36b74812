// Package cli holds the commands that ask a running service, over HTTP and in no other way:
// of the product it knows the client alone, so all that they do others can do, too.
package cli

import (
	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/command"
)

// Commands are all commands that ask a running service. types are completed where
// a type of transactions is wanted; the service may know more.
func Commands(a *command.App, types []string) []*cobra.Command {
	known := completeTypes(types)
	return []*cobra.Command{
		newPostCommand(a, known), newTxnCommand(a, known), newQueueCommand(a), newSenderCommand(a), newProverCommand(a), newFeesCommand(a),
		newWebhookCommand(a), newWatchCommand(a, known), newEventsCommand(a, known), newGridCommand(a),
	}
}
