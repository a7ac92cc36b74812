package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// One request of a batch holds at most this much; a longer file is posted in
// several requests, in order.
const (
	batchItems = 10_000
	batchBytes = 16 << 20
	lineBytes  = 64 << 20
)

func newPostCommand(a *app) *cobra.Command {
	var queue, kind, data, uid, batch string
	var wait time.Duration
	cmd := clientCommand(a, &cobra.Command{
		Use:   "post",
		Short: "Post a transaction, or a file of them",
		Long: `Posts one transaction:
  sequencer post --queue claim-1 --type SEND_CLAIM_VOTE --data '{"vote":1,…}'
  sequencer post --queue claim-1 --type SEND_CLAIM_VOTE --data @vote.json --wait 10m
or a file with one {"queue","type","data","uid"} per line:
  sequencer post --batch votes.ndjson

Posting the same again with the same --uid is harmless: the service answers with
the first one. Without --uid one is made up; it is printed, also if no answer comes.
With --batch and --json each line is the service's answer to one item; its index
counts within one request of at most 10000 items.`,
		Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, c *client, _ []string) error {
		if batch != "" {
			if queue != "" || kind != "" || data != "" || uid != "" || wait != 0 {
				return usagef("--batch stands alone: each line has its own queue, type, data and uid")
			}
			return postBatch(cmd.Context(), c, batch)
		}
		if queue == "" || kind == "" || data == "" {
			return usagef("--queue, --type and --data are needed, or --batch")
		}
		return postOne(cmd.Context(), c, queue, kind, data, uid, wait)
	})
	flags := cmd.Flags()
	flags.StringVar(&queue, "queue", "", "queue to put it in")
	flags.StringVar(&kind, "type", "", "type of the transaction")
	flags.StringVar(&data, "data", "", "its data: JSON, @file, or - for standard input")
	flags.StringVar(&uid, "uid", "", "idempotency key, and name of the transaction")
	flags.DurationVar(&wait, "wait", 0, "wait this long until its state is final")
	flags.StringVar(&batch, "batch", "", "file of transactions, one JSON object per line, or - for standard input")
	return cmd
}

func postOne(ctx context.Context, c *client, queue, kind, source, uid string, wait time.Duration) error {
	data, err := readData(c.app.stdin, source)
	if err != nil {
		return err
	}
	// Put together by hand: an encoder would rewrite tokens inside data.
	var body bytes.Buffer
	for _, field := range []struct{ name, value string }{{"queue", queue}, {"type", kind}} {
		value, err := json.Marshal(field.value)
		if err != nil {
			return usagef("--%s: %w", field.name, err)
		}
		fmt.Fprintf(&body, `%s"%s":%s`, map[bool]string{true: "{", false: ","}[body.Len() == 0], field.name, value)
	}
	body.WriteString(`,"data":`)
	body.Write(data)
	body.WriteByte('}')
	uid = cmp.Or(uid, rand.Text())
	raw, err := c.call(ctx, request{method: http.MethodPost, path: "/transactions", key: uid, body: &body})
	if err != nil {
		if p, answered := errors.AsType[*problemError](err); !answered || p.Status >= 500 {
			fmt.Fprintf(c.app.stderr, "%[1]s may have been accepted: the same command with --uid %[1]s is safe\n", clean(uid))
		}
		return err
	}
	if wait > 0 {
		return waitFinal(ctx, c, uid, wait)
	}
	if c.asJSON {
		return c.raw(raw)
	}
	var t transaction
	if err := decode(raw, &t); err != nil {
		return err
	}
	return c.print(line{{t.UID, bold}, {"  " + t.Queue + "  ", plain}, {t.State, stateStyle(t.State)}})
}

// readData reads JSON from the argument itself, from @file or from stdin.
func readData(stdin io.Reader, source string) ([]byte, error) {
	data := []byte(source)
	if name, isFile := strings.CutPrefix(source, "@"); isFile || source == "-" {
		in := stdin
		if isFile {
			file, err := os.Open(name)
			if err != nil {
				return nil, usagef("--data: %w", err)
			}
			defer file.Close()
			in = file
		}
		var err error
		if data, err = io.ReadAll(io.LimitReader(in, lineBytes+1)); err != nil {
			return nil, fmt.Errorf("reading --data: %w", err)
		}
		if len(data) > lineBytes {
			return nil, usagef("--data is larger than 64MiB")
		}
	}
	if !json.Valid(data) {
		return nil, usagef("--data is not JSON (a file is named @file)")
	}
	return data, nil
}

// A batchRun posts a file and counts what came of its lines.
type batchRun struct {
	c                          *client
	lines                      []int // of the file, one per item of the request being filled
	body                       bytes.Buffer
	accepted, present, refused int
}

func postBatch(ctx context.Context, c *client, source string) error {
	in := c.app.stdin
	if source != "-" {
		file, err := os.Open(source)
		if err != nil {
			return usagef("--batch: %w", err)
		}
		defer file.Close()
		in = file
	}
	b := &batchRun{c: c}
	reader := bufio.NewScanner(in)
	reader.Buffer(make([]byte, 64<<10), lineBytes)
	var failure error
	for number := 1; failure == nil && reader.Scan(); number++ {
		item := bytes.TrimSpace(reader.Bytes())
		if len(item) == 0 {
			continue
		}
		if item[0] != '{' || !json.Valid(item) {
			failure = fmt.Errorf("line %d is not a JSON object", number)
			break
		}
		if len(b.lines) == batchItems || (b.body.Len() > 0 && b.body.Len()+len(item) > batchBytes) {
			failure = b.flush(ctx)
		}
		b.lines = append(b.lines, number)
		b.body.Write(item)
		b.body.WriteByte('\n')
	}
	if failure == nil {
		failure = reader.Err()
	}
	if errors.Is(failure, bufio.ErrTooLong) {
		failure = errors.New("a line is longer than 64MiB")
	}
	if failure == nil {
		failure = b.flush(ctx)
	}
	if !c.asJSON {
		if err := c.print(line{
			{fmt.Sprintf("%d accepted", b.accepted), green},
			{fmt.Sprintf("  %d already there", b.present), plain},
			{fmt.Sprintf("  %d refused", b.refused), map[bool]style{true: red, false: plain}[b.refused > 0]},
		}); err != nil {
			return err
		}
	}
	if failure != nil {
		return fmt.Errorf("posting the batch: %w", failure)
	}
	if b.refused > 0 {
		return outcomeError{exitRefused, fmt.Sprintf("%d of %d were refused", b.refused, b.accepted+b.present+b.refused)}
	}
	return nil
}

// flush posts what has been gathered and reads the answer as it streams in.
func (b *batchRun) flush(ctx context.Context) error {
	lines := b.lines
	if len(lines) == 0 {
		return nil
	}
	body := bytes.Clone(b.body.Bytes())
	b.lines = nil
	b.body.Reset()
	resp, err := b.c.send(ctx, request{
		method: http.MethodPost, path: "/transactions/batch", bodyType: "application/x-ndjson",
		body: bytes.NewReader(body), wait: 2 * time.Minute,
	})
	if err != nil {
		return fmt.Errorf("lines %d to %d: %w", lines[0], lines[len(lines)-1], err)
	}
	defer resp.Body.Close()
	answers := bufio.NewScanner(resp.Body)
	answers.Buffer(make([]byte, 64<<10), lineBytes)
	seen := 0
	for answers.Scan() {
		answer := answers.Bytes()
		if len(bytes.TrimSpace(answer)) == 0 {
			continue
		}
		if err := b.count(answer, lines); err != nil {
			return err
		}
		seen++
	}
	if err := answers.Err(); err != nil || seen < len(lines) {
		return fmt.Errorf("the answer ended early: what became of lines %d to %d is unknown; those with a uid can be posted again safely", lines[min(seen, len(lines)-1)], lines[len(lines)-1])
	}
	return nil
}

// count takes in the answer to one item.
func (b *batchRun) count(answer []byte, lines []int) error {
	var item struct {
		Index   int             `json:"index"`
		Status  int             `json:"status"`
		Problem json.RawMessage `json:"problem"`
	}
	if err := decode(answer, &item); err != nil {
		return err
	}
	if item.Index < 0 || item.Index >= len(lines) {
		return fmt.Errorf("the answer names item %d of %d", item.Index, len(lines))
	}
	switch item.Status {
	case http.StatusAccepted, http.StatusCreated:
		b.accepted++
	case http.StatusOK:
		b.present++
	default:
		b.refused++
		if !b.c.asJSON {
			fmt.Fprintf(b.c.app.stderr, "line %d: %s\n", lines[item.Index], cleanLines(newProblem(item.Status, item.Problem, false).Error()))
		}
	}
	if b.c.asJSON {
		return b.c.raw(answer)
	}
	return nil
}
