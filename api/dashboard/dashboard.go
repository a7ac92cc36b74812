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
	return asset{mime.TypeByExtension(path.Ext(name)), `"` + digest(content) + `"`, content}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:12])
}

// New returns the handler of Patterns. It answers GET and HEAD. Explorer is the
// address of a transaction in a block explorer, with {hash} in the place of its
// hash; "" links none.
func New(explorer string) http.Handler {
	assets := map[string]asset{}
	// All modules are asked for at once: a browser finds out only one after the other what they import.
	var head struct {
		Explorer, Assets string
		Modules          []string
	}
	shell := ""
	var all []byte
	err := fs.WalkDir(files, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := files.ReadFile(name)
		if name == "web/index.html" {
			shell = string(content)
			return err
		}
		name = strings.TrimPrefix(name, "web/")
		assets[name] = newAsset(name, content)
		all = append(all, assets[name].tag...)
		if path.Ext(name) == ".js" && path.Base(name) != "theme.js" {
			head.Modules = append(head.Modules, name)
		}
		return err
	})
	var page bytes.Buffer
	// What stands under a name that the content gives need not be asked for twice.
	version := digest(all)
	head.Explorer, head.Assets = explorer, "/assets/"+version
	if err == nil {
		err = template.Must(template.New("shell").Parse(shell)).Execute(&page, head)
	}
	if err != nil {
		panic(err) // embedded at build time
	}
	index := newAsset("index.html", page.Bytes())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, is := strings.CutPrefix(r.URL.Path, "/assets/")
		if !is {
			index.serve(w, r, again)
			return
		}
		// A page of another build, beside this one in an upgrade, gets what there is here.
		from, name, _ := strings.Cut(rest, "/")
		found, known := assets[name]
		switch {
		case !known:
			http.NotFound(w, r)
		case from == version:
			found.serve(w, r, forever)
		default:
			found.serve(w, r, again)
		}
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

// How long a browser keeps something.
const (
	forever = "public, max-age=31536000, immutable"
	again   = "no-cache" // asked for each time, and sent when it has changed
)

func (a asset) serve(w http.ResponseWriter, r *http.Request, keep string) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", keep)
	h.Set("ETag", a.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
}
