package mina

import (
	"encoding/hex"
	"errors"
	"math"
	"mina-sequencer/sequencer/fees"
	"strings"
	"testing"
)

const (
	keyA   = "B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"
	keyB   = "B62qiVGZQdBJJrxnzhvqp7LKe6jDiFcpU3cF5xHoZof5Pz9qiL85KLx"
	offX0  = "B62qiTKpEPjGTSHZrtM8uXiKgn8So916pLmNJKDhKeyBQL9TDb3nvBG"
	offX2  = "B62qiXDJardLAHe28XWYigxKbRKzdNEY7kT7sbMuoxLyPeAECtziTcV"
	txnOne = "5JtYpzGH82TUAqSaNfGMTXjB9ZNAJtSD8c9bKP6w27jVb4ZBCcCx"
	txnTwo = "5Jueasu5pw8pJFUC3GXqEiJJVw87F1SBjRPwaTA8rkjrzwVKwY6Y"
)

func TestParsePublicKey(t *testing.T) {
	t.Parallel()
	flag := func(x, odd byte, format ...byte) string {
		payload := make([]byte, 35)
		payload[0], payload[1], payload[2], payload[34] = 1, 1, x, odd
		copy(payload, format)
		return EncodeCheck(VersionPublicKey, payload)
	}
	// The order of the field plus one: a point, but not in its one spelling.
	beyond, _ := hex.DecodeString("010102000000ed302d991bf94c09fc98462200000000000000000000000000000040" + "01")
	for _, tt := range []struct {
		name, text string
		want       error
	}{
		{"vector", keyA, nil},
		{"x is 1 and y odd", keyB, nil},
		{"made here", flag(1, 1), nil},
		{"y is neither odd nor even", flag(1, 2), ErrPublicKey},
		{"other format", flag(1, 1, 2, 1), ErrPublicKey},
		{"other inner format", flag(1, 1, 1, 2), ErrPublicKey},
		{"the empty key", offX0, ErrPublicKey},
		{"x is 2", offX2, ErrPublicKey},
		{"x beyond the field", EncodeCheck(VersionPublicKey, beyond), ErrPublicKey},
		{"checksum", keyA[:54] + "h", ErrBase58Check},
		{"a transaction hash", txnOne, ErrBase58Check},
		{"empty", "", ErrBase58Check},
		{"not in the alphabet", strings.Replace(keyA, "q", "0", 1), ErrBase58Check},
		{"not ASCII", strings.Replace(keyA, "q", "é", 1), ErrBase58Check},
		{"space before", " " + keyA, ErrBase58Check},
		{"huge", strings.Repeat("B", 1<<20), ErrBase58Check},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, err := ParsePublicKey(tt.text)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil && string(key) != tt.text {
				t.Errorf("key %q", key)
			}
		})
	}
	payload, err := DecodeCheck(VersionPublicKey, 35, keyA)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(payload), "01010f48c65bd25f85f3e4ea4efebeb75b797bd743603be04b4ead845698b76bd33100"; got != want {
		t.Errorf("payload %s, want %s", got, want)
	}
}

func TestValidHash(t *testing.T) {
	t.Parallel()
	payload, _ := hex.DecodeString("2007c70062e6dfe6c9465377d0edb6842c8a383188ae2699b80cd0364c0b853bcf")
	if got := EncodeCheck(VersionTransaction, payload); got != txnOne {
		t.Errorf("encoded %s, want %s", got, txnOne)
	}
	payload[0] = 31
	for text, want := range map[string]bool{
		txnOne: true, txnTwo: true,
		EncodeCheck(VersionTransaction, payload): false,
		txnOne[:51] + "y":                        false, keyA: false, "": false, "5J": false,
	} {
		if got := ValidHash(text); got != want {
			t.Errorf("ValidHash(%q) = %v", text, got)
		}
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
		got, err := EncodeMemo(text)
		if err != nil || got != want {
			t.Errorf("EncodeMemo(%q) = %s, %v; want %s", text, got, err, want)
		}
		if back, err := DecodeMemo(want); err != nil || back != text {
			t.Errorf("DecodeMemo(%s) = %q, %v; want %q", want, back, err, text)
		}
	}
	for _, text := range []string{strings.Repeat("a", 33), strings.Repeat("é", 17), "\xff"} {
		if _, err := EncodeMemo(text); !errors.Is(err, ErrMemo) {
			t.Errorf("EncodeMemo(%q): %v", text, err)
		}
	}
	with := func(tag, size, last byte) string {
		payload := make([]byte, 34)
		payload[0], payload[1], payload[33] = tag, size, last
		return EncodeCheck(VersionMemo, payload)
	}
	for name, tt := range map[string]struct {
		b58  string
		want error
	}{
		"a digest":       {with(0, 32, 7), ErrMemo},
		"too long":       {with(1, 33, 0), ErrMemo},
		"dirty padding":  {with(1, 3, 7), ErrMemo},
		"a hash":         {txnOne, ErrBase58Check},
		"empty":          {"", ErrBase58Check},
		"wrong checksum": {"E4YXYczkh3RDn4ayEo5fLXQf3U1mZyAVtadozsT41ftMqkqsJxvdN", ErrBase58Check},
	} {
		if _, err := DecodeMemo(tt.b58); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", name, err, tt.want)
		}
	}
}

// TestDecodeCheck: what is of another kind or length is told as what it is.
func TestDecodeCheck(t *testing.T) {
	t.Parallel()
	payload := []byte("a payload of 24 bytes...")
	good := EncodeCheck(0x1a, payload)
	if got, err := DecodeCheck(0x1a, len(payload), good); err != nil || string(got) != string(payload) {
		t.Errorf("%q, %v", got, err)
	}
	for _, tt := range []struct {
		text, want string
	}{
		{EncodeCheck(0x1b, payload), "version 0x1b instead of 0x1a"},
		{EncodeCheck(0x1a, payload[1:]), "28 bytes instead of 29"},
		{good[:10] + "0" + good[11:], "base58"},
		{good[:10] + "z" + good[11:], "wrong checksum"},
		{strings.Repeat("1", 42), "42 characters are too many"},
		{strings.Repeat("1", 41), "41 bytes instead of 29"},
	} {
		if got, err := DecodeCheck(0x1a, len(payload), tt.text); !errors.Is(err, ErrBase58Check) || !strings.Contains(err.Error(), tt.want) || got != nil {
			t.Errorf("%s: %q, %v, want %s", tt.text, got, err, tt.want)
		}
	}
	// No text of this length is too long, whatever is in it.
	highest := EncodeCheck(0xff, []byte(strings.Repeat("\xff", len(payload))))
	if _, err := DecodeCheck(0xff, len(payload), highest); err != nil {
		t.Errorf("%d characters: %v", len(highest), err)
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"0": 0, "0.1": 100_000_000, "5": 5_000_000_000, "0.000000001": 1, "007.50": 7_500_000_000,
		"18446744073.709551615": math.MaxUint64,
	} {
		if got, err := FeeFromMina(text); err != nil || got != want {
			t.Errorf("FeeFromMina(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ".", "1.", ".5", "-1", "+1", "1e9", "0.0000000001", "1,5", " 1", "1 ", "1.2.3", "0x1", "١",
		"18446744073.709551616", strings.Repeat("9", 100),
	} {
		if got, err := FeeFromMina(text); !errors.Is(err, ErrAmount) || got != 0 {
			t.Errorf("FeeFromMina(%q) = %d, %v", text, got, err)
		}
	}
	for nano, want := range map[uint64]string{
		0: "0", 1: "0.000000001", 100_000_000: "0.1", 5_000_000_000: "5", 10_010_000_000: "10.01",
		math.MaxUint64: "18446744073.709551615",
	} {
		if got := fees.FormatMina(nano); got != want {
			t.Errorf("FormatMina(%d) = %q, want %q", nano, got, want)
		}
	}
}

func FuzzParsePublicKey(f *testing.F) {
	for _, s := range []string{keyA, keyB, offX0, offX2, txnOne, "", "B62q", strings.Repeat("z", 56)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if key, err := ParsePublicKey(text); err == nil && (string(key) != text || len(text) != 55 || text[:4] != "B62q") {
			t.Errorf("accepted %q as %q", text, key)
		}
		if ValidHash(text) && (len(text) != 52 || text[:2] != "5J") {
			t.Errorf("accepted hash %q", text)
		}
	})
}

func FuzzMemo(f *testing.F) {
	for _, s := range []string{"", "hello", "héllo ✓", "\xff", "E4YXYczkh3RDn4ayEo5fLXQf3U1mZyAVtadozsT41ftMqkqsJxvdM"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if b58, err := EncodeMemo(text); err == nil {
			if back, err := DecodeMemo(b58); err != nil || back != text {
				t.Errorf("%q came back as %q, %v", text, back, err)
			}
		}
		if plain, err := DecodeMemo(text); err == nil && len(plain) > MemoBytes {
			t.Errorf("memo of %d bytes", len(plain))
		}
	})
}

func FuzzAmounts(f *testing.F) {
	for _, s := range []string{"", "0.1", "5", "1e9", "18446744073.709551615", "18446744073.709551616", "-0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		nano, err := FeeFromMina(text)
		if err != nil {
			return
		}
		if back, err := FeeFromMina(fees.FormatMina(nano)); err != nil || back != nano {
			t.Errorf("%q is %d, came back as %d, %v", text, nano, back, err)
		}
	})
}
