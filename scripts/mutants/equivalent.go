package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// readEquivalents reads the mutants that change nothing: a line with the key of each,
// and below it, indented, the invariant that makes it so. A file that is not there
// lists none.
func readEquivalents(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	key := ""
	for i, l := range strings.Split(string(b), "\n") {
		text := strings.TrimSpace(l)
		switch {
		case text == "", strings.HasPrefix(l, "#"):
		case text == strings.TrimRight(l, " \t\r"):
			if _, twice := why[text]; twice {
				return nil, fmt.Errorf("%s:%d: it stands here twice: %s", path, i+1, text)
			}
			key = text
			why[key] = ""
		case key == "":
			return nil, fmt.Errorf("%s:%d: an invariant stands below the key of its mutant", path, i+1)
		default:
			why[key] = strings.TrimSpace(why[key] + " " + text)
		}
	}
	return why, nil
}

// checkEquivalents refuses entries without an invariant, those that are of no mutant
// any more, and too many of them.
func checkEquivalents(why map[string]string, mutants []*Mutant) error {
	known := map[string]bool{}
	for _, m := range mutants {
		known[m.Key] = true
	}
	var all []error
	for _, key := range slices.Sorted(maps.Keys(why)) {
		switch {
		case !known[key]:
			all = append(all, fmt.Errorf("its function was edited or is gone: judge it anew: %s", key))
		case why[key] == "":
			all = append(all, fmt.Errorf("say below it which invariant makes it equivalent: %s", key))
		}
	}
	const most = 5 // in a hundred
	if 100*len(why) > most*len(mutants) {
		all = append(all, fmt.Errorf("%d of %d mutants stand as equivalent, more than %d %%: simplify the code, or test it",
			len(why), len(mutants), most))
	}
	return errors.Join(all...)
}
