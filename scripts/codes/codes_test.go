package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mina-sequencer/api/codes"
)

const root = "../.."

// TestPage: docs/codes.md is what the table says, and each row says all.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs/codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	if codes.WriteMarkdown(&want); string(page) != want.String() {
		t.Error("docs/codes.md is not what the table says: go run ./scripts/codes >docs/codes.md")
	}
	for _, g := range codes.Groups {
		seen := map[string]bool{}
		for _, c := range g.Codes {
			if c.Meaning == "" || c.Remedy == "" || c.Cause == "" && c.Code != "0" {
				t.Errorf("%s: %s does not say all", g.Title, c.Code)
			}
			for _, one := range c.Names() {
				if seen[one] {
					t.Errorf("%s: %s stands there twice", g.Title, one)
				}
				seen[one] = true
			}
		}
	}
}

// TestComplete holds the table against the constants in the code, both ways.
func TestComplete(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`^Code[A-Z]`).MatchString
	typed := func(want string) func(string, string) bool {
		return func(_, typ string) bool { return typ == want }
	}
	byName := func(is func(string) bool) func(string, string) bool {
		return func(name, _ string) bool { return is(name) }
	}
	api := constants(t, "api", byName(regexp.MustCompile(`^code[A-Z]`).MatchString))
	same(t, "the problems of api", all(codes.Problems), api)
	same(t, "the codes of api/client", all(codes.Problems), constants(t, "api/client", typed("Code")))
	same(t, "the reasons of senders", all(codes.Reasons), constants(t, "sequencer/tx", typed("SenderReason")))
	same(t, "the exit codes", all(codes.Exits), exitCodes(t))

	lifecycle := constants(t, "sequencer/tx", byName(own))
	others := slices.Concat(constants(t, "dispatcher", byName(own)), constants(t, "mina", byName(own)),
		constants(t, "sequencer/fees", byName(own)))
	stored := matches(t, `\bevent\([^\n]*'([A-Z_]+)'(?:, [a-z]+)?\)|\bresumed\('([A-Z_]+)'`, "queues/lua/*.lua", "senders/*.lua")
	stored = append(stored, matches(t, `Code: "([A-Z]+)"`, "sequencer/webhooks/manage.go")...)
	has(t, "an error or an event", slices.Concat(all(codes.Failures), all(codes.Events)), lifecycle)
	has(t, "an error", all(codes.Failures), others)
	has(t, "an event", all(codes.Events), stored)

	known := slices.Concat(lifecycle, others, all(codes.Reasons))
	has(t, "told by an event", slices.Concat(lifecycle, stored), all(codes.Events))
	words := matches(t, `"([A-Z][a-z]+(?:_[a-z]+)+)"`, "mina/*.go", "sequencer/fees/*.go", "sequencer/tx/*.go", "sequencer/lifecycle/*.go")
	for _, code := range all(codes.Failures) {
		if _, err := strconv.Atoi(code); err != nil && !slices.Contains(known, code) && !slices.Contains(words, code) {
			t.Errorf("%s is no error of a transaction any more", code)
		}
	}
}

func all(g codes.Group) (names []string) {
	for _, c := range g.Codes {
		names = append(names, c.Names()...)
	}
	return names
}

func same(t *testing.T, what string, table, code []string) {
	t.Helper()
	has(t, "among "+what, table, code)
	has(t, "in the code: "+what, code, table)
}

// has wants each of some in the list.
func has(t *testing.T, what string, list, some []string) {
	t.Helper()
	if len(some) == 0 {
		t.Fatalf("nothing was found that might be %s", what)
	}
	for _, code := range some {
		if !slices.Contains(list, code) {
			t.Errorf("%s is not %s", code, what)
		}
	}
}

// constants are the texts of a package's constants that are chosen by name and type.
func constants(t *testing.T, dir string, chosen func(name, typ string) bool) []string {
	t.Helper()
	values := map[string]bool{}
	for name, spec := range specs(t, dir) {
		typ, _ := spec.Type.(*ast.Ident)
		for i, v := range spec.Values {
			lit, is := v.(*ast.BasicLit)
			if !is || lit.Kind != token.STRING || spec.Names[i].Name != name || typ == nil && !chosen(name, "") ||
				typ != nil && !chosen(name, typ.Name) {
				continue
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			values[text] = true
		}
	}
	return slices.Sorted(maps.Keys(values))
}

// specs are the constants of a package, by name.
func specs(t *testing.T, dir string) map[string]*ast.ValueSpec {
	t.Helper()
	found := map[string]*ast.ValueSpec{}
	for _, file := range glob(t, filepath.Join(dir, "*.go")) {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if d, is := d.(*ast.GenDecl); is && d.Tok == token.CONST {
				for _, s := range d.Specs {
					for _, name := range s.(*ast.ValueSpec).Names {
						found[name.Name] = s.(*ast.ValueSpec)
					}
				}
			}
		}
	}
	return found
}

// exitCodes are those of the command line, as its help lists them.
func exitCodes(t *testing.T) []string {
	t.Helper()
	help, is := specs(t, "cmd/sequencer/command")["ExitHelp"].Values[0].(*ast.BasicLit)
	if !is {
		t.Fatal("the help of exit codes is no text")
	}
	var codes []string
	for _, m := range regexp.MustCompile(`(?m)^  (\d+)  `).FindAllStringSubmatch(help.Value, -1) {
		codes = append(codes, m[1])
	}
	return codes
}

// matches are what the groups of an expression have found in files that are none of a test.
func matches(t *testing.T, expression string, patterns ...string) (found []string) {
	t.Helper()
	for _, p := range patterns {
		for _, file := range glob(t, p) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(string(text), -1) {
				found = append(found, strings.Join(m[1:], ""))
			}
		}
	}
	return found
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
}
