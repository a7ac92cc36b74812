package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"strings"
	"time"

	"mina-sequencer/sequencer/webhooks"
)

// fileSuffix is that of a variable which names the file with a secret.
const fileSuffix = "_FILE"

// withSecrets returns env with the secrets that stand in files, and what is wrong with
// these files.
func withSecrets(env map[string]string) (all map[string]string, bad map[string]problem) {
	all, bad = maps.Clone(env), map[string]problem{}
	vars := variables(&config{})
	for _, v := range vars {
		file := v.name + fileSuffix
		if !v.secret || env[file] == "" {
			continue
		}
		text, err := readSecret(env[file])
		switch {
		case env[v.name] != "":
			bad[file] = problem{reason: "is set beside " + v.name}
		case err != nil:
			bad[file] = problem{reason: "cannot be used: " + err.Error()}
		default:
			all[v.name] = text
		}
	}
	return all, bad
}

// readSecret returns what a file holds, without the space around it.
func readSecret(path string) (string, error) {
	const most = 1 << 20
	f, err := os.Open(path)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // the path is told anyhow
		}
		return "", err
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	text := strings.TrimSpace(string(raw))
	switch {
	case err != nil:
		return "", err
	case len(raw) > most:
		return "", errors.New("it is larger than 1MiB")
	case text == "":
		return "", errors.New("it is empty")
	}
	return text, nil
}

// A watchedFile is a secret that is taken into use again when its file has changed.
type watchedFile struct {
	variable, path string
	take           func(text string) error

	used string // the last that was taken, or tried to be
	seen string // at the look before this one
}

// secretsLook is how often the files of secrets are looked at.
const secretsLook = time.Second

// watchSecrets looks at files until ctx ends.
func watchSecrets(ctx context.Context, files []*watchedFile, log *slog.Logger) {
	if len(files) == 0 {
		return
	}
	look := time.NewTicker(secretsLook)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			for _, f := range files {
				f.look(log)
			}
		}
	}
}

// look takes what the file holds if it did so at the look before, too: a file that is being
// written is not taken by halves. What cannot be used leaves that before in use.
func (f *watchedFile) look(log *slog.Logger) {
	text, err := readSecret(f.path)
	if err != nil {
		text = "" // as it is between two writes
	}
	before := f.seen
	f.seen = text
	if text == f.used || text != before {
		return
	}
	f.used = text
	if err == nil {
		err = f.take(text)
	}
	if err != nil {
		log.Warn("a changed secret cannot be used; the one before stays in use", "setting", f.variable, "err", err)
		return
	}
	log.Info("secret read again", "setting", f.variable)
}

// secretFiles are those that a running process takes into use.
func (s *service) secretFiles() []*watchedFile {
	var files []*watchedFile
	add := func(variable, path string, take func(string) error) {
		if path == "" {
			return
		}
		f := &watchedFile{variable: variable, path: path, take: take}
		if text, err := readSecret(path); err == nil && take(text) == nil {
			f.used = text // which may be another one than at the start
		}
		files = append(files, f)
	}
	add("SEQUENCER_API_KEYS_FILE", s.cfg.HTTP.APIKeysFile, func(text string) error {
		var keys apiKeys
		if err := keys.EnvDecode(text); err != nil {
			return err
		}
		if len(keys) == 0 {
			return refusal("holds no key")
		}
		s.keys.Replace(keys.keys())
		return nil
	})
	add("SEQUENCER_WORKER_TOKEN_FILE", s.cfg.Senders.WorkerTokenFile, func(text string) error {
		if !isToken(text) {
			return refusal("holds characters that no HTTP header can carry, or is too long")
		}
		s.workers.SetToken(text)
		return nil
	})
	add("SEQUENCER_WEBHOOKS_FILE", s.cfg.Webhook.File.Path, func(text string) error {
		entries, err := parseWebhooks(text)
		if err == nil {
			err = webhooks.CheckAll(entries, len(s.cfg.Webhook.Private) > 0)
		}
		if err != nil {
			return err
		}
		s.webhooks.Define(entries)
		return nil
	})
	add("SEQUENCER_LEDGER_AUTH_FILE", s.cfg.Ledgers.AuthFile, s.ledgerAuth.take)
	return files
}
