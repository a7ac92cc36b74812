// Grid moves batches from the table of a Grid service through a sequencer, and writes what
// becomes of them back: docs/grid.md. It keeps nothing itself, and may be stopped and
// started again at any time.
//
//	go run ./scripts/grid --db grid.sqlite --ledger saw --services 'vzrQS-rvwf4::a001=orders'
//
// --db is an SQLite file, or postgres://…; sqlite3 or psql has to be installed.
// SEQUENCER_URL and SEQUENCER_KEY say where the sequencer is.
package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"mina-sequencer/api/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "grid:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string) error {
	flags := flag.NewFlagSet("grid", flag.ContinueOnError)
	db := flags.String("db", "", "an SQLite file, or postgres://…")
	ledger := flags.String("ledger", "", "the ledger of rows without a service id")
	services := flags.String("services", "", "service-id=ledger,…")
	every := flags.Duration("every", 10*time.Second, "how often to look")
	once := flags.Bool("once", false, "look once, and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := client.New(client.Options{
		URL: cmp.Or(getenv("SEQUENCER_URL"), "http://127.0.0.1:8080"), Key: getenv("SEQUENCER_KEY"),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	g := &grid{client: c, table: open(*db), ledgers: map[string]string{"": *ledger}}
	for pair := range strings.SplitSeq(*services, ",") {
		if id, name, ok := strings.Cut(pair, "="); ok {
			g.ledgers[id] = name
		}
	}
	for {
		if err := g.round(ctx); err != nil {
			return err
		}
		if *once {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(*every):
		}
	}
}

// A grid is one Grid service's table, and the sequencer.
type grid struct {
	client  *client.Client
	table   table
	ledgers map[string]string // by service id
}

// most is how many rows are read at a time.
const most = 500

func (g *grid) round(ctx context.Context) error {
	if err := g.post(ctx); err != nil {
		return err
	}
	return g.follow(ctx)
}

// post hands over what nobody has submitted, in the order in which it was made. Where one
// of a service could not be handed over, those after it wait, and no other service does.
func (g *grid) post(ctx context.Context) error {
	behind := map[string]bool{}
	for {
		var out strings.Builder
		for service := range behind {
			fmt.Fprintf(&out, " AND coalesce(service_id, '') <> %s", literal(service))
		}
		rows, err := g.table.query(ctx, fmt.Sprintf(`SELECT header_signature, serialized_batch, data_change_id, service_id
			FROM batches WHERE NOT submitted AND submission_error IS NULL%s ORDER BY created, %s LIMIT %d`,
			&out, g.table.order, most))
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := g.handOver(ctx, r, behind); err != nil {
				return err
			}
		}
		if len(rows) < most {
			return nil
		}
	}
}

// handOver posts one row, unless one of its service before it could not be.
func (g *grid) handOver(ctx context.Context, r row, behind map[string]bool) error {
	service, id := r.text("service_id"), r.text("header_signature")
	if behind[service] {
		return nil
	}
	refused, err := g.postOne(ctx, r)
	switch {
	case refused != nil:
		return g.table.exec(ctx, fmt.Sprintf("UPDATE batches SET submission_error = %s, submission_error_message = %s "+
			"WHERE header_signature = %s", quote(refused.Code), quote(refused.Message), quote(id)))
	case err != nil:
		fmt.Fprintln(os.Stderr, "grid: not handed over:", err)
		behind[service] = true
		return ctx.Err()
	}
	return g.table.exec(ctx, fmt.Sprintf("UPDATE batches SET submitted = TRUE, dlt_status = 'Unknown', "+
		"claim_expires = NULL WHERE header_signature = %s", quote(id)))
}

// postOne posts a batch under its own id: posted again it is the same transaction.
func (g *grid) postOne(ctx context.Context, r row) (refused *client.Fault, err error) {
	service := r.text("service_id")
	ledger := g.ledgers[service]
	if ledger == "" {
		return nil, fmt.Errorf("no ledger is named for service %q", service)
	}
	list, err := hex.DecodeString(r.text("serialized_batch"))
	if err != nil {
		return &client.Fault{Code: "Deserialization Error", Message: err.Error()}, nil
	}
	data := map[string]any{"ledger": ledger, "batchId": r.text("header_signature"), "batchList": list}
	if change := r.text("data_change_id"); change != "" {
		data["dataChangeId"] = change
	}
	doc, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	_, err = g.client.Post(ctx, client.Item{
		Queue: cmp.Or(service, "grid"), Type: "SUBMIT_BATCH", Data: doc, UID: r.text("header_signature"),
	})
	if problem, is := errors.AsType[*client.Error](err); is && problem.Code != "" && slices.Contains(verdicts, problem.Status) {
		return &client.Fault{Code: string(problem.Code), Message: problem.Error()}, nil
	}
	return nil, err
}

// verdicts are the statuses by which the sequencer refuses a batch for good. Whatever else is answered,
// by it or on the way to it, says nothing of the batch.
var verdicts = []int{http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}

// follow writes back what has become of what was handed over: page by page, so that those of which
// nothing is news keep no others waiting.
func (g *grid) follow(ctx context.Context) error {
	for last := ""; ; {
		rows, err := g.table.query(ctx, fmt.Sprintf(`SELECT header_signature, dlt_status, submission_error FROM batches
			WHERE submitted AND dlt_status NOT IN ('Committed', 'Invalid') AND header_signature > %s
			ORDER BY header_signature LIMIT %d`, literal(last), most))
		if err != nil {
			return err
		}
		for _, r := range rows {
			last = r.text("header_signature")
			t, err := g.client.Transaction(ctx, last)
			switch problem, answered := errors.AsType[*client.Error](err); {
			case errors.Is(err, client.NotFound): // somebody else has submitted it
			case answered && !problem.Temporary():
				fmt.Fprintln(os.Stderr, "grid: not followed:", err)
			case err != nil:
				fmt.Fprintln(os.Stderr, "grid: not followed:", err)
				return ctx.Err()
			default:
				if err := g.writeBack(ctx, r, t); err != nil {
					return err
				}
			}
		}
		if len(rows) < most {
			return nil
		}
	}
}

// writeBack stores what has become of a row, if that is news.
func (g *grid) writeBack(ctx context.Context, r row, t *client.Transaction) error {
	status, fault := statusOf(t)
	if status == r.text("dlt_status") && fault.Code == r.text("submission_error") {
		return nil
	}
	return g.table.exec(ctx, fmt.Sprintf("UPDATE batches SET dlt_status = %s, submission_error = %s, "+
		"submission_error_message = %s WHERE header_signature = %s",
		quote(status), quote(fault.Code), quote(fault.Message), quote(r.text("header_signature"))))
}

// statusOf is a transaction in Grid's words.
func statusOf(t *client.Transaction) (status string, fault client.Fault) {
	if t.Error != nil {
		fault = *t.Error
	}
	switch t.State {
	case client.Done:
		return "Committed", client.Fault{}
	case client.Revision:
		return "Pending", client.Fault{}
	case client.Unresolved:
		if fault.Code == "OUTCOME_UNKNOWN" {
			return "Delayed", fault
		}
		return "Invalid", fault
	case client.Failed:
		return "Invalid", fault
	}
	return "Unknown", client.Fault{}
}
