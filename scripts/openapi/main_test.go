package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"mina-sequencer/api"
)

// What was made from the document was made from the document as it is.
func TestClientIsUpToDate(t *testing.T) {
	t.Parallel()
	for path, command := range map[string]string{
		"typescript/src/schema.ts":        "npm ci and npm run generate in clients/typescript",
		"python/sequencer_client/_api.py": "python3 generate.py in clients/python",
	} {
		made, err := os.ReadFile("../../clients/" + path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(made), fmt.Sprintf("%x", sha256.Sum256(api.Document()))) {
			t.Errorf("clients/%s is of another document: run %s", path, command)
		}
	}
}
