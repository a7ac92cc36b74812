// Codes writes docs/codes.md, the table of all codes that the service and its commands tell, from
// api/codes. A test holds that against the code and the page against it.
//
//	go run ./scripts/codes >docs/codes.md
package main

import (
	"os"

	"mina-sequencer/api/codes"
)

func main() { codes.WriteMarkdown(os.Stdout) }
