package devnet

import "fmt"

// An Era is what commands and accounts look like between two hard forks of Mina. A daemon of one
// reads no command of another.
type Era string

// The eras. Mesa is Mina's since 2026-09.
const (
	Berkeley Era = "berkeley"
	Mesa     Era = "mesa"
)

// Fields is how many state fields an account has.
func (e Era) Fields() int {
	if e == Berkeley {
		return 8
	}
	return maxFields
}

// Zkapps is the soft limit of block producers on the zkApp commands of a block.
func (e Era) Zkapps() int {
	if e == Berkeley {
		return 24
	}
	return DefaultMaxZkapps
}

func (e Era) coinbase() text {
	if e == Berkeley {
		return "720000000000"
	}
	return "360000000000"
}

// version is that of transactions, as an account's permissions name it.
func (e Era) version() string {
	if e == Berkeley {
		return "3"
	}
	return "4"
}

// reads returns why a daemon of the era cannot read a command, nil if it can.
func (e Era) reads(c *command) error {
	for i := range c.updates {
		if n := c.updates[i].fields; n != 0 && n != e.Fields() {
			//nolint:staticcheck // as the daemon begins
			return fmt.Errorf("Could not decode an app state of %d fields: accounts of this network (%s) have %d",
				n, e, e.Fields())
		}
	}
	return nil
}
