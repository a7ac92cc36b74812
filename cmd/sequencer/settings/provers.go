package settings

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"mina-sequencer/queues"
	"mina-sequencer/senders/provers"
)

type proversConfig struct {
	List proverList `env:"SEQUENCER_PROVERS" secret:"refused" wants:"url,… of http or https" means:"Provers without a key, for senders whose worker only signs"`
	File proverFile `env:"SEQUENCER_PROVERS_FILE" wants:"a JSON file of at most 1MiB: [{\"url\"},…], each with an id of its own where you want one" means:"The same from a file"`
}

func (c proversConfig) check(r *report) {
	for _, p := range c.File.Entries {
		if slices.ContainsFunc(c.List, func(other Prover) bool { return other.ID == p.ID }) {
			r.bad("names the prover "+p.ID+", which SEQUENCER_PROVERS has already", "SEQUENCER_PROVERS_FILE", "SEQUENCER_PROVERS")
		}
	}
}

// All are the configured provers, of the list and of the file: URLs by their ids.
func (c proversConfig) All() map[string]string {
	all := map[string]string{}
	for _, p := range slices.Concat(c.List, c.File.Entries) {
		all[p.ID] = p.URL
	}
	return all
}

// A Prover is one configured prover.
type Prover struct{ ID, URL string }

type proverList []Prover

// EnvDecode reads url,….
func (l *proverList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		if err := l.add("", item); err != nil {
			return err
		}
	}
	return nil
}

func (l *proverList) add(id, text string) error {
	if err := checkURL(text); err != nil {
		return err
	}
	if u, err := url.Parse(text); err != nil || u.User != nil || u.RawQuery != "" || strings.ContainsAny(text, " \t\n") {
		return refusal("holds an address of a prover with a password, a query or a blank; SEQUENCER_WORKER_TOKEN is for secrets")
	}
	text = strings.TrimRight(text, "/")
	if id == "" {
		id = provers.IDOf(text)
	}
	if !queues.ValidName(id) {
		return refusal("holds an id of a prover that is not 1 to 128 of A-Z a-z 0-9 . _ : -")
	}
	if slices.ContainsFunc(*l, func(p Prover) bool { return p.ID == id }) {
		return refusal("names the prover " + id + " twice")
	}
	*l = append(*l, Prover{ID: id, URL: text})
	return nil
}

func (l proverList) String() string {
	shown := make([]string, len(l))
	for i, p := range l {
		shown[i] = p.URL
	}
	return strings.Join(shown, ",")
}

// proverFile is a file of provers, read when the configuration is.
type proverFile struct {
	Path    string
	Entries proverList
}

// EnvDecode reads the file that text names.
func (f *proverFile) EnvDecode(text string) error {
	file, err := os.Open(text)
	if err != nil {
		return refusal("cannot be opened")
	}
	defer func() { _ = file.Close() }()
	const most = 1 << 20
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return refusal("cannot be read")
	}
	if len(content) > most {
		return refusal("is a file of more than 1MiB")
	}
	entries, err := decodeList[struct {
		ID  string `json:"id"`
		URL string `json:"url"`
	}](content, "provers")
	if err != nil {
		return err
	}
	for i, e := range entries {
		if err := f.Entries.add(e.ID, e.URL); err != nil {
			return refusal(fmt.Sprintf("has entry %d, which %s", i+1, err))
		}
	}
	f.Path = text
	return nil
}

func (f proverFile) String() string { return f.Path }
