// Codes writes docs/codes.md, the table of all codes that the service and its commands tell, from
// table.go. A test holds that against the code and the page against it.
//
//	go run ./scripts/codes >docs/codes.md
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// A group is one kind of code, and a section of the page.
type group struct {
	title, intro string
	codes        []code
}

// A code is one row. status is the HTTP status, for problems alone. What speaks of files links as
// a page in docs does.
type code struct{ code, status, meaning, cause, remedy string }

func main() { write(os.Stdout) }

func write(w io.Writer) {
	fmt.Fprint(w, `# Codes

<!-- written by go run ./scripts/codes >docs/codes.md -->

Every code that the service and its commands tell: what it means, what has led to it, what to do. Programs switch on codes, which never change; words may. New ones come: treat one that you do not know by what is beside it. What a transaction waits for (`+"`explain`"+`), what `+"`doctor`"+` and `+"`audit`"+` find: [reference.md](reference.md#what-a-transaction-waits-for). Words: [glossary.md](glossary.md).
`)
	for _, g := range groups {
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n", g.title, g.intro)
		statuses := slices.ContainsFunc(g.codes, func(c code) bool { return c.status != "" })
		cells := func(c code) []string {
			if statuses {
				return []string{c.code, c.status, c.meaning, c.cause, c.remedy}
			}
			return []string{c.code, c.meaning, c.cause, c.remedy}
		}
		head := cells(code{"code", "status", "meaning", "cause", "remedy"})
		fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, c := range g.codes {
			c.code = "`" + strings.ReplaceAll(c.code, ", ", "`, `") + "`"
			fmt.Fprintf(w, "| %s |\n", strings.Join(cells(c), " | "))
		}
	}
}
