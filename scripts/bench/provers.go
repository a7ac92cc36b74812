package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	workSenders = 100   // that are at work with each service of figure 11
	poolMost    = 1_000 // provers of the larger pool
	poolLeast   = 10    // and of the smaller one
	// poolProof is what a proof takes here: long enough that all senders are at work.
	poolProof = 100 * time.Millisecond
)

// A staffing is who makes what one service of figure 11 sends.
type staffing struct {
	name        string
	provers     int // 0: full workers
	first, last int // of its senders
}

var staffings = []staffing{
	{"full workers", 0, senderCount, senderCount + workSenders},
	{fmt.Sprintf("%d provers", poolLeast), poolLeast, senderCount + workSenders, senderCount + 2*workSenders},
	{fmt.Sprintf("%d provers", poolMost), poolMost, senderCount + 2*workSenders, senderCount + 3*workSenders},
}

// staff adds to a world the full workers, signers and provers of all staffings. Each prover has an address
// of its own, as a machine has, which GET /provers/{how many} tells, one a line.
func (w *world) staff(ctx context.Context) error {
	for _, s := range staffings {
		for i := s.first; i < s.last; i++ {
			if s.provers > 0 {
				w.signer(sender(i))
			} else if err := w.worker(sender(i)); err != nil {
				return err
			}
		}
	}
	prove, err := newProver("")
	if err != nil {
		return err
	}
	lists := map[string]string{}
	for _, count := range []int{poolLeast, poolMost} {
		prover := w.prover(prove, workSenders/min(count, workSenders))
		var urls strings.Builder
		for range count {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			server := &http.Server{Handler: prover, ReadHeaderTimeout: 10 * time.Second}
			go func() { _ = server.Serve(l) }()
			context.AfterFunc(ctx, func() { _ = server.Close() })
			fmt.Fprintf(&urls, "http://%s\n", l.Addr())
		}
		lists[strconv.Itoa(count)] = urls.String()
	}
	w.mux.HandleFunc("GET /provers/{count}", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(rw, lists[r.PathValue("count")])
	})
	w.proving = func(rw http.ResponseWriter) {
		rw.Header().Set("Connection", "close") // for between two real proofs no connection is kept
		time.Sleep(poolProof)
	}
	return nil
}

// prover is a program without a key, that proves some at a time.
func (w *world) prover(prove http.HandlerFunc, atOnce int) http.Handler {
	mux := http.NewServeMux()
	health := fmt.Sprintf(`{"types":[%q],"capabilities":["prove","resign","ahead"],"provers":%d}`, kind, atOnce)
	mux.HandleFunc("GET /health", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(health)) })
	mux.HandleFunc("POST /prove/{type}", func(rw http.ResponseWriter, r *http.Request) {
		w.proving(rw)
		prove(rw, r)
	})
	mux.HandleFunc("POST /on-success/{type}", func(http.ResponseWriter, *http.Request) { w.done.Add(1) })
	return mux
}

// signer adds a program that signs whatever it is asked to.
func (w *world) signer(account string) {
	at := "/workers/" + account
	w.mux.HandleFunc("GET "+at+"/health", func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, `{"accountId":%q,"capabilities":["signs"]}`, account)
	})
	w.mux.HandleFunc("POST "+at+"/sign/{type}", func(rw http.ResponseWriter, r *http.Request) {
		var ask struct{ Proved string }
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
			http.Error(rw, "what is asked cannot be read", http.StatusBadRequest)
			return
		}
		if ask.Proved == "" {
			_, _ = rw.Write([]byte("{}"))
			return
		}
		answer(rw, "signed", strings.Replace(ask.Proved, unsigned, madeUp, 1))
	})
}

// taken is what a process has taken since it began, and now.
type taken struct{ seconds, bytes float64 }

// taken asks a service, as a Prometheus would.
func (s *service) taken(ctx context.Context) (t taken, err error) {
	var text bytes.Buffer
	if err := get(ctx, "http://"+s.addr+"/metrics", &text); err != nil {
		return t, err
	}
	for scanner := bufio.NewScanner(&text); scanner.Scan(); {
		name, value, _ := strings.Cut(scanner.Text(), " ")
		switch name {
		case "process_cpu_seconds_total":
			t.seconds, err = strconv.ParseFloat(value, 64)
		case "process_resident_memory_bytes":
			t.bytes, err = strconv.ParseFloat(value, 64)
		}
		if err != nil {
			return t, err
		}
	}
	if t.bytes == 0 {
		return t, errors.New("the service does not tell what its process takes: this figure wants Linux, or macOS")
	}
	return t, nil
}

// A staffed is a service of figure 11, and what it took.
type staffed struct {
	staffing
	*service
	rest     float64   // seconds of the processor in a second without work
	cpu      []float64 // microseconds of a life, but for that
	commands []float64 // of Redis, of a life
	memory   []float64 // bytes, after the lives
}

// provers is figure 11: what the service takes of the processor and of memory for a life with a pool of a
// thousand provers, beside a pool of ten, and full workers. Three services run on one Redis and one chain,
// in namespaces of their own, and work in turns, each with as many senders at work. What each takes of the
// processor without work is measured first, and taken off.
func (b *bench) provers(ctx context.Context) ([]row, error) {
	var err error
	if b.world, err = b.startRole(ctx, roleStaff); err != nil {
		return nil, err
	}
	at, done, lives := b.world, 0, b.scale.cycles/3
	live := func(s *staffed, count int) error {
		load, err := newLoader(ctx, s.addr, 4*workSenders) // for none outlives the others' turns
		if err != nil {
			return err
		}
		defer load.close()
		if err := load.send(count); err != nil {
			return err
		}
		done += count
		return errors.Join(awaitDone(ctx, at, done), b.awaitFinal(ctx))
	}
	var all []*staffed
	for i, one := range staffings {
		s := &staffed{staffing: one}
		var urls bytes.Buffer
		if one.provers > 0 {
			if err := get(ctx, fmt.Sprintf("http://%s/provers/%d", at, one.provers), &urls); err != nil {
				return nil, err
			}
		}
		s.service, err = b.startService(ctx, fmt.Sprint("SEQUENCER_NAMESPACE=staff", i),
			"SEQUENCER_SENDERS="+senderSetting(at, one.first, one.last),
			"SEQUENCER_PROVERS="+strings.Join(strings.Fields(urls.String()), ","),
			"SEQUENCER_INCLUSION_INTERVAL=20ms", "SEQUENCER_BUMP_AFTER=100000", "SEQUENCER_VALID_SLOTS=100000",
			"SEQUENCER_RETRY_DELAY=1s")
		if err != nil {
			return nil, err
		}
		if err := live(s, lives); err != nil { // connections, scripts, first nonces, its heap
			return nil, err
		}
		all = append(all, s)
	}
	if err := b.idle(ctx, all); err != nil {
		return nil, err
	}
	for round := range b.scale.rounds {
		for i := range all {
			s := all[(round+i)%len(all)]
			begin, redis := time.Now(), b.spent(ctx)
			before, err := s.taken(ctx)
			if err != nil {
				return nil, err
			}
			if err := live(s, lives); err != nil {
				return nil, err
			}
			after, err := s.taken(ctx)
			if err != nil {
				return nil, err
			}
			seconds := after.seconds - before.seconds - s.rest*time.Since(begin).Seconds()
			s.cpu = append(s.cpu, seconds*1e6/float64(lives))
			s.memory = append(s.memory, after.bytes)
			s.commands = append(s.commands, b.spent(ctx).since(redis).commands/float64(lives))
		}
	}
	most := all[len(all)-1]
	if err := b.profile(ctx, most.service, func() error { return live(most, lives) }); err != nil {
		return nil, err
	}
	return staffedRows(all), nil
}

// idle notes what each takes while there is nothing to do. All are asked at the same time.
func (b *bench) idle(ctx context.Context, all []*staffed) error {
	begin, before := time.Now(), make([]float64, len(all))
	for pass := range 2 {
		for i, s := range all {
			now, err := s.taken(ctx)
			if err != nil {
				return err
			}
			s.rest = (now.seconds - before[i]) / time.Since(begin).Seconds()
			before[i] = now.seconds
		}
		if pass == 1 {
			return nil
		}
		begin = time.Now()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(b.scale.rest):
		}
	}
	return nil
}

func staffedRows(all []*staffed) (rows []row) {
	most, few := all[len(all)-1], all[len(all)-2]
	for _, f := range []struct {
		name, unit string
		digits     int
		scale      float64
		of         func(*staffed) float64
		most       float64 // 0: told, and not judged
	}{
		{"processor of a life", "µs", 0, 1, func(s *staffed) float64 { return median(s.cpu) }, 1.05},
		{"Redis commands of a life", "", 1, 1, func(s *staffed) float64 { return median(s.commands) }, 1.05},
		{"resident memory", "MiB", 0, 1 << 20, func(s *staffed) float64 { return median(s.memory) }, 0},
		{"processor without work", "ms/s", 1, 1e-3, func(s *staffed) float64 { return s.rest }, 0},
	} {
		say := func(s *staffed) string {
			return strings.TrimSpace(fmt.Sprintf("%.*f %s", f.digits, f.of(s)/f.scale, f.unit))
		}
		ratio, want := f.of(most)/f.of(few), ""
		if f.most > 0 {
			want = fmt.Sprintf("≤ %v", f.most)
		}
		rows = append(rows, row{
			fmt.Sprintf("11 %s, %s", f.name, most.name), say(most), fmt.Sprintf("%s with %s, %s with %s", say(few), few.name, say(all[0]), all[0].name),
			fmt.Sprintf("%.2f", ratio), want, ratio <= cmp.Or(f.most, ratio),
		})
	}
	return rows
}
