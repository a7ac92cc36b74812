package dispatcher_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mina-sequencer/dispatcher"
)

func TestParseOverlap(t *testing.T) {
	t.Parallel()
	got, err := dispatcher.ParseOverlap(" A=chained,B = commuting,, C=alone ")
	want := map[string]dispatcher.Mode{"A": dispatcher.Chained, "B": dispatcher.Commuting, "C": dispatcher.Alone}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := dispatcher.ParseOverlap(""); err != nil || len(got) != 0 {
		t.Errorf("of nothing: %v, %v", got, err)
	}
	for text, names := range map[string]string{
		"A": `""`, "A=": `""`, "A=Chained": `"Chained"`, "A=chained=alone": `"chained=alone"`, "=chained": `""`,
		"a=chained": `"a"`, "A=chained,A=chained": "A is named twice", "A=chained;B=alone": `"chained;B=alone"`,
		"A=Mode(1)":                        `"Mode(1)"`,
		strings.Repeat("a", 81) + "=alone": `"` + strings.Repeat("a", 80) + `"`,
		"A=" + strings.Repeat("b", 81):     `A is "` + strings.Repeat("b", 80) + `", want one of alone, chained, commuting`,
	} {
		if _, err := dispatcher.ParseOverlap(text); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v, want %s named", text, err, names)
		}
	}
	if got := dispatcher.Mode(3).String() + dispatcher.Mode(-1).String(); got != "Mode(3)Mode(-1)" {
		t.Error(got)
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	client := dispatcher.NewClient(dispatcher.ClientOptions{})
	types := new(dispatcher.Registry)
	err := types.Register(
		dispatcher.NewRemote(client, "SAYS", nil).Together(dispatcher.Chained).AlsoPostedAs("SAID"),
		dispatcher.NewRemote(client, "SILENT", nil),
		dispatcher.Func{Name: "FUNC", Mode: dispatcher.Commuting},
		silent{dispatcher.Func{Name: "NOT_ASKED"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	check := func(want map[string]string) {
		t.Helper()
		for name, mode := range want {
			if got := types.Overlap(name).String(); got != mode {
				t.Errorf("%s is %s, want %s", name, got, mode)
			}
		}
	}
	check(map[string]string{
		"SAYS": "chained", "SAID": "chained", "SILENT": "alone", "FUNC": "commuting", "NOT_ASKED": "alone", "UNKNOWN": "alone",
	})
	if err := types.SetOverlap(map[string]dispatcher.Mode{"SAYS": dispatcher.Alone, "UNKNOWN": dispatcher.Chained}); err == nil || err.Error() != "type UNKNOWN is not known" {
		t.Errorf("of an unknown type: %v", err)
	}
	check(map[string]string{"SAYS": "chained"})
	if err := types.SetOverlap(map[string]dispatcher.Mode{"SAYS": dispatcher.Alone, "NOT_ASKED": dispatcher.Chained}); err != nil {
		t.Error(err)
	}
	check(map[string]string{"SAYS": "alone", "SAID": "alone", "NOT_ASKED": "chained", "FUNC": "commuting"})
}

// silent is a type without a word of its own on overlap.
type silent struct{ dispatcher.Dispatcher }

// What creates an account is in flight alone; all others of a voting round chain. All settle
// at depth 1: workers/voting/test/ahead.test.ts tries why they may.
func TestVotingOverlap(t *testing.T) {
	t.Parallel()
	types := new(dispatcher.Registry)
	if err := types.Register(dispatcher.VotingTypes(dispatcher.NewClient(dispatcher.ClientOptions{}), newRules())...); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range types.Types() {
		got[name] = types.Overlap(name).String()
		d, _ := types.Lookup(name)
		if depth := d.(dispatcher.Settler).SettleDepth(); depth != 1 {
			t.Errorf("%s settles at depth %d", name, depth)
		}
	}
	want := map[string]string{
		"CREATE_CLAIM_VOTING_ACCOUNT": "alone", "CREATE_VOTING_BATCHES_ACCOUNT": "alone",
		"SEND_CLAIM_VOTE": "chained", "RECEIVE_VOTES_BATCH": "chained", "COMMIT_ALL_VOTING_BATCHES": "chained",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
