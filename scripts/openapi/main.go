// Openapi prints the OpenAPI document of the service's API, for what is made
// from it.
package main

import (
	"log"
	"os"

	"mina-sequencer/api"
)

func main() {
	if _, err := os.Stdout.Write(append(api.Document(), '\n')); err != nil {
		log.Fatal(err)
	}
}
