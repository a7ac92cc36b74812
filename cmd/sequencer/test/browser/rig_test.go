package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"mina-sequencer/cmd/sequencer/serve"
	"mina-sequencer/cmd/sequencer/settings"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues/redistest"
)

// browserPatience is how long a page may take to show what it is to show.
const browserPatience = 2 * time.Minute

// A browser is a Chromium without a screen. Each tab of it is a person of its
// own, with cookies of its own.
type browser struct{ ctx context.Context }

func startBrowser(t testing.TB) browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Fatal("this test needs a browser: install chromium (Debian: apt-get install chromium)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.WSURLReadTimeout(browserPatience),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to run as root with it
	}
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(release)
	ctx, leave := chromedp.NewContext(allocated)
	t.Cleanup(leave)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return browser{ctx}
}

// A tab is one page that somebody looks at.
type tab struct {
	testing.TB
	ctx  context.Context
	base string

	mu     sync.Mutex
	faults []string // exceptions, and what the page's policy has refused
}

func (b browser) open(t testing.TB, base string) *tab {
	t.Helper()
	ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(leave)
	p := &tab{TB: t, ctx: ctx, base: base}
	// Without a time limit: the tab lives as long as the context it is opened with.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		t.Fatalf("opening a tab: %v", err)
	}
	messages := chromedp.Console(ctx)
	go func() {
		for message, err := range messages {
			if err != nil {
				return // the tab is closed
			}
			if message.IsException() || message.Source == "security" || strings.Contains(message.Text, "Content Security Policy") {
				p.mu.Lock()
				p.faults = append(p.faults, message.String())
				p.mu.Unlock()
			}
		}
	}()
	return p
}

// healthy fails the test if a script of the page failed.
func (p *tab) healthy() {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		p.Errorf("the page: %s", fault)
	}
}

func (p *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

func (p *tab) visit(path string) {
	p.Helper()
	p.do("visiting "+path, chromedp.Navigate(p.base+path))
}

// asked evaluates an expression in the page. A page that is just being left answers
// with an error.
func asked[T any](p *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression))
}

// told is asked of a page that is there.
func told[T any](p *tab, expression string) T {
	p.Helper()
	v, err := asked[T](p, expression)
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until looks at the page again and again until the expression is true.
func (p *tab) until(expression string) {
	p.Helper()
	var err error
	for end := time.Now().Add(browserPatience); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		var yes bool
		if yes, err = asked[bool](p, "Boolean("+expression+")"); err == nil && yes {
			return
		}
	}
	text, _ := asked[string](p, "location.href + '\\n' + document.body.innerText") // nothing is better than no error
	p.Fatalf("never true: %s (%v)\n%s", expression, err, text)
}

func (p *tab) see(text string) {
	p.Helper()
	p.until("document.body.innerText.includes(" + quoted(text) + ")")
}

func (p *tab) unsee(text string) {
	p.Helper()
	p.until("!document.body.innerText.includes(" + quoted(text) + ")")
}

// click clicks what has a name, as somebody hears it who does not see the page;
// if a question is asked, in there.
func (p *tab) click(name string) {
	p.Helper()
	p.until(`(() => {
		const within = document.querySelector('dialog[open]') ?? document;
		const found = [...within.querySelectorAll('a, button')].find((e) => (e.getAttribute('aria-label') ?? e.textContent).trim().startsWith(` + quoted(name) + `));
		found?.click();
		return found;
	})()`)
}

// lie has answers of the API changed before the page reads them: change is a function of an
// address and a text, and gives another text, or a Response.
func (p *tab) lie(change string) {
	p.Helper()
	p.until(`(() => {
		const real = (window.honest ??= fetch), change = ` + change + `;
		window.fetch = async (url, options) => {
			const answer = await real(url, options), said = change(url, await answer.text());
			return said instanceof Response ? said : new Response(said, { status: answer.status });
		};
		return true;
	})()`)
}

func (p *tab) enter(selector, text string) {
	p.Helper()
	p.do("entering into "+selector, chromedp.SendKeys(selector, text, chromedp.NodeVisible))
}

func (p *tab) logIn(key string) {
	p.Helper()
	p.enter("#key", key+"\r")
}

func (p *tab) look(width, height int64, scheme string) {
	p.Helper()
	p.do("changing the size", chromedp.EmulateViewport(width, height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
		p.Fatal(err)
	}
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // a string always can be
	return string(b)
}

func quotedList(texts []string) string {
	b, _ := json.Marshal(texts)
	return string(b)
}

// A stage is a whole service: a Redis of its own, a Mina node, workers, and a
// process that can be stopped and started again.
type stage struct {
	t       testing.TB
	redis   *redistest.Server
	senders []string
	env     map[string]string
	addr    string
	stop    func()

	mu   sync.Mutex
	luck map[string]*devworker.Fault // what goes wrong with a transaction
}

const (
	stageAdmin  = "admin-key-for-tests"
	stageReader = "reader-key-for-tests"
	stageTenant = "tenant-key-for-tests"
)

func newStage(t testing.TB, senders int) *stage {
	t.Helper()
	s := &stage{t: t, redis: redistest.Start(t), addr: "127.0.0.1:0", luck: map[string]*devworker.Fault{}}
	accounts := map[string]devnet.Account{}
	for i := range senders {
		s.senders = append(s.senders, devnet.Key(uint64(i+1)))
		accounts[s.senders[i]] = devnet.Account{Balance: 100_000_000_000}
	}
	network, err := devnet.New(devnet.Config{SlotTime: 400 * time.Millisecond, FillRate: 1, Seed: 1, Accounts: accounts})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = network.Run(ctx) }) // it ends with ctx, without an error
	node := httptest.NewServer(network)
	var pairs []string
	for _, account := range s.senders {
		w := devworker.New(devworker.Options{Account: account, Network: "mina:testnet", ProveTime: 50 * time.Millisecond})
		w.Script(s.fate)
		server := httptest.NewServer(w)
		t.Cleanup(server.Close)
		pairs = append(pairs, account+"="+server.URL)
	}
	t.Cleanup(func() {
		cancel()
		running.Wait()
		node.Close()
	})
	s.env = map[string]string{
		"SEQUENCER_REDIS_URL": "redis://" + s.redis.Addr, "SEQUENCER_MINA_URL": node.URL + "/graphql", "SEQUENCER_SENDERS": strings.Join(pairs, ","),
		"SEQUENCER_WORKER_TYPES": "CLAIM,RARE", "SEQUENCER_MAX_RETRIES": "0", "SEQUENCER_CYCLE_INTERVAL": "200ms", "SEQUENCER_INCLUSION_INTERVAL": "200ms",
		"SEQUENCER_SETTLE_DEPTH": "2", "SEQUENCER_FINALITY": "2", "SEQUENCER_SHUTDOWN_TIMEOUT": "1s", "SEQUENCER_CLAIM_TTL": "2s",
		"SEQUENCER_API_KEYS":     "ops:admin:" + stageAdmin + ",eye:read:" + stageReader + ",shop:submit@stack-5|shop-:" + stageTenant,
		"SEQUENCER_EXPLORER_URL": "https://explorer.example/tx/{hash}",
	}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *stage) fate(c devworker.Call) *devworker.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Kind != devworker.Prove {
		return nil
	}
	return s.luck[c.UID]
}

func (s *stage) let(uid string, fault *devworker.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.luck[uid] = fault
}

func (s *stage) base() string { return "http://" + s.addr }

// start serves, at the address of the last time.
func (s *stage) start() {
	s.t.Helper()
	cfg, _, err := settings.Load(s.t.Context(), maps.Clone(s.env))
	if err != nil {
		s.t.Fatal(err)
	}
	client, disconnect, err := serve.Connect(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	service, err := serve.New(serve.Options{Settings: cfg, Redis: client, Log: slog.New(slog.NewTextHandler(s.t.Output(), nil))})
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	if err := service.Start(ctx); err != nil {
		s.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- service.Run(ctx, l) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			s.t.Errorf("serving ended with %v", err)
		}
		disconnect()
	})
}

// call makes a request with the key of an administrator.
func (s *stage) call(method, path string, body []byte) []byte {
	s.t.Helper()
	return s.callAs(stageAdmin, method, path, body)
}

func (s *stage) callAs(key, method, path string, body []byte) []byte {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), browserPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.base()+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		s.t.Fatalf("%s %s: %d %.300s (%v)", method, path, resp.StatusCode, answer, err)
	}
	return answer
}

// rested waits until nothing of a queue runs.
func (s *stage) rested(queue string) {
	s.t.Helper()
	for running := "?"; running != ""; {
		var q struct{ Running *string }
		s.read("/queues/"+queue, &q)
		if running = ""; q.Running != nil {
			running = *q.Running
		}
	}
}

// post accepts transactions; data is the same for all.
func (s *stage) post(data string, queueOf func(uid string) string, uids ...string) {
	s.t.Helper()
	var body bytes.Buffer
	for _, uid := range uids {
		fmt.Fprintf(&body, `{"uid":%q,"queue":%q,"type":"CLAIM","data":%s}`+"\n", uid, queueOf(uid), data)
	}
	req := s.call(http.MethodPost, "/transactions/batch", body.Bytes())
	if n := bytes.Count(req, []byte(`"status":202`)); n != len(uids) {
		s.t.Fatalf("%d of %d accepted: %.300s", n, len(uids), req)
	}
}

func (s *stage) read(path string, v any) {
	s.t.Helper()
	if answer := s.call(http.MethodGet, path, nil); json.Unmarshal(answer, v) != nil {
		s.t.Fatalf("%s answered %.300s", path, answer)
	}
}
