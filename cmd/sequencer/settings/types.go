package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mina-sequencer/dispatcher"
	"mina-sequencer/mina"
)

type typesConfig struct {
	Types       nameList     `env:"SEQUENCER_TYPES" shown:"all known" wants:"known type names, comma-separated" means:"Types that this process dispatches"`
	WorkerTypes nameList     `env:"SEQUENCER_WORKER_TYPES" wants:"names of 1 to 64 of A-Z 0-9 _, comma-separated" means:"Further types, done wholly by their worker; their data is any JSON object"`
	Overlap     overlapModes `env:"SEQUENCER_OVERLAP" wants:"TYPE=chained, TYPE=commuting or TYPE=alone for known types, comma-separated" means:"How several transactions of a type go together in flight, over what the type says itself; see below"`
	Simulate    nameList     `env:"SEQUENCER_SIMULATE" wants:"known type names, comma-separated" means:"Types that are simulated before they are proved, where their worker simulates: what Mina would refuse costs no proof and no fee; see below"`
	Width       int          `env:"SEQUENCER_WIDTH,default=1" min:"1" max:"24" wants:"a number from 1 to 24" means:"How many transactions of one queue may be pending at once, where nobody has set another width for it"`
}

func (c typesConfig) check(r *report, ledgers ledgersConfig) {
	if c.OnlyBatches() && len(ledgers.Targets) == 0 {
		r.bad("names SUBMIT_BATCH alone, and SEQUENCER_LEDGERS is empty", "SEQUENCER_TYPES", "SEQUENCER_LEDGERS")
	}
	for _, name := range c.WorkerTypes {
		if slices.Contains(r.need.Types, name) {
			r.bad("names "+name+", which is built in", "SEQUENCER_WORKER_TYPES")
		}
	}
	known := slices.Concat(r.need.Types, c.WorkerTypes)
	for variable, names := range map[string][]string{
		"SEQUENCER_TYPES": c.Types, "SEQUENCER_OVERLAP": slices.Sorted(maps.Keys(c.Overlap)),
		"SEQUENCER_SIMULATE": c.Simulate,
	} {
		for _, name := range names {
			if !slices.Contains(known, name) {
				r.bad("names "+name+", which is neither built in nor in SEQUENCER_WORKER_TYPES", variable, "SEQUENCER_WORKER_TYPES")
			}
		}
	}
}

// OnlyBatches: no type of Mina is dispatched.
func (c typesConfig) OnlyBatches() bool {
	return len(c.Types) > 0 && !c.forMina()
}

func (c typesConfig) forMina() bool {
	return len(c.Types) == 0 ||
		slices.ContainsFunc(c.Types, func(typ string) bool { return typ != dispatcher.SubmitBatchType })
}

// nameList holds type names.
type nameList []string

// EnvDecode reads comma-separated names of A-Z 0-9 _.
func (l *nameList) EnvDecode(text string) error {
	for _, name := range splitList(text) {
		if len(name) > 64 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			return refusal("holds what cannot be a type name")
		}
		if slices.Contains(*l, name) {
			return refusal("names a type twice")
		}
		*l = append(*l, name)
	}
	return nil
}

func (l nameList) String() string { return strings.Join(l, ",") }

// overlapModes says how types go together, by their names.
type overlapModes map[string]dispatcher.Mode

// EnvDecode reads comma-separated TYPE=mode.
func (m *overlapModes) EnvDecode(text string) error {
	modes, err := dispatcher.ParseOverlap(text)
	if err != nil {
		return refusal("holds what is none: " + err.Error())
	}
	*m = modes
	return nil
}

func (m overlapModes) String() string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		items = append(items, name+"="+m[name].String())
	}
	return strings.Join(items, ",")
}

// Registry knows the built-in types and those that the configuration names. Without workers
// it can be asked about types, and dispatches none.
func (c Config) Registry(workers *dispatcher.Client) (*dispatcher.Registry, error) {
	types := new(dispatcher.Registry)
	if err := types.Register(dispatcher.SubmitBatch(c.Ledgers.Targets.Names())); err != nil {
		return nil, err
	}
	if err := types.Register(dispatcher.VotingTypes(workers, dispatcher.NewRules(validKey))...); err != nil {
		return nil, err
	}
	for _, name := range c.Types.WorkerTypes {
		if err := types.Register(dispatcher.NewRemote(workers, name, nil)); err != nil {
			return nil, fmt.Errorf("SEQUENCER_WORKER_TYPES: %w", err)
		}
	}
	if err := types.SetOverlap(c.Types.Overlap); err != nil {
		return nil, fmt.Errorf("SEQUENCER_OVERLAP: %w", err)
	}
	return types, nil
}

// BuiltinTypes are the names of the types that need no setting.
func BuiltinTypes() []string {
	types, err := Config{}.Registry(nil)
	if err != nil {
		panic(err) // the names are fixed
	}
	return types.Types()
}

func validKey(key string) error {
	_, err := mina.ParsePublicKey(key)
	return err
}
