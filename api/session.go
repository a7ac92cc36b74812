package api

import (
	"net/http"
	"time"
)

// sessionLife is how long a browser stays logged in.
const sessionLife = 12 * time.Hour

// A browser's session stands in a cookie that no script can read and no other
// site can send. It is the key's, and ends with it: see Keyring.Session.

// getSession says who asks, and whether anybody has to say so. It is open: a
// page has to know what to show.
func (a *api) getSession(w http.ResponseWriter, r *http.Request) error {
	if a.Keys.open() {
		return sendSession(w, false, caller{scope: Admin})
	}
	return sendSession(w, true, a.Keys.identify(r))
}

// openSession logs a browser in with a key.
func (a *api) openSession(w http.ResponseWriter, r *http.Request) error {
	f, err := a.object(w, r, false, "key")
	if err != nil {
		return err
	}
	key, given := f.text("key")
	if !given && isNull(f.value("key")) {
		f.wrong("key", "must be given")
	}
	if len(f.Errors) > 0 {
		return invalid(f.Errors...)
	}
	if a.Keys.open() {
		return sendSession(w, false, caller{scope: Admin})
	}
	who, err := a.guesses.look(r, a.Keys, key)
	if err != nil {
		return err
	}
	until := time.Now().Add(sessionLife)
	http.SetCookie(w, sessionCookie(r, a.Keys.Session(key, until), int(sessionLife/time.Second)))
	return sendSession(w, true, who)
}

// closeSession logs a browser out.
func (a *api) closeSession(w http.ResponseWriter, r *http.Request) error {
	http.SetCookie(w, sessionCookie(r, "", -1))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func sessionCookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure is told below: a demo is served without TLS
		Name: SessionCookie, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// A proxy that ends TLS says so; who pretends to be one harms only himself.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
}

func sendSession(w http.ResponseWriter, required bool, who caller) error {
	o := object{}
	o.open()
	o.bool("required", required)
	o.optional("name", who.name)
	if who.scope == 0 {
		o.optional("scope", "")
	} else {
		o.text("scope", who.scope.String())
	}
	o.name("queues")
	if len(who.within) == 0 {
		o.null()
	} else {
		o.b = appendList(o.b, who.within, appendString)
	}
	o.close()
	return send(w, http.StatusOK, o.b)
}
