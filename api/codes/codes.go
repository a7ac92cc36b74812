// Package codes is the table of all codes that the service and its commands tell, and the page that
// shows it: docs/codes.md, and what the service answers at Path. A test in scripts/codes holds it
// against the code.
package codes

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Group is one kind of code, and a section of the page.
type Group struct {
	Kind, Title, Intro string
	Codes              []Code
}

// A Code is one row, of one code or of several ("A, B"). Status is the HTTP status, for problems alone.
// What speaks of files links as a page in docs does.
type Code struct{ Code, Status, Meaning, Cause, Remedy string }

// Names are the codes of a row.
func (c Code) Names() []string { return strings.Split(c.Code, ", ") }

// Path is where the service shows the page.
const Path = "/docs/codes"

// Entry is the address of what the page says of a code, below that of the service.
func (g Group) Entry(code string) string { return Path + "#" + g.ID(code) }

// ID is what that is called in the page.
func (g Group) ID(code string) string { return g.Kind + "." + code }

// cells are those of a row of a group's table.
func (g Group) cells(c Code) []string {
	if slices.ContainsFunc(g.Codes, func(c Code) bool { return c.Status != "" }) {
		return []string{c.Code, c.Status, c.Meaning, c.Cause, c.Remedy}
	}
	return []string{c.Code, c.Meaning, c.Cause, c.Remedy}
}

// WriteMarkdown writes docs/codes.md.
func WriteMarkdown(w io.Writer) {
	fmt.Fprint(w, "# Codes\n\n<!-- written by go run ./scripts/codes >docs/codes.md -->\n\n"+intro+"\n")
	for _, g := range Groups {
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n", g.Title, g.Intro)
		head := g.cells(Code{"code", "status", "meaning", "cause", "remedy"})
		fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, c := range g.Codes {
			c.Code = "`" + strings.Join(c.Names(), "`, `") + "`"
			fmt.Fprintf(w, "| %s |\n", strings.Join(g.cells(c), " | "))
		}
	}
}

const intro = "Every code that the service and its commands tell: what it means, what has led to it, what to do. " +
	"Programs switch on codes, which never change; words may. New ones come: treat one that you do not know by what is " +
	"beside it. The service shows this page, too, at `" + Path + "`, and `type` of a problem leads to its code there. " +
	"What a transaction waits for (`explain`), what `doctor` and `audit` find: " +
	"[reference.md](reference.md#what-a-transaction-waits-for). Words: [glossary.md](glossary.md)."

//go:embed page.html
var pageText string

// Page is the page that the service answers with, in HTML. It loads nothing.
var Page = sync.OnceValue(func() []byte {
	t := template.Must(template.New("codes").Funcs(template.FuncMap{"prose": prose}).Parse(pageText))
	var b bytes.Buffer
	err := t.Execute(&b, struct {
		Style  template.CSS
		Intro  string
		Groups []Group
	}{template.CSS(Style), intro, Groups}) //nolint:gosec // our own file
	if err != nil {
		panic(err) // of a table made at build time, and tested
	}
	return b.Bytes()
})

// Style is what the page's policy has to allow.
//
//go:embed page.css
var Style string

var (
	link = regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\)`)
	word = regexp.MustCompile("`([^`]+)`")
	mild = regexp.MustCompile(`\*([^*]+)\*`)
)

// prose shows the little of Markdown that the table has. Pages of docs are not there to be linked to:
// they are named.
func prose(text string) template.HTML {
	text = html.EscapeString(text)
	text = link.ReplaceAllString(text, "$1 (docs/$2)")
	text = word.ReplaceAllString(text, "<code>$1</code>")
	return template.HTML(mild.ReplaceAllString(text, "<em>$1</em>")) //nolint:gosec // our own table, escaped
}
