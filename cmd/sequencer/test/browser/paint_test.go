package browser

import (
	"flag"
	"fmt"
	"slices"
	"testing"
)

var paints = flag.Int("paints", 0, "how often to measure the first paint of the dashboard over ten thousand queues; prints figures, judges none")

// TestFirstPaint measures how long a person waits for something to be seen, and for the page to be whole,
// where there are ten thousand queues.
func TestFirstPaint(t *testing.T) {
	if *paints == 0 {
		t.Skip("run with -paints 20")
	}
	b, s := startBrowser(t), newStage(t, 2)
	uids := make([]string, 10_000)
	for i := range uids {
		uids[i] = fmt.Sprintf("one-%04d", i)
	}
	s.post(`{}`, func(uid string) string { return "of-" + uid }, uids...)
	for _, page := range []struct{ path, whole string }{
		{"/", "document.querySelector('.flow')"}, {"/queues", "document.querySelectorAll('tbody tr').length >= 50"}, {"/transactions", "document.querySelectorAll('tbody tr').length === 50"},
	} {
		p := b.open(t, s.base())
		p.visit("/")
		p.logIn(stageAdmin)
		p.see("Live")
		var first, whole []float64
		for range *paints {
			p.visit(page.path)
			p.until(page.whole)
			whole = append(whole, told[float64](p, "performance.now()"))
			p.until("performance.getEntriesByName('first-contentful-paint').length")
			first = append(first, told[float64](p, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
		}
		slices.Sort(first)
		slices.Sort(whole)
		t.Logf("%-14s first paint: median %.0f ms, worst %.0f ms; whole within a look each 50 ms: median %.0f ms, worst %.0f ms",
			page.path, first[len(first)/2], first[len(first)-1], whole[len(whole)/2], whole[len(whole)-1])
	}
}
