package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"

	"mina-sequencer/api/codes"
	"mina-sequencer/dispatcher"
)

var (
	//go:embed reference.html
	referenceText string
	//go:embed reference.css
	referenceStyle string
)

// reference shows the document to people: one page, made of nothing else.
func (a *api) reference(w http.ResponseWriter, _ *http.Request) error {
	return plainPage(w, referencePage(), referenceStyle)
}

// explained shows what each code means. It is for whoever has met one, with a key or without.
func (a *api) explained(w http.ResponseWriter, _ *http.Request) error {
	return plainPage(w, codes.Page(), codes.Style)
}

// plainPage answers with a page that has a style and loads nothing.
func plainPage(w http.ResponseWriter, page []byte, style string) error {
	sum := sha256.Sum256([]byte(style))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // nobody is left to tell
	return nil
}

// referencePage is made once: the document does not change.
var referencePage = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	t := template.Must(template.New("reference").Parse(referenceText))
	if err := t.Execute(&b, newReference(Document())); err != nil {
		panic(err) // of a document embedded at build time, and tested
	}
	return b.Bytes()
})

// What the page is made of, in the order of the document.
type (
	reference struct {
		Title, Version, Summary string
		Text                    []string // paragraphs
		Key                     string   // what keys are
		Style                   template.CSS
		Groups                  []referenceGroup
		Shapes                  []referenceShape
	}
	referenceGroup struct {
		Name, Text string
		Routes     []referenceRoute
	}
	referenceRoute struct {
		ID, Method, Path, Summary, Text, Scope string
		Params                                 []referenceField
		Body, Answers                          []referenceContent
	}
	referenceContent struct {
		Name, Text string
		Kind       template.HTML
		Example    string
	}
	referenceField struct {
		Name, Place, Text string
		Required          bool
		Kind              template.HTML
	}
	referenceShape struct {
		Name, Text, Example string
		Kind                template.HTML
		Fields              []referenceField
	}
)

// A node is a part of the document, as written.
type node []byte

func (n node) get(path ...string) node {
	for _, name := range path {
		next := node(nil)
		if len(n) > 0 && n[0] == '{' {
			for key, value := range dispatcher.Members(n) {
				if key == name {
					next = value
				}
			}
		}
		n = next
	}
	return n
}

func (n node) text(path ...string) string {
	s, _ := dispatcher.Unquote(n.get(path...))
	return s
}

// each visits the members of an object.
func (n node) each(visit func(name string, value node)) {
	if len(n) == 0 || n[0] != '{' {
		return
	}
	for name, value := range dispatcher.Members(n) {
		visit(name, value)
	}
}

func (n node) list() (items []node) {
	if len(n) > 0 && n[0] == '[' {
		for item := range dispatcher.Elements(n) {
			items = append(items, item)
		}
	}
	return items
}

// follow returns what a reference inside of the document points at.
func (n node) follow(doc node) node {
	if ref := n.text("$ref"); ref != "" {
		return doc.get(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return n
}

// pretty is an example as people read it.
func (n node) pretty() string {
	if s, ok := dispatcher.Unquote(n); ok {
		return s
	}
	var b bytes.Buffer
	if json.Indent(&b, n, "", "  ") != nil {
		return ""
	}
	return b.String()
}

func newReference(doc node) reference {
	r := reference{
		Title: doc.text("info", "title"), Version: doc.text("info", "version"), Summary: doc.text("info", "summary"),
		Text: strings.Split(doc.text("info", "description"), "\n\n"), Key: doc.text("components", "securitySchemes", "key", "description"),
		Style: template.CSS(referenceStyle), //nolint:gosec // our own file
	}
	for _, tag := range doc.get("tags").list() {
		r.Groups = append(r.Groups, referenceGroup{Name: tag.text("name"), Text: tag.text("description")})
	}
	doc.get("paths").each(func(path string, item node) {
		item.each(func(method string, op node) {
			if method == "parameters" {
				return
			}
			tags := op.get("tags").list()
			i := slices.IndexFunc(r.Groups, func(g referenceGroup) bool { return len(tags) > 0 && tags[0].pretty() == g.Name })
			if i >= 0 {
				r.Groups[i].Routes = append(r.Groups[i].Routes, newRoute(doc, path, method, item, op))
			}
		})
	})
	doc.get("components", "schemas").each(func(name string, schema node) {
		shape := referenceShape{Name: name, Text: schema.text("description"), Kind: schema.kind(), Fields: schema.fields("", nil)}
		if examples := schema.get("examples").list(); len(examples) > 0 {
			shape.Example = examples[0].pretty()
		}
		r.Shapes = append(r.Shapes, shape)
	})
	slices.SortStableFunc(r.Shapes, func(a, b referenceShape) int { return strings.Compare(a.Name, b.Name) })
	return r
}

func newRoute(doc node, path, method string, item, op node) referenceRoute {
	route := referenceRoute{
		ID: op.text("operationId"), Method: strings.ToUpper(method), Path: path, Summary: op.text("summary"), Text: op.text("description"), Scope: "none",
	}
	for _, need := range op.get("security").list() {
		for _, scope := range need.get("key").list() {
			route.Scope = scope.pretty()
		}
	}
	for _, p := range slices.Concat(item.get("parameters").list(), op.get("parameters").list()) {
		p = p.follow(doc)
		route.Params = append(route.Params, referenceField{
			Name: p.text("name"), Place: p.text("in"), Text: p.text("description"), Required: string(p.get("required")) == "true", Kind: p.get("schema").kind(),
		})
	}
	route.Body = contents("", "", op.get("requestBody", "content"))
	op.get("responses").each(func(status string, answer node) {
		answer = answer.follow(doc)
		route.Answers = append(route.Answers, contents(status, answer.text("description"), answer.get("content"))...)
	})
	return route
}

// contents tells each kind of content, or only the text where there is none.
func contents(name, text string, content node) (out []referenceContent) {
	content.each(func(media string, value node) {
		c := referenceContent{Name: strings.TrimSpace(name + " " + media), Text: text, Kind: value.get("schema").kind()}
		if example := value.get("example"); example != nil {
			c.Example = example.pretty()
		}
		out = append(out, c)
	})
	if name != "" && len(out) == 0 {
		out = append(out, referenceContent{Name: name, Text: text})
	}
	return out
}

// fields lists the properties of a schema, those of objects within it too.
func (n node) fields(prefix string, out []referenceField) []referenceField {
	var required []string
	for _, name := range n.get("required").list() {
		required = append(required, name.pretty())
	}
	n.get("properties").each(func(name string, schema node) {
		out = append(out, referenceField{
			Name: prefix + name, Text: schema.text("description"), Required: slices.Contains(required, name), Kind: schema.kind(),
		})
		out = schema.fields(prefix+name+".", out)
		out = schema.get("items").fields(prefix+name+"[].", out)
	})
	return out
}

// kind says in words, with links, what a schema takes.
func (n node) kind() template.HTML {
	code := func(s string) string { return "<code>" + template.HTMLEscapeString(s) + "</code>" }
	join := func(items []node, word string) string {
		var kinds []string
		for _, item := range items {
			kinds = append(kinds, string(item.kind()))
		}
		return strings.Join(kinds, word)
	}
	var words []string
	if ref := n.text("$ref"); ref != "" {
		name := template.HTMLEscapeString(ref[strings.LastIndexByte(ref, '/')+1:])
		words = append(words, `<a href="#`+name+`">`+name+`</a>`)
	}
	if c := n.get("const"); c != nil {
		words = append(words, code(c.pretty()))
	}
	for i, v := range n.get("enum").list() {
		words = append(words, map[bool]string{true: "or "}[i > 0]+code(string(v)))
	}
	if t := n.get("type"); t != nil {
		if items := n.get("items"); items != nil {
			words = append(words, "list of "+string(items.kind()))
		} else if types := t.list(); types != nil {
			words = append(words, strings.NewReplacer(`"`, "").Replace(string(bytes.Join(asBytes(types), []byte(" or ")))))
		} else {
			words = append(words, t.pretty())
		}
	}
	if one := n.get("oneOf").list(); one != nil {
		words = append(words, join(one, " or "))
	}
	if content := n.get("contentSchema"); content != nil {
		words = append(words, "of "+string(content.kind()))
	}
	if pattern := n.text("pattern"); pattern != "" {
		words = append(words, "as "+code(pattern))
	}
	for _, bound := range []struct{ name, word string }{
		{"minimum", "at least"}, {"maximum", "at most"}, {"minLength", "of at least"}, {"maxLength", "of at most"}, {"maxItems", "of at most"}, {"default", "default"},
	} {
		if v := n.get(bound.name); v != nil {
			words = append(words, bound.word+" "+template.HTMLEscapeString(v.pretty()))
		}
	}
	if len(words) == 0 {
		return "anything"
	}
	return template.HTML(strings.Join(words, " ")) //nolint:gosec // escaped above
}

func asBytes(nodes []node) (out [][]byte) {
	for _, n := range nodes {
		out = append(out, n)
	}
	return out
}
