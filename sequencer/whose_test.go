package sequencer

import (
	"testing"

	"mina-sequencer/mina"
	"mina-sequencer/sequencer/lifecycle"
)

// TestWhose: a refusal is put down to the sender only where no payload could have brought it
// about, and to the network where nobody's would be taken.
func TestWhose(t *testing.T) {
	t.Parallel()
	const (
		payer, other = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg", "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
		plain        = `{"feePayer":{"body":{"publicKey":"` + payer + `"}},"accountUpdates":[{"body":{"publicKey":"` + other + `"}}]}`
		signsToo     = `{"feePayer":{"body":{"publicKey":"` + payer + `"}},"accountUpdates":[{"body":{"publicKey":"` + payer + `"}}]}`
		refused      = "Couldn't send zkApp command: "
	)
	for name, test := range map[string]struct {
		words, signed string
		want          lifecycle.Blame
	}{
		"the payer's signature":                {refused + `(invalid (Invalid_signature: [` + payer + `]))`, plain, lifecycle.BlameSender},
		"a signature in the payload":           {refused + `(invalid (Invalid_signature: [` + other + `]))`, plain, ""},
		"the payer's key, in an update, too":   {refused + `(invalid (Invalid_signature: [` + payer + `]))`, signsToo, ""},
		"a signature, and nobody is named":     {refused + `["Invalid_signature"]`, plain, ""},
		"a signature in what cannot be read":   {refused + `(invalid (Invalid_signature: [` + payer + `]))`, `[]`, ""},
		"the payer's balance":                  {refused + `["Insufficient_funds"]`, signsToo, lifecycle.BlameSender},
		"the payer's permissions":              {refused + `["Fee_payer_not_permitted_to_send"]`, plain, lifecycle.BlameSender},
		"the stop slot of a hard fork":         {refused + `["After_slot_tx_end"]`, plain, lifecycle.BlameNetwork},
		"a proof":                              {refused + `(invalid (Invalid_proof "stale"))`, plain, ""},
		"an authorization of the wrong kind":   {refused + `(invalid (Mismatched_authorization_kind))`, plain, ""},
		"a fee that is too low":                {refused + `Insufficient fee`, plain, ""},
		"a command that no node can read":      {"Could not decode the memo", plain, ""},
		"words that are not in the dictionary": {refused + `["Never_heard"]`, plain, ""},
	} {
		if got := whose(mina.ClassifySend(test.words), []byte(test.signed)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
