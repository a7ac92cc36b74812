package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// rootsPEM is Mozilla's list of certificate authorities, as the Go project keeps
// it: pinned in go.sum, so that an image does not hang on the machine that builds
// it. One that is trusted only in part cannot be said so in PEM, and is left out.
func rootsPEM() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return out.Bytes()
}
