package main

import (
	"bytes"
	"strings"
	"testing"

	"mina-sequencer/cmd/sequencer/command"
)

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	ask := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, map[string]string{"SEQUENCER_KEY": "the-key"}, nil, &stdout, &stderr); code != command.ExitOK {
			t.Errorf("%q: code %d, %s", args, code, stderr.String())
		}
		return stdout.String()
	}
	help := ask("help")
	for _, want := range []string{"Exit codes:", "serve", "demo", "devnet", "post", "txn", "queue", "sender", "webhook", "watch", "doctor", "audit", "completion", "version"} {
		if !strings.Contains(help, want) {
			t.Errorf("help lacks %q:\n%s", want, help)
		}
	}
	if version := ask("version"); !strings.Contains(version, "go        go1.") || !strings.Contains(version, "commit    ") {
		t.Errorf("version: %s", version)
	}
	if flags := ask("txn", "list", "--help"); strings.Contains(flags, "the-key") {
		t.Error("help shows the key")
	}
}
