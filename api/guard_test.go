package api

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
	"mina-sequencer/sequencer/test/lane"
)

// Whatever is answered, browsers are told to be careful with it.
func TestSecure(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) { o.Keys = NewKeyring([]Key{{"r", Read, "read", nil}}) })
	for path, status := range map[string]int{
		"/healthz": 200, "/readyz": 200, "/none": 404, base + "/queues": 401, "/docs": 401,
	} {
		r := s.serve(httptest.NewRequest("GET", path, nil)).want(status)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
			"Access-Control-Allow-Origin": "",
		} {
			if got := r.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
	}
}

// Pages of other sites may do nothing, unless their site is configured; and then
// with a key only.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	const good, evil = "https://app.example", "https://evil.example"
	closed := setup(t)
	open := setup(t, func(o *Options) { o.Origins = []string{good} })
	post := `{"queue":"q","type":"ANY","data":{}}`
	for _, test := range []struct {
		s              *service
		method, origin string
		status         int
		allowed        string
	}{
		{closed, "GET", good, 200, ""},
		{closed, "POST", good, 403, ""},
		{closed, "OPTIONS", good, 405, ""},
		{open, "GET", good, 200, good},
		{open, "POST", good, 202, good},
		{open, "OPTIONS", good, 204, good},
		{open, "GET", evil, 200, ""},
		{open, "POST", evil, 403, ""},
		{open, "OPTIONS", evil, 204, ""},
	} {
		r := test.s.ask(test.method, "/transactions", map[string]string{"POST": post}[test.method], "Origin", test.origin, "Sec-Fetch-Site", "cross-site",
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type,idempotency-key").want(test.status)
		if got := r.Header().Get("Access-Control-Allow-Origin"); got != test.allowed {
			t.Errorf("%s from %s: allowed is %q", test.method, test.origin, got)
		}
		if got := r.Header().Get("Access-Control-Allow-Credentials"); got != "" {
			t.Errorf("%s from %s: credentials are %q", test.method, test.origin, got)
		}
	}
	// Pages of the service itself, and programs, are not other sites.
	closed.ask("POST", "/transactions", post, "Sec-Fetch-Site", "same-origin", "Origin", "https://self.example").want(202)
	closed.ask("POST", "/transactions", post).want(202)
	// A session is of no use to other sites.
	keys := NewKeyring([]Key{{"a", Admin, "admin", nil}})
	guarded := setup(t, func(o *Options) { o.Keys = keys })
	cookie := SessionCookie + "=" + keys.Session("admin", time.Now().Add(time.Hour))
	guarded.ask("POST", "/transactions", post, "Cookie", cookie).want(202)
	for _, site := range []string{"cross-site", "same-site"} {
		guarded.ask("POST", "/transactions", post, "Cookie", cookie, "Sec-Fetch-Site", site).wantProblem(403, "FORBIDDEN")
	}
	guarded.ask("POST", "/transactions", post, "Cookie", cookie, "Origin", evil).wantProblem(403, "FORBIDDEN")
}

// TestRebound: where nobody needs a key and only this machine reaches the service, a page whose
// site's name a browser takes for this machine's reads and changes nothing.
func TestRebound(t *testing.T) {
	t.Parallel()
	ring := NewKeyring(nil)
	guarded := setup(t, func(o *Options) { o.Keys, o.Loopback = ring, true })
	insecure := setup(t)
	asked := func(s *service, method, path, host string, header ...string) reply {
		r := httptest.NewRequest(method, path, nil)
		r.Host = host
		for pair := range slices.Chunk(header, 2) {
			r.Header.Add(pair[0], pair[1])
		}
		return s.serve(r)
	}
	for _, host := range []string{"localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:8080", "127.1.2.3", "[::1]", "[::1]:8080", ""} {
		asked(guarded, "GET", base+"/queues", host).want(200)
	}
	evil := []string{"Origin", "http://evil.example:8080"}
	for _, host := range []string{"evil.example", "evil.example:8080", "10.0.0.1:8080", "[fe80::1]:8080", "localhost.evil.example", "127.0.0.1.evil.example:80"} {
		asked(guarded, "GET", base+"/queues", host).wantProblem(403, "FORBIDDEN")
		asked(guarded, "POST", base+"/queues/q/pause", host, evil...).wantProblem(403, "FORBIDDEN")
		asked(guarded, "GET", "/", host).wantProblem(403, "FORBIDDEN")
		asked(guarded, "GET", "/healthz", host).want(200)
		asked(guarded, "GET", "/readyz", host).want(200)
		asked(insecure, "GET", base+"/queues", host).want(200)
	}
	ring.Replace([]Key{{"a", Admin, "admin", nil}}) // keys guard it from then on
	asked(guarded, "GET", base+"/queues", "evil.example").wantProblem(401, "UNAUTHORIZED")
	asked(guarded, "GET", base+"/queues", "evil.example", "Authorization", "Bearer admin").want(200)
}

// TestCookiesOfOtherSites: a page of a site that is configured acts with a key. The cookie that
// its browser sends, for it may be of the same site, is of no use to it.
func TestCookiesOfOtherSites(t *testing.T) {
	t.Parallel()
	const good, self = "https://app.example.com", "http://example.com" // where a test asks
	keys := NewKeyring([]Key{{"a", Admin, "admin", nil}})
	s := setup(t, func(o *Options) { o.Keys, o.Origins = keys, []string{good} })
	cookie := []string{"Cookie", SessionCookie + "=" + keys.Session("admin", time.Now().Add(time.Hour))}
	key := []string{"Authorization", "Bearer admin"}
	for i, test := range []struct {
		by     []string
		header []string
		status int
	}{
		{cookie, []string{"Origin", good, "Sec-Fetch-Site", "same-site"}, 401},
		{cookie, []string{"Origin", good, "Sec-Fetch-Site", "cross-site"}, 401},
		{cookie, []string{"Origin", good}, 401},
		{cookie, []string{"Origin", "https://evil.example.com"}, 403},
		{cookie, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{cookie, []string{"Origin", self, "Sec-Fetch-Site", "same-origin"}, 202},
		{cookie, []string{"Origin", self}, 202},
		{cookie, []string{"Sec-Fetch-Site", "none"}, 202},
		{cookie, nil, 202},
		{key, []string{"Origin", good, "Sec-Fetch-Site", "same-site"}, 202},
		{slices.Concat(key, cookie), []string{"Origin", good, "Sec-Fetch-Site", "cross-site"}, 202},
	} {
		queue := fmt.Sprint("q", i)
		s.ask("POST", "/transactions", `{"queue":"`+queue+`","type":"ANY","data":{}}`, slices.Concat(test.by, test.header)...).want(test.status)
		s.ask("GET", "/queues/"+queue, "", key...).want(map[bool]int{true: 200, false: 404}[test.status == 202])
	}
}

// Keys of a name share one rate at all processes; another name has its own.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, client *redis.Client, _ listen) {
		limited := func(o *Options) {
			o.Keys = NewKeyring([]Key{{"a", Admin, "one", nil}, {"a", Admin, "two", nil}, {"b", Read, "three", nil}})
			o.Rate = queues.Rate{PerSecond: 0.001, Burst: 4}
		}
		processes := []*service{setupOn(t, client, "t", limited), setupOn(t, client, "t", limited)}
		for i, key := range []string{"one", "two", "one", "one"} {
			processes[i%2].ask("GET", "/queues", "", "Authorization", "Bearer "+key).want(200)
		}
		for i, path := range []string{"/queues", "/transactions", "/events", "/none"} {
			r := processes[i%2].ask("GET", path, "", "Authorization", "Bearer two")
			if path == "/none" {
				r.want(404)
				continue
			}
			r.wantProblem(429, "RATE_LIMITED")
			if r.Header().Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", path)
			}
		}
		processes[0].ask("GET", "/queues", "", "Authorization", "Bearer three").want(200)
		processes[0].ask("GET", "/queues", "").wantProblem(401, "UNAUTHORIZED")
		processes[0].serve(httptest.NewRequest("GET", "/healthz", nil)).want(200)
		processes[0].ask("POST", "/transactions", "{}", "Authorization", "Bearer three").wantProblem(403, "FORBIDDEN")
		processes[0].ask("GET", "/queues", "", "Authorization", "Bearer three").want(200)
	})
}

// A client that heeds Retry-After comes through. A batch counts as what it holds, and keeps its
// own name from posting alone.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, func(o *Options) { o.Rate = queues.Rate{PerSecond: 2, Burst: 20} })
		wait := func(r reply) time.Duration {
			t.Helper()
			r.wantProblem(429, "RATE_LIMITED")
			var seconds int
			if _, err := fmt.Sscan(r.Header().Get("Retry-After"), &seconds); err != nil {
				t.Fatal(err)
			}
			return time.Duration(seconds) * time.Second
		}
		const post = `{"queue":"a","type":"ANY","data":{}}`
		s.ask("POST", "/transactions/batch", strings.Repeat(post+"\n", 1000)).want(200)
		after := wait(s.ask("POST", "/transactions", post))
		if after < 490*time.Second || after > 492*time.Second {
			t.Errorf("after a thousand it waits %s", after)
		}
		// What reads and stops has a bucket of its own.
		s.ask("GET", "/transactions?queue=a", "").want(200)
		s.ask("POST", "/transactions/none/cancel", "").wantProblem(404, "NOT_FOUND")
		s.ask("POST", "/queues/a/pause", "").want(200)
		<-time.After(after)
		s.ask("POST", "/transactions", post).want(202)
		r := s.ask("GET", "/queues", "").want(200)
		for r.Code == 200 {
			r = s.ask("GET", "/queues", "")
		}
		if after = wait(r); after > time.Second {
			t.Errorf("at its pace it waits %s", after)
		}
		<-time.After(after)
		s.ask("GET", "/queues", "").want(200)

		<-time.After(time.Minute)
		s.redis.SetError("LOADING")
		s.ask("GET", "/queues", "").wantProblem(503, "STORE_UNAVAILABLE")
	})
}

// Without a rate a request costs no call of Redis more than before.
func TestNoRate(t *testing.T) {
	t.Parallel()
	s := setup(t)
	before := s.store.Calls()
	s.ask("POST", "/transactions", `{"queue":"q","type":"ANY","data":{}}`).want(202)
	if calls := s.store.Calls() - before; calls != 1 {
		t.Errorf("a post takes %d calls", calls)
	}
}

// A cursor is good for its own list and filters, and for nothing else.
func TestCursorsOfOtherLists(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for i := range 4 {
		s.ask("POST", "/senders", fmt.Sprintf(`{"accountId":"B62x%d","workerUrl":"http://w"}`, i)).want(201)
		s.ask("POST", "/transactions", fmt.Sprintf(`{"queue":"B62x%d","type":"ANY","data":{}}`, i)).want(202)
	}
	lists := []string{"/queues?limit=2", "/senders?limit=2", "/transactions?limit=2", "/transactions?limit=2&state=WAITING"}
	for _, of := range lists {
		cursor, ok := s.ask("GET", of, "").want(200).read()["nextCursor"].(string)
		if !ok {
			t.Fatalf("%s has no next page", of)
		}
		for _, list := range lists {
			switch r := s.ask("GET", list+"&cursor="+cursor, ""); {
			case list != of:
				r.wantProblem(400, "BAD_CURSOR")
			case len(r.want(200).read()["items"].([]any)) != 2:
				t.Errorf("the second page of %s: %s", list, r.Body)
			}
		}
	}
	for _, cursor := range []string{"queues~", "queues~a/b", "queues~~a", "senders~x", "~B62x1", "B62x1", "queues", "%00"} {
		for _, list := range []string{"/queues", "/senders"} {
			s.ask("GET", list+"?cursor="+cursor, "").wantProblem(400, "BAD_CURSOR")
		}
	}
}

// A filter that chooses nothing, or everything, of very many: each request has
// an end, and the pages together show all there is.
func TestManyTransactions(t *testing.T) {
	lane.NoRace(t, "one goroutine asks, page by page")
	t.Parallel()
	const many = 10_500
	s := setupOn(t, redistest.Start(t).Client, "t")
	s.store.MaxWaiting = 0
	posts(t, s.store, "q", many)
	for filter, want := range map[string]struct{ items, pages int }{
		"type=NONE":               {0, 2},
		"queue=q&sender=B62x":     {0, 2},
		"state=DONE":              {0, 1},
		"queue=none":              {0, 1},
		"state=WAITING&limit=500": {many, 22},
	} {
		items, pages := 0, 0
		for next := ""; pages == 0 || next != ""; pages++ {
			before := s.store.Calls()
			page := s.ask("GET", "/transactions?"+filter+"&cursor="+next, "").want(200).read()
			if calls := s.store.Calls() - before; calls > 300 {
				t.Fatalf("%s: one page takes %d calls", filter, calls)
			}
			items += len(page["items"].([]any))
			next, _ = page["nextCursor"].(string)
		}
		if items != want.items || pages > want.pages {
			t.Errorf("%s: %d transactions on %d pages", filter, items, pages)
		}
	}
}
