package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

const followerCount = 1_000

// followers are clients of the event stream; every second one never reads. One
// that the service sends away stays away.
type followers struct {
	conns []net.Conn
	read  sync.WaitGroup
}

// follow opens them all; query is that of client i.
func follow(ctx context.Context, addr string, query func(i int) string) (*followers, error) {
	f := new(followers)
	for i := range followerCount {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			f.close()
			return nil, err
		}
		f.conns = append(f.conns, c)
		if _, err := fmt.Fprintf(c, "GET /api/v1/events%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", query(i)); err != nil {
			f.close()
			return nil, err
		}
		r := bufio.NewReader(c)
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
			f.close()
			return nil, errors.Join(fmt.Errorf("a client of the events was answered %q", line), err)
		}
		if i%2 == 0 {
			f.read.Go(func() { _, _ = io.Copy(io.Discard, r) })
		}
	}
	return f, nil
}

func (f *followers) close() {
	for _, c := range f.conns {
		_ = c.Close()
	}
	f.read.Wait()
}

// followed is figure 7: POST /transactions on 64 connections while 1,000 clients
// follow the events, each those of one queue or each all of them, against the
// same without clients; and what memory a client takes meanwhile.
func (b *bench) followed(ctx context.Context) ([]row, error) {
	var rows []row
	for _, kind := range []struct {
		name  string
		query func(int) string
		least float64
	}{
		{"each of one queue", func(i int) string { return "?queue=" + queueName(i%queueCount) }, 0.6},
		{"each of everything", func(int) string { return "" }, 0.1},
	} {
		s, load, err := b.serve(ctx, queueCount)
		if err != nil {
			return nil, err
		}
		if _, err := load.rate(b.scale.window); err != nil {
			return nil, err
		}
		before, most := s.memory(), 0.0
		p, err := alternate(ctx, b.scale.rounds, func() (float64, error) {
			f, err := follow(ctx, s.addr, kind.query)
			if err != nil {
				return 0, err
			}
			defer f.close()
			rate, err := load.rate(b.scale.window)
			most = max(most, s.memory())
			return rate, err
		}, func() (float64, error) { return load.rate(b.scale.window) })
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			if err := b.profileFollowed(ctx, s, load, kind.query); err != nil {
				return nil, err
			}
		}
		rows = append(rows, p.row("7 POST/s with 1,000 event clients, "+kind.name, "without", kind.least))
		rows = append(rows, row{
			"7 memory with 1,000 event clients, " + kind.name, fmt.Sprintf("%.0f MiB", most), fmt.Sprintf("%.0f MiB before", before),
			fmt.Sprintf("%.2f", most/before), "≤ 400 MiB more", most-before <= 400,
		})
	}
	return rows, nil
}

func (b *bench) profileFollowed(ctx context.Context, s *service, load *loader, query func(int) string) error {
	f, err := follow(ctx, s.addr, query)
	if err != nil {
		return err
	}
	defer f.close()
	return b.profile(ctx, s, func() error { _, err := load.rate(b.scale.window); return err })
}

// memory is what the service's process has in RAM, in MiB; 0 where the system
// does not tell.
func (s *service) memory() float64 {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(s.pid) + "/status")
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(text)[0], 64)
			return n / 1024
		}
	}
	return 0
}
