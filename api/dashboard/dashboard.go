// Package dashboard is the pages that an operator looks at: a shell of HTML, and
// scripts that read and change everything through the public HTTP API. It knows
// nothing of the service itself.
//
// The pages load nothing from elsewhere and need no build step: what is in web is
// what a browser gets.
package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed web
var files embed.FS

// Patterns are the paths that the handler answers, in the form of a router that
// knows {name} and *.
var Patterns = []string{
	"/", "/queues", "/queues/{name}", "/transactions", "/transactions/{uid}", "/failed", "/senders", "/senders/{accountId}",
	"/fees", "/webhooks", "/webhooks/{id}", "/login", "/assets/*",
}

// policy lets a page load its own files and talk to its own server, and nothing
// else: no inline script, no frame, no other site.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type asset struct {
	kind, tag string
	content   []byte
}

func newAsset(name string, content []byte) asset {
	sum := sha256.Sum256(content)
	return asset{mime.TypeByExtension(path.Ext(name)), `"` + hex.EncodeToString(sum[:12]) + `"`, content}
}

// New returns the handler of Patterns. It answers GET and HEAD. Explorer is the
// address of a transaction in a block explorer, with {hash} in the place of its
// hash; "" links none.
func New(explorer string) http.Handler {
	assets := map[string]asset{}
	// All modules are asked for at once: a browser finds out only one after the other what they import.
	var head struct {
		Explorer string
		Modules  []string
	}
	shell := ""
	err := fs.WalkDir(files, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if name == "web/index.html" {
			shell = string(content)
			return err
		}
		url := "/assets" + strings.TrimPrefix(name, "web")
		assets[url] = newAsset(name, content)
		if path.Ext(name) == ".js" && path.Base(name) != "theme.js" {
			head.Modules = append(head.Modules, url)
		}
		return err
	})
	var page bytes.Buffer
	head.Explorer = explorer
	if err == nil {
		err = template.Must(template.New("shell").Parse(shell)).Execute(&page, head)
	}
	if err != nil {
		panic(err) // embedded at build time
	}
	index := newAsset("index.html", page.Bytes())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, known := assets[r.URL.Path]
		if !known {
			if strings.HasPrefix(r.URL.Path, "/assets/") {
				http.NotFound(w, r)
				return
			}
			found = index
		}
		found.serve(w, r)
	})
}

// NotFound has pages, what New returns, answer 404 with the page that says that there is none. It is for
// paths that are not in Patterns.
func NotFound(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pages.ServeHTTP(missing{w}, r) })
}

type missing struct{ http.ResponseWriter }

func (m missing) WriteHeader(status int) {
	if status == http.StatusOK {
		status = http.StatusNotFound
	}
	m.ResponseWriter.WriteHeader(status)
}

func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // asked for each time, and sent when it has changed
	h.Set("ETag", a.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
