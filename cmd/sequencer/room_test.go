package main

import (
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"mina-sequencer/sequencer/test/lane"
)

// room are the files whose symbols only recovery may use, and the files that may use them.
// Package recovery itself may use all of them.
var room = map[string][]string{
	"queues/recovery.go":             {},
	"sequencer/lifecycle/found.go":   {"sequencer/test/explorer/failover.go", "sequencer/test/explorer/restore.go", "sequencer/test/explorer/world.go"},
	"sequencer/lifecycle/restore.go": {"sequencer/test/explorer/failover.go", "sequencer/test/explorer/restore.go", "sequencer/test/explorer/world.go"},
}

// seams are the symbols of the room that others pass on or are told by, and by whom.
var seams = map[string][]string{
	"Stage":   {"queues/claims.go"}, // what a heartbeat learns
	"Server":  {"queues/claims.go"},
	"Settled": {"queues/claims.go"},
	"Turn":    {"queues/claims.go"},
	"marks":   {"queues/store.go", "queues/enqueue.go", "queues/events.go"}, // of the last 202 and event
	"accept":  {"queues/enqueue.go"},
	"show":    {"queues/events.go"},
}

// wiring is what the shell knows of package recovery.
var wiring = []string{"New", "Options", "Recovery", "Shut", "Suspect", "Wait", "Heard", "WrittenBack", "Rewrite", "Stored", "Left", "Lacks"}

// TestRecoveryRoom: what is known of a Redis that forgets stays in its room: no symbol of
// it is referred to from elsewhere but those named above, and no script but its own reads
// what it keeps.
func TestRecoveryRoom(t *testing.T) {
	lane.Nightly(t, `the room that recovery takes, beside many queues`)
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := packages.Load(&packages.Config{
		Dir:  root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, p := range all {
		name := func(path string) string {
			return filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		}
		for _, e := range p.Errors {
			t.Error(e)
		}
		for id, object := range p.TypesInfo.Uses {
			if v, is := object.(*types.Var); is && v.IsField() && object.Pkg() != nil && strings.HasSuffix(object.Pkg().Path(), "/recovery") {
				continue // what it is given
			}
			if object.Pkg() == nil || !strings.HasPrefix(object.Pkg().Path(), module) || ofFunction(object) {
				continue
			}
			declared := name(p.Fset.Position(object.Pos()).Filename)
			used := name(p.Fset.Position(id.Pos()).Filename)
			met[declared] = true
			if why := trespass(declared, used, object.Name()); why != "" {
				t.Errorf("%s: %s of %s: %s", p.Fset.Position(id.Pos()), object.Name(), declared, why)
			}
		}
	}
	for file := range room {
		if !met[file] {
			t.Errorf("nothing of %s is used: the rule is for nothing", file)
		}
	}
	scriptsKeep(t, filepath.Join(root, "queues/lua"))
}

// ofFunction reports whether an object is one of a function's own.
func ofFunction(object types.Object) bool {
	v, is := object.(*types.Var)
	return is && !v.IsField() && object.Parent() != object.Pkg().Scope()
}

// trespass says why a symbol that is declared in one file may not be used in another, ""
// if it may.
func trespass(declared, used, symbol string) string {
	const recovery = "sequencer/recovery/"
	inside := strings.HasPrefix(used, recovery)
	switch {
	case strings.HasPrefix(declared, recovery) && !inside && (ast.IsExported(symbol) && !slices.Contains(wiring, symbol)):
		return "it is not of what the shell is to know"
	case room[declared] == nil, room[used] != nil, inside:
		return ""
	case slices.Contains(room[declared], used), slices.Contains(seams[symbol], used):
		return ""
	}
	return "only recovery may use it"
}

// scriptsKeep: run id and state of a recovery are for its own scripts, and the question
// whether the namespace is settled for all.
func scriptsKeep(t *testing.T, dir string) {
	t.Helper()
	secret := regexp.MustCompile(`'(is:server|is:epoch|recovery)'|\bserver\(\)`)
	own := []string{"adopt.lua", "heartbeat.lua", "miss.lua", "repost.lua", "settle.lua", "yield.lua", "lib.lua", "log.lua"}
	files, err := filepath.Glob(filepath.Join(dir, "*.lua"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(file); !slices.Contains(own, name) {
			for _, word := range secret.FindAllString(string(src), -1) {
				t.Errorf("%s: %s is of recovery", name, word)
			}
		}
	}
}
