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
	made, err := os.ReadFile("../../clients/typescript/src/schema.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(made), fmt.Sprintf("%x", sha256.Sum256(api.Document()))) {
		t.Error("the types of the TypeScript client are of another document: run npm ci and npm run generate in clients/typescript")
	}
}
