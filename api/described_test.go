package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described has every request to h, and every answer, held against the
// document: what is answered must be as it says, and so must what is accepted.
func describedAs(t testing.TB, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{ResponseWriter: w, t: t, doc: theDocument(), r: r, path: r.URL.EscapedPath()}
		body := r.Body
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(body, &x.sent), body}
		defer func() {
			if failure := recover(); failure != nil {
				panic(failure) // an answer that is broken off is none
			}
			x.check()
		}()
		h.ServeHTTP(x, r)
	})
}

// An exchange is one request and its answer.
type exchange struct {
	http.ResponseWriter
	t            testing.TB
	doc          *document
	r            *http.Request
	path         string
	sent, answer bytes.Buffer
	status       int
}

func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if x.Header().Get("Content-Type") == "text/event-stream" {
		x.events(b)
	} else {
		_, _ = x.answer.Write(b)
	}
	return x.ResponseWriter.Write(b)
}

func (x *exchange) wrong(format string, args ...any) {
	x.t.Errorf("%s %s answered %d, which the document does not: %s", x.r.Method, x.path, x.status, fmt.Sprintf(format, args...))
}

func (x *exchange) check() {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	op, params := x.doc.find(x.r.Method, x.path)
	if x.r.Method == http.MethodOptions && x.status == http.StatusNoContent {
		return // a browser asks what it may ask
	}
	if op == nil {
		if !slices.Contains([]int{403, 404, 405}, x.status) {
			x.wrong("there is no such route")
		}
		x.fits(x.doc.problem, x.answer.Bytes())
		return
	}
	answer, ok := op.answers[fmt.Sprint(x.status)]
	if !ok {
		x.wrong("the status is not among %v", slices.Sorted(maps.Keys(op.answers)))
		return
	}
	for name, schema := range answer.headers {
		if value := x.Header().Get(name); value == "" || schema.Validate(typed(schema, value)) != nil {
			x.wrong("header %s is %q", name, value)
		}
	}
	media, _, _ := mime.ParseMediaType(x.Header().Get("Content-Type"))
	schema, ok := answer.content[media]
	switch {
	case len(answer.content) == 0 && x.answer.Len() == 0:
	case !ok:
		x.wrong("content type %q", media)
	case media == lines:
		for line := range bytes.Lines(x.answer.Bytes()) {
			x.fits(schema, line)
		}
	case strings.HasSuffix(media, "json"):
		x.fits(schema, x.answer.Bytes())
	}
	if x.status < 300 {
		x.accepted(op, params)
	}
}

// accepted holds what was accepted against what may be.
func (x *exchange) accepted(op *operation, path map[string]string) {
	query := x.r.URL.Query()
	for _, p := range op.params {
		value, given := path[p.name], true
		switch p.in {
		case "query":
			given = query.Has(p.name) && (query.Get(p.name) != "" || !p.empty)
			value = query.Get(p.name)
			query.Del(p.name)
		case "header":
			given = len(x.r.Header.Values(p.name)) > 0
			value = x.r.Header.Get(p.name)
		}
		if given && p.schema.Validate(typed(p.schema, value)) != nil {
			x.wrong("%s %s is %q", p.in, p.name, value)
		}
	}
	if len(query) > 0 {
		x.wrong("parameters %v", query)
	}
	if op.path == base+"/transactions/batch" {
		x.acceptedItems(op.body["application/x-ndjson"])
		return
	}
	media, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if media == "" {
		media = "application/json"
	}
	body := bytes.TrimSpace(x.sent.Bytes())
	if schema, ok := op.body[media]; ok && (op.bodyRequired || len(body) > 0) {
		x.fits(schema, body)
	} else if !ok && len(body) > 0 {
		x.wrong("a body of type %q", media)
	}
}

// acceptedItems checks those items of a batch that became transactions.
func (x *exchange) acceptedItems(schema *jsonschema.Schema) {
	var items []json.RawMessage
	if json.Unmarshal(x.sent.Bytes(), &items) != nil || x.r.Header.Get("Content-Type") == lines {
		items = nil
		for line := range bytes.Lines(x.sent.Bytes()) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				items = append(items, line)
			}
		}
	}
	for line := range bytes.Lines(x.answer.Bytes()) {
		var result struct{ Index, Status int }
		if err := json.Unmarshal(line, &result); err == nil && result.Status < 300 {
			x.fits(schema, items[result.Index])
		}
	}
}

func (x *exchange) fits(schema *jsonschema.Schema, doc []byte) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		x.wrong("%.500s: %v", doc, err)
	}
}

// events checks the data of each event, once for all who get it.
func (x *exchange) events(b []byte) {
	for line := range bytes.Lines(b) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		if _, seen := x.doc.seen.LoadOrStore(string(data), true); !seen {
			x.fits(x.doc.event, data)
		}
	}
}

// typed is a parameter as its schema means it.
func typed(schema *jsonschema.Schema, text string) any {
	for schema.Ref != nil {
		schema = schema.Ref
	}
	if schema.Types != nil && slices.Contains(schema.Types.ToStrings(), "integer") {
		return json.Number(text)
	}
	return text
}

// A document is what the service says of itself, ready to hold things against.
type document struct {
	root           map[string]any
	compiler       *jsonschema.Compiler
	operations     []*operation
	problem, event *jsonschema.Schema
	seen           sync.Map
}

type operation struct {
	method, path, scope string
	segments            []string
	params              []param
	body                map[string]*jsonschema.Schema
	bodyRequired        bool
	answers             map[string]answered
}

type param struct {
	name, in string
	empty    bool
	schema   *jsonschema.Schema
}

type answered struct {
	headers, content map[string]*jsonschema.Schema
}

// theDocument takes nothing that the document does not name, and any B62… as an
// account, which is what the tests use.
var theDocument = sync.OnceValue(func() *document {
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(Document()))
	if err != nil {
		panic(err)
	}
	d := readDocument(root.(map[string]any), true)
	d.problem, d.event = d.compile("/components/schemas/Problem"), d.compile("/components/schemas/Event")
	return d
})

// readDocument compiles a document; strict ones take no field they do not name,
// and any B62… as an account.
func readDocument(root map[string]any, strict bool) *document {
	if strict {
		closeObjects(root)
		root["components"].(map[string]any)["schemas"].(map[string]any)["AccountId"] = map[string]any{"type": "string", "pattern": "^B62"}
	}
	d := &document{root: root, compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", root); err != nil {
		panic(err)
	}
	for path, item := range root["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				d.operations = append(d.operations, d.operation(method, path))
			}
		}
	}
	return d
}

func closeObjects(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			closeObjects(e)
		}
	case map[string]any:
		_, object := v["properties"].(map[string]any)
		if _, said := v["additionalProperties"]; object && !said && v["type"] != nil {
			v["additionalProperties"] = false
		}
		for _, e := range v {
			closeObjects(e)
		}
	}
}

func escape(segment string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(segment)
}

// at returns what stands at a pointer, and the pointer behind all references.
func (d *document) at(pointer string) (node map[string]any, where string) {
	node = d.root
	for _, segment := range strings.Split(pointer, "/")[1:] {
		segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
		switch next := node[segment].(type) {
		case map[string]any:
			node = next
		default:
			panic(errors.New("nothing stands at " + pointer))
		}
	}
	if ref, ok := node["$ref"].(string); ok && !strings.Contains(ref, "/schemas/") {
		return d.at(strings.TrimPrefix(ref, "#"))
	}
	return node, pointer
}

func (d *document) compile(pointer string) *jsonschema.Schema {
	return d.compiler.MustCompile("openapi.json#" + (&url.URL{Path: pointer}).EscapedPath())
}

func (d *document) operation(method, path string) *operation {
	pointer := "/paths/" + escape(path) + "/" + method
	node, _ := d.at(pointer)
	op := &operation{method: strings.ToUpper(method), path: path, segments: strings.Split(path, "/"), answers: map[string]answered{}}
	for _, need := range node["security"].([]any) {
		op.scope = need.(map[string]any)["key"].([]any)[0].(string)
	}
	for _, list := range []string{"/paths/" + escape(path), pointer} {
		holder, _ := d.at(list)
		params, _ := holder["parameters"].([]any)
		for i, p := range params {
			// The library finds a schema in a list by its number.
			where, node := fmt.Sprintf("%s/parameters/%d", list, i), p.(map[string]any)
			if ref, ok := node["$ref"].(string); ok {
				node, where = d.at(strings.TrimPrefix(ref, "#"))
			}
			empty, _ := node["allowEmptyValue"].(bool)
			op.params = append(op.params, param{node["name"].(string), node["in"].(string), empty, d.compile(where + "/schema")})
		}
	}
	if body, ok := node["requestBody"].(map[string]any); ok {
		op.bodyRequired, _ = body["required"].(bool)
		op.body = d.content(body, pointer+"/requestBody")
	}
	for status := range node["responses"].(map[string]any) {
		answer, where := d.at(pointer + "/responses/" + status)
		a := answered{map[string]*jsonschema.Schema{}, d.content(answer, where)}
		headers, _ := answer["headers"].(map[string]any)
		for name := range headers {
			header, at := d.at(where + "/headers/" + name)
			if header["required"] == true {
				a.headers[name] = d.compile(at + "/schema")
			}
		}
		op.answers[status] = a
	}
	return op
}

// content returns the schema of each media type; that of a line or an event
// where the content is text made of these.
func (d *document) content(node map[string]any, where string) map[string]*jsonschema.Schema {
	content, _ := node["content"].(map[string]any)
	out := map[string]*jsonschema.Schema{}
	for media, v := range content {
		pointer := where + "/content/" + escape(media) + "/schema"
		if schema := v.(map[string]any)["schema"].(map[string]any); schema["contentSchema"] != nil {
			pointer += "/contentSchema"
		}
		out[media] = d.compile(pointer)
	}
	return out
}

// find returns the operation that a request is for, and its path parameters.
func (d *document) find(method, path string) (*operation, map[string]string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	segments := strings.Split(path, "/")
	var found *operation
	var params map[string]string
	for _, op := range d.operations {
		if op.method != method || len(op.segments) != len(segments) {
			continue
		}
		values, fits := map[string]string{}, true
		for i, s := range op.segments {
			if name, is := strings.CutPrefix(s, "{"); is && segments[i] != "" {
				values[strings.TrimSuffix(name, "}")], _ = url.PathUnescape(segments[i])
			} else if s != segments[i] {
				fits = false
			}
		}
		// What is written out goes before what may be anything.
		if fits && (found == nil || len(values) < len(params)) {
			found, params = op, values
		}
	}
	return found, params
}
