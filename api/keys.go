package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// A Scope is what a key allows; each includes those before it.
type Scope int

const (
	Read   Scope = iota + 1 // every GET
	Submit                  // post, batch, cancel
	Admin                   // the rest
)

// A Key lets whoever sends Secret as a Bearer token do what Scope says. Name
// is for people.
type Key struct {
	Name   string
	Scope  Scope
	Secret string
}

// keyring finds the scope of a token in a time that does not depend on how
// much of a secret was guessed.
type keyring []lock

type lock struct {
	sum   [sha256.Size]byte
	scope Scope
}

func newKeyring(keys []Key) keyring {
	var ring keyring
	for _, k := range keys {
		ring = append(ring, lock{sha256.Sum256([]byte(k.Secret)), k.Scope})
	}
	return ring
}

// scope returns what a token allows, 0 if it is not known.
func (ring keyring) scope(token string) Scope {
	var found Scope
	sum := sha256.Sum256([]byte(token))
	for i := range ring {
		if subtle.ConstantTimeCompare(sum[:], ring[i].sum[:]) == 1 {
			found = max(found, ring[i].scope)
		}
	}
	return found
}

func (ring keyring) require(want Scope) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if len(ring) == 0 {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			var has Scope
			if strings.EqualFold(kind, "Bearer") && token != "" {
				has = ring.scope(token)
			}
			switch {
			case has == 0:
				(&problem{
					Status: http.StatusUnauthorized, Code: codeUnauthorized, Title: "A key is needed",
					Detail: "Send a key that this service knows as Authorization: Bearer.",
				}).write(w)
			case has < want:
				(&problem{
					Status: http.StatusForbidden, Code: codeForbidden, Title: "The key does not allow this",
					Detail: "Use a key of a wider scope.",
				}).write(w)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}
