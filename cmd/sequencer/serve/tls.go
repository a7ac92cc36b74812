package serve

import (
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"mina-sequencer/api"
	"mina-sequencer/cmd/sequencer/settings"
)

// A certificate is a pair of PEM files that may be renewed while it is in use.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	version string    // of the files that pair was read from
	looked  time.Time // when that was last compared
}

// certificateCheck is how often the files are looked at, at most.
const certificateCheck = 10 * time.Second

// newCertificate reads a pair of files. Without names it is nil.
func newCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	if cert == "" {
		return nil, nil //nolint:nilnil // there is none, and nothing is wrong
	}
	c := &certificate{cert: cert, key: key, log: log, looked: time.Now(), version: versionOf(cert, key)}
	pair, err := settings.ReadPair(cert, key)
	if err != nil {
		return nil, err
	}
	c.pair = &pair
	return c, nil
}

// versionOf changes when one of the files does; it is "" if one cannot be seen.
func versionOf(files ...string) (version string) {
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			return ""
		}
		version += info.ModTime().String() + " "
	}
	return version
}

// get is for a handshake. Files that were changed and cannot be used leave the
// pair that was read before in use: they may be half written.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < certificateCheck {
		return c.pair, nil
	}
	c.looked = time.Now()
	version := versionOf(c.cert, c.key)
	if version == c.version {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		c.log.Warn("the new certificate cannot be used; the one before stays in use", "err", err)
		return c.pair, nil
	}
	c.pair, c.version = &pair, version
	c.log.Info("certificate read again")
	return c.pair, nil
}

// serveOn serves on l, over TLS if there is a certificate. Its error is never nil.
func serveOn(server *api.Server, l net.Listener, c *certificate) error {
	if c == nil {
		return server.Serve(l)
	}
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
	return server.ServeTLS(l, "", "")
}
