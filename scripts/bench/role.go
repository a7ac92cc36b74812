package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"mina-sequencer/mina/devnet"
)

// This program is also what the service is measured against and beside: started
// with a role in its environment it serves that, tells its address in a line of
// standard output, and ends with its standard input.
const (
	roleVariable  = "BENCH_ROLE"
	roleBare      = "bare"
	roleCollector = "collector"
	roleWorld     = "world"
	roleStaff     = "staff" // a world with the provers and signers of figure 11
)

func play(ctx context.Context, role string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var handler http.Handler
	switch role {
	case roleBare:
		handler = bare()
	case roleCollector:
		handler = collector()
	case roleWorld, roleStaff:
		runtime.GOMAXPROCS(2)
		debug.SetGCPercent(800) // as the service has it: the world is not what is measured
		w, err := newWorld(devnet.Config{FundAll: true, FillRate: 1, SlotTime: slotTime, MaxZkapps: -1, PoolSize: 1 << 20})
		if err != nil {
			return err
		}
		if role == roleStaff {
			if err := w.staff(ctx); err != nil {
				return err
			}
		}
		go func() { _ = w.network.Run(ctx) }()
		handler = w.mux
	default:
		return fmt.Errorf("no role %q", role)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// startRole starts this program in a role and returns where it listens.
func (b *bench) startRole(ctx context.Context, role string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	r, w := io.Pipe()
	ended, said, err := b.start(role, []string{roleVariable + "=" + role}, w, self)
	if err != nil {
		return "", err
	}
	var addr atomic.Value
	go func() {
		line, _ := bufio.NewReader(r).ReadString('\n')
		addr.Store(strings.TrimSpace(line))
		_, _ = io.Copy(io.Discard, r)
	}()
	err = await(ctx, role, ended, said, func(context.Context) bool { return addr.Load() != nil })
	if err != nil {
		return "", err
	}
	return addr.Load().(string), nil
}

// bare is the least that takes a transaction over HTTP: a router, a decoder, an
// answer. It keeps nothing.
func bare() http.Handler {
	type transaction struct {
		UID   string          `json:"uid"`
		Queue string          `json:"queue"`
		Type  string          `json:"type"`
		Data  json.RawMessage `json:"data"`
	}
	router := chi.NewRouter()
	router.Post(path, func(w http.ResponseWriter, r *http.Request) {
		var t transaction
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&t); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(t)
	})
	return router
}
