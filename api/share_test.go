package api

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// drip sends the beginning of a batch, and then a byte a second; the answer is what comes.
func drip(t *testing.T, p *pipes, key string) <-chan string {
	t.Helper()
	conn, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	head := "POST " + base + "/transactions/batch HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + key +
		"\r\nContent-Length: 1000\r\n\r\n["
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		for err := error(nil); err == nil; _, err = io.WriteString(conn, " ") {
			time.Sleep(time.Second)
		}
	}()
	go func() {
		b, _ := io.ReadAll(conn)
		got <- string(b)
	}()
	synctest.Wait()
	return got
}

// TestShareOfBatches: uploads of a byte a second keep nobody else's batch waiting for more than a
// moment, and their own name's, or where nobody needs a key anybody's, no longer than a body
// may be that slow.
func TestShareOfBatches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keys   *Keyring
		by     string
		within time.Duration
		pushed int
	}{
		"another":  {tenants(), "two", batchPatience, 1},
		"the same": {tenants(), "one", rateGrace + time.Second, 0},
		"no keys":  {NewKeyring(nil), "", rateGrace + time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := setup(t, func(o *Options) { o.Keys = test.keys })
				p, client := s.listen(t)
				var slow []<-chan string
				for range batchesAtOnce {
					slow = append(slow, drip(t, p, "one"))
				}
				began := time.Now()
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+base+"/transactions/batch",
					strings.NewReader(`[{"queue":"`+map[string]string{"two": "c-1"}[test.by]+`a-1","type":"ANY","data":{}}]`))
				if err != nil {
					t.Fatal(err)
				}
				if test.by != "" {
					req.Header.Set(bearerOf(test.by))
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if took := time.Since(began); !bytes.Contains(body, []byte(`"status":202`)) || took > test.within {
					t.Errorf("after %s: %d %s", took, resp.StatusCode, body)
				}
				pushed := 0
				for _, got := range slow {
					switch answer := <-got; {
					case strings.HasPrefix(answer, "HTTP/1.1 429 ") && strings.Contains(answer, "Others need the place"):
						pushed++
					case !strings.HasPrefix(answer, "HTTP/1.1 408 ") || !strings.Contains(answer, "TOO_SLOW"):
						t.Errorf("a slow one hears %q", answer)
					}
				}
				time.Sleep(2 * time.Second) // until nobody drips any more
				if took := time.Since(began); pushed != test.pushed || took > rateGrace+4*time.Second {
					t.Errorf("%d of the slow ones made room, and the last ended after %s", pushed, took)
				}
			})
		})
	}
}

// TestShareOfStreams: a name that follows the events by as many streams as there may be makes
// room for another one, up to its share, and keeps that.
func TestShareOfStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clients := 0
		s := setup(t, func(o *Options) {
			o.Keys, o.EventClients = tenants(), 4
			o.Meter.Following = func(change int) { clients += change }
		})
		web := overPipes(t, s)
		follow := func(key string) *follower {
			t.Helper()
			web.key = key
			return web.follow("", "")
		}
		refused := func(key string) {
			t.Helper()
			web.key = key
			resp, err := web.open("", "")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
				t.Errorf("another one of %s gets %s", key, resp.Status)
			}
		}
		var of []*follower
		for range 4 {
			of = append(of, follow("one"))
		}
		refused("one")
		two := []*follower{follow("two"), follow("two")}
		for _, f := range of[2:] {
			if last := f.end(); last.Retry == "" || !strings.Contains(last.Comment, "other keys need the place") {
				t.Errorf("who makes room hears %+v", last)
			}
		}
		refused("one")
		refused("two")
		synctest.Wait()
		if clients != 4 {
			t.Errorf("%d follow", clients)
		}
		for _, f := range append(of[:2:2], two...) {
			if beat, err := f.frame(); err != nil || beat.Retry != "" {
				t.Errorf("who has its share hears %+v, %v", beat, err)
			}
		}
	})
}
