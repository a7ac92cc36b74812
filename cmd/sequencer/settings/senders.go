package settings

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/mina"
	"mina-sequencer/senders"
	"mina-sequencer/senders/local"
)

type sendersConfig struct {
	List            senderList    `env:"SEQUENCER_SENDERS" secret:"refused" wants:"accountId=workerUrl,… where accountId is a B62… public key" means:"Fee payers, each with its worker"`
	File            senderFile    `env:"SEQUENCER_SENDERS_FILE" wants:"a JSON file of at most 1MiB: [{\"accountId\",\"workerUrl\"},…], or {\"accountId\",\"command\":[…],\"env\":{…}} for a worker that this process runs" means:"The same from a file; see below for workers that are commands"`
	WorkerToken     string        `env:"SEQUENCER_WORKER_TOKEN" secret:"true" wants:"printable ASCII without spaces" means:"Bearer token that workers are shown"`
	WorkerTokenFile string        `env:"SEQUENCER_WORKER_TOKEN_FILE" wants:"a file of at most 1MiB with the value of SEQUENCER_WORKER_TOKEN, which is not set itself" means:"The same from a file; it is read again when it changes"`
	MinBalance      minaFee       `env:"SEQUENCER_MIN_BALANCE,default=1" wants:"MINA with at most 9 decimals" means:"What a sender must have to spend to be given work, in MINA; never less than SEQUENCER_FEE"`
	BalanceInterval time.Duration `env:"SEQUENCER_BALANCE_INTERVAL,default=1m" min:"1s" max:"1h" wants:"a duration from 1s to 1h" means:"How often the balances of all senders are read"`
	StateDir        string        `env:"SEQUENCER_STATE_DIR" shown:"in the user's cache folder" wants:"an absolute path" means:"Folder in which it is noted what workers run, so that those left over are found"`
}

func (c sendersConfig) check(r *report) {
	for _, s := range c.File.Entries {
		if slices.ContainsFunc(c.List, func(other Sender) bool { return other.AccountID == s.AccountID }) {
			r.bad("names "+s.AccountID+", which SEQUENCER_SENDERS has already", "SEQUENCER_SENDERS_FILE", "SEQUENCER_SENDERS")
		}
	}
	if c.File.Exposed {
		r.odd("SEQUENCER_SENDERS_FILE holds an env and can be read by other users: chmod 600")
	}
	if c.StateDir != "" && !filepath.IsAbs(c.StateDir) {
		r.bad("is no absolute path", "SEQUENCER_STATE_DIR")
	}
	if c.WorkerToken != "" {
		if err := CheckToken(c.WorkerToken); err != nil {
			r.bad(err.Error(), "SEQUENCER_WORKER_TOKEN")
		}
	}
}

// Records is the folder in which the local workers of a namespace are noted.
func (c sendersConfig) Records(namespace string) string {
	name := "workers-" + namespace // which may be ".."
	if c.StateDir != "" {
		return filepath.Join(c.StateDir, name)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		return filepath.Join(dir, "sequencer", name)
	}
	return filepath.Join(os.TempDir(), "sequencer-"+strconv.Itoa(os.Getuid())+"-"+name)
}

// All are the configured senders, of the list and of the file.
func (c sendersConfig) All() []Sender { return slices.Concat(c.List, c.File.Entries) }

// A Sender is one configured fee payer and where its worker listens.
type Sender struct{ AccountID, WorkerURL string }

type senderList []Sender

// EnvDecode reads accountId=workerUrl,….
func (l *senderList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		account, worker, ok := strings.Cut(item, "=")
		if !ok {
			return refusal("holds an entry without =")
		}
		if err := l.add(account, worker); err != nil {
			return err
		}
	}
	return nil
}

func (l *senderList) add(account, worker string) error {
	if err := l.check(account); err != nil {
		return err
	}
	if err := checkURL(worker); err != nil {
		return err
	}
	if u, err := url.Parse(worker); err != nil || u.User != nil || u.RawQuery != "" {
		return refusal("holds a worker address with a password or a query; SEQUENCER_WORKER_TOKEN is for secrets")
	}
	*l = append(*l, Sender{AccountID: account, WorkerURL: strings.TrimRight(worker, "/")})
	return nil
}

// addLocal adds a sender whose worker this process runs.
func (l *senderList) addLocal(account string) error {
	if err := l.check(account); err != nil {
		return err
	}
	*l = append(*l, Sender{AccountID: account, WorkerURL: senders.Local})
	return nil
}

// check refuses what is no account, or is there already.
func (l *senderList) check(account string) error {
	if _, err := mina.ParsePublicKey(account); err != nil {
		if !isName(account, 70) { // it may be the address, which is not for others to see
			return refusal("holds an accountId that is no public key")
		}
		return refusal("holds the accountId " + account + ", which is no public key")
	}
	if slices.ContainsFunc(*l, func(s Sender) bool { return s.AccountID == account }) {
		return refusal("names the sender " + account + " twice")
	}
	return nil
}

func (l senderList) String() string {
	shown := make([]string, len(l))
	for i, s := range l {
		shown[i] = s.AccountID + "=" + s.WorkerURL
	}
	return strings.Join(shown, ",")
}

// senderFile is a file of senders, read when the configuration is.
type senderFile struct {
	Path     string
	Entries  senderList
	Commands []local.Command // of the entries whose worker is senders.Local
	Exposed  bool            // holds an env, and others can read it
}

// EnvDecode reads the file that text names.
func (f *senderFile) EnvDecode(text string) error {
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
	if content = bytes.TrimSpace(content); len(content) > 0 && content[0] == '{' {
		content = slices.Concat([]byte{'['}, content, []byte{']'}) // one sender needs no list
	}
	entries, err := decodeList[senderFileEntry](content, "senders")
	if err != nil {
		return err
	}
	for i, e := range entries {
		if err := f.add(e); err != nil {
			return refusal(fmt.Sprintf("has entry %d, which %s", i+1, err))
		}
	}
	if info, err := file.Stat(); err == nil && info.Mode().Perm()&0o044 != 0 {
		f.Exposed = slices.ContainsFunc(f.Commands, func(c local.Command) bool { return len(c.Env) > 0 })
	}
	f.Path = text
	return nil
}

// senderFileEntry is a sender as a file of senders tells it.
type senderFileEntry struct {
	AccountID string            `json:"accountId"`
	WorkerURL string            `json:"workerUrl"`
	Command   []string          `json:"command"`
	Env       map[string]string `json:"env"`
}

func (f *senderFile) add(e senderFileEntry) error {
	if len(e.Command) == 0 && e.Env == nil {
		return f.Entries.add(e.AccountID, e.WorkerURL)
	}
	if e.WorkerURL != "" || len(e.Command) == 0 {
		return refusal("wants either workerUrl, or command with env")
	}
	if err := f.Entries.addLocal(e.AccountID); err != nil {
		return err
	}
	if len(e.Command) > 1000 || slices.ContainsFunc(e.Command, func(a string) bool { return strings.Contains(a, "\x00") }) {
		return refusal("holds a command of more than 1000 words, or with a NUL")
	}
	if _, err := exec.LookPath(e.Command[0]); err != nil {
		return refusal("holds the command " + terminal.Shorten(strconv.Quote(e.Command[0]), 70) + ", which is no program that can be found and run")
	}
	for name, value := range e.Env {
		switch {
		case !isVariable(name):
			return refusal("holds the env name " + terminal.Shorten(strconv.Quote(name), 70) + ", which wants letters, digits and _, the first no digit")
		case name == "PORT", name == "HOST", name == "WORKER_TOKEN", strings.HasPrefix(name, "SEQUENCER_"):
			return refusal("sets " + terminal.Shorten(name, 70) + " in its env, which is for the sequencer to set")
		case strings.Contains(value, "\x00"):
			return refusal("holds a NUL in the env value of " + terminal.Shorten(name, 70))
		}
	}
	f.Commands = append(f.Commands, local.Command{Account: e.AccountID, Args: e.Command, Env: e.Env})
	return nil
}

// isVariable reports whether text can name an environment variable.
func isVariable(text string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	return text != "" && strings.Contains(letters, text[:1]) && strings.Trim(text, letters+"0123456789") == ""
}

func (f senderFile) String() string { return f.Path }
