package tx

// Cost is what the attempts of t have cost, or may still cost, in nanomina. Of those
// with one nonce only one can land, so the dearest of them counts.
func (t *Transaction) Cost() uint64 {
	type place struct {
		sender string
		nonce  uint32
	}
	var sum uint64
	dearest := make(map[place]uint64, 1)
	for i := range t.Attempts {
		a := &t.Attempts[i]
		if p := (place{a.Sender, a.Nonce}); a.costs() && a.Fee > dearest[p] {
			sum += a.Fee - dearest[p]
			dearest[p] = a.Fee
		}
	}
	return sum
}
