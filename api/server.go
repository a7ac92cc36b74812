package api

import (
	"context"
	"net"
	"net/http"
	"time"
)

const (
	// callTimeout is how long an ordinary request may take. It is less than
	// the server's own limits, so that a problem can still be told.
	callTimeout = 20 * time.Second
	readTimeout = 30 * time.Second
	// graceToWrite is how long a client may take to read an answer, or a part
	// of one.
	graceToWrite = 30 * time.Second
)

// A Server is one with limits on whatever a client can make it wait for or keep.
// Requests that may take longer extend their own limits. Those that do not end by
// themselves end when the server is shut down.
type Server struct {
	*http.Server
	leave context.CancelFunc
}

// Leave has others take over what is to come: from now on /readyz refuses, at once and
// whatever the parts say, and each answer closes its connection. All else is served as
// before, until Shutdown.
func (s *Server) Leave() { s.leave() }

// NewServer returns a server of a handler that New has made.
func NewServer(addr string, handler http.Handler) *Server {
	stopping, stop := context.WithCancel(context.Background())
	left, leave := context.WithCancel(context.Background())
	running := context.WithValue(context.Background(), stoppingKey{}, stopping.Done())
	running = context.WithValue(running, leavingKey{}, left.Done())
	server := &http.Server{
		Addr: addr, Handler: handler,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readTimeout,
		WriteTimeout: readTimeout + graceToWrite, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, DisableGeneralOptionsHandler: true,
		BaseContext: func(net.Listener) context.Context { return running },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	server.RegisterOnShutdown(stop)
	return &Server{server, leave}
}

type (
	stoppingKey struct{}
	leavingKey  struct{}
	connKey     struct{}
)

// stoppingOf returns what is closed when the server begins to stop; nil outside of one.
func stoppingOf(ctx context.Context) <-chan struct{} {
	stopping, _ := ctx.Value(stoppingKey{}).(<-chan struct{})
	return stopping
}

// leaving reports whether others are to be asked from now on.
func leaving(ctx context.Context) bool {
	left, _ := ctx.Value(leavingKey{}).(<-chan struct{})
	select {
	case <-left: // never, outside of a server
		return true
	default:
		return false
	}
}
