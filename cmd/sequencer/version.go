package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"mina-sequencer/cmd/sequencer/command"
)

// version and commit are set by the linker (-X main.version=… -X main.commit=…);
// without it they come from what the Go tool recorded.
var version, commit string

// buildVersion says what this binary was built from.
func buildVersion() (v, rev string) {
	v, rev = version, commit
	recorded := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		v = cmp.Or(v, info.Main.Version)
		for _, s := range info.Settings {
			recorded[s.Key] = s.Value
		}
	}
	if rev == "" && recorded["vcs.modified"] == "true" {
		recorded["vcs.revision"] += " (modified)"
	}
	return cmp.Or(v, "(devel)"), cmp.Or(rev, recorded["vcs.revision"], "unknown")
}

func newVersionCommand(a *command.App) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print version, Go version and commit", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(a.Stdout).Encode(map[string]string{"version": a.Version, "go": runtime.Version(), "commit": a.Commit})
			}
			_, err := fmt.Fprintf(a.Stdout, "sequencer %s\ngo        %s\ncommit    %s\n", a.Version, runtime.Version(), a.Commit)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
