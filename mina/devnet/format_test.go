package devnet

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		key                 string
		wellFormed, onCurve bool
	}{
		{"B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg", true, true},
		{"B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx", true, true},
		{"B62qiXDJardLAHe28XWYigxKbRKzdNEY7kT7sbMuoxLyPeAECtziTcV", true, false},
		{"B62qiTKpEPjGTSHZrtM8uXiKgn8So916pLmNJKDhKeyBQL9TDb3nvBG", true, false},
		{"B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgh", false, false},
		{"", false, false},
		{strings.Repeat("1", 200), false, false},
	}
	for _, tt := range tests {
		if got := wellFormedKey(tt.key); got != tt.wellFormed {
			t.Errorf("wellFormedKey(%q) = %v", tt.key, got)
		}
		if got := wellFormedKey(tt.key) && onCurve(tt.key); got != tt.onCurve {
			t.Errorf("onCurve(%q) = %v", tt.key, got)
		}
	}
	seen := map[string]bool{}
	for n := range uint64(50) {
		key := Key(n)
		if len(key) != 55 || !strings.HasPrefix(key, "B62q") || !wellFormedKey(key) || !onCurve(key) || seen[key] {
			t.Errorf("Key(%d) = %q", n, key)
		}
		seen[key] = true
	}
}

func TestMemo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello":                 "E4YXYczkh3RDn4ayEo5fLXQf3U1mZyAVtadozsT41ftMqkqsJxvdM",
		"":                      "E4YM2vTHhWEg66xpj52JErHUBU4pZ1yageL4TVDDpTTSsv8mK6YaH",
		"héllo ✓":               "E4YhGWHHvRBMpux5q4pZEF8Y8kSbKeuq1tZ47omyp8DEogLt4kiYD",
		strings.Repeat("a", 32): "E4ZRydYtdrdiaqvrG5q1FWpXnrCRYYKHj9vhQw7rQ4Uo4CZPqryZe",
	} {
		got, err := encodeMemo(text)
		if err != nil || got != want {
			t.Errorf("encodeMemo(%q) = %q, %v", text, got, err)
		}
		if back, ok := decodeMemo(want); !ok || back != text {
			t.Errorf("decodeMemo(%q) = %q, %v", want, back, ok)
		}
	}
	if _, err := encodeMemo(strings.Repeat("a", 33)); err == nil {
		t.Error("33 bytes have to be refused")
	}
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, prefix string
		length             int
	}{
		{"transaction hash", digest58(versionHash, 0x20, nil), "5J", 52},
		{"state hash", digest58(versionStateHash, 1, nil), "3N", 52},
		{"ledger hash", digest58(versionLedgerHash, 1, nil), "j", 51},
		{"epoch seed", digest58(versionEpochSeed, 1, nil), "2v", 52},
		{"receipt chain", digest58(versionReceiptChain, 1, nil), "2m", 52},
		{"signature", signature(nil), "7m", 96},
	}
	for _, tt := range tests {
		if !strings.HasPrefix(tt.text, tt.prefix) || len(tt.text) != tt.length {
			t.Errorf("%s: %q, want %s… of %d characters", tt.name, tt.text, tt.prefix, tt.length)
		}
	}
}
