package serve

import (
	"context"
	"log/slog"
	"time"

	"mina-sequencer/cmd/sequencer/settings"
)

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
	text, err := settings.ReadSecret(f.path)
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
func (s *Service) secretFiles() []*watchedFile {
	var files []*watchedFile
	add := func(variable, path string, take func(string) error) {
		if path == "" {
			return
		}
		f := &watchedFile{variable: variable, path: path, take: take}
		if text, err := settings.ReadSecret(path); err == nil && take(text) == nil {
			f.used = text // which may be another one than at the start
		}
		files = append(files, f)
	}
	add("SEQUENCER_API_KEYS_FILE", s.cfg.HTTP.APIKeysFile, func(text string) error {
		keys, err := settings.ParseKeys(text)
		if err == nil {
			s.keys.Replace(keys)
		}
		return err
	})
	add("SEQUENCER_WORKER_TOKEN_FILE", s.cfg.Senders.WorkerTokenFile, func(text string) error {
		err := settings.CheckToken(text)
		if err == nil {
			s.workers.SetToken(text)
		}
		return err
	})
	add("SEQUENCER_WEBHOOKS_FILE", s.cfg.Webhook.File.Path, func(text string) error {
		entries, err := s.cfg.Webhook.Parse(text)
		if err == nil {
			s.webhooks.Define(entries)
		}
		return err
	})
	add("SEQUENCER_LEDGER_AUTH_FILE", s.cfg.Ledgers.AuthFile, s.showLedgers)
	return files
}
