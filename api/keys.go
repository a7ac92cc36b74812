package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
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

// String is the scope as it is configured.
func (s Scope) String() string {
	if s < Read || s > Admin {
		return "none"
	}
	return [...]string{"read", "submit", "admin"}[s-1]
}

// A Keyring finds the key that a secret belongs to, in a time that does not
// depend on how much of a secret was guessed. It may be used concurrently.
type Keyring []lock

type lock struct {
	name   string
	scope  Scope
	sum    [sha256.Size]byte
	signer [sha256.Size]byte // of sessions
}

// NewKeyring returns a keyring of keys. A name may have several keys, so that
// one can be replaced while the other still works.
func NewKeyring(keys []Key) Keyring {
	var ring Keyring
	for _, k := range keys {
		ring = append(ring, lock{k.Name, k.Scope, sha256.Sum256([]byte(k.Secret)), sign([]byte(k.Secret), "signer of sessions")})
	}
	return ring
}

// Find returns the name and scope of the key that a secret is, scope 0 if it is
// none of the ring.
func (ring Keyring) Find(secret string) (name string, scope Scope) {
	sum := sha256.Sum256([]byte(secret))
	for i := range ring {
		if subtle.ConstantTimeCompare(sum[:], ring[i].sum[:]) == 1 {
			name, scope = ring[i].name, ring[i].scope
		}
	}
	return name, scope
}

// SessionCookie is the name of a cookie that holds what Session returned. It
// opens the same routes as the key, in browsers that send it.
const SessionCookie = "sequencer_session"

// Session returns what stands for a key of the ring until a time, "" if secret
// is none. It does not tell the secret, is good at every process that has the
// same key, and ends with the key.
func (ring Keyring) Session(secret string, until time.Time) string {
	sum := sha256.Sum256([]byte(secret))
	session := ""
	for i := range ring {
		if subtle.ConstantTimeCompare(sum[:], ring[i].sum[:]) == 1 {
			session = ring[i].session(strconv.FormatInt(until.Unix(), 10))
		}
	}
	return session
}

func (l *lock) session(until string) string {
	mark := sign(l.signer[:], until)
	return until + "." + base64.RawURLEncoding.EncodeToString(mark[:])
}

// Identify returns the name and scope of whoever makes a request, by its Bearer
// token or else its session; scope 0 for a stranger.
func (ring Keyring) Identify(r *http.Request) (name string, scope Scope) {
	if header := r.Header.Get("Authorization"); header != "" {
		kind, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(kind, "Bearer") {
			return "", 0
		}
		return ring.Find(token)
	}
	cookie, err := r.Cookie(SessionCookie)
	if err != nil {
		return "", 0
	}
	until, _, _ := strings.Cut(cookie.Value, ".")
	ends, err := strconv.ParseInt(until, 10, 64)
	if err != nil || time.Now().Unix() >= ends {
		return "", 0
	}
	for i := range ring {
		if subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(ring[i].session(until))) == 1 {
			name, scope = ring[i].name, ring[i].scope
		}
	}
	return name, scope
}

func sign(key []byte, text string) (mark [sha256.Size]byte) {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // a hash takes everything
	h.Sum(mark[:0])
	return mark
}

// require lets only those through whose scope is wide enough.
func (ring Keyring) require(want Scope) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if len(ring) == 0 {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name, has := ring.Identify(r)
			if out, ok := w.(*answer); ok {
				out.key = name
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
					Detail: "Use a key of a wider scope: this takes " + want.String() + ", and the key has " + has.String() + ".",
				}).write(w)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}
