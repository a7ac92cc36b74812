package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

// A senderInfo is a sender as the API shows it.
type senderInfo struct {
	AccountID string      `json:"accountId"`
	WorkerURL string      `json:"workerUrl"`
	State     string      `json:"state"`
	Queue     string      `json:"queue"`
	Retries   int         `json:"retries"`
	Nonce     json.Number `json:"nonce"`
	Balance   json.Number `json:"balance"`
	Available bool        `json:"available"`
	Reason    string      `json:"reason"`
	Until     string      `json:"until"`
}

func newSenderCommand(a *app) *cobra.Command {
	list := newListCommand(a, "List senders", "/senders",
		line{{"ACCOUNT", dim}, {"STATE", dim}, {"QUEUE", dim}, {"NONCE", dim}, {"BALANCE", dim}, {"REASON", dim}, {"UNTIL", dim}, {"WORKER", dim}},
		func(raw json.RawMessage) (line, error) {
			var s senderInfo
			err := decode(raw, &s)
			return line{
				{s.AccountID, plain}, {s.State, stateStyle(s.State)}, {shorten(s.Queue, 40), plain}, {s.Nonce.String(), plain},
				{minaText(s.Balance.String()), plain}, {s.Reason, red}, {s.Until, dim}, {s.WorkerURL, plain},
			}, err
		})
	show := clientCommand(a, &cobra.Command{Use: "show ACCOUNT", Short: "Show one sender", Args: cobra.ExactArgs(1)},
		func(cmd *cobra.Command, c *client, args []string) error {
			path, err := pathOf("senders", args[0])
			if err != nil {
				return err
			}
			var s senderInfo
			raw, err := c.get(cmd.Context(), path, nil, &s)
			if err != nil {
				return err
			}
			if c.asJSON {
				return c.raw(raw)
			}
			return c.print(facts("account", s.AccountID, "worker", s.WorkerURL, "state", s.State, "queue", s.Queue,
				"retries", fmt.Sprint(s.Retries), "nonce", s.Nonce.String(), "balance", balanceText(s.Balance),
				"available", fmt.Sprint(s.Available), "reason", s.Reason, "until", s.Until)...)
		})
	add := clientCommand(a, &cobra.Command{Use: "add ACCOUNT WORKER-URL", Short: "Register a sender and its worker", Args: cobra.ExactArgs(2)},
		func(cmd *cobra.Command, c *client, args []string) error {
			body, err := json.Marshal(map[string]string{"accountId": args[0], "workerUrl": args[1]})
			if err != nil {
				return fmt.Errorf("writing the sender: %w", err)
			}
			return c.act(cmd.Context(), http.MethodPost, "/senders", body, clean(args[0])+" is registered")
		})
	act := func(use, short, method, suffix, done string) *cobra.Command {
		return newNamedActCommand(a, "senders", use+" ACCOUNT", short, method, suffix, done)
	}
	return newGroup("sender", "Look at senders, add and remove them", list, show, add,
		act("remove", "Remove a sender that is bound to no queue", http.MethodDelete, "", "is removed"),
		act("drain", "Take a sender out of use; its transaction is finished", http.MethodPost, "/drain", "is taken out of use"),
		act("resume", "Take a sender back into use", http.MethodPost, "/resume", "is back in use"))
}

func balanceText(nano json.Number) string {
	if nano == "" {
		return ""
	}
	return minaText(nano.String()) + " MINA"
}
