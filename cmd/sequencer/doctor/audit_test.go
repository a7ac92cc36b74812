package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"mina-sequencer/cmd/sequencer/command"
	"mina-sequencer/mina/devnet"
	"mina-sequencer/queues"
	"mina-sequencer/senders"
)

func TestAuditCommand(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	store, err := queues.Open(client, queues.Options{Namespace: "audited"})
	if err != nil {
		t.Fatal(err)
	}
	if err := senders.New(store, client).Register(t.Context(), devnet.Key(1), "http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if err := store.Enqueue(t.Context(), queues.Item{UID: "u", Queue: "q", Type: "T", Data: json.RawMessage(`{}`)}).Err; err != nil {
		t.Fatal(err)
	}
	network, err := devnet.New(devnet.Config{})
	if err != nil {
		t.Fatal(err)
	}
	node := httptest.NewServer(network.Node(0))
	t.Cleanup(node.Close)
	env := map[string]string{
		"SEQUENCER_REDIS_URL": "redis://" + server.Addr(), "SEQUENCER_NAMESPACE": "audited",
		"SEQUENCER_MINA_URL": node.URL + "/graphql", "SEQUENCER_INCLUSION_INTERVAL": "1ms",
	}
	audit := func(ctx context.Context, args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		a := &command.App{Env: env, Stdout: &stdout, Stderr: &stderr}
		code := a.Execute(ctx, command.Group("sequencer", "", AuditCommand(a)), append([]string{"audit"}, args...))
		return code, stdout.String(), stderr.String()
	}
	want := func(code int, stdout, stderr string, args ...string) {
		t.Helper()
		gotCode, gotOut, gotErr := audit(t.Context(), args...)
		if gotCode != code || !regexp.MustCompile("^"+stdout+"$").MatchString(gotOut) || !regexp.MustCompile("^"+stderr).MatchString(gotErr) {
			t.Errorf("audit %v: %d\n%s\n%s", args, gotCode, gotOut, gotErr)
		}
	}
	want(0, "1 transactions, 1 senders, blocks \\d+ to \\d+: all promises hold\n", "$")
	want(0, `\{"clean":true,"findings":\[\],"fromHeight":\d+,"senders":1,"toHeight":\d+,"transactions":1\}`+"\n", "$", "--json")

	if _, err := server.ZRem("{audited}:free:shared", devnet.Key(1)); err != nil {
		t.Fatal(err)
	}
	want(1, "SENDER_FREE  sender "+devnet.Key(1)+"  .*leaked \\(.*\\)\n1 transactions.*: 1 finding\\(s\\)\n", "sequencer: 1 finding")
	want(1, `\{"clean":false,"findings":\[\{"check":"SENDER_FREE","sender":"`+devnet.Key(1)+`","detail":".*","means":".*"\}\].*\}`+"\n", "sequencer: 1 finding", "--json")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _, _ := audit(ended); code != command.ExitInterrupted {
		t.Errorf("code %d when interrupted", code)
	}
	node.Close()
	want(command.ExitUnavailable, "", "sequencer: auditing: reading the chain: no Mina node is synced")
	env["SEQUENCER_REDIS_URL"] = "redis://127.0.0.1:1/7"
	want(command.ExitUnavailable, "", "sequencer: auditing: SEQUENCER_REDIS_URL, redis://127.0.0.1:1/7, cannot be used: .*; ask 'sequencer doctor'")
	delete(env, "SEQUENCER_REDIS_URL")
	want(command.ExitUsage, "", "sequencer: audit reads a live system")
}
