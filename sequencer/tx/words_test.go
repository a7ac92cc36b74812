package tx

import (
	"strings"
	"testing"
)

// TestShort: what others have to say is one line of bounded length.
func TestShort(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("ä", 200)
	for text, want := range map[string]string{whole: whole, whole + "x": whole + "…", "a\n b": "a b", "a\xffb": "a?b"} {
		if got := Short(text); got != want {
			t.Errorf("%q is cut to %q", text, got)
		}
	}
}

// TestCauseOf: what a node said is laid to the network, to what stands before the nodes, to these, or to the fee.
func TestCauseOf(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]Cause{
		"After_slot_tx_end": CauseNetwork, CodeGateway: CauseGateway, CodeNoAnswer: CauseNodes,
		"Insufficient_fee": CauseCheap, "Invalid_nonce": NoCause,
	} {
		if got := CauseOf(&Error{Code: code}); got != want {
			t.Errorf("%s is laid to %q, want %q", code, got, want)
		}
	}
	if got := CauseOf(nil); got != NoCause {
		t.Errorf("nothing is laid to %q", got)
	}
}
