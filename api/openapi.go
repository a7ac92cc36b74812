package api

import (
	"bytes"
	"embed"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"sync"
)

// The description of the API is kept by hand, in parts that a person can read:
// paths and schemas in several files, each of which holds some of them. Tests
// hold it against the routes and against every request and answer they make.
//
//go:embed openapi
var described embed.FS

// Document returns the OpenAPI 3.1 document of the API as JSON. It must not be
// changed.
var Document = sync.OnceValue(func() []byte {
	components := slices.Concat(trimObject(describedIn("components.json")), []byte(`,"schemas":{`), describedAll("schemas"), []byte("}"))
	doc := slices.Concat([]byte("{"), trimObject(describedIn("head.json")),
		[]byte(`,"paths":{`), describedAll("paths"), []byte(`},"components":{`), components, []byte("}}"))
	var b bytes.Buffer
	if err := json.Compact(&b, doc); err != nil {
		panic(err) // embedded at build time, and tested
	}
	return slices.Clip(b.Bytes()) // whoever appends to it gets a copy
})

func describedIn(name string) []byte {
	doc, err := described.ReadFile(path.Join("openapi", name))
	if err != nil {
		panic(err) // embedded at build time
	}
	return doc
}

// describedAll returns the members of all objects in a folder.
func describedAll(folder string) []byte {
	files, err := described.ReadDir(path.Join("openapi", folder))
	if err != nil {
		panic(err) // embedded at build time
	}
	var all [][]byte
	for _, f := range files {
		all = append(all, trimObject(describedIn(path.Join(folder, f.Name()))))
	}
	return bytes.Join(all, []byte(","))
}

// trimObject returns what stands between the braces of an object.
func trimObject(doc []byte) []byte {
	doc = bytes.TrimSpace(doc)
	return doc[1 : len(doc)-1]
}

func (a *api) description(w http.ResponseWriter, _ *http.Request) error {
	return send(w, http.StatusOK, Document())
}
