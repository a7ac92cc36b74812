package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"mina-sequencer/api/codes"
)

// The reference shows every route, every shape and every field; its links lead
// to what is there, and it loads nothing.
func TestReference(t *testing.T) {
	t.Parallel()
	r := setup(t).serve(httptest.NewRequest("GET", "/docs", nil)).want(200)
	page, d := r.Body.String(), openDocument(t)
	for _, op := range d.operations {
		node, _ := d.at("/paths/" + escape(op.path) + "/" + strings.ToLower(op.method))
		for _, want := range []string{`id="` + node["operationId"].(string) + `"`, op.path, node["summary"].(string)} {
			if !strings.Contains(page, want) {
				t.Errorf("the page says nothing of %s", want)
			}
		}
	}
	shapes, _ := d.at("/components/schemas")
	for name, shape := range shapes {
		if !strings.Contains(page, `id="`+name+`"`) {
			t.Errorf("the page has no %s", name)
		}
		properties, _ := shape.(map[string]any)["properties"].(map[string]any)
		for field := range properties {
			if !strings.Contains(page, "<code>"+field+"</code>") {
				t.Errorf("the page has no %s of %s", field, name)
			}
		}
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if target, ok := strings.CutPrefix(link[1], "#"); ok && !strings.Contains(page, `id="`+target+`"`) || !ok && link[1] != "/openapi.json" {
			t.Errorf("a link leads to %s", link[1])
		}
	}
	if found := regexp.MustCompile(`(?i)<script|src=|url\(|@import|https?://[a-z]|ZgotmplZ`).FindString(strings.ReplaceAll(strings.ReplaceAll(page, "http://10.0.0.7:3101", ""), "https://hooks.example/", "")); found != "" {
		t.Errorf("the page holds %s", found)
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(page)[1]
	sum := sha256.Sum256([]byte(style))
	if policy := r.Header().Get("Content-Security-Policy"); !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("the policy %s does not allow the style, or too much", policy)
	}
}

// What a problem's type leads to is there, for everybody, and says what its code means.
func TestCodesExplained(t *testing.T) {
	t.Parallel()
	s := setup(t, func(o *Options) { o.Keys = NewKeyring([]Key{{"r", Read, "read", nil}}) })
	var refused struct{ Code, Type string }
	answer := s.serve(httptest.NewRequest("GET", base+"/queues", nil)).want(401)
	if err := json.Unmarshal(answer.Body.Bytes(), &refused); err != nil {
		t.Fatal(err)
	}
	path, id, _ := strings.Cut(refused.Type, "#")
	if refused.Code != "UNAUTHORIZED" || path != "/docs/codes" || id != "problem.UNAUTHORIZED" {
		t.Errorf("%s leads to %s", refused.Code, refused.Type)
	}
	r := s.serve(httptest.NewRequest("GET", path, nil)).want(200)
	page := r.Body.String()
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the page has %s twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, g := range codes.Groups {
		for _, c := range g.Codes {
			for _, name := range c.Names() {
				if !ids[g.ID(name)] {
					t.Errorf("the page has no %s", g.ID(name))
				}
			}
		}
	}
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[link[1]] {
			t.Errorf("a link leads to %s", link[1])
		}
	}
	if found := regexp.MustCompile("(?i)<script|src=|url\\(|@import|https?://|ZgotmplZ|`|\\]\\(").FindString(page); found != "" {
		t.Errorf("the page holds %s", found)
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(page)[1]
	sum := sha256.Sum256([]byte(style))
	if policy := r.Header().Get("Content-Security-Policy"); !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
		t.Errorf("the policy %s does not allow the style", policy)
	}
}
