package amounts

import "testing"

func TestAmounts(t *testing.T) {
	t.Parallel()
	for text, nano := range map[string]uint64{
		"0": 0, "1": 1_000_000_000, "0.1": 100_000_000, "0.000000001": 1, "12.050000003": 12_050_000_003, "18446744073": 18_446_744_073_000_000_000,
	} {
		if got, err := Nano(text); err != nil || got != nano {
			t.Errorf("%s is read as %d, %v", text, got, err)
		}
		if got := MINA(nano); got != text {
			t.Errorf("%d is shown as %s", nano, got)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.0000000001", "18446744074", "much"} {
		if got, err := Nano(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}
