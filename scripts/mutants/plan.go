package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// A Subject is a package whose code is mutated, and what is to notice.
type Subject struct {
	Package string   `json:"package"` // its directory, from the root of the module
	Go      []string `json:"go"`      // patterns of its files; none are mutated if there are no patterns
	Lua     []string `json:"lua"`     // patterns of the scripts that it embeds, in the same way
	Tests   []Tests  `json:"tests"`
}

// Tests are one run of a test binary.
type Tests struct {
	Package string `json:"package"` // its directory, from the root of the module
	Run     string `json:"run"`     // as go test -run takes it, "" for all
	Args    string `json:"args"`    // further flags of the test, with spaces between them
}

func (t Tests) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s -run '%s' %s", t.Package, t.Run, t.Args))
}

// readPlan reads what is to be mutated. Errors name the file and the field.
func readPlan(path string) ([]*Subject, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var plan []*Subject
	if err := d.Decode(&plan); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(plan) == 0 {
		return nil, fmt.Errorf("%s: no subject: name a package", path)
	}
	for i, s := range plan {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%s: subject %d: %w", path, i+1, err)
		}
		if slices.ContainsFunc(plan[:i], func(o *Subject) bool { return o.Package == s.Package }) {
			return nil, fmt.Errorf("%s: subject %d: package: %s has one already: join them", path, i+1, s.Package)
		}
	}
	return plan, nil
}

func (s *Subject) check() error {
	switch {
	case s.Package == "":
		return errors.New("package: name its directory")
	case len(s.Go)+len(s.Lua) == 0:
		return errors.New("go, lua: name the files to mutate, such as *.go")
	case len(s.Tests) == 0:
		return errors.New("tests: name those that are to notice")
	}
	for _, t := range s.Tests {
		if t.Package == "" {
			return errors.New("tests: package: name the directory of the test")
		}
	}
	return nil
}
