package main

import (
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
)

// troubled is an endpoint that does, now and then, what endpoints do: it fails before or
// after it has taken an event, hangs, asks for patience, leads elsewhere, and dies.
func troubled(inner http.Handler, seed uint64) http.Handler {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n := rng.IntN(20_000)
		mu.Unlock()
		switch {
		case n < 100:
			w.WriteHeader(http.StatusInternalServerError)
		case n < 120: // it is taken, and nobody is told
			inner.ServeHTTP(&deaf{w}, r)
			w.WriteHeader(http.StatusBadGateway)
		case n < 124:
			<-r.Context().Done()
		case n < 128:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case n < 148:
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case n < 150:
			os.Exit(1)
		case n < 152: // after it was written down
			inner.ServeHTTP(&deaf{w}, r)
			os.Exit(1)
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// deaf keeps an answer back.
type deaf struct{ http.ResponseWriter }

func (d *deaf) WriteHeader(int) {}

func (d *deaf) Write(b []byte) (int, error) { return len(b), nil }
