package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mina-sequencer/queues"
)

// A Scope is what a key allows; each includes those before it.
type Scope int

const (
	Read   Scope = iota + 1 // every GET
	Submit                  // post, batch, cancel
	Admin                   // the rest
)

// A Key lets whoever sends Secret as a Bearer token do what Scope says. Name is
// for people, and of keys with a limit the space of their uids (see view): 1 to 64 of
// [A-Za-z0-9._-]. Keys of one name share it.
type Key struct {
	Name   string
	Scope  Scope
	Secret string
	// Within limits a key that is not Admin's to queues whose names begin so: it posts to,
	// sees and cancels nothing else. Empty limits nothing.
	Within queues.Prefixes
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
type Keyring struct{ locks atomic.Pointer[[]lock] }

type lock struct {
	caller
	sum    [sha256.Size]byte
	signer [sha256.Size]byte // of sessions
}

// A caller is who asks, by the key; the zero one is a stranger.
type caller struct {
	name   string
	scope  Scope
	within queues.Prefixes
}

// NewKeyring returns a keyring of keys. A name may have several keys, so that
// one can be replaced while the other still works.
func NewKeyring(keys []Key) *Keyring {
	ring := &Keyring{}
	ring.Replace(keys)
	return ring
}

// Replace has the ring hold these keys, and no others any more. A ring without any is
// open to everybody, so it should not lose its last one.
func (ring *Keyring) Replace(keys []Key) {
	locks := []lock{}
	for _, k := range keys {
		locks = append(locks, lock{
			caller{k.Name, k.Scope, k.Within}, sha256.Sum256([]byte(k.Secret)), sign([]byte(k.Secret), "signer of sessions")})
	}
	ring.locks.Store(&locks)
}

// within are the beginnings of the queues that the keys of a name are for, none for all; and
// whether there are such keys.
func (ring *Keyring) within(name string) (all queues.Prefixes, known bool) {
	for _, l := range *ring.locks.Load() {
		if l.name != name {
			continue
		}
		if known = true; len(l.within) == 0 {
			return nil, true
		}
		all = append(all, l.within...)
	}
	return all, known
}

// Beginning is the longest beginning of a queue's name that any key is limited to, "" if none is.
func (ring *Keyring) Beginning(queue string) (longest string) {
	for _, l := range *ring.locks.Load() {
		for _, begin := range l.within {
			if len(begin) > len(longest) && strings.HasPrefix(queue, begin) {
				longest = begin
			}
		}
	}
	return longest
}

// open reports whether nobody needs a key.
func (ring *Keyring) open() bool { return len(*ring.locks.Load()) == 0 }

// find returns whose key a secret is: a stranger's if it is none of the ring.
func (ring *Keyring) find(secret string) (who caller) {
	sum := sha256.Sum256([]byte(secret))
	for _, l := range *ring.locks.Load() {
		if subtle.ConstantTimeCompare(sum[:], l.sum[:]) == 1 {
			who = l.caller
		}
	}
	return who
}

// SessionCookie is the name of a cookie that holds what Session returned. It
// opens the same routes as the key, in browsers that send it.
const SessionCookie = "sequencer_session"

// Session returns what stands for a key of the ring until a time, "" if secret
// is none. It does not tell the secret, is good at every process that has the
// same key, and ends with the key.
func (ring *Keyring) Session(secret string, until time.Time) string {
	sum := sha256.Sum256([]byte(secret))
	session := ""
	for _, l := range *ring.locks.Load() {
		if subtle.ConstantTimeCompare(sum[:], l.sum[:]) == 1 {
			session = l.session(strconv.FormatInt(until.Unix(), 10))
		}
	}
	return session
}

func (l *lock) session(until string) string {
	mark := sign(l.signer[:], until)
	return until + "." + base64.RawURLEncoding.EncodeToString(mark[:])
}

// identify returns who makes a request, by its Bearer token or else its session. Browsers
// send the cookie for pages of other hosts of this site, too: it changes nothing for them.
func (ring *Keyring) identify(r *http.Request) (who caller) {
	if r.Header.Get("Authorization") != "" {
		return ring.find(bearer(r))
	}
	cookie, err := r.Cookie(SessionCookie)
	if err != nil || ownPages.Check(r) != nil {
		return caller{}
	}
	until, _, _ := strings.Cut(cookie.Value, ".")
	ends, err := strconv.ParseInt(until, 10, 64)
	if err != nil || time.Now().Unix() >= ends {
		return caller{}
	}
	for _, l := range *ring.locks.Load() {
		if subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(l.session(until))) == 1 {
			who = l.caller
		}
	}
	return who
}

// bearer is the Bearer token of a request, "" without one.
func bearer(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return token
}

func sign(key []byte, text string) (mark [sha256.Size]byte) {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // a hash takes everything
	h.Sum(mark[:0])
	return mark
}

// require lets only those through whose scope is wide enough.
func (a *api) require(want Scope) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if a.Keys.open() {
				next.ServeHTTP(w, r)
				return
			}
			who := a.Keys.identify(r)
			if out, ok := w.(*answer); ok {
				out.caller = who
			}
			switch {
			case who.scope == 0:
				p := &problem{
					Status: http.StatusUnauthorized, Code: codeUnauthorized, Title: "A key is needed",
					Detail: "Send a key that this service knows as Authorization: Bearer.",
				}
				if bearer(r) != "" {
					a.guesses.wrong(r, byProgram)
					p = unknownKey()
				}
				p.write(w)
			case who.scope < want:
				(&problem{
					Status: http.StatusForbidden, Code: codeForbidden, Title: "The key does not allow this",
					Detail: "Use a key of a wider scope: this takes " + want.String() + ", and the key has " + who.scope.String() + ".",
				}).write(w)
			default:
				next.ServeHTTP(w, r.WithContext(queues.By(r.Context(), who.name)))
			}
		})
	}
}

func unknownKey() *problem {
	return &problem{
		Status: http.StatusUnauthorized, Code: codeUnauthorized, Title: "The key is not known here",
		Detail: "No key of this service is the one given. Check that all of it was entered, and that it was not replaced.",
	}
}

// callerOf is who makes a request, as far as it is known: nobody in particular where no
// keys are needed.
func callerOf(w http.ResponseWriter) caller {
	if out, ok := w.(*answer); ok {
		return out.caller
	}
	return caller{}
}

// unlimited keeps keys that are limited to some queues from what is of all.
func (a *api) unlimited(next http.Handler) http.Handler {
	return a.handle(func(w http.ResponseWriter, r *http.Request) error {
		if len(callerOf(w).within) > 0 {
			return &problem{
				Status: http.StatusForbidden, Code: codeForbidden, Title: "The key is limited to some queues",
				Detail: "This tells of all queues. Use a key without such a limit.",
			}
		}
		next.ServeHTTP(w, r)
		return nil
	})
}
