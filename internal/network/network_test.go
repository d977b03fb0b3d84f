package network

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
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// authority makes an authority of its own and returns its certificate in PEM and a
// server's certificate that it vouches for.
func authority(t *testing.T) (ca []byte, server tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if by == nil {
			parent, by = template, key
		}
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		template.SerialNumber, template.BasicConstraintsValid = big.NewInt(time.Now().UnixNano()), true
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "an authority of the tests"}, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
	der, key := sign(root, nil, nil)
	leaf, leafKey := sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "server"}, DNSNames: []string{"api.test", "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, root, key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: leafKey}
}

// secure starts a server of an authority's, which counts its connections, and returns
// it with the authority's file.
func secure(t *testing.T, h http.HandlerFunc) (srv *httptest.Server, caFile string, conns *atomic.Int64) {
	t.Helper()
	ca, cert := authority(t)
	srv = httptest.NewUnstartedServer(h)
	srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	conns = new(atomic.Int64)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv, file(t, ca), conns
}

func file(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// env returns variables as os.LookupEnv does.
func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func network(t *testing.T, vars map[string]string) *Network {
	n := New(Options{Env: env(vars)})
	t.Cleanup(n.CloseIdleConnections)
	return n
}

// get asks for url and returns the answer's protocol and text.
func get(t *testing.T, n *Network, url string) (proto, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := n.RoundTrip(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Proto, string(text), nil
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	io.WriteString(w, r.Host+" "+string(body))
}

// An authority of the user's own is trusted when either variable names its file, and no
// other is; who is not trusted is told with what to do.
func TestOwnAuthority(t *testing.T) {
	srv, ca, _ := secure(t, echo)
	other, _ := authority(t)
	for name, c := range map[string]struct {
		vars    map[string]string
		trusted bool
	}{
		"neither":             {nil, false},
		"empty":               {map[string]string{"NODE_EXTRA_CA_CERTS": ""}, false},
		"another authority":   {map[string]string{"NODE_EXTRA_CA_CERTS": file(t, other)}, false},
		"NODE_EXTRA_CA_CERTS": {map[string]string{"NODE_EXTRA_CA_CERTS": ca}, true},
		"SSL_CERT_FILE":       {map[string]string{"SSL_CERT_FILE": ca}, true},
		"both":                {map[string]string{"SSL_CERT_FILE": file(t, other), "NODE_EXTRA_CA_CERTS": ca}, true},
	} {
		t.Run(name, func(t *testing.T) {
			_, body, err := get(t, network(t, c.vars), srv.URL)
			if !c.trusted {
				var verify *tls.CertificateVerificationError
				if !errors.As(err, &verify) || !strings.HasSuffix(err.Error(), "("+adviceCA+")") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || !strings.HasSuffix(body, "hello") {
				t.Errorf("%q %v", body, err)
			}
		})
	}
}

// A certificate that is refused for another reason gets no advice about authorities.
func TestOtherCertificateErrors(t *testing.T) {
	srv, ca, _ := secure(t, echo)
	proxy := newProxy(t, srv.Listener.Addr().String(), "")
	_, _, err := get(t, network(t, map[string]string{"NODE_EXTRA_CA_CERTS": ca, "HTTPS_PROXY": proxy.URL}), "https://another.test/")
	if err == nil || !strings.Contains(err.Error(), "another.test") || strings.Contains(err.Error(), adviceCA) {
		t.Errorf("got %v", err)
	}
}

// A file that cannot be used is an error that names the variable and the path, for
// requests that need it; those without TLS are sent.
func TestBrokenAuthorityFiles(t *testing.T) {
	good, _ := authority(t)
	plain := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(plain.Close)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})
	unreadable := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})
	for name, c := range map[string]struct {
		data []byte
		want string // "" when it can be used
	}{
		"empty":                     {nil, textNoPEM},
		"no PEM":                    {[]byte("-- nothing --"), textNoPEM},
		"a key alone":               {key, textNoPEM},
		"cut":                       {good[:len(good)/2], textBadPEM},
		"a good one, then a cut":    {append(bytes.Clone(good), good[:len(good)-8]...), textBadPEM},
		"no base64":                 {[]byte("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n"), textBadPEM},
		"no certificate":            {unreadable, textBadCert},
		"a bundle with an odd one":  {append(bytes.Clone(unreadable), good...), ""},
		"a bundle with other parts": {append(append([]byte("# comment\n"), key...), good...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range caVariables {
				path := file(t, c.data)
				n := network(t, map[string]string{variable: path})
				_, err := n.Roots()
				if c.want == "" {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				_, _, sent := get(t, n, "https://localhost:1/")
				var setup *SetupError
				want := "the certificates that " + variable + " names cannot be used: " + path + ": " + c.want
				if !errors.As(sent, &setup) || err == nil || err.Error() != want || sent.Error() != want {
					t.Errorf("got %v and %v", err, sent)
				}
				if _, body, err := get(t, n, plain.URL); err != nil || !strings.HasSuffix(body, "hello") {
					t.Errorf("without TLS: %q %v", body, err)
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "none.pem")
	_, err := network(t, map[string]string{"NODE_EXTRA_CA_CERTS": path}).Roots()
	if err == nil || !strings.HasPrefix(err.Error(), "the certificates that NODE_EXTRA_CA_CERTS names cannot be read: ") || !strings.Contains(err.Error(), path) || !errors.As(err, new(*SetupError)) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Nothing is read before the first request, and closing an unused network reads nothing.
func TestNothingIsReadBeforeTheFirstRequest(t *testing.T) {
	var asked atomic.Int64
	n := New(Options{
		Env:   func(string) (string, bool) { asked.Add(1); return "", false },
		Proxy: func() string { asked.Add(1); return "" },
	})
	n.CloseIdleConnections()
	if asked.Load() != 0 {
		t.Error("something was read")
	}
	if _, err := n.Roots(); err != nil || asked.Load() == 0 {
		t.Errorf("%v, %d", err, asked.Load())
	}
}

// HTTP/2 is spoken where the server does, an answer comes as it is written, and requests
// one after the other share a connection, also through a proxy.
func TestHTTP2StreamsOnOneConnection(t *testing.T) {
	for _, through := range []string{"directly", "through a proxy"} {
		t.Run(through, func(t *testing.T) {
			next := make(chan struct{})
			srv, ca, conns := secure(t, func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "first")
				w.(http.Flusher).Flush()
				select {
				case <-next:
				case <-r.Context().Done():
				}
				io.WriteString(w, "second")
			})
			vars := map[string]string{"NODE_EXTRA_CA_CERTS": ca}
			url := srv.URL
			if through != "directly" {
				vars["HTTPS_PROXY"] = newProxy(t, srv.Listener.Addr().String(), "").URL
				url = "https://api.test/"
			}
			n := network(t, vars)
			for turn := range 3 {
				var reused bool
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := n.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				buf := make([]byte, 5)
				if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != "first" { // the handler waits for us here
					t.Fatalf("%q %v", buf, err)
				}
				next <- struct{}{}
				rest, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || string(rest) != "second" || resp.Proto != "HTTP/2.0" {
					t.Errorf("%q %v %s", rest, err, resp.Proto)
				}
				if reused != (turn > 0) {
					t.Errorf("turn %d: reused %v", turn, reused)
				}
			}
			if got := conns.Load(); got != 1 {
				t.Errorf("%d connections for three requests", got)
			}
		})
	}
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
