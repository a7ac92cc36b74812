package dashboard

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// The pages load nothing but themselves, whatever is configured.
func TestPages(t *testing.T) {
	t.Parallel()
	h := New(`https://explorer.example/"><script>/{hash}`)
	for _, path := range []string{"/", "/queues", "/queues/a.b", "/transactions", "/transactions/a:b", "/senders", "/fees", "/webhooks", "/webhooks/a", "/login"} {
		r := get(h, path)
		if body := r.Body.String(); r.Code != 200 || !strings.Contains(body, `<main id="main"`) || strings.Contains(body, `"><script>/{hash}`) {
			t.Errorf("%s answered %d %s", path, r.Code, r.Body)
		}
		policy := r.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || r.Header().Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if again := get(h, path, "If-None-Match", r.Header().Get("ETag")); again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%s again answered %d", path, again.Code)
		}
	}
	for _, path := range []string{"/assets/", "/assets/app.js", "/assets/a/none.js", "/assets/a/index.html", "/assets/a/pages"} {
		if r := get(h, path); r.Code != 404 {
			t.Errorf("%s answered %d", path, r.Code)
		}
	}
}

// What belongs to a page is asked for once: its name is of its content. A page of another build gets what
// there is, and does not keep it.
func TestKept(t *testing.T) {
	t.Parallel()
	h := New("")
	page := get(h, "/")
	if keep := page.Header().Get("Cache-Control"); keep != "no-cache" {
		t.Errorf("a page is kept: %s", keep)
	}
	named := regexp.MustCompile(`(?:src|href)="(/assets/[^"]*)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(named) < 20 {
		t.Errorf("the page names %d files", len(named))
	}
	for _, m := range named {
		r := get(h, m[1])
		if keep := r.Header().Get("Cache-Control"); r.Code != 200 || !strings.Contains(keep, "immutable") {
			t.Errorf("%s answers %d, kept: %s", m[1], r.Code, keep)
		}
		other := regexp.MustCompile(`^/assets/[^/]+/`).ReplaceAllString(m[1], "/assets/another/")
		if r := get(h, other); r.Code != 200 || r.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s answers %d, kept: %s", other, r.Code, r.Header().Get("Cache-Control"))
		}
	}
}

var (
	imported = regexp.MustCompile(`(?m)^import .* from '([^']+)';$`)
	foreign  = regexp.MustCompile(`https?://[a-z0-9.]+`)
	inline   = regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setAttribute\('on`)
)

// Every module finds what it imports, names no other site, and makes no markup
// from text.
func TestAssets(t *testing.T) {
	t.Parallel()
	h, modules := New(""), 0
	err := fs.WalkDir(files, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(name) == "index.html" {
			return err
		}
		url := "/assets/a" + strings.TrimPrefix(name, "web")
		r := get(h, url)
		kind := map[string]string{".js": "javascript", ".css": "css", ".svg": "svg"}[path.Ext(name)]
		if r.Code != 200 || kind == "" || !strings.Contains(r.Header().Get("Content-Type"), kind) {
			t.Errorf("%s answered %d as %s", url, r.Code, r.Header().Get("Content-Type"))
		}
		text := r.Body.String()
		for _, site := range foreign.FindAllString(text, -1) {
			if site != "http://www.w3.org" { // a name, of which nothing is loaded
				t.Errorf("%s names %s", url, site)
			}
		}
		if path.Ext(name) != ".js" {
			return nil
		}
		modules++
		if found := inline.FindString(text); found != "" {
			t.Errorf("%s uses %s", url, found)
		}
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			if target := path.Join(path.Dir(url), m[1]); get(h, target).Code != 200 {
				t.Errorf("%s imports %s, which is not there", url, m[1])
			}
		}
		return nil
	})
	if err != nil || modules < 10 {
		t.Errorf("%d modules, %v", modules, err)
	}
}
