package mina

import (
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestIsSquare compares with the library, over the field of public keys and over
// small primes of every residue.
func TestIsSquare(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	primes := []*big.Int{pallas}
	for _, p := range []int64{3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 101, 65537} {
		primes = append(primes, big.NewInt(p))
	}
	for _, p := range primes {
		seen := map[bool]int{}
		for i := range 500 {
			a := big.NewInt(int64(i))
			if i > 64 {
				var b [40]byte
				for j := range b {
					b[j] = byte(rng.Uint32())
				}
				a.SetString(hex.EncodeToString(b[:]), 16)
			}
			a.Mod(a, p)
			got, want := isSquare(limbsOf(a), limbsOf(p)), big.Jacobi(a, p) != -1
			if got != want {
				t.Fatalf("isSquare(%v, %v) = %v", a, p, got)
			}
			seen[got]++
		}
		if seen[true] == 0 || seen[false] == 0 {
			t.Errorf("modulo %v only one kind was tried: %v", p, seen)
		}
	}
}

func BenchmarkParsePublicKey(b *testing.B) {
	for b.Loop() {
		if _, err := ParsePublicKey("B62qiy32p8kAKnny8ZFwoMhYpBppM1DWVCqAPBYNcXnsAHhnfAAuXgg"); err != nil {
			b.Fatal(err)
		}
	}
}
