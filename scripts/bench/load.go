package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/mina/devnet"
)

const (
	path        = "/api/v1/transactions"
	connections = 64
	payloadSize = 512 // bytes
	kind        = "SEND_CLAIM_VOTE"
)

// queueName is claim-{claimUid}, as zkApps name them.
func queueName(i int) string { return fmt.Sprintf("claim-%032x", i) }

// payload is a vote of payloadSize bytes, of another elector for each i.
func payload(i int) []byte {
	doc := fmt.Appendf(nil, `{"planUid":"plan-1","batchUid":"batch-1","claimUid":"%032x","electorAccountId":%q,"index":%d,"vote":1,"note":"`,
		i, devnet.Key(uint64(i)), i%100_000)
	doc = append(doc, strings.Repeat("x", payloadSize-len(doc)-2)...)
	return append(doc, `"}`...)
}

// body is a transaction to post.
func body(queue int) []byte {
	return fmt.Appendf(nil, `{"queue":%q,"type":%q,"data":%s}`, queueName(queue), kind, payload(queue))
}

// request is a whole POST of a transaction, ready to be written.
func request(queue int) []byte {
	doc := body(queue)
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(doc), doc)
}

// A conn posts over one connection. It does as little as it can: the machine's
// cores are wanted by what is measured.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func dial(ctx context.Context, addr string) (*conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReaderSize(c, 8<<10)}, nil
}

// post sends a request and reads the whole answer, which must be a 202.
func (c *conn) post(request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if first {
			if !bytes.HasPrefix(line, []byte("HTTP/1.1 202")) {
				return fmt.Errorf("a post was answered %q", line)
			}
		} else if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("an answer without a length")
	}
	_, err := io.CopyN(io.Discard, c.r, int64(length))
	return err
}

// together runs do on as many goroutines as there are connections until one
// fails, and returns the first error.
func together(do func(i int) error) error {
	var wg sync.WaitGroup
	errs := make(chan error, connections)
	for i := range connections {
		wg.Go(func() {
			if err := do(i); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// A loader keeps connections to one address.
type loader struct {
	conns    []*conn
	requests [][]byte
}

func newLoader(ctx context.Context, addr string, queues int) (*loader, error) {
	l := new(loader)
	for i := range queues {
		l.requests = append(l.requests, request(i))
	}
	for range connections {
		c, err := dial(ctx, addr)
		if err != nil {
			l.close()
			return nil, err
		}
		l.conns = append(l.conns, c)
	}
	return l, nil
}

func (l *loader) close() {
	for _, c := range l.conns {
		_ = c.Close()
	}
}

// rate posts for a time and returns posts per second.
func (l *loader) rate(window time.Duration) (float64, error) {
	return rate(window, func(i, n int) error {
		return l.conns[i].post(l.requests[(i+n*connections)%len(l.requests)])
	})
}

// send posts a number of transactions, evenly over the queues.
func (l *loader) send(count int) error {
	return together(func(i int) error {
		for n := i; n < count; n += connections {
			if err := l.conns[i].post(l.requests[n%len(l.requests)]); err != nil {
				return err
			}
		}
		return nil
	})
}

// rate calls do on all connections for a time and returns calls per second.
func rate(window time.Duration, do func(i, n int) error) (float64, error) {
	var total atomic.Int64
	begin := time.Now()
	end := begin.Add(window)
	err := together(func(i int) error {
		n := 0
		defer func() { total.Add(int64(n)) }()
		for time.Now().Before(end) {
			if err := do(i, n); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return float64(total.Load()) / time.Since(begin).Seconds(), err
}

// raw is the least that keeps a transaction in a queue: its fields in a hash,
// its name in the queue's list and in an index. It is nobody's code but this
// program's, and does not change with the service's scripts.
var raw = redis.NewScript(`
redis.call('HSET', KEYS[1], 'queue', ARGV[1], 'type', ARGV[2], 'data', ARGV[3], 'sequence', ARGV[4], 'receivedAt', ARGV[5], 'state', 'WAITING')
redis.call('RPUSH', KEYS[2], ARGV[6])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[6])
return ARGV[4]`)

// A rawWriter writes transactions with the raw script.
type rawWriter struct {
	client *redis.Client
	n      atomic.Int64
	data   [][]byte
}

func (b *bench) newRaw(ctx context.Context, queues int) (*rawWriter, error) {
	w := &rawWriter{client: b.redis}
	for i := range queues {
		w.data = append(w.data, payload(i))
	}
	return w, raw.Load(ctx, b.redis).Err()
}

func (w *rawWriter) put(ctx context.Context, on redis.Scripter) *redis.Cmd {
	n := w.n.Add(1)
	uid, q := strconv.FormatInt(1<<62+n, 32), int(n)%len(w.data)
	queue := queueName(q)
	return raw.EvalSha(ctx, on, []string{"{raw}:t:" + uid, "{raw}:q:" + queue, "{raw}:all"}, queue, kind, w.data[q], n, time.Now().UnixMilli(), uid)
}

// single writes one at a time on each connection.
func (w *rawWriter) single(ctx context.Context, window time.Duration) (float64, error) {
	return rate(window, func(int, int) error { return w.put(ctx, w.client).Err() })
}

// pipelined writes count in pipelines of 500, two of them under way at a time,
// so that Redis works while the answers of one are read.
func (w *rawWriter) pipelined(ctx context.Context, count int) (float64, error) {
	const size, lanes = 500, 2
	begin := time.Now()
	var wg sync.WaitGroup
	errs := make(chan error, lanes)
	for range lanes {
		wg.Go(func() {
			for range count / size / lanes {
				_, err := w.client.Pipelined(ctx, func(p redis.Pipeliner) error {
					for range size {
						w.put(ctx, p)
					}
					return nil
				})
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return float64(count/size/lanes*size*lanes) / time.Since(begin).Seconds(), <-errs
}
