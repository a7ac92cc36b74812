package main

import (
	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/command"
)

// newClientCommands are all commands that ask a running service. types are completed where
// a type of transactions is wanted; the service may know more.
func newClientCommands(a *command.App, types []string) []*cobra.Command {
	known := completeTypes(types)
	return []*cobra.Command{
		newPostCommand(a, known), newTxnCommand(a, known), newQueueCommand(a), newSenderCommand(a), newFeesCommand(a),
		newWebhookCommand(a), newWatchCommand(a, known),
	}
}
