package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/senders"
	"mina-sequencer/senders/local"
)

// senderFiles writes one file per mistake and returns their names.
func senderFiles(dir string) []string {
	names := []string{filepath.Join(dir, "absent.json"), dir}
	for i, content := range []string{
		"", "{}", "[{}]", `[{"accountId":"` + keyA + `"}]`, `[{"accountId":"` + keyA + `","workerUrl":"http://w","x":1}]`,
		`[{"accountId":"` + keyA + `","command":["/nowhere/at/all"]}]`, `[{"accountId":"` + keyA + `","command":[""]}]`,
		`[{"accountId":"` + keyA + `","command":"go"}]`, `[{"accountId":"` + keyA + `","env":{}}]`,
		`[{"accountId":"` + keyA + `","command":["go","\u0000"]}]`, `[{"accountId":"B62","command":["go"]}]`,
		`[{"accountId":"` + keyA + `","command":["go"],"env":{"PORT":"80"}}]`,
		`[{"accountId":"` + keyA + `","command":["go"],"env":{"SEQUENCER_ADDR":"hush"}}]`,
		`[{"accountId":"` + keyA + `","command":["go"],"env":{"A=B":"hush"}}]`, `[{"accountId":"` + keyA + `","command":["go"],"env":{"A":"hush\u0000"}}]`,
		`[{"accountId":"` + keyA + `","command":["go"]},{"accountId":"` + keyA + `","workerUrl":"http://w"}]`,
		`{"accountId":"` + keyA + `","command":["go"]} {}`,
		`[{"accountId":"` + keyA + `","workerUrl":"http://w","command":["node"]}]`,
		`[{"accountId":"` + keyA + `","workerUrl":"http://w","env":{"KEY":"hush"}}]`,
		`[{"accountId":"` + keyA + `","workerUrl":"http://w"},{"accountId":"` + keyA + `","workerUrl":"http://v"}]`,
		`[{"accountId":"` + keyA + `","workerUrl":"http://w"}] x`, strings.Repeat(" ", 1<<20) + "[]",
	} {
		name := filepath.Join(dir, fmt.Sprintf("senders%d.json", i))
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			panic(err)
		}
		names = append(names, name)
	}
	return names
}

func TestSendersTwice(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "senders.json")
	if err := os.WriteFile(file, []byte(`[{"accountId":"`+keyA+`","workerUrl":"http://w"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := read(t.Context(), map[string]string{"SEQUENCER_SENDERS": keyA + "=http://w", "SEQUENCER_SENDERS_FILE": file}, known())
	if err == nil || !strings.Contains(err.Error(), "SEQUENCER_SENDERS_FILE") {
		t.Errorf("got %v", err)
	}
}

func TestCommandWorker(t *testing.T) {
	t.Parallel()
	entry := `{"accountId":"` + keyA + `","command":["go","run","worker"],"env":{"KEY":"hush","_x1":""}}`
	for _, tc := range []struct {
		content string
		mode    os.FileMode
		warns   int
	}{
		{"[" + entry + `,{"accountId":"` + keyB + `","workerUrl":"http://w"}]`, 0o600, 0},
		{" \n" + entry + "\n", 0o644, 1},
	} {
		file := filepath.Join(t.TempDir(), "senders.json")
		if err := os.WriteFile(file, []byte(tc.content), tc.mode); err != nil {
			t.Fatal(err)
		}
		cfg, warnings, err := read(t.Context(), map[string]string{"SEQUENCER_SENDERS_FILE": file}, known())
		if err != nil {
			t.Fatal(err)
		}
		want := []local.Command{{Account: keyA, Args: []string{"go", "run", "worker"}, Env: map[string]string{"KEY": "hush", "_x1": ""}}}
		if d := cmp.Diff(want, cfg.Senders.File.Commands); d != "" {
			t.Error(d)
		}
		if first := cfg.Senders.All()[0]; first != (Sender{keyA, senders.Local}) {
			t.Errorf("its sender: %+v", first)
		}
		if len(warnings) != tc.warns || strings.Contains(strings.Join(warnings, ""), "hush") {
			t.Errorf("warnings %q", warnings)
		}
		if shown := cfg.String() + cfg.LogValue().String(); strings.Contains(shown, "hush") {
			t.Errorf("a secret is shown: %s", shown)
		}
	}
	// A URL that says so starts nothing.
	if _, _, err := read(t.Context(), map[string]string{"SEQUENCER_SENDERS": keyA + "=" + senders.Local}, known()); err == nil {
		t.Error("SEQUENCER_SENDERS takes a local worker")
	}
}

// TestRecordsFolder: no namespace leads out of the folder.
func TestRecordsFolder(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string]string{"seq": "/var/lib/s/workers-seq", "..": "/var/lib/s/workers-.."} {
		if got := (sendersConfig{StateDir: "/var/lib/s"}).Records(namespace); got != want {
			t.Errorf("%s: %s, want %s", namespace, got, want)
		}
	}
	if got := (sendersConfig{}).Records("seq"); !filepath.IsAbs(got) || !strings.HasSuffix(got, "workers-seq") {
		t.Errorf("by default: %s", got)
	}
}

// TestFilesNameEntryAndField: of a file what cannot be used is named, and no value shown.
func TestFilesNameEntryAndField(t *testing.T) {
	t.Parallel()
	const good = `{"accountId":"` + keyA + `","workerUrl":"http://w"}`
	for _, tc := range []struct{ variable, content, want string }{
		{"SEQUENCER_SENDERS_FILE", "[" + good + `,{"accountId":"` + keyB + `","worker":"hush"}]`, `has entry 2, which has the field "worker", which is not known`},
		{"SEQUENCER_SENDERS_FILE", `{"accountId":"` + keyA + `","command":"hush"}`, "has entry 1, which has a field command that is of another kind"},
		{"SEQUENCER_SENDERS_FILE", "[" + good + `,"hush"]`, "has entry 2, which is no JSON object"},
		{"SEQUENCER_SENDERS_FILE", "hush", "holds no JSON list of senders"},
		{"SEQUENCER_WEBHOOKS_FILE", `[{"id":"a","url":"https://x","secrets":"hush"}]`, `has entry 1, which has the field "secrets", which is not known`},
		{"SEQUENCER_WEBHOOKS_FILE", `{"id":"a"}`, "holds no JSON list of endpoints"},
	} {
		file := filepath.Join(t.TempDir(), "list.json")
		if err := os.WriteFile(file, []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := read(t.Context(), map[string]string{tc.variable: file}, known())
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %q", tc.content, err, tc.want)
		}
	}
}
