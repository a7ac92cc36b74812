package main

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "mina-sequencer/"

// ours says which of our packages a package may import. A package that is not
// named here needs a line, and a reason for it in docs/architecture/packages.md.
var ours = map[string][]string{
	"ledger":                        {},
	"ledger/devledger":              {},
	"sequencer/fees":                {},
	"sequencer/tx":                  {"sequencer/fees"},
	"sequencer/lifecycle":           {"sequencer/fees", "sequencer/tx"},
	"sequencer/explain":             {"sequencer/lifecycle", "sequencer/tx"},
	"mina":                          {"sequencer/fees", "sequencer/tx"},
	"mina/devnet":                   {"mina", "sequencer/tx"},
	"queues":                        {"sequencer/fees", "sequencer/lifecycle", "sequencer/tx"},
	"queues/redistest":              {},
	"senders":                       {"queues", "sequencer/tx"},
	"senders/local":                 {},
	"senders/provers":               {"queues", "sequencer/tx"},
	"dispatcher":                    {"ledger", "queues", "senders", "senders/provers", "sequencer/lifecycle", "sequencer/tx"},
	"dispatcher/devworker":          {"dispatcher", "mina", "mina/devnet"},
	"sequencer":                     {"dispatcher", "ledger", "mina", "queues", "senders", "senders/provers", "sequencer/explain", "sequencer/fees", "sequencer/lifecycle", "sequencer/recovery", "sequencer/tx"},
	"sequencer/recovery":            {"mina", "queues", "senders", "sequencer/lifecycle", "sequencer/tx"},
	"sequencer/webhooks":            {"queues", "sequencer/tx"},
	"sequencer/test/explorer":       {"sequencer/fees", "sequencer/lifecycle", "sequencer/tx"},
	"sequencer/test/simulation":     {},
	"sequencer/test/txtest":         {"sequencer/fees", "sequencer/tx"},
	"sequencer/test/harness":        {"dispatcher", "dispatcher/devworker", "mina", "mina/devnet", "queues", "queues/redistest", "senders", "senders/provers", "sequencer", "sequencer/lifecycle", "sequencer/tx"},
	"sequencer/test/lane":           {},
	"sequencer/audit":               {"ledger", "mina", "queues", "senders", "sequencer/lifecycle", "sequencer/tx"},
	"api":                           {"api/codes", "api/dashboard", "dispatcher", "queues", "senders", "senders/provers", "sequencer/explain", "sequencer/fees", "sequencer/lifecycle", "sequencer/tx", "sequencer/webhooks"},
	"api/client":                    {},
	"api/codes":                     {},
	"api/dashboard":                 {},
	"metrics":                       {"api", "mina", "queues", "senders", "senders/provers", "sequencer", "sequencer/fees", "sequencer/lifecycle", "sequencer/tx", "sequencer/webhooks"},
	"metrics/traces":                {"api", "sequencer", "sequencer/tx"},
	"cmd/sequencer/amounts":         {},
	"cmd/sequencer/board":           {"api/client", "cmd/sequencer/amounts", "cmd/sequencer/terminal"},
	"cmd/sequencer/cli":             {"api/client", "cmd/sequencer/amounts", "cmd/sequencer/board", "cmd/sequencer/command", "cmd/sequencer/grid", "cmd/sequencer/terminal"},
	"cmd/sequencer/command":         {"api/client", "cmd/sequencer/terminal"},
	"cmd/sequencer/demo":            {"api/client", "cmd/sequencer/board", "cmd/sequencer/command", "cmd/sequencer/serve", "cmd/sequencer/settings", "cmd/sequencer/terminal", "dispatcher", "dispatcher/devworker", "ledger/devledger", "mina", "mina/devnet", "sequencer/fees", "sequencer/tx"},
	"cmd/sequencer/dev":             {"api", "cmd/sequencer/command", "cmd/sequencer/serve", "cmd/sequencer/settings", "ledger/devledger", "mina", "mina/devnet"},
	"cmd/sequencer/doctor":          {"cmd/sequencer/command", "cmd/sequencer/settings", "cmd/sequencer/terminal", "dispatcher", "ledger", "metrics/traces", "mina", "queues", "senders", "senders/provers", "sequencer", "sequencer/audit", "sequencer/fees", "sequencer/tx", "sequencer/webhooks"},
	"cmd/sequencer/grid":            {"api/client"},
	"cmd/sequencer/serve":           {"api", "cmd/sequencer/command", "cmd/sequencer/settings", "cmd/sequencer/terminal", "dispatcher", "metrics", "metrics/traces", "mina", "queues", "senders", "senders/local", "senders/provers", "sequencer", "sequencer/webhooks"},
	"cmd/sequencer/settings":        {"api", "cmd/sequencer/terminal", "dispatcher", "ledger", "mina", "queues", "senders", "senders/local", "senders/provers", "sequencer/fees", "sequencer/lifecycle", "sequencer/webhooks"},
	"cmd/sequencer/terminal":        {},
	"cmd/sequencer/test/browser":    {},
	"cmd/sequencer/test/inprocess":  {"cmd/sequencer/command"},
	"cmd/sequencer/test/monitoring": {},
	"cmd/sequencer/test/processes":  {},
	"cmd/sequencer":                 {"cmd/sequencer/cli", "cmd/sequencer/command", "cmd/sequencer/demo", "cmd/sequencer/dev", "cmd/sequencer/doctor", "cmd/sequencer/serve", "cmd/sequencer/settings"},
}

// theirs says which of our packages may import a module of others; scripts/*
// may import any of them. A module that is not named here is not used.
var theirs = map[string][]string{
	"github.com/alicebob/miniredis/v2":                         {"cmd/sequencer/serve", "queues/redistest"},
	"github.com/coreos/go-systemd/v22":                         {"cmd/sequencer/serve"},
	"github.com/decred/dcrd/dcrec/secp256k1/v4":                {"ledger", "ledger/devledger"},
	"github.com/go-chi/chi/v5":                                 {"api"},
	"github.com/go-playground/validator/v10":                   {"api", "dispatcher"},
	"github.com/graph-gophers/graphql-go":                      {"mina/devnet"},
	"github.com/klauspost/compress":                            {"queues"},
	"github.com/mr-tron/base58":                                {"mina", "mina/devnet"},
	"github.com/prometheus/client_golang":                      {"metrics"},
	"github.com/redis/go-redis/v9":                             {"cmd/sequencer/doctor", "cmd/sequencer/serve", "cmd/sequencer/settings", "queues", "queues/redistest", "senders", "sequencer/test/harness"},
	"github.com/rs/cors":                                       {"api"},
	"github.com/sethvargo/go-envconfig":                        {"cmd/sequencer/settings"},
	"github.com/spf13/cobra":                                   {"cmd/sequencer", "cmd/sequencer/cli", "cmd/sequencer/command", "cmd/sequencer/demo", "cmd/sequencer/dev", "cmd/sequencer/doctor", "cmd/sequencer/serve", "cmd/sequencer/test/inprocess"},
	"github.com/standard-webhooks/standard-webhooks/libraries": {},
	"github.com/yuin/gopher-lua":                               {"queues/redistest"},
	"go.opentelemetry.io":                                      {"cmd/sequencer/serve", "metrics/traces"},
	"golang.org/x/crypto":                                      {"mina", "mina/devnet"},
	"golang.org/x/mod":                                         {"cmd/sequencer/doctor"},
	"golang.org/x/term":                                        {"cmd/sequencer/terminal"},
	"golang.org/x/tools":                                       {},
	"google.golang.org/protobuf":                               {"ledger", "ledger/devledger"},
}

// without lists what a package must not know of the standard library.
var without = map[string][]string{
	"sequencer":           {"net", "net/http", "database/sql"},
	"sequencer/fees":      {"bytes", "context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"},
	"sequencer/tx":        {"bytes", "context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"},
	"sequencer/lifecycle": {"bytes", "context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"},
	"sequencer/explain":   {"bytes", "context", "log", "log/slog", "math/rand", "math/rand/v2", "net", "net/http", "os", "sync", "sync/atomic"},
	"queues":              {"net", "net/http"},
	"senders":             {"net", "net/http"},
	"senders/provers":     {"net", "net/http"},
}

// TestImports holds the import graph of the program against the rules.
func TestImports(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, line := range goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...") {
		words := strings.Fields(line)
		name := strings.TrimPrefix(words[0], module)
		seen[name] = true
		if _, known := ours[name]; !known && !strings.HasPrefix(name, "scripts/") {
			t.Errorf("the rules do not know the package %s", name)
		}
		for _, path := range words[1:] {
			if why := forbidden(name, path); why != "" {
				t.Errorf("%s imports %s: %s", name, path, why)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if !seen[name] {
			t.Errorf("there is no package %s any more: take it out of the rules", name)
		}
	}
}

// TestBinary keeps what is only for tests out of the program.
func TestBinary(t *testing.T) {
	t.Parallel()
	for _, path := range goList(t, "-deps", module+"cmd/sequencer") {
		switch {
		case path == "testing", strings.HasSuffix(path, "/redistest"), strings.Contains(path, "/test/"), strings.HasPrefix(path, module+"scripts/"):
			t.Errorf("the program contains %s", path)
		}
	}
}

// forbidden says why a package may not import another one, "" if it may.
func forbidden(name, path string) string {
	script := strings.HasPrefix(name, "scripts/")
	if imported, own := strings.CutPrefix(path, module); own {
		allowed, known := ours[name]
		switch {
		case strings.HasPrefix(imported, "scripts/"), strings.HasPrefix(imported, "cmd/") && !partOf(name, imported):
			return "it is a program"
		case script:
			return ""
		case !known:
			return "the rules do not know the importing package"
		case !slices.Contains(allowed, imported):
			return "it may only import " + strings.Join(allowed, ", ")
		}
		return ""
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		if slices.Contains(without[name], path) {
			return "others do that for it"
		}
		return ""
	}
	for m, users := range theirs {
		if path != m && !strings.HasPrefix(path, m+"/") {
			continue
		}
		if !script && !slices.Contains(users, name) {
			return "only " + strings.Join(users, ", ") + " may"
		}
		return ""
	}
	return "the rules do not know the imported module"
}

// partOf reports whether a package is of the program that another one is of, and not that
// program itself.
func partOf(name, imported string) bool {
	const program = "cmd/sequencer"
	return strings.HasPrefix(imported, program+"/") && (name == program || strings.HasPrefix(name, program+"/"))
}

func TestForbidden(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path string
		want       bool
	}{
		{"sequencer", module + "queues", false},
		{"sequencer", module + "api", true},
		{"sequencer", "github.com/redis/go-redis/v9", true},
		{"sequencer", "net/http", true},
		{"sequencer", "net/url", false},
		{"mina", module + "queues", true},
		{"sequencer/lifecycle", module + "sequencer/explain", true},
		{"queues", module + "senders", true},
		{"queues", "github.com/redis/go-redis/v9/maintnotifications", false},
		{"api", "github.com/go-chi/chi/v5/middleware", false},
		{"dispatcher", "github.com/go-chi/chi/v5", true},
		{"dispatcher", "github.com/spf13/cobra", true},
		{"cmd/sequencer", module + "queues/redistest", true},
		{"cmd/sequencer", module + "cmd/sequencer/command", false},
		{"cmd/sequencer/terminal", module + "cmd/sequencer/command", true},
		{"cmd/sequencer/cli", module + "api/client", false},
		{"cmd/sequencer/cli", module + "cmd/sequencer/settings", true},
		{"cmd/sequencer/cli", module + "sequencer/lifecycle", true},
		{"cmd/sequencer/doctor", module + "cmd/sequencer/serve", true},
		{"cmd/sequencer/serve", "github.com/sethvargo/go-envconfig", true},
		{"cmd/sequencer/command", module + "cmd/sequencer", true},
		{"queues", module + "cmd/sequencer/command", true},
		{"scripts/any", module + "cmd/sequencer/command", true},
		{"scripts/any", module + "queues/redistest", false},
		{"scripts/any", module + "scripts/other", true},
		{"new", module + "queues", true},
		{"new", "fmt", false},
		{"cmd/sequencer", "example.com/unheard/of", true},
	}
	for _, tt := range tests {
		if why := forbidden(tt.name, tt.path); (why != "") != tt.want {
			t.Errorf("%s importing %s: %q", tt.name, tt.path, why)
		}
	}
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
