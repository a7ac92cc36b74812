package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// parameters are those that a route takes in its query, by method and pattern, as the
// description of the API has them.
var parameters = sync.OnceValue(func() map[string][]string {
	type parameter struct{ Name, In string }
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Parameters map[string]parameter }
	}
	must := func(err error) {
		if err != nil {
			panic(err) // embedded at build time, and tested
		}
	}
	must(json.Unmarshal(Document(), &doc))
	all := map[string][]string{}
	for pattern, operations := range doc.Paths {
		for method, text := range operations {
			if method == "parameters" {
				continue
			}
			var operation struct {
				Parameters []struct {
					Name, In string
					Ref      string `json:"$ref"`
				}
			}
			must(json.Unmarshal(text, &operation))
			names := []string{}
			for _, p := range operation.Parameters {
				if p.Ref != "" {
					common := doc.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
					p.Name, p.In = common.Name, common.In
				}
				if p.In == "query" {
					names = append(names, p.Name)
				}
			}
			all[strings.ToUpper(method)+" "+pattern] = names
		}
	}
	return all
})

// checkQuery refuses what a route does not take: a misspelt filter would choose everything, and
// a dryRun that nobody heeds would be no trial. Each parameter is given at most once.
func checkQuery(r *http.Request) error {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	pattern := route(r.Context())
	names, described := parameters()[method+" "+pattern]
	if r.URL.RawQuery == "" || !described || pattern == "/healthz" { // which balancers ask as they like
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest("The query cannot be read. Escape its values.")
	}
	for name, values := range q {
		switch {
		case len(names) == 0:
			return badRequest("The parameter %q is not known here, and this route takes none. Nothing was done.", short(name))
		case !slices.Contains(names, name):
			return badRequest("The parameter %q is not known here. Use %s. Nothing was done.", short(name), strings.Join(names, ", "))
		case len(values) > 1:
			return badRequest("Give the parameter %s once.", name)
		}
	}
	return nil
}
