package dispatcher_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := votingTypes(t)
	want := []string{"COMMIT_ALL_VOTING_BATCHES", "CREATE_CLAIM_VOTING_ACCOUNT", "CREATE_VOTING_BATCHES_ACCOUNT", "RECEIVE_VOTES_BATCH", "SEND_CLAIM_VOTE"}
	if diff := cmp.Diff(want, r.Types()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{"", "mint", "1MINT", "_MINT", "MINT-1", "MINT/..", "MINT\n", strings.Repeat("M", 65), "SEND_CLAIM_VOTE", "NEW"} {
		want := fmt.Sprintf("type %q: want 1 to 64 of A-Z, 0-9 and _, the first a letter", name)
		if dispatcher.ValidType(name) {
			want = "type " + name + " is registered twice"
		}
		if err := r.Register(dispatcher.Func{Name: "NEW"}, dispatcher.Func{Name: name}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
	if diff := cmp.Diff(want, r.Types()); diff != "" {
		t.Errorf("after errors (-want +got):\n%s", diff)
	}
	long := strings.Repeat("M", 64)
	if err := r.Register(dispatcher.Func{Name: long}); err != nil {
		t.Error(err)
	}
	if d, ok := r.Lookup(long); !ok || d.Type() != long {
		t.Error("not found after it was registered")
	}
	if _, ok := r.Lookup("NEW"); ok {
		t.Error("found what was not registered")
	}
}

// A type's other name finds it, until a type is called so itself.
func TestRegistryOtherNames(t *testing.T) {
	t.Parallel()
	r := votingTypes(t)
	if d, ok := r.Lookup("COMMIT_ALL_BATCHES"); !ok || d.Type() != "COMMIT_ALL_VOTING_BATCHES" {
		t.Errorf("found %v", d)
	}
	if err := r.Register(dispatcher.Func{Name: "COMMIT_ALL_BATCHES"}); err != nil {
		t.Error(err)
	}
	if d, _ := r.Lookup("COMMIT_ALL_BATCHES"); d.Type() != "COMMIT_ALL_BATCHES" {
		t.Errorf("its own name finds %s", d.Type())
	}
	if d, _ := r.Lookup("COMMIT_ALL_VOTING_BATCHES"); d.Type() != "COMMIT_ALL_VOTING_BATCHES" {
		t.Errorf("the type that had it besides is %s", d.Type())
	}
}

func TestRegistryConcurrently(t *testing.T) {
	t.Parallel()
	var r dispatcher.Registry
	var wg sync.WaitGroup
	for _, name := range []string{"A", "B", "C", "D"} {
		wg.Go(func() {
			if err := r.Register(dispatcher.Func{Name: name}); err != nil {
				t.Error(err)
			}
			if _, ok := r.Lookup(name); !ok {
				t.Errorf("%s not found", name)
			}
			r.Types()
		})
	}
	wg.Wait()
	if len(r.Types()) != 4 {
		t.Errorf("types: %v", r.Types())
	}
}

func TestFunc(t *testing.T) {
	t.Parallel()
	ctx, at, call := t.Context(), dispatcher.Worker{}, newCall()
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		f := dispatcher.Func{Name: "F"}
		if got := summary(f.Prove(ctx, at, call)); got != "legacy" {
			t.Error(got)
		}
		if got := summary(f.Resign(ctx, at, call, nil)); got != "legacy" {
			t.Error(got)
		}
		if got := summary(f.Dispatch(ctx, at, call)); got != "unresolvable 404, nothing sent" {
			t.Error(got)
		}
		if _, err := f.Report(ctx, at, true, dispatcher.Outcome{}); err != nil {
			t.Error(err)
		}
		if n, ok, err := f.MaxRetries(ctx, at); n != 0 || ok || err != nil {
			t.Errorf("has an opinion: %d, %v", n, err)
		}
		if f.Check(json.RawMessage(`{}`)) != nil || f.Check(json.RawMessage(`[]`)) == nil {
			t.Error("takes something else than objects")
		}
	})
	t.Run("filled", func(t *testing.T) {
		t.Parallel()
		failed := errors.New("failed")
		f := dispatcher.Func{
			Name:      "F",
			CheckData: func(json.RawMessage) []dispatcher.FieldError { return []dispatcher.FieldError{{Field: "data.x"}} },
			ProveTx: func(context.Context, dispatcher.Worker, dispatcher.Call) (dispatcher.Result, error) {
				return dispatcher.Result{Hash: "prove"}, nil
			},
			SendTx: func(context.Context, dispatcher.Worker, dispatcher.Call) (dispatcher.Result, error) {
				return dispatcher.Result{Hash: "send"}, nil
			},
			ResignTx: func(_ context.Context, _ dispatcher.Worker, _ dispatcher.Call, signed []byte) (dispatcher.Result, error) {
				return dispatcher.Result{Hash: string(signed)}, nil
			},
			Ended: func(context.Context, dispatcher.Worker, bool, dispatcher.Outcome) (json.RawMessage, error) {
				return nil, failed
			},
			Retries: new(7),
		}
		if got := summary(f.Prove(ctx, at, call)); got != "hash=prove" {
			t.Error(got)
		}
		if got := summary(f.Dispatch(ctx, at, call)); got != "hash=send" {
			t.Error(got)
		}
		if got := summary(f.Resign(ctx, at, call, []byte("again"))); got != "hash=again" {
			t.Error(got)
		}
		if _, err := f.Report(ctx, at, false, dispatcher.Outcome{}); !errors.Is(err, failed) {
			t.Error(err)
		}
		if n, ok, err := f.MaxRetries(ctx, at); n != 7 || !ok || err != nil {
			t.Errorf("%d, %v, %v", n, ok, err)
		}
		if f.Check(nil) == nil {
			t.Error("not checked")
		}
	})
}
