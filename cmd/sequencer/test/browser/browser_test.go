package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"mina-sequencer/api/client"
	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/cmd/sequencer/demo"
	"mina-sequencer/cmd/sequencer/test/inprocess"
	"mina-sequencer/dispatcher/devworker"
	"mina-sequencer/sequencer/test/lane"
)

// TestBrowser looks at the dashboard as people do.
func TestBrowser(t *testing.T) {
	lane.All(t, `TestBrowserDemo is the run in a browser that every change gets`)
	t.Parallel()
	b, s := startBrowser(t), newStage(t, 2)
	fill(s)
	for _, test := range []struct {
		name string
		run  func(*testing.T, browser, *stage)
	}{
		{"pictures", takePictures}, {"login", lookLogin}, {"tenant", lookTenant}, {"failed", lookFailed}, {"rare", lookRare}, {"queue", lookQueue}, {"queues", lookQueues}, {"sender", lookSender}, {"account", lookAccount}, {"limited", lookLimited}, {"bulk", lookBulk}, {"hash", lookHash}, {"nowhere", lookNowhere}, {"swap", lookSwap}, {"odd", lookOdd}, {"webhook", lookWebhook}, {"phone", lookPhone},
		{"keyboard", lookKeyboard}, {"redis", loseRedis}, {"server", loseServer},
		{"ledgers", lookLedgers}, // the last: it adds slots to the senders
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, b, s) })
	}
}

// fill posts ten thousand transactions, one of which fails, behind one of another type.
func fill(s *stage) {
	s.call(http.MethodPost, "/transactions", []byte(`{"uid":"rarity","queue":"odd","type":"RARE","data":{}}`))
	const data = `{"planUid":"autumn","votes":["1","0","-1"],"amount":12345678901234567890123,"exact":1.10}`
	s.let("needle", &devworker.Fault{Kind: devworker.Error, Code: "20202", Message: "the prover ran out of memory", Times: -1})
	s.post(data, func(string) string { return "unlucky" }, "needle")
	hay := make([]string, 9_999)
	for i := range hay {
		hay[i] = fmt.Sprintf("hay-%04d", i)
	}
	s.post(`{}`, func(uid string) string { return "stack-" + uid[4:6] }, hay...)
}

// TestBrowserDemo sees a round go by from its first transaction to the last DONE,
// without touching the page.
func TestBrowserDemo(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	out, stop, ended := inprocess.Demo(t, demo.Command, "--addr", "127.0.0.1:0", "--slot", "300ms")
	select {
	case <-out.Seen("Dashboard"): // the first line, before anything is posted
	case code := <-ended:
		t.Fatalf("the demo ended with %d\n%s", code, out)
	}
	p := b.open(t, regexp.MustCompile(`http://[^/\s]+`).FindString(out.String()))
	p.visit("/")
	p.until("document.querySelector('#stage-DONE')")
	p.until(`(() => {
		window.seen = [];
		const number = () => Number(document.querySelector('#stage-DONE .number')?.textContent ?? window.seen.at(-1));
		new MutationObserver(() => { if (window.seen.at(-1) !== number()) window.seen.push(number()); })
			.observe(document.getElementById('main'), { subtree: true, childList: true, characterData: true });
		return true;
	})()`)
	p.see("Live")
	p.until("document.querySelectorAll('.feed li').length > 5")
	p.until("document.querySelector('#stage-DONE .number').textContent === '30'")
	p.until("['WAITING', 'DISPATCHING', 'REVISION', 'RETRY', 'FAILED'].every((s) => document.querySelector('#stage-' + s + ' .number').textContent === '0')")
	seen := told[[]int](p, "window.seen")
	if len(seen) < 5 || !slices.IsSorted(seen) || seen[len(seen)-1] != 30 {
		t.Errorf("the number of those done went %v", seen)
	}
	p.until("[...document.querySelectorAll('#ledgers tbody tr')].map((r) => r.innerText.includes('Answers') && r.innerText.includes('0 of 2 slots')).join() === 'true,true'")
	p.click("Senders")
	p.see("8 senders")
	p.click("Queues")
	p.see("plan-autumn")
	p.visit("/transactions/commit")
	p.see("It took effect in block")
	for _, path := range []string{"/", "/queues", "/queues/plan-autumn", "/transactions", "/transactions?state=FAILED", "/transactions/commit", "/senders", "/fees", "/webhooks", "/nowhere", "/docs/codes#problem.NOT_FOUND"} {
		p.visit(path)
		p.until("document.querySelector('main h1')")
		p.accessible(path)
	}
	p.visit("/")
	p.until("document.querySelectorAll('.feed li').length > 5") // what has just happened is there after a reload
	p.healthy()
	stop()
	if code := <-ended; code != command.ExitOK {
		t.Errorf("the demo ended with %d\n%s", code, out)
	}
}

func lookLogin(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/queues?sort=turn")
	p.logIn("no-such-key")
	p.see("The key is not known")
	p.until("document.querySelector('#key').value !== ''") // to be corrected
	p.until("(document.querySelector('#key').value = '', true)")
	s.post(`{}`, func(string) string { return "mine" }, "login-1")
	p.logIn(stageReader)
	p.until("location.pathname === '/queues' && location.search === '?sort=turn'") // where it was going
	p.see("mine")
	p.see("eye · read")
	if buttons := told[[]string](p, "[...document.querySelectorAll('main button:not(.copy, #more)')].map((e) => e.textContent)"); len(buttons) > 0 {
		t.Errorf("a reader is offered %q", buttons)
	}
	p.until(`(window.answer ??= fetch('/api/v1/queues/mine/pause', { method: 'POST' }).then((r) => { window.denied = r.status === 403; }), window.denied)`)
	kept := told[string](p, "document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML")
	if strings.Contains(kept, "sequencer_session") || strings.Contains(kept, stageReader) {
		t.Errorf("the page can read its session or key")
	}
	p.click("Log out")
	p.until("location.pathname === '/login'")
	p.visit("/senders")
	p.until("location.pathname === '/login'")
	p.logIn(stageAdmin)
	p.see("ops · admin")
	p.click("Drain ")
	p.click("Not now")
	p.healthy()
}

// lookTenant logs in with a key of some queues: it sees these, and nothing tells of others.
func lookTenant(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/")
	p.logIn(stageTenant)
	p.until("location.pathname === '/queues'")
	p.see("shop · submit · stack-5… shop-…")
	p.until("document.querySelectorAll('tbody tr').length === 10 && [...document.querySelectorAll('tbody tr')].every((r) => r.innerText.includes('stack-5'))")
	if links := told[string](p, "[...document.querySelectorAll('nav[aria-label=Pages] a')].map((a) => a.textContent).join()"); links != "Queues,Transactions,Failed" {
		t.Errorf("the pages offered are %s", links)
	}
	s.post(`{}`, func(string) string { return "shop-1" }, "tenant-1")
	p.see("shop-1") // by an event of its own
	p.click("Transactions")
	p.see("tenant-1")
	p.click("tenant-1")
	p.until("location.pathname === '/transactions/tenant-1'")
	p.visit("/transactions/needle") // of another
	p.see("There is nothing by this name")
	p.unsee("unlucky")
	p.healthy()
}

// lookFailed finds the one that failed among ten thousand, reads why, and has it
// tried again.
func lookFailed(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/")
	p.logIn(stageAdmin)
	p.click("Failed")
	p.see("20202")
	p.see("the prover ran out of memory")
	p.click("needle")
	p.until("location.pathname === '/transactions/needle'")
	p.see("the prover ran out of memory")
	p.see("12345678901234567890123,")
	p.see("1.10")
	s.let("needle", nil)
	p.click("Retry")
	p.see("It waits again")
	p.until("document.querySelector('h1 + .chip').textContent === 'Done'")
	p.until("document.querySelector('.timeline a').href.startsWith('https://explorer.example/tx/5J')")
	p.see("It took effect in block")
	p.see("What its worker gave back")
	p.see("zkApp")
	p.see("12345678901234567890123,") // what was posted stays
	// Each step stands beside what it usually takes: the median of those of its type that were done last.
	p.until(`[...document.querySelectorAll('.figures > div')].map((e) => e.innerText.replace(/\s+/g, ' '))
		.filter((text) => /^(Waited|Built, proved and signed|In a pool, until its block) .* median \d/.test(text)).length === 3`)
	p.see("Median: of the last 20 of type CLAIM that became Done.")
	p.picture("done", "wide-light")
	p.look(1200, 900, "light") // no name runs into the next one
	p.until("[...document.querySelectorAll('.pairs dd')].every((dd) => dd.scrollWidth <= dd.clientWidth)")
	p.click("Transactions")
	p.see("hay-9998")
	p.enter("input[name=queue]", "stack-42\r")
	p.until("document.querySelectorAll('tbody tr').length === 50 && [...document.querySelectorAll('tbody tr')].every((r) => r.innerText.includes('stack-42'))")
	p.click("Show more")
	p.until("document.querySelectorAll('tbody tr').length === 100")
	p.visit("/transactions?queue=nothing-like-it")
	p.see("No transaction is like this")
	p.healthy()
}

// lookRare looks for what is behind more than one request looks through.
func lookRare(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/transactions?type=RARE")
	p.logIn(stageAdmin)
	p.see("Looked through the newest 10\u202f000 at most.")
	p.unsee("rarity")
	p.click("Show more")
	p.see("rarity")
	const behind = "performance.getEntriesByType('resource').filter((e) => e.name.includes('/transactions?') && e.name.includes('cursor=')).length"
	if n := told[int](p, behind); n != 1 {
		t.Errorf("it has gone on %d times", n)
	}
	p.visit("/transactions?type=NEVER")
	p.see("None of those is like this")
	p.click("Show more")
	p.see("No transaction is like this")
	p.click("Look anew")
	p.see("None of those is like this")
	p.healthy()
}

func lookQueue(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/queues?search=stack-9")
	p.logIn(stageAdmin)
	p.see("stack-99")
	p.click("stack-97")
	p.see("Its line")
	p.click("Pause stack-97")
	p.enter("#answer", "new contract")
	p.click("Pause")
	p.see("Paused: new contract")
	p.click("Width of stack-97")
	p.enter("#answer", "6")
	p.click("Set")
	p.see("The width of stack-97 is set")
	var q struct {
		Reason string
		Width  int
	}
	s.read("/queues/stack-97", &q)
	if q.Reason != "new contract" || q.Width != 6 {
		t.Errorf("the queue is paused for %q, with width %d", q.Reason, q.Width)
	}
	for _, typo := range []string{"l", "4x", "1,5"} {
		p.click("Width of stack-97")
		p.enter("#answer", typo)
		p.click("Set")
		p.see("“" + typo + "” is no width")
	}
	if s.read("/queues/stack-97", &q); q.Width != 6 {
		t.Errorf("the width is %d after what is none", q.Width)
	}
	p.click("Queues")
	p.visit("/queues?search=stack-9&state=PAUSED")
	p.until("document.querySelectorAll('tbody tr').length === 1")
	p.click("Resume stack-97")
	p.see("No queue is like this")
	p.healthy()
}

// lookQueues finds one paused queue among many, and reads on where a page ends.
func lookQueues(t *testing.T, b browser, s *stage) {
	uids := make([]string, 1_300)
	for i := range uids {
		uids[i] = fmt.Sprintf("lane-%04d", i)
	}
	s.post(`{}`, func(uid string) string { return uid }, uids...)
	s.call(http.MethodPost, "/queues/lane-1234/pause", nil)
	p := b.open(t, s.base())
	p.visit("/queues?state=PAUSED")
	p.logIn(stageAdmin)
	p.until("document.querySelectorAll('tbody tr').length === 1")
	p.see("lane-1234")
	p.visit("/queues?sort=oldest&search=lane-")
	p.until("document.querySelectorAll('tbody tr').length === 100 && document.querySelector('tbody tr').innerText.includes('lane-0000')")
	p.click("Show more")
	p.until("document.querySelectorAll('tbody tr').length === 200")
	p.visit("/queues?search=lane-1234")
	p.click("Resume lane-1234")
	p.until("document.querySelector('[aria-label=\"Pause lane-1234\"]')")
	p.healthy()
}

func lookSender(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/senders")
	p.logIn(stageAdmin)
	p.see("2 senders")
	p.click("Drain " + s.senders[0][:10])
	p.see("It finishes its transaction")
	p.click("Drain")
	p.see("Drained: it takes no new work")
	p.accessible("a drained sender")
	var sender struct{ Reason string }
	s.read("/senders/"+s.senders[0], &sender)
	if sender.Reason != "DRAINING" {
		t.Errorf("the sender is out of use for %q", sender.Reason)
	}
	p.click("Overview")
	p.see("Sender " + s.senders[0] + " is out of use since ")
	p.see("sequencer sender resume " + s.senders[0])
	p.click("Senders")
	p.see("Drained")
	offered := func() bool {
		return told[bool](p, "Boolean(document.querySelector('main button[aria-label^=Resume]'))")
	}
	p.lie(`(url, text) => text.replace('"DRAINING"', '"OUTCOME_UNKNOWN"')`)
	p.see("A person must say what became of")
	if offered() {
		t.Error("what only a person can settle is offered to be resumed")
	}
	p.lie(`(url, text) => text.replace('"DRAINING","detail":null', '"STOPPED_NONCE","detail":"nonce 12 is used by 5Jstranger"')`)
	p.see("something else used its account")
	p.click("Resume " + s.senders[0][:10])
	p.until("document.querySelector('dialog[open]').innerText.includes('5Jstranger')")
	p.click("Not now")
	if s.read("/senders/"+s.senders[0], &sender); sender.Reason != "DRAINING" {
		t.Errorf("the sender is out of use for %q, and nobody has said yes", sender.Reason)
	}
	p.lie(`(url, text) => url.endsWith('/resume') ? '{"available":false,"reason":"OUTCOME_UNKNOWN"}' : text`)
	p.see("Drained")
	p.click("Resume " + s.senders[0][:10])
	p.see("stays out of use. A person must say")
	p.unsee("Drained")
	p.healthy()
}

// lookAccount sees all of one sender: its address, for a phone too, and what it did.
func lookAccount(t *testing.T, b browser, s *stage) {
	account := s.senders[1]
	p := b.open(t, s.base())
	p.visit("/senders")
	p.logIn(stageAdmin)
	p.click(account[:10])
	p.until("document.querySelector('h1').textContent === " + quoted(account))
	p.until("document.querySelectorAll('tbody tr').length >= 20")
	p.see("Fees of its attempts, by day")
	p.picture("sender", "wide-light")
	p.accessible("a sender")
	if read := p.scan("svg.qr path:last-child"); read != account {
		t.Errorf("a phone reads %q of the code of %s", read, account)
	}
	p.until("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
	for name, want := range map[string]string{"Copy the address": account, "Copy the JSON": `"accountId": "` + account} {
		p.click(name)
		p.until("window.copied?.includes(" + quoted(want) + ")")
	}
	p.click("Copy uid ")
	p.until("[...document.querySelectorAll('tbody a')].some((a) => a.getAttribute('href') === '/transactions/' + window.copied)")
	s.call(http.MethodPost, "/senders/"+account+"/drain", nil)
	p.see("To do: resume it when it is to go on. sequencer sender resume " + account)
	p.click("Resume " + account[:10])
	p.see("is back in use")
	p.unsee("To do: ")
	p.look(360, 740, "dark")
	p.until("document.documentElement.scrollWidth <= 360")
	p.picture("sender", "phone-dark")
	p.accessible("a sender on a phone")
	p.healthy()
}

// lookLimited sees a queue that a limit has paused stay on the overview until somebody resumes it.
func lookLimited(t *testing.T, b browser, s *stage) {
	uids := []string{"shop~doomed-1", "shop~doomed-2", "shop~doomed-3"}
	for _, uid := range uids {
		s.let(uid, &devworker.Fault{Kind: devworker.Error, Code: "500", Message: "there is no such shop", Times: -1})
	}
	for i := range uids { // of another poster than all that waits: it has every other turn
		s.callAs(stageTenant, http.MethodPost, "/transactions", fmt.Appendf(nil, `{"uid":"doomed-%d","queue":"shop-doomed","type":"CLAIM","data":{}}`, i+1))
	}
	p := b.open(t, s.base())
	p.visit("/")
	p.logIn(stageAdmin)
	p.see("Queue shop-doomed is paused since ")
	p.see("sequencer queue resume shop-doomed")
	for _, name := range []string{"Failed", "Unresolved"} { // a tab and a tile of one name tell one number
		tab := "[...document.querySelectorAll('nav[aria-label=Pages] a')].find((a) => a.textContent.startsWith(" + quoted(name) + "))"
		tile := "document.querySelector('#stage-" + strings.ToUpper(name) + " .number')"
		p.until("(" + tab + "?.querySelector('.badge')?.textContent ?? '0') === " + tile + ".textContent")
	}
	p.picture("limited", "wide-light")
	p.accessible("an overview with something to do")
	p.visit("/transactions/" + uids[0])
	for _, uid := range uids {
		s.let(uid, nil)
	}
	p.click("Retry")
	p.see("Its queue is paused: resume shop-doomed, too.")
	p.visit("/")
	p.see("Queue shop-doomed is paused since ")
	p.click("Resume shop-doomed")
	p.click("Resume")
	p.see("shop-doomed is resumed")
	p.unsee("Queue shop-doomed is paused since ")
	p.healthy()
}

// lookBulk has all that a filter chooses counted, cancelled and deleted.
func lookBulk(t *testing.T, b browser, s *stage) {
	s.call(http.MethodPost, "/queues/stack-20/pause", nil)
	s.rested("stack-20")
	count := func(command string) (n int) {
		var counted struct{ Matched int }
		if err := json.Unmarshal(s.call(http.MethodPost, "/transactions/"+command, []byte(`{"filter":{"queue":"stack-20"},"dryRun":true}`)), &counted); err != nil {
			t.Fatal(err)
		}
		return counted.Matched
	}
	waiting := count("cancel")
	p := b.open(t, s.base())
	p.visit("/transactions")
	p.logIn(stageAdmin)
	p.until("document.querySelectorAll('tbody tr').length === 50")
	if told[bool](p, "document.body.innerText.includes('all of these')") {
		t.Error("something is offered to be done to all there are")
	}
	p.visit("/transactions?queue=stack-20&state=WAITING")
	p.click("Cancel all of these")
	p.see(fmt.Sprintf("Cancel %d transactions?", waiting))
	p.picture("bulk", "wide-light")
	p.accessible("a question")
	p.click("Not now")
	if n := count("cancel"); n != waiting {
		t.Errorf("%d of %d can be cancelled after a no", n, waiting)
	}
	p.click("Cancel all of these")
	p.click(fmt.Sprintf("Cancel %d", waiting))
	p.see(fmt.Sprintf("%d transactions cancelled.", waiting))
	p.see("No transaction is like this")
	p.visit("/transactions?queue=stack-20&state=FAILED&error=CANCELLED")
	p.click("Retry all of these")
	p.click(fmt.Sprintf("Retry %d", waiting))
	p.see(fmt.Sprintf("%d transactions retried. Their queue is paused: resume stack-20, too.", waiting))
	s.call(http.MethodPost, "/transactions/cancel", []byte(`{"filter":{"queue":"stack-20"}}`))
	p.visit("/transactions?queue=stack-20&state=FAILED")
	p.click("Delete all of these")
	p.click(fmt.Sprintf("Delete %d", waiting))
	p.see(fmt.Sprintf("%d transactions deleted.", waiting))
	var left struct{ Items []struct{ UID string } }
	if s.read("/transactions?queue=stack-20&state=FAILED", &left); len(left.Items) > 0 {
		t.Errorf("there still is %v", left.Items)
	}
	p.healthy()
}

// lookHash finds a transaction by the hash that somebody has seen in an explorer.
func lookHash(t *testing.T, b browser, s *stage) {
	var done struct{ Items []struct{ UID, Hash string } }
	s.read("/transactions?state=DONE&limit=1", &done)
	p := b.open(t, s.base())
	p.visit("/transactions")
	p.logIn(stageAdmin)
	p.until("document.querySelectorAll('tbody tr').length === 50")
	p.enter("input[name=uid]", done.Items[0].Hash+"\r")
	p.until("location.search === '?hash=" + done.Items[0].Hash + "'")
	p.see("None of those is like this")
	p.click("Show more") // it is behind the newest ten thousand
	p.until("[...document.querySelectorAll('tbody tr')].map((r) => r.innerText.includes(" + quoted(done.Items[0].UID) + ")).join() === 'true'")
	p.healthy()
}

// lookNowhere mistypes an address.
func lookNowhere(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/faild")
	p.logIn(stageAdmin)
	p.see("There is no such page")
	p.until("(fetch('/faild', { headers: { Accept: 'text/html' } }).then((r) => { window.status_ = r.status; }), window.status_ === 404)")
	p.visit("/failed")
	p.until("location.pathname === '/transactions' && location.search === '?state=FAILED'")
	p.visit("/api/v1/nothing")
	p.see("NOT_FOUND")
	p.healthy()
}

// lookSwap looks on while what can be done of a transaction changes: another button is not the
// one that was there.
func lookSwap(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/transactions/hay-9898")
	p.logIn(stageAdmin)
	p.until("window.before = document.querySelector('#cancel')")
	s.call(http.MethodPost, "/transactions/hay-9898/cancel", nil)
	p.until("document.querySelector('#retry')")
	if told[bool](p, "window.before.isConnected") {
		t.Error("the button that cancels has become the one that retries")
	}
	p.healthy()
}

// lookOdd sees what is not as pages are made for, and goes on.
func lookOdd(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/transactions/needle")
	p.logIn(stageAdmin)
	p.see("It took effect in block")
	p.lie(`(url, text) => text.replace(/"done":{[^}]*}/, '"done":{"blockHeight":5,"stateHash":12345678901234567890123}')`)
	p.until("document.querySelector('main').innerText.includes('block 5 ')")
	p.lie(`(url, text) => new Response('{"code":"RATE_LIMITED","title":"Slower"}', { status: 429 })`)
	p.see("Too many requests with this key. What you see is from")
	p.see("It took effect in block")
	p.lie(`(url, text) => text`)
	p.unsee("Too many requests")
	p.healthy()
	p.lie(`(url, text) => text.replace('"attempts":[', '"attempts":7,"more":[')`)
	p.see("This page failed")
	p.lie(`(url, text) => text`)
	p.unsee("This page failed")
	p.see("It took effect in block")
}

// lookWebhook has an endpoint pinged, disabled and enabled, and what is parked of it
// discarded. It is at an address that nothing is sent to.
func lookWebhook(t *testing.T, b browser, s *stage) {
	c, err := client.New(client.Options{URL: s.base(), Key: stageAdmin})
	if err == nil {
		_, err = c.PauseQueue(t.Context(), "stack-42", "no events before they are wanted")
	}
	s.rested("stack-42")
	if err == nil {
		_, err = c.AddWebhook(t.Context(), client.NewWebhook{ID: "billing", URL: "https://127.0.0.1/hook?key=hush", Queues: []string{"stack-42"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	p := b.open(t, s.base())
	p.visit("/webhooks")
	p.logIn(stageAdmin)
	p.see("1 endpoint")
	p.see("Nothing gets there: its address is not public")
	p.click("Test billing")
	p.see("REFUSED_ADDRESS")
	p.click("Disable billing")
	p.see("Disabled by a person")
	p.click("Enable billing")
	p.see("Nothing gets there")
	if _, err := c.ResumeQueue(t.Context(), "stack-42"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PauseQueue(t.Context(), "stack-42", "two events"); err != nil {
		t.Fatal(err)
	}
	p.visit("/webhooks/billing")
	p.see("queue stack-42")
	p.unsee("hush")
	p.click("Discard q:stack-42")
	p.see("The endpoint never gets them")
	p.click("Discard")
	p.see("Nothing waits for another try")
	p.click("Webhooks")
	p.click("Add an endpoint")
	p.enter("#field-id", "audit")
	p.enter("#field-url", "https://hooks.example/in?key=hush")
	p.click("Add")
	p.see("The secret of audit")
	p.see("whsec_")
	p.accessible("a secret")
	p.click("I have it")
	p.unsee("whsec_")
	p.see("2 endpoints")
	p.see("Well")
	p.click("audit")
	p.click("Edit audit")
	p.enter("#field-queues", "plan-* shop-1")
	p.enter("#field-states", "DONE")
	p.click("Save")
	p.see("audit is changed")
	edited, err := c.Webhook(t.Context(), "audit")
	if err != nil || len(edited.Queues) != 2 || len(edited.States) != 1 || edited.Types != nil || edited.URL != "https://hooks.example/…" {
		t.Errorf("the endpoint is %+v (%v)", edited, err)
	}
	p.picture("webhook", "wide-light")
	p.click("Edit audit")
	p.enter("#field-states", "!")
	p.click("Save")
	p.see("states must be a list of states")
	p.click("New secret for audit")
	p.click("Make one")
	p.see("The new secret of audit")
	p.click("I have it")
	p.click("Remove audit")
	p.click("Remove")
	p.see("1 endpoint")
	p.healthy()
}

// lookPhone sees a small phone, and has the other colours.
func lookPhone(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.look(360, 740, "dark")
	p.visit("/")
	p.logIn(stageAdmin)
	p.until("document.querySelector('.flow')")
	p.until("document.documentElement.scrollWidth <= 360")
	p.until("getComputedStyle(document.body).backgroundColor === 'rgb(16, 19, 23)'")
	p.click("Switch between light and dark")
	p.until("getComputedStyle(document.body).backgroundColor === 'rgb(245, 246, 248)'")
	p.healthy()
}

// lookKeyboard goes through the pages without a mouse; whatever can be reached
// has a name.
func lookKeyboard(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	p.visit("/")
	p.logIn(stageAdmin)
	p.see("Live")
	press := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			p.do("pressing a key", chromedp.KeyEvent(key))
		}
	}
	p.visit("/") // afresh: nothing has the focus
	p.see("Live")
	press(kb.Tab)
	p.until("document.activeElement.className === 'skip'")
	press(kb.Tab, kb.Tab, kb.Tab, kb.Enter)
	p.until("location.pathname === '/queues' && document.activeElement.id === 'main'")
	p.see("Name begins with")
	press("/")
	p.until("document.activeElement.name === 'search' && (document.activeElement.value = '', true)")
	for _, key := range "stack-3" {
		press(string(key))
	}
	p.until("document.querySelectorAll('tbody tr').length === 10 && document.activeElement.value === 'stack-3'")
	press(kb.Tab, kb.Tab, kb.Tab, kb.Tab)
	p.until("document.activeElement.innerText === 'Pause'") // the link of the first queue is before
	press(kb.Enter)
	p.until("document.querySelector('dialog[open]')")
	press(kb.Escape)
	p.until("!document.querySelector('dialog')")
	for _, path := range []string{"/", "/queues", "/transactions", "/transactions/needle", "/senders", "/fees", "/webhooks"} {
		p.visit(path)
		p.until("document.querySelector('main h1')")
		nameless := told[[]string](p, `[...document.querySelectorAll('a, button, input, select')]
			.filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)`)
		if len(nameless) > 0 {
			t.Errorf("%s has what has no name: %q", path, nameless)
		}
	}
	p.healthy()
}
