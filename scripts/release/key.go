package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Where the OpenPGP key of a release is given, armored; nowhere: it is not signed.
const (
	keyVariable        = "RELEASE_KEY"
	keyFileVariable    = "RELEASE_KEY_FILE"
	passphraseVariable = "RELEASE_KEY_PASSPHRASE"
)

// loadKey reads the key that signs, nil if there is none. No error shows
// anything of key or passphrase.
func loadKey(getenv func(string) string) (*openpgp.Entity, error) {
	armored, from := getenv(keyVariable), keyVariable
	if name := getenv(keyFileVariable); name != "" {
		if armored != "" {
			return nil, fmt.Errorf("%s and %s are both set: wants one", keyVariable, keyFileVariable)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyFileVariable, err)
		}
		armored, from = string(data), keyFileVariable
	}
	if armored == "" {
		return nil, nil
	}
	keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(armored))
	if err != nil || len(keys) != 1 || keys[0].PrivateKey == nil {
		return nil, fmt.Errorf("%s wants one armored OpenPGP secret key: gpg --armor --export-secret-keys KEY", from)
	}
	if err := keys[0].DecryptPrivateKeys([]byte(getenv(passphraseVariable))); err != nil {
		return nil, fmt.Errorf("%s: %s does not open it", from, passphraseVariable)
	}
	return keys[0], nil
}

// detached signs data as of a time, armored. It gives the same signature each
// time, where the key's algorithm does, as Ed25519.
func detached(key *openpgp.Entity, data []byte, at time.Time) ([]byte, error) {
	return signed(openpgp.ArmoredDetachSign, key, data, at)
}

// detachedBinary is detached without armor, as packages hold it.
func detachedBinary(key *openpgp.Entity, data []byte, at time.Time) ([]byte, error) {
	return signed(openpgp.DetachSign, key, data, at)
}

func signed(sign func(io.Writer, *openpgp.Entity, io.Reader, *packet.Config) error, key *openpgp.Entity,
	data []byte, at time.Time) ([]byte, error) {
	fixed := false
	var out bytes.Buffer
	err := sign(&out, key, bytes.NewReader(data), &packet.Config{
		Time:                                  func() time.Time { return at },
		NonDeterministicSignaturesViaNotation: &fixed,
	})
	if err != nil {
		return nil, fmt.Errorf("signing as of %s, when the commit was made; was the key there? %w", at, err)
	}
	return out.Bytes(), nil
}
