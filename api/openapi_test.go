package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mina-sequencer/dispatcher"
	"mina-sequencer/sequencer/tx"
)

// openDocument is the document as it is answered.
func openDocument(t *testing.T) *document {
	t.Helper()
	s := setup(t)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.serve(httptest.NewRequest("GET", "/openapi.json", nil)).want(200).Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return readDocument(doc.(map[string]any), false)
}

// Every route is in the document, and everything in the document is a route.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	var described, routes []string
	for _, op := range openDocument(t).operations {
		described = append(described, op.method+" "+op.path)
	}
	router := New(Options{Store: setup(t).store, Metrics: http.NotFoundHandler()}).(chi.Routes)
	if err := chi.Walk(router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		// Pages outside of the base are for people: they need no description.
		if strings.HasPrefix(path, base) || slices.Contains(described, method+" "+path) {
			routes = append(routes, method+" "+path)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(described)
	slices.Sort(routes)
	if diff := cmp.Diff(routes, described); diff != "" {
		t.Errorf("routes (-) and document (+):%s", diff)
	}
}

// Every example is one of what it stands at.
func TestExamples(t *testing.T) {
	t.Parallel()
	d, n := openDocument(t), 0
	d.walk("", d.root, func(pointer string, node map[string]any) {
		list, _ := node["examples"].([]any)
		schema := pointer
		if example, ok := node["example"]; ok && node["in"] != nil {
			list, schema = []any{example}, pointer+"/schema"
		}
		for _, example := range list {
			n++
			if err := d.compile(schema).Validate(example); err != nil {
				t.Errorf("an example of %s: %v", pointer, err)
			}
		}
	})
	if n < 20 {
		t.Errorf("only %d examples were found", n)
	}
}

// walk visits every object of the document.
func (d *document) walk(pointer string, v any, visit func(string, map[string]any)) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			d.walk(fmt.Sprint(pointer, "/", i), e, visit)
		}
	case map[string]any:
		visit(pointer, v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name != "examples" && name != "example" && name != "const" {
				d.walk(pointer+"/"+escape(name), v[name], visit)
			}
		}
	}
}

// What is described is used, and what is used is described in words.
func TestDocumentIsTidy(t *testing.T) {
	t.Parallel()
	d := openDocument(t)
	used := map[string]bool{}
	d.walk("", d.root, func(pointer string, node map[string]any) {
		if ref, ok := node["$ref"].(string); ok {
			d.at(strings.TrimPrefix(ref, "#")) // panics if there is none
			used[ref] = true
		}
	})
	for kind, list := range d.root["components"].(map[string]any) {
		for name := range list.(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; kind != "securitySchemes" && !used[ref] {
				t.Errorf("nothing uses %s", ref)
			}
		}
	}
	ids := map[string]bool{}
	for _, op := range d.operations {
		node, _ := d.at("/paths/" + escape(op.path) + "/" + strings.ToLower(op.method))
		id, _ := node["operationId"].(string)
		if id == "" || ids[id] || node["summary"] == nil || node["tags"] == nil {
			t.Errorf("%s %s has no summary, no tag, or no operationId of its own", op.method, op.path)
		}
		ids[id] = true
	}
}

// What programs switch on is listed in full.
func TestWordsAreListed(t *testing.T) {
	t.Parallel()
	d := openDocument(t)
	source := func(file, pattern string) (words []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			words = append(words, string(match[1]))
		}
		return words
	}
	var states []string
	for _, s := range tx.States {
		states = append(states, string(s))
	}
	var outcomes []string
	for _, s := range tx.AttemptStates {
		if o := string(s.Outcome()); !slices.Contains(outcomes, o) {
			outcomes = append(outcomes, o)
		}
	}
	for pointer, want := range map[string][]string{
		"Problem/properties/code": source("problem.go", `\tcode\w+ += "([A-Z_]+)"`),
		"State":                   states,
		"QueueState":              source("../sequencer/tx/phase.go", `\tQueue\w+ +QueueState = "([A-Z_]+)"`),
		"Outcome":                 outcomes,
		"Explanation/properties/waitingFor/properties/code": source("../sequencer/explain/explanation.go", `\tWait\w+ +WaitCode = "([A-Z_]+)"`),
		"Explanation/properties/next/properties/action":     source("../sequencer/explain/explanation.go", `\tStep\w+ += "([A-Z_]+)"`),
		"Sender/properties/reason":                          source("../sequencer/tx/sender.go", `\t\w+ +SenderReason = "([A-Z_]+)"`),
	} {
		node, _ := d.at("/components/schemas/" + pointer)
		var listed []string
		for _, word := range node["enum"].([]any) {
			if word != nil {
				listed = append(listed, word.(string))
			}
		}
		slices.Sort(listed)
		slices.Sort(want)
		if diff := cmp.Diff(want, listed); diff != "" || len(want) < 4 {
			t.Errorf("%s: %s", pointer, diff)
		}
	}
}

// The document and the service agree on which payloads are good: for each type
// its example, and the example with one thing in it changed.
func TestPayloadsAreDescribed(t *testing.T) {
	t.Parallel()
	d, checked := openDocument(t), 0
	rules := dispatcher.NewRules(func(key string) error {
		if !regexp.MustCompile(`^B62[1-9A-HJ-NP-Za-km-z]{52}$`).MatchString(key) {
			return fmt.Errorf("no key")
		}
		return nil
	})
	for _, kind := range dispatcher.VotingTypes(nil, rules) {
		words := strings.Split(strings.ToLower(kind.Type()), "_")
		for i, w := range words {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
		name := strings.Join(words, "")
		node, _ := d.at("/components/schemas/New" + name)
		names := []any{kind.Type()}
		for _, other := range kind.(dispatcher.Renamed).PostedAs() {
			names = append(names, other)
		}
		described := node["properties"].(map[string]any)["type"].(map[string]any)
		if got, ok := described["enum"].([]any); !ok && described["const"] != names[0] || ok && !slices.Equal(got, names) {
			t.Errorf("New%s is of type %v", name, described)
		}
		schema := d.compile("/components/schemas/" + name)
		var examples []any
		for _, e := range node["examples"].([]any) {
			examples = append(examples, mutants(e.(map[string]any)["data"])...)
		}
		for _, data := range examples {
			doc, err := json.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			described, bad := schema.Validate(data), kind.Check(doc)
			if (described == nil) != (len(bad) == 0) {
				t.Errorf("%s %s: the document says %v, the service %v", kind.Type(), doc, described, bad)
			}
			checked++
		}
	}
	if checked < 200 {
		t.Errorf("only %d payloads were compared", checked)
	}
}

// mutants returns v, and v with one value in it replaced or left out.
func mutants(v any) []any {
	out := []any{v}
	object, ok := v.(map[string]any)
	if !ok {
		return append(out, nil, "", "x", " ", true, json.Number("0"), json.Number("1"), json.Number("-1"), json.Number("2"), json.Number("0.5"),
			json.Number("123456789012345678901234567890"), "1", "+1", "-1", "2", strings.Repeat("é", 64), strings.Repeat("é", 65),
			strings.Repeat("F", 32), strings.Repeat("g", 32), "B62", []any{}, map[string]any{})
	}
	with := func(name string, value any) map[string]any {
		changed := maps.Clone(object)
		changed[name] = value
		return changed
	}
	for name, value := range object {
		for _, m := range mutants(value) {
			// One is bounded by the other, which no schema can say.
			if n, ok := m.(json.Number); ok && name == "requiredPositives" && len(n) > 1 && n[0] != '-' {
				continue
			}
			out = append(out, with(name, m))
		}
		less := maps.Clone(object)
		delete(less, name)
		out = append(out, less)
	}
	return append(out, with("more", "x"), []any{}, "x")
}
