package main

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"mina-sequencer/cmd/sequencer/terminal"
	"mina-sequencer/mina"
	"mina-sequencer/senders"
	"mina-sequencer/senders/local"
)

// A senderEntry is one configured fee payer and where its worker listens.
type senderEntry struct{ AccountID, WorkerURL string }

type senderList []senderEntry

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
	*l = append(*l, senderEntry{AccountID: account, WorkerURL: strings.TrimRight(worker, "/")})
	return nil
}

// addLocal adds a sender whose worker this process runs.
func (l *senderList) addLocal(account string) error {
	if err := l.check(account); err != nil {
		return err
	}
	*l = append(*l, senderEntry{AccountID: account, WorkerURL: senders.Local})
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
	if slices.ContainsFunc(*l, func(s senderEntry) bool { return s.AccountID == account }) {
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
