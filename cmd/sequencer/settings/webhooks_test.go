package settings

import (
	"os"
	"path/filepath"
	"strings"
)

const webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

// webhookFiles are files that must stop the start.
func webhookFiles(dir string) (paths []string) {
	for _, text := range []string{
		"", "{}", "[", `[{"id":"a"}]`, `[{"id":"a","url":"https://x","secret":"short"}]`,
		`[{"id":"a","url":"http://x","secret":"` + webhookSecret + `"}]`,
		`[{"id":"a","url":"https://x","secret":"` + webhookSecret + `","more":1}]`,
		`[{"id":"a","url":"https://x","secret":"` + webhookSecret + `"},{"id":"a","url":"https://y","secret":"` + webhookSecret + `"}]`,
		strings.Repeat(" ", 1<<20+1),
	} {
		file, err := os.CreateTemp(dir, "webhooks-*.json")
		if err != nil {
			panic(err)
		}
		if _, err := file.WriteString(text); err != nil {
			panic(err)
		}
		_ = file.Close()
		paths = append(paths, file.Name())
	}
	return append(paths, filepath.Join(dir, "none.json"), dir)
}
