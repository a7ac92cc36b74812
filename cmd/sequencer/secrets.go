package main

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
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
