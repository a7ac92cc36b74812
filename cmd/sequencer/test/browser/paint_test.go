package browser

import (
	"fmt"
	"slices"
	"testing"
)

// BenchmarkFirstPaint is how long a person waits until something is to be seen (first-ms), and until the page
// is whole (whole-ms, to a twentieth of a second), where there are ten thousand queues: medians, and the worst
// first paint. Run it with -benchtime 20x, and two builds in turns.
func BenchmarkFirstPaint(b *testing.B) {
	browser, s := startBrowser(b), newStage(b, 2)
	uids := make([]string, 10_000)
	for i := range uids {
		uids[i] = fmt.Sprintf("one-%04d", i)
	}
	s.post(`{}`, func(uid string) string { return "of-" + uid }, uids...)
	for _, page := range []struct{ name, path, whole string }{
		{"overview", "/", "document.querySelector('.flow')"},
		{"queues", "/queues", "document.querySelectorAll('tbody tr').length >= 50"},
		{"transactions", "/transactions", "document.querySelectorAll('tbody tr').length === 50"},
	} {
		b.Run(page.name, func(b *testing.B) {
			p := browser.open(b, s.base())
			p.visit("/")
			p.logIn(stageAdmin)
			p.see("Live")
			var first, whole []float64
			for b.Loop() {
				p.visit(page.path)
				p.until(page.whole)
				whole = append(whole, told[float64](p, "performance.now()"))
				p.until("performance.getEntriesByName('first-contentful-paint').length")
				first = append(first, told[float64](p, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
			}
			slices.Sort(first)
			slices.Sort(whole)
			b.ReportMetric(first[len(first)/2], "first-ms")
			b.ReportMetric(first[len(first)-1], "worst-ms")
			b.ReportMetric(whole[len(whole)/2], "whole-ms")
		})
	}
}
