package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

// requestID names a request, to its caller and in the log.
const requestID = "X-Request-Id"

type requestKey struct{}

// RequestID is the name of the request that ctx is of, "" outside of one.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// identified gives each request a name: the one that its caller has given it, or one of
// its own, which is told with every answer, and has it go on with its caller's trace.
func (a *api) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(requestID)
		if !validRequestID(id) {
			id = rand.Text()
		}
		w.Header().Set(requestID, id)
		ctx := context.WithValue(r.Context(), requestKey{}, id)
		if parent := r.Header.Get("traceparent"); parent != "" && a.Tracer.Continue != nil {
			ctx = a.Tracer.Continue(ctx, parent)
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// validRequestID reports whether an id is one that a log can hold as it is.
func validRequestID(id string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return id != "" && len(id) <= 128 && strings.Trim(id, letters+"._:/+=@-") == ""
}
