package queues_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"mina-sequencer/queues"
	"mina-sequencer/queues/redistest"
)

// TestRights: a user that lacks a right is refused at the start, with what it lacks and how to grant
// it. The smallest user of docs/production.md, granted by those very words, may do all there is.
func TestRights(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	user := func(name string, rules ...any) *redis.Client {
		t.Helper()
		words := append([]any{"ACL", "SETUSER", name, "reset", "on", ">pw"}, rules...)
		if err := server.Client.Do(t.Context(), words...).Err(); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{Addr: server.Addr, Username: name, Password: "pw"})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	check := func(client *redis.Client) string {
		t.Helper()
		store, err := queues.Open(client, queues.Options{Namespace: "seq"})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Check(t.Context()); err != nil {
			return err.Error()
		}
		return ""
	}
	for name, test := range map[string]struct {
		rules []any
		lacks string
	}{
		"no-channels": {[]any{"+@all", "~*"}, "PUBLISH"},
		"no-lists":    {[]any{"+@all", "-@list", "~*", "&*"}, "RPUSH"},
		"no-info":     {[]any{"+@all", "-info", "~*", "&*"}, "info"},
		"no-scripts":  {[]any{"+@all", "-@scripting", "~*", "&*"}, "eval"},
		"other-keys":  {[]any{"+@all", "~other:*", "&*"}, "key"},
	} {
		got := check(user(name, test.rules...))
		if !strings.Contains(got, test.lacks) || !strings.Contains(got, "ACL SETUSER") {
			t.Errorf("%s: %q", name, got)
		}
	}
	granted := []any{}
	_, words, _ := strings.Cut(check(user("nobody", "+@connection")), "<user> ")
	for word := range strings.FieldsSeq(words) {
		granted = append(granted, word)
	}
	if doc, err := os.ReadFile("../docs/production.md"); err != nil || !strings.Contains(string(doc), words) {
		t.Errorf("docs/production.md names other rights than %s (%v)", words, err)
	}
	smallest := user("smallest", granted...)
	if got := check(smallest); got != "" {
		t.Error(got)
	}
	for name, run := range map[string]func(*fixture){
		"flow": testFlow, "doubt": testDoubt, "streak": testStreakTells, "pause": testPauseEnds,
	} {
		t.Run(name, func(t *testing.T) {
			run(newFixture(t, smallest, "seq"))
			if err := server.Client.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
