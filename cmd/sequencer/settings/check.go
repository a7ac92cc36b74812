package settings

// A report gathers what is wrong with the settings beside the bounds of each.
type report struct {
	need     needs
	found    map[string]Problem
	warnings []string
}

// bad notes what is wrong between several variables, or with one in a way that bounds
// cannot say: the reason, the variable to change, and those that it was held against.
func (r *report) bad(reason, name string, against ...string) {
	// What is wrong only beside another bad value may be right; so may be a value whose
	// file cannot be read.
	for _, other := range append(against, name) {
		_, seen := r.found[other]
		if _, unread := r.found[other+FileSuffix]; seen || unread {
			return
		}
	}
	r.found[name] = Problem{Reason: reason}
}

// odd notes what works and hardly means what it says.
func (r *report) odd(warning string) { r.warnings = append(r.warnings, warning) }

// check has each group check its own fields, and those of others that they go with. Of what
// is wrong with one variable the first is told.
func (c Config) check(r *report) {
	c.HTTP.check(r)
	c.Redis.check(r)
	c.Mina.check(r, c.Types)
	c.Ledgers.check(r)
	c.Senders.check(r)
	c.Provers.check(r)
	c.Types.check(r, c.Ledgers)
	c.Webhook.check(r)
	c.Retry.check(r)
	c.Depth.check(r)
	c.Fee.check(r)
}
