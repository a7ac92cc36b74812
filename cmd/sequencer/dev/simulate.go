package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// simulate serves what is simulated, a handler for each listener, and runs its
// clock, if it has one, until ctx ends or something fails.
func simulate(
	ctx context.Context, listeners []net.Listener, handler func(i int) http.Handler, clock func(context.Context) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	failed := make(chan error, len(listeners)+1)
	if clock != nil {
		wg.Go(func() { failed <- clock(ctx) })
	}
	for i, l := range listeners {
		server := &http.Server{
			Handler: handler(i), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
			// What is told to hang lets go when the process ends.
			BaseContext: func(net.Listener) context.Context { return ctx },
		}
		wg.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving %s: %w", l.Addr(), err)
			}
		})
		wg.Go(func() {
			<-ctx.Done()
			stop, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer done()
			if server.Shutdown(stop) != nil {
				_ = server.Close()
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	wg.Wait()
	return err
}
