package api

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/cors"
)

// guarded are the headers that keep browsers from guessing at what they are answered, keeping
// it, or showing it inside of another page. A page says itself what it may load. All answers
// share their values: they may be set anew, and not be added to.
var guarded = http.Header{
	"X-Content-Type-Options":       {"nosniff"},
	"Cache-Control":                {"no-store"},
	"Referrer-Policy":              {"no-referrer"},
	"Content-Security-Policy":      {"default-src 'none'; frame-ancestors 'none'"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
}

// secure has every answer guarded.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), guarded)
		next.ServeHTTP(w, r)
	})
}

// addressed keeps out pages of other sites that have a browser take their own name for this
// machine's (DNS rebinding): to the browser they are of this service then.
func (a *api) addressed(next http.Handler) http.Handler {
	if !a.Loopback {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !atHome(r) && a.Keys.open() {
			(&problem{
				Status: http.StatusForbidden, Code: codeForbidden, Title: "The request is to a name that is not this machine's",
				Detail: "Nobody needs a key here, so that only what asks localhost or a loopback address is answered. " +
					"Ask one of these, or configure SEQUENCER_API_KEYS, or SEQUENCER_INSECURE=true if something else guards it.",
			}).write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// atHome reports whether a request names this machine, or nothing, as no browser does; or asks
// what anybody may.
func atHome(r *http.Request) bool {
	name := (&url.URL{Host: r.Host}).Hostname()
	return name == "" || Loopback(name) || r.URL.Path == "/healthz" || r.URL.Path == "/readyz"
}

// Loopback reports whether only this machine can reach host. An empty host is every interface.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// shared lets pages of some other sites use the API, with a key and never with
// the cookies of this one; of none without any origins.
func shared(origins []string) func(http.Handler) http.Handler {
	if len(origins) == 0 {
		return func(next http.Handler) http.Handler { return next }
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", requestID, "traceparent"},
		ExposedHeaders: []string{"Location", "Retry-After", requestID},
		MaxAge:         int((10 * time.Minute).Seconds()),
	}).Handler
}

// ownPages tells what programs and pages of this service send from what would change
// something here for a page of another site, configured or not.
var ownPages = http.NewCrossOriginProtection()

// sameSite keeps the pages of other sites from changing anything in a browser
// that has a session here.
func sameSite(origins []string) func(http.Handler) http.Handler {
	sites := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if err := sites.AddTrustedOrigin(origin); err != nil {
			panic(err) // the configuration has been checked
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if sites.Check(r) != nil {
				(&problem{
					Status: http.StatusForbidden, Code: codeForbidden, Title: "The request comes from another site",
					Detail: "A browser may change things here only from a page of this service, or of a site that it is configured to trust.",
				}).write(w)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// A bucket is what counts by itself for the rate of a name: who has posted much still sees,
// cancels and stops what he has posted. No name of a key has a colon.
type bucket string

const (
	posting bucket = ":posts" // each transaction
	asking  bucket = ""       // every other request
)

// usedUp says of what a name has had its part.
var usedUp = map[bucket]string{
	posting: "The key has posted as many transactions as it may, at all processes together; each of a batch is one. " +
		"Reading and cancelling go on. Send it again after the seconds of Retry-After.",
	asking: "The key has used up the requests that it may make, at all processes together. " +
		"Send it again after the seconds of Retry-After.",
}

// paced lets requests of a key through at the rate that it may have.
func (a *api) paced(b bucket) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if a.pace == nil {
			return next
		}
		return a.handle(func(w http.ResponseWriter, r *http.Request) error {
			wait, err := a.pace.Spend(r.Context(), callerOf(w).name+string(b))
			if err != nil {
				return err
			}
			if wait > 0 {
				return &problem{
					Status: http.StatusTooManyRequests, Code: codeRateLimited, Title: "Too many requests with this key",
					Detail: usedUp[b], After: wait.Truncate(time.Second) + time.Second,
				}
			}
			next.ServeHTTP(w, r)
			return nil
		})
	}
}

// charge counts n transactions more for the key of a batch that is under way.
func (a *api) charge(w http.ResponseWriter, r *http.Request, n int) error {
	if a.pace == nil || n < 1 {
		return nil
	}
	return a.pace.Charge(r.Context(), callerOf(w).name+string(posting), n)
}
