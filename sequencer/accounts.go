package sequencer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mina-sequencer/mina"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
	"mina-sequencer/sequencer/fees"
	"mina-sequencer/sequencer/tx"
)

// accountsLoop looks after the senders' accounts, and after the nodes while nothing
// else asks them, until ctx ends.
func (s *Sequencer) accountsLoop(ctx context.Context) {
	if s.Policy.BalanceInterval <= 0 {
		return
	}
	look := time.NewTicker(s.Policy.BalanceInterval)
	defer look.Stop()
	for {
		if err := s.readBalances(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("balances not read", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// readBalances reads the balances of all senders, in the turn of this process. A sender that
// cannot pay is out of use until it is funded.
func (s *Sequencer) readBalances(ctx context.Context) error {
	mine, err := s.Store.Turn(ctx, "balances", s.Policy.BalanceInterval*9/10)
	if err != nil || !mine {
		if s.Chain.Any() && time.Since(s.Chain.Chain().At) >= s.Policy.BalanceInterval {
			s.Chain.Poll(ctx)
		}
		return err
	}
	const some = 200
	for cursor := ""; ; {
		page, next, err := s.Senders.List(ctx, some, cursor)
		if err != nil {
			return err
		}
		if err := s.readBalancesOf(ctx, page); err != nil {
			return err
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// readBalancesOf asks the nodes for the accounts of some senders, all at once.
func (s *Sequencer) readBalancesOf(ctx context.Context, page []*senders.Sender) error {
	page = slices.DeleteFunc(page, func(p *senders.Sender) bool { return senders.LedgerOf(p.AccountID) != "" })
	if len(page) == 0 || !s.Chain.Any() {
		return nil
	}
	names := make([]string, len(page))
	for i, p := range page {
		names[i] = p.AccountID
	}
	accounts, err := s.Chain.Accounts(ctx, names)
	if err != nil {
		return err
	}
	for _, p := range page {
		a := accounts[p.AccountID]
		low := s.shortOf(a)
		if low == "" && p.Available() && p.Balance != nil && *p.Balance == a.Balance {
			continue
		}
		if err := s.Senders.Watch(ctx, p.AccountID, a.Balance, low); err != nil && !errors.Is(err, senders.ErrNotFound) {
			return err
		}
		if low != "" && p.Available() {
			s.Log.Warn("a sender is out of use", "sender", p.AccountID, "code", string(tx.LowBalance), "detail", low)
		}
	}
	return nil
}

// shortOf says in words why an account cannot pay fees for long, "" if it can.
func (s *Sequencer) shortOf(a mina.Account) string {
	least := max(s.Policy.MinBalance, s.Policy.Fee)
	switch {
	case !a.Exists:
		return "no node knows the account: fund it"
	case a.Balance < least:
		locked := ""
		if a.Locked > 0 {
			locked = ", and " + fees.FormatMina(a.Locked) + " that its timing still locks"
		}
		return fmt.Sprintf("it has %s MINA to spend%s, less than %s: fund it",
			fees.FormatMina(a.Balance), locked, fees.FormatMina(least))
	}
	return ""
}

// feeLimits are those that a change is held to: one that plans an attempt.
func (s *Sequencer) feeLimits(before, after *tx.Transaction) queues.FeeLimits {
	if len(after.Attempts) <= len(before.Attempts) {
		return queues.FeeLimits{}
	}
	return queues.FeeLimits{Sender: s.Policy.FeeLimitSender, All: s.Policy.FeeLimit}
}

// budgets are those that what an attempt costs is counted with, and held to where one is
// planned.
func (s *Sequencer) budgets(before, after *tx.Transaction) (all []queues.Budget) {
	plans := len(after.Attempts) > len(before.Attempts)
	add := func(name string, most uint64) {
		if most > 0 && plans {
			all = append(all, queues.Budget{Name: name, Most: most})
		} else if most > 0 {
			all = append(all, queues.Budget{Name: name})
		}
	}
	add(queues.QueueBudget(after.Queue), s.Policy.FeeLimitQueue)
	if after.PostedBy != "" {
		add(queues.KeyBudget(after.PostedBy), s.Policy.FeeLimitKey)
	}
	return all
}

// inWords is a budget as it is told.
func inWords(budget string) string {
	switch kind, name, _ := strings.Cut(budget, ":"); kind {
	case "q":
		return "queue " + name
	case "k":
		return "key " + name
	}
	return ""
}
