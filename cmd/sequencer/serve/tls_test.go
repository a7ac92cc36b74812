package serve

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mina-sequencer/api"
)

// writePair writes a certificate of a name, and its key, and says when.
func writePair(t *testing.T, dir, name string, at time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: at.Add(-time.Hour), NotAfter: at.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	doc, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: doc}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		touch(t, file, pem.EncodeToMemory(block), at)
	}
	return cert, key
}

func touch(t *testing.T, file string, text []byte, at time.Time) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

func nameOf(t *testing.T, pair *tls.Certificate) string {
	t.Helper()
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return c.Subject.CommonName
}

// A renewed certificate is taken into use by itself; a broken one is not.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir, start := t.TempDir(), time.Now()
		cert, key := writePair(t, dir, "first", start)
		var log bytes.Buffer
		c, err := newCertificate(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		want := func(name string) {
			t.Helper()
			<-time.After(certificateCheck)
			pair, err := c.get(nil)
			if err != nil || nameOf(t, pair) != name {
				t.Errorf("in use is %s, %v", nameOf(t, pair), err)
			}
		}
		want("first")
		touch(t, cert, []byte("half of a"), start.Add(time.Minute))
		want("first")
		want("first")
		if err := os.Remove(key); err != nil {
			t.Fatal(err)
		}
		want("first")
		writePair(t, dir, "second", start.Add(2*time.Minute))
		want("second")
		if n := strings.Count(log.String(), "cannot be used"); n != 3 || strings.Contains(log.String(), "half of a") {
			t.Errorf("log %s", &log)
		}
		if c, err := newCertificate("", "", nil); c != nil || err != nil {
			t.Errorf("without files it is %v, %v", c, err)
		}
	})
}

// With a certificate the API speaks HTTPS, by HTTP/1.1 and HTTP/2, and nothing else.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	cert, key := writePair(t, t.TempDir(), "local", time.Now())
	c, err := newCertificate(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := api.NewServer(l.Addr().String(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	var served sync.WaitGroup
	served.Go(func() {
		if err := serveOn(server, l, c); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	defer served.Wait()
	defer server.Close()
	roots := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	for proto, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: two}
		if got := ask(t, transport, "https://"+l.Addr().String()); got != "200 "+proto {
			t.Errorf("%s answered %s", proto, got)
		}
	}
	if got := ask(t, new(http.Transport), "http://"+l.Addr().String()); !strings.HasPrefix(got, "400 ") {
		t.Errorf("without TLS: %s", got)
	}
}

func ask(t *testing.T, transport *http.Transport, url string) string {
	t.Helper()
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status[:3] + " " + string(body)
}
