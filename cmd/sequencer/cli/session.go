package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/terminal"
)

// A session is one client command: the service that it asks, and how it answers.
type session struct {
	*client.Client
	app    *command.App
	asJSON bool
}

// clientFlags are what every client command has.
type clientFlags struct {
	url, key string
	asJSON   bool
	timeout  time.Duration
	retries  int
}

// clientCommand gives cmd the flags of every client command and a session made of
// them.
func clientCommand(a *command.App, cmd *cobra.Command, do func(cmd *cobra.Command, s *session, args []string) error) *cobra.Command {
	var f clientFlags
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", cmp.Or(a.Env["SEQUENCER_URL"], "http://127.0.0.1:8080"), "address of the service (SEQUENCER_URL)")
	// The key from the environment is no flag default: help shows defaults.
	flags.StringVar(&f.key, "key", "", "API key (SEQUENCER_KEY)")
	flags.BoolVar(&f.asJSON, "json", false, "print the service's JSON unchanged")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "the longest one try may take")
	flags.IntVar(&f.retries, "retries", a.Retries, "how often what fails for a moment is tried again, where that is harmless")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := f.open(a)
		if err != nil {
			return err
		}
		defer s.Close()
		return s.told(do(cmd, s, args))
	}
	return cmd
}

func (f *clientFlags) open(a *command.App) (*session, error) {
	key := cmp.Or(f.key, a.Env["SEQUENCER_KEY"])
	if err := checkAddress(f.url); err != nil {
		return nil, command.Usagef("--url %s", err)
	}
	if len(key) > 4096 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, command.Usagef("--key holds characters that no HTTP header can carry")
	}
	if f.timeout <= 0 {
		return nil, command.Usagef("--timeout wants a duration above 0")
	}
	retries := f.retries
	if retries <= 0 {
		retries = -1
	}
	c, err := client.New(client.Options{URL: f.url, Key: key, Timeout: f.timeout, Retries: retries, Backoff: a.Poll})
	if err != nil {
		return nil, command.Usagef("%w", err)
	}
	return &session{Client: c, app: a, asJSON: f.asJSON}, nil
}

func checkAddress(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("holds what is no http:// or https:// address")
	}
	if u.Fragment != "" {
		return errors.New("holds an address with a #fragment")
	}
	return nil
}

// A toldError is an error of the client with what to do about it.
type toldError struct {
	error
	advice string
	page   string // where its code is explained
	raw    []byte // the service's answer, where that is to be printed
}

func (e *toldError) Error() string {
	return e.error.Error() + terminal.Prefixed("\n  → ", e.advice) + terminal.Prefixed("\n  → ", e.page)
}

func (e *toldError) Unwrap() error { return e.error }

// Answer is what is printed in the place of the error, nil for the error itself.
func (e *toldError) Answer() []byte { return e.raw }

// told adds to an error of the client what helps on the command line.
func (s *session) told(err error) error {
	if errors.Is(err, client.ErrName) {
		return command.Usagef("%w", err)
	}
	if _, ok := errors.AsType[*client.UnreachableError](err); ok {
		return &toldError{error: err, advice: "is the service running there? see --url and SEQUENCER_URL"}
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	t := &toldError{error: err, advice: advice(e.Code)}
	if e.Code == "" && e.Status == http.StatusBadRequest && bytes.Contains(e.Raw, []byte("HTTPS")) {
		t.advice = "the service speaks TLS: does --url or SEQUENCER_URL begin with https://?"
	}
	if e.Code != "" {
		t.page = cmp.Or(s.page(e.Type), "docs/codes.md#http-problems") + " says what " + string(e.Code) + " means"
	}
	if s.asJSON && e.Code != "" {
		t.raw = e.Raw
	}
	return t
}

// page is a page of the service, as it can be opened; "" for what is none.
func (s *session) page(path string) string {
	if !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	u, err := url.Parse(s.URL + path)
	if err != nil {
		return ""
	}
	return u.Redacted()
}

// advice says which command or flag helps; what else to do is in the detail.
func advice(code client.Code) string {
	switch code {
	case client.UnknownType:
		return "check --type; types that only a worker knows are named in the service's SEQUENCER_WORKER_TYPES"
	case client.KeyReused:
		return "this uid belongs to another transaction: take a new one, or see 'sequencer txn show'"
	case client.NotCancellable, client.NotRetryable:
		return "see 'sequencer txn show' for its state"
	case client.MightStillLand:
		return "see 'sequencer txn explain': wait, or 'sequencer txn resolve' an attempt whose outcome nobody knows"
	case client.TooLarge:
		return "send less at once, or raise the service's SEQUENCER_BODY_LIMIT or SEQUENCER_BATCH_LIMIT"
	case client.BadCursor:
		return "start again without --cursor"
	case client.EventsGone:
		return "start again without --from"
	case client.Unauthorized:
		return "give a key with --key or SEQUENCER_KEY"
	case client.Forbidden:
		return "this key's scope does not allow it"
	}
	return ""
}

// answer prints the service's JSON, or says what was done.
func (s *session) answer(raw []byte, done string) error {
	if s.asJSON {
		return s.raw(raw)
	}
	_, err := fmt.Fprintln(s.app.Stdout, done)
	return err
}

// raw prints the service's JSON unchanged, ending the line.
func (s *session) raw(answer []byte) error {
	if len(answer) == 0 {
		return nil
	}
	return s.app.WriteDoc(answer)
}

// print writes lines for people.
func (s *session) print(lines ...terminal.Line) error {
	return terminal.NewScreen(s.app.Stdout, s.app.Env).Print(lines...)
}

// A listing is what every list command can be asked.
type listing struct {
	cut   client.Cut
	all   bool
	notes []terminal.Line // to be told beneath the table
}

func (l *listing) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&l.cut.Cursor, "cursor", "", "go on where a list ended")
	flags.IntVar(&l.cut.Limit, "limit", 0, "the most per page, up to 500")
	flags.BoolVar(&l.all, "all", false, "follow the cursors to the end")
}

// list prints a list as a table, one page or all; with --json the pages as they
// come.
func list[T any](s *session, l *listing, head terminal.Line, read func(client.Cut) (*client.Page[T], error), row func(*T) terminal.Line) error {
	rows := []terminal.Line{head}
	for {
		p, err := read(l.cut)
		if err != nil {
			return err
		}
		if s.asJSON {
			if err := s.raw(p.Raw); err != nil {
				return err
			}
		} else {
			for i := range p.Items {
				rows = append(rows, row(&p.Items[i]))
			}
		}
		if l.all && p.NextCursor != "" && p.NextCursor != l.cut.Cursor {
			l.cut.Cursor = p.NextCursor
			continue
		}
		if s.asJSON {
			return nil
		}
		return s.printList(rows, p.NextCursor, l.notes...)
	}
}

func (s *session) printList(rows []terminal.Line, next string, notes ...terminal.Line) error {
	if len(rows) == 1 {
		rows = []terminal.Line{{terminal.Dim.Of("none")}}
	}
	lines := append(terminal.Table(rows), notes...)
	if next != "" {
		lines = append(lines, terminal.Line{terminal.Dim.Of("more: --cursor " + next + " (or --all)")})
	}
	return s.print(lines...)
}

// heads is the first line of a table.
func heads(names ...string) terminal.Line {
	var l terminal.Line
	for _, name := range names {
		l = append(l, terminal.Dim.Of(name))
	}
	return l
}

// facts shows name and value pairs, one per line, without the empty ones.
func facts(pairs ...string) []terminal.Line {
	var lines []terminal.Line
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			lines = append(lines, append(terminal.Line{terminal.Dim.Of(pairs[i])}.To(14), terminal.Plain.Of(pairs[i+1])))
		}
	}
	return lines
}

// timeText shows a time in UTC, "" for none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// numberText shows a number, "" for 0 or none.
func numberText[T int | uint32](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
