package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"

	"mina-sequencer/sequencer/webhooks"
)

// networkList are networks in CIDR notation.
type networkList []netip.Prefix

// EnvDecode reads 10.1.0.0/16,….
func (l *networkList) EnvDecode(text string) error {
	for _, item := range splitList(text) {
		n, err := netip.ParsePrefix(item)
		if err != nil || n.Masked() != n {
			return refusal("holds what is no network, or an address within one")
		}
		*l = append(*l, n)
	}
	return nil
}

func (l networkList) String() string {
	shown := make([]string, len(l))
	for i, n := range l {
		shown[i] = n.String()
	}
	return strings.Join(shown, ",")
}

// webhookFile is a file of webhook endpoints, read when the configuration is, and again
// when it has changed.
type webhookFile struct {
	Path    string
	Entries []webhooks.Definition
	Exposed bool // others can read it

	version string
}

// EnvDecode reads the file that text names.
func (f *webhookFile) EnvDecode(text string) error {
	version := versionOf(text)
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
	var entries []webhooks.Definition
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&entries); err != nil || decoder.More() {
		return refusal("is a file that holds no JSON list of endpoints")
	}
	info, err := file.Stat()
	*f = webhookFile{Path: text, Entries: entries, Exposed: err == nil && info.Mode().Perm()&0o044 != 0, version: version}
	return nil
}

func (f webhookFile) String() string { return f.Path }

// source tells what the file defines each time that it has changed, and first what it
// defined when the configuration was read. What cannot be used is an error, once, and
// leaves what was read before.
func (f webhookFile) source() func() ([]webhooks.Definition, bool, error) {
	if f.Path == "" {
		return func() ([]webhooks.Definition, bool, error) { return nil, false, nil }
	}
	var mu sync.Mutex
	first := true
	return func() ([]webhooks.Definition, bool, error) {
		mu.Lock()
		defer mu.Unlock()
		if first {
			first = false
			return f.Entries, true, nil
		}
		version := versionOf(f.Path)
		if version == f.version {
			return nil, false, nil
		}
		f.version = version
		var changed webhookFile
		if err := changed.EnvDecode(f.Path); err != nil {
			return nil, false, err
		}
		f = changed
		return f.Entries, true, nil
	}
}
