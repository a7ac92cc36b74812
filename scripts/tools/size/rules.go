package main

import (
	"path"
	"slices"
	"strings"
)

// many is above how many branches a function counts as one that nobody holds in mind.
const many = 15

// outside are the folders that do not belong to the core: its edges, and what goes with it.
var outside = []string{"api", "cmd", "mina", "ledger", "metrics", "clients", "workers", "scripts"}

// machinery are folders with nothing but tests, or what plays another's part in them. So is every
// folder called test or testdata.
var machinery = []string{"dispatcher/devworker", "queues/redistest",
	"sequencer/explorer", "sequencer/harness", "sequencer/internal", "sequencer/simulation"}

// apart are the folders of sequencer that can be read without the rest: a newcomer may leave them.
var apart = []string{"sequencer/audit", "sequencer/webhooks"}

// shell are those, beside the former, that do and decide nothing. What else stands below
// sequencer are decisions, whatever it is called.
var shell = []string{"sequencer/recovery"}

// A capability is something that the plain path of a transaction could do without. A file names it
// that holds one of its words, in code or comment, in small letters or capitals, within a
// longer word or not.
type capability struct {
	name  string
	words []string
}

var capabilities = []capability{
	{"what a failover forgets", []string{
		"forget", "forgot", "failover", "recover", "reconcil", "restor", "adopt", "remember", "unsettled"}},
	{"trains", []string{"train", "ahead", "behind", "width", "commuting"}},
	{"legacy calls", []string{"legacy", "/dispatch", "sends by itself", "stray"}},
}

// members are the types that stand for what is in flight of one queue, one of it or all.
var members = []string{"Member", "Train"}

// under reports whether name is one of the folders, or stands below one.
func under(name string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}

// product reports whether a file is none of a test.
func product(name string) bool {
	parts := strings.Split(path.Dir(name), "/")
	return !strings.HasSuffix(name, "_test.go") && !under(name, machinery) &&
		!slices.Contains(parts, "test") && !slices.Contains(parts, "testdata") && !slices.Contains(parts, "node_modules")
}

// core reports whether f counts as a whole.
func (f file) core() bool { return !under(f.name, outside) }

// heart reports whether f is of what nobody can leave: the decisions, those who carry them out,
// and the store.
func (f file) heart() bool {
	return under(f.name, []string{"queues"}) || under(f.name, []string{"sequencer"}) && !under(f.name, apart)
}

// decides reports whether f is of the decisions.
func (f file) decides() bool {
	return f.heart() && path.Dir(f.name) != "sequencer" && !under(f.name, append(shell, "queues"))
}
