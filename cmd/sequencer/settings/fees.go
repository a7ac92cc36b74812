package settings

import (
	"math/big"
	"strings"

	"mina-sequencer/mina"
	"mina-sequencer/sequencer/fees"
)

type feeConfig struct {
	First       firstFee `env:"SEQUENCER_FEE,default=0.1" wants:"MINA, from 0.000000001 to SEQUENCER_FEE_MAX, or auto" means:"The first attempt's fee, in MINA; auto: by what others pay, see fees.md"`
	Min         minaFee  `env:"SEQUENCER_FEE_MIN,default=0.01" wants:"MINA, above 0 and with SEQUENCER_FEE=auto at most SEQUENCER_FEE_MAX" means:"The least that auto pays, in MINA"`
	Target      int      `env:"SEQUENCER_FEE_TARGET,default=2" min:"1" max:"20" wants:"a number of blocks from 1 to 20" means:"Blocks within which auto wants a transaction included"`
	BlockZkapps int      `env:"SEQUENCER_BLOCK_ZKAPPS,default=12" min:"1" max:"128" wants:"a number from 1 to 128" means:"zkApp commands that a block takes, by which auto reckons: a limit that block producers share, and may change; a warning says if blocks show more"`
	Bump        factor   `env:"SEQUENCER_FEE_BUMP,default=1.5" wants:"a decimal number above 1 and at most 100" means:"Factor of each retry and each bump"`
	BumpOn      string   `env:"SEQUENCER_FEE_BUMP_ON,default=retry" wants:"retry or price" means:"What raises a constant fee: each retry that is counted; or only what shows that it was too low: a refusal for the fee, an attempt that expired, SEQUENCER_BUMP_AFTER"`
	Max         minaFee  `env:"SEQUENCER_FEE_MAX,default=5" wants:"MINA, at least SEQUENCER_FEE" means:"The most a fee may become, in MINA"`
	LimitSender minaFee  `env:"SEQUENCER_FEE_LIMIT_SENDER,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The most that the attempts of one sender may cost in a day (UTC), in MINA"`
	Limit       minaFee  `env:"SEQUENCER_FEE_LIMIT,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The same for all senders together"`
	LimitQueue  minaFee  `env:"SEQUENCER_FEE_LIMIT_QUEUE,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The same for the transactions of one queue: then it waits for the next day, and its sender is free"`
	LimitKey    minaFee  `env:"SEQUENCER_FEE_LIMIT_KEY,default=0" wants:"MINA, 0 (no limit) or at least SEQUENCER_FEE_MAX" means:"The same for what is posted with the API keys of one name"`
	BumpAfter   int      `env:"SEQUENCER_BUMP_AFTER,default=5" min:"1" max:"100000" wants:"a number of slots from 1 to 100000" means:"Slots in a pool before the fee is raised"`
	ValidSlots  int      `env:"SEQUENCER_VALID_SLOTS,default=40" min:"1" max:"100000" wants:"a number of slots from 1 to 100000" means:"Slots that an attempt stays valid, beside the time its dispatch may take"`
}

const onPrice = "price"

func (c feeConfig) check(r *report) {
	if c.BumpOn != "retry" && c.BumpOn != onPrice {
		r.bad("is neither retry nor price", "SEQUENCER_FEE_BUMP_ON")
	}
	for name, fee := range map[string]minaFee{"SEQUENCER_FEE": c.First.minaFee, "SEQUENCER_FEE_MIN": c.Min,
		"SEQUENCER_FEE_MAX": c.Max} {
		if fee > 0 && fee < fees.Least {
			r.odd(name + "=" + fee.String() + " is less than 0.001 MINA, which is the least that nodes take")
		}
	}
	if c.Max == 0 {
		r.bad("is 0, which no node accepts", "SEQUENCER_FEE_MAX")
	}
	if c.Min == 0 {
		r.bad("is 0, which no node accepts", "SEQUENCER_FEE_MIN")
	} else if c.First.auto && c.Min > c.Max {
		r.bad("is more than SEQUENCER_FEE_MAX="+c.Max.String(), "SEQUENCER_FEE_MIN", "SEQUENCER_FEE_MAX")
	}
	if c.First.minaFee == 0 {
		r.bad("is 0, which no node accepts", "SEQUENCER_FEE")
	} else if c.first() > c.Max {
		r.bad("is more than SEQUENCER_FEE_MAX="+c.Max.String(), "SEQUENCER_FEE", "SEQUENCER_FEE_MAX")
	}
	for name, limit := range map[string]minaFee{"SEQUENCER_FEE_LIMIT_SENDER": c.LimitSender, "SEQUENCER_FEE_LIMIT": c.Limit,
		"SEQUENCER_FEE_LIMIT_QUEUE": c.LimitQueue, "SEQUENCER_FEE_LIMIT_KEY": c.LimitKey} {
		if limit > 0 && limit < c.Max {
			r.bad("is less than SEQUENCER_FEE_MAX="+c.Max.String()+": a fee that was raised so far could never be paid", name, "SEQUENCER_FEE_MAX")
		}
	}
	if bump := c.Bump.rat; bump.Cmp(big.NewRat(1, 1)) <= 0 || bump.Cmp(big.NewRat(100, 1)) > 0 {
		r.bad("is out of range: a fee that does not rise is never taken instead of the one before", "SEQUENCER_FEE_BUMP")
	}
}

// minaFee is a fee in nanomina, written in MINA.
type minaFee uint64

// EnvDecode reads a decimal number of MINA exactly.
func (f *minaFee) EnvDecode(text string) error {
	n, err := mina.FeeFromMina(text)
	if err != nil {
		return refusal("is not an amount of MINA with at most 9 decimals")
	}
	*f = minaFee(n)
	return nil
}

func (f minaFee) String() string { return fees.FormatMina(uint64(f)) }

// firstFee is a fee, or auto: by what others pay. Where nobody knows that, auto pays what
// the setting is by default.
type firstFee struct {
	minaFee
	auto bool
}

// EnvDecode reads auto, or a fee.
func (f *firstFee) EnvDecode(text string) error {
	f.auto = text == "auto"
	if f.auto {
		f.minaFee = fees.NanoPerMina / 10
		return nil
	}
	return f.minaFee.EnvDecode(text)
}

func (f firstFee) String() string {
	if f.auto {
		return "auto"
	}
	return f.minaFee.String()
}

// first is the fee that is paid where nobody knows what others pay.
func (f feeConfig) first() minaFee {
	if f.First.auto {
		return min(max(f.First.minaFee, f.Min), f.Max)
	}
	return f.First.minaFee
}

// factor multiplies fees. It is kept as the exact fraction it was written as.
type factor struct{ rat *big.Rat }

// EnvDecode reads a decimal number without an exponent.
func (f *factor) EnvDecode(text string) error {
	if len(text) > 20 || strings.Trim(text, "0123456789.") != "" {
		return refusal("is not a decimal number")
	}
	rat, ok := new(big.Rat).SetString(text)
	if !ok {
		return refusal("is not a decimal number")
	}
	f.rat = rat
	return nil
}

func (f factor) String() string {
	if f.rat == nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimRight(f.rat.FloatString(18), "0"), ".")
}

// Float is the factor as the nearest float64.
func (f factor) Float() float64 {
	x, _ := f.rat.Float64()
	return x
}

// LeastBalance is the nanomina that a sender must hold to be given work.
func (c Config) LeastBalance() uint64 { return uint64(max(c.Fee.first(), c.Senders.MinBalance)) }
