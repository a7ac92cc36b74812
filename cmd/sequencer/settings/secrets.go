package settings

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"
)

// FileSuffix is that of a variable which names the file with a secret.
const FileSuffix = "_FILE"

// withSecrets returns env with the secrets that stand in files, and what is wrong with
// these files.
func withSecrets(env map[string]string) (all map[string]string, bad map[string]Problem) {
	all, bad = maps.Clone(env), map[string]Problem{}
	vars := variables(&Config{})
	for _, v := range vars {
		file := v.name + FileSuffix
		if !v.secret || env[file] == "" {
			continue
		}
		text, err := ReadSecret(env[file])
		switch {
		case env[v.name] != "":
			bad[file] = Problem{Reason: "is set beside " + v.name}
		case err != nil:
			bad[file] = Problem{Reason: "cannot be used: " + err.Error()}
		default:
			all[v.name] = text
		}
	}
	return all, bad
}

// ReadSecret returns what a file holds, without the space around it. It fails for an empty
// file and for one above 1MiB; its error names no path.
func ReadSecret(path string) (string, error) {
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
