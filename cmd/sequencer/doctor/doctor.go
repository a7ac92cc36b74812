// Package doctor holds the commands that look and change nothing: doctor looks at a set-up
// before something runs, and audit holds the promises against what has run. It is for the
// program to put together; nothing else is to use it.
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/metrics/traces"
)

// The levels of a diagnosis.
const (
	levelOK      = "ok"
	levelWarning = "warning" // it works, and promises less or costs more
	levelProblem = "problem" // serve would not start, not work, or not keep a promise
)

// A diagnosis is what one look found, and what to do about it.
type diagnosis struct {
	Level   string `json:"level"`
	Check   string `json:"check"`
	Subject string `json:"subject"` // the setting, server, node or sender looked at
	Found   string `json:"found"`
	Do      string `json:"do,omitempty"`
}

// doctorTime is how long one look may take.
const doctorTime = 15 * time.Second

// Command is `sequencer doctor`.
func Command(a *command.App) *cobra.Command {
	asJSON, strict := false, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what a service needs: settings, Redis, nodes, workers, accounts, clocks",
		Long: `Looks at everything that a service needs, and says what to do about what is not
as it should be. It is configured as serve is, asks Redis, the Mina nodes and the
workers by itself, and works whether or not a service is running. It changes
nothing but one key that Redis forgets within a minute.

Ends with 0 if there is no problem, with 1 if there is, with --strict also for a
warning. The checks are listed in docs/reference.md.`,
		Example: command.Examples("doctor", "doctor --json | jq '.findings[] | select(.level != \"ok\")'"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{env: a.Env, now: time.Now}
			if err := d.examine(cmd.Context()); err != nil {
				return err
			}
			return d.report(a, asJSON, strict)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.Flags().BoolVar(&strict, "strict", false, "end with 1 for a warning too")
	return cmd
}

// A doctor looks at one set-up, once.
type doctor struct {
	env map[string]string
	now func() time.Time
	cfg settings.Config

	mu    sync.Mutex // guards what follows: looks are taken side by side
	found []diagnosis
}

func (d *doctor) say(level, check, subject, found, do string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found = append(d.found, diagnosis{level, check, subject, found, do})
}

func (d *doctor) ok(check, subject, found string) { d.say(levelOK, check, subject, found, "") }

func (d *doctor) problem(check, subject, found, do string) {
	d.say(levelProblem, check, subject, found, do)
}

func (d *doctor) warn(check, subject, found, do string) {
	d.say(levelWarning, check, subject, found, do)
}

// examine takes all looks. Its error is that it could not: ctx has ended.
func (d *doctor) examine(ctx context.Context) error {
	if !d.settings(ctx) {
		return ctx.Err()
	}
	// What is stored names further senders and provers, and the nodes tell the network that the
	// workers must be of.
	var known stored
	var chain *chainLook
	var both sync.WaitGroup
	both.Go(func() { known = d.redis(ctx) })
	if len(d.cfg.Mina.URLs) > 0 {
		both.Go(func() { chain = d.chain(ctx) })
	}
	both.Go(func() { d.ledgers(ctx) })
	both.Wait()
	if chain != nil {
		d.senders(ctx, known, chain)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("looking: %w", ctx.Err())
	}
	return nil
}

// settings reads the configuration. Without one there is nothing to look at.
func (d *doctor) settings(ctx context.Context) bool {
	cfg, warnings, err := settings.Load(ctx, d.env)
	bad, ok := errors.AsType[*settings.Error](err)
	if ok {
		for _, p := range bad.Problems {
			d.problem("SETTING", p.Name, terminal.Prefixed(terminal.Shorten(p.Value, 80)+" ", p.Reason), "it wants "+p.Wants)
		}
	} else if err != nil {
		d.problem("SETTING", "environment", err.Error(), "correct it")
	}
	for _, w := range warnings {
		d.warn("SETTING", "environment", w, "see docs/configuration.md")
	}
	if err != nil {
		d.warn("SETTING", "environment", "the rest cannot be looked at", "correct the settings, and call the doctor again")
		return false
	}
	d.cfg = cfg
	_, traced := traces.Wanted(d.env)
	if traced != nil {
		d.problem("SETTING", "environment", traced.Error(), "correct it: serve does not start")
	}
	if len(cfg.HTTP.APIKeys) == 0 && cfg.HTTP.Insecure {
		d.warn("OPEN_API", cfg.HTTP.Addr, "SEQUENCER_INSECURE is set and there are no keys: whoever reaches the address can do everything",
			"set SEQUENCER_API_KEYS, or see that something in front of it asks who is there")
	} else if traced == nil {
		d.ok("SETTING", "environment", "every setting can be used")
	}
	return true
}

// report prints what was found, and returns the error that says so.
func (d *doctor) report(a *command.App, asJSON, strict bool) error {
	count := map[string]int{}
	for _, f := range d.found {
		count[f.Level]++
	}
	rank := []string{levelOK, levelWarning, levelProblem}
	slices.SortStableFunc(d.found, func(x, y diagnosis) int {
		return cmp.Or(slices.Index(rank, x.Level)-slices.Index(rank, y.Level), cmp.Compare(x.Check, y.Check), cmp.Compare(x.Subject, y.Subject))
	})
	print := d.print
	if asJSON {
		print = d.printJSON
	}
	if err := print(a, count); err != nil {
		return err
	}
	if bad := count[levelProblem]; bad > 0 || strict && count[levelWarning] > 0 {
		return command.ExitWith(command.ExitFailure, fmt.Sprintf("%d problem(s), %d warning(s)", bad, count[levelWarning]))
	}
	return nil
}

func (d *doctor) printJSON(a *command.App, count map[string]int) error {
	doc, err := json.Marshal(map[string]any{
		"healthy": count[levelProblem] == 0, "problems": count[levelProblem], "warnings": count[levelWarning], "findings": d.found,
	})
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return a.WriteDoc(doc)
}

func (d *doctor) print(a *command.App, count map[string]int) error {
	marks := map[string]terminal.Span{levelOK: terminal.Green.Of("✓ "), levelWarning: terminal.Yellow.Of("! "), levelProblem: terminal.Alarm.Of("✗ ")}
	var lines []terminal.Line
	for _, f := range d.found {
		l := append(terminal.Line{marks[f.Level]}, terminal.Bold.Of(f.Check)).To(22)
		lines = append(lines, append(l, terminal.Cyan.Of("  "+terminal.Shorten(f.Subject, 40)), terminal.Plain.Of("  "+f.Found)))
		if f.Do != "" {
			lines = append(lines, append(terminal.Line{}.To(24), terminal.Plain.Of("→ "+f.Do)))
		}
	}
	sum := terminal.Line{terminal.Green.Of("nothing is wrong")}
	if count[levelProblem]+count[levelWarning] > 0 {
		sum = terminal.Line{terminal.Bold.Of(fmt.Sprintf("%d problem(s), %d warning(s)", count[levelProblem], count[levelWarning]))}
	}
	return terminal.NewScreen(a.Stdout, a.Env).Print(append(lines, sum)...)
}
