package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "folder to write pictures of the dashboard to")

// takePictures looks at every page in every size and colour: all of it is there,
// and nothing is wider than the window.
func takePictures(t *testing.T, b browser, s *stage) {
	p := b.open(t, s.base())
	pages := []struct{ name, path, shown string }{
		{"overview", "/", "document.querySelectorAll('.feed li').length > 5"},
		{"queues", "/queues?sort=oldest&search=stack-0", "document.querySelectorAll('tbody tr').length === 10"},
		{"queue", "/queues/stack-00", "document.querySelectorAll('.car').length > 10"},
		{"transactions", "/transactions?queue=stack-01", "document.querySelectorAll('tbody tr').length === 50"},
		{"failed", "/transactions?state=FAILED", "document.querySelectorAll('.groups li').length === 1"},
		{"transaction", "/transactions/needle", "document.querySelector('.timeline .error')"},
		{"senders", "/senders", "document.querySelectorAll('tbody tr').length === 2"},
		{"sender", "/senders/" + s.senders[0], "document.querySelectorAll('tbody tr').length > 3"},
		{"fees", "/fees", "document.querySelectorAll('section.card').length === 4"},
	}
	p.visit("/login")
	p.until("document.querySelector('#key')")
	p.picture("login", "wide-light")
	p.logIn(stageAdmin)
	p.see("Live")
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"wide", 1280, 900}, {"phone", 390, 844}} {
		for _, scheme := range []string{"light", "dark"} {
			if *pictures == "" && (size.name == "wide") == (scheme == "light") {
				continue // each size once, each colour once
			}
			p.look(size.width, size.height, scheme)
			for _, page := range pages {
				p.visit(page.path)
				p.until(page.shown)
				p.until(fmt.Sprint("document.documentElement.scrollWidth <= ", size.width))
				p.picture(page.name, size.name+"-"+scheme)
				p.accessible(page.path + ", " + size.name + ", " + scheme)
			}
		}
	}
	p.healthy()
}

// picture keeps what is to be seen, if it is asked for.
func (p *tab) picture(name, look string) {
	p.Helper()
	if *pictures == "" {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, browserPatience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+"-"+look+".png"), png, 0o644)
	}
	if err != nil {
		p.Fatal(err)
	}
}
