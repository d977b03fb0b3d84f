package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// secureServer speaks HTTP/2 under a certificate that no system trusts, for all names
// that it is made for, behind a proxy that wants a password.
type secureServer struct {
	*httptest.Server
	certificate string // its file
	proxy       string // with user name and password

	mu      sync.Mutex
	conns   int
	heads   []string // protocol and User-Agent of each request
	tunnels []string // what the proxy was asked for
}

const proxyLogin = "someone:topsecret-of-proxy"

func newSecureServer(t *testing.T, handler http.Handler, names ...string) *secureServer {
	t.Helper()
	s := &secureServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.heads = append(s.heads, r.Proto+" "+r.UserAgent())
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t, names)}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	s.certificate = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(s.certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(s.tunnel))
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	s.proxy = "http://" + proxyLogin + "@" + proxy.Listener.Addr().String()
	return s
}

func (s *secureServer) tunnel(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.tunnels = append(s.tunnels, r.Method+" "+r.RequestURI)
	s.mu.Unlock()
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte(proxyLogin)) {
		http.Error(w, "no", http.StatusProxyAuthRequired)
		return
	}
	server, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		http.Error(w, "no", http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, rest, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	done := make(chan struct{}, 2)
	go func() { io.Copy(server, rest); done <- struct{}{} }()
	go func() { io.Copy(client, server); done <- struct{}{} }()
	<-done
}

// certificate makes one for names, which nobody vouches for but itself.
func certificate(t *testing.T, names []string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a server of the tests"}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// home makes a home whose provider "far" leads to the server.
func (s *secureServer) home(t *testing.T, settings string) string {
	t.Helper()
	return homeFor(t, "https://example.com", settings)
}

// homeFor makes a home whose provider "far" leads to a server.
func homeFor(t *testing.T, server, settings string) string {
	t.Helper()
	home := t.TempDir()
	agent := filepath.Join(home, ".isotope", "agent")
	models := `{"providers":{"far":{"baseUrl":"` + server + `/v1","api":"openai-completions","apiKey":"sk-far","models":[{"id":"m"}]}}}`
	if err := errors.Join(os.MkdirAll(agent, 0o755), os.WriteFile(filepath.Join(agent, "models.json"), []byte(models), 0o600),
		os.WriteFile(filepath.Join(agent, "settings.json"), []byte(settings), 0o600)); err != nil {
		t.Fatal(err)
	}
	return home
}

// setenv sets what the network depends on, and nothing else of it.
func setenv(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} {
		t.Setenv(name, "") // so that it is put back at the end
		os.Unsetenv(name)
	}
	for name, value := range vars {
		t.Setenv(name, value)
	}
}

// Turns share one connection of HTTP/2, which goes through the proxy of a variable or of
// the setting and trusts the authority of a variable; what proxies ask for is kept
// secret.
func TestProxyAuthorityAndOneConnection(t *testing.T) {
	for name, c := range map[string]struct {
		vars    func(s *secureServer) map[string]string
		setting bool
	}{
		"variables": {func(s *secureServer) map[string]string {
			return map[string]string{"HTTPS_PROXY": s.proxy, "NODE_EXTRA_CA_CERTS": s.certificate}
		}, false},
		"the setting": {func(s *secureServer) map[string]string {
			return map[string]string{"SSL_CERT_FILE": s.certificate}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecureServer(t, http.HandlerFunc((&modelServer{}).answer), "example.com")
			setenv(t, c.vars(s))
			settings := `{}`
			if c.setting {
				settings = `{"httpProxy":"` + s.proxy + `"}`
			}
			dir := t.TempDir()
			p := launch(t, s.home(t, settings), dir, "isotope", "--mode", "rpc", "--model", "far/m", "--no-session", "--debug-http", "http.log")
			p.follow()
			for _, text := range []string{"one", "two"} {
				p.send(`{"type":"prompt","message":"` + text + `"}`)
				p.until(`"type":"message_end"`, `you said: `+text)
				p.until(`"type":"agent_settled"`)
			}
			p.closeInput()
			p.wantExit(0)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.conns != 1 || len(s.heads) != 2 || strings.Join(s.tunnels, ",") != "CONNECT example.com:443" {
				t.Errorf("%d connections, requests %q, the proxy was asked %q", s.conns, s.heads, s.tunnels)
			}
			for _, head := range s.heads {
				if !strings.HasPrefix(head, "HTTP/2.0 isotope/") {
					t.Errorf("a request was %q", head)
				}
			}
			log, err := os.ReadFile(filepath.Join(dir, "http.log"))
			secret := base64.StdEncoding.EncodeToString([]byte(proxyLogin))
			for _, text := range []string{string(log), p.stderr.String()} {
				if strings.Contains(text, "topsecret") || strings.Contains(text, secret) {
					t.Errorf("the password of the proxy is in it:\n%s", text)
				}
			}
			if err != nil || !strings.Contains(string(log), "POST https://example.com/v1/chat/completions") {
				t.Errorf("%v\n%s", err, log)
			}
		})
	}
}

// With HTTP/1.1, too, turns and the requests behind tools share a connection.
func TestOneConnectionOfHTTP1(t *testing.T) {
	needShell(t)
	setenv(t, nil)
	var conns atomic.Int64
	s := &modelServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	p := launch(t, homeFor(t, s.URL, `{}`), t.TempDir(), "isotope", "--mode", "rpc", "--model", "far/m", "--no-session")
	p.follow()
	for _, text := range []string{"one", "sh:echo two", "three"} {
		p.send(`{"type":"prompt","message":"` + text + `"}`)
		p.until(`"type":"agent_settled"`)
	}
	p.closeInput()
	p.wantExit(0)
	if len(s.keyed) != 4 || conns.Load() != 1 {
		t.Errorf("%d connections for %d requests", conns.Load(), len(s.keyed))
	}
}

// What stands between the user and the network is named, at once and without a retry.
func TestNetworkSetupErrors(t *testing.T) {
	s := newSecureServer(t, http.HandlerFunc((&modelServer{}).answer), "example.com")
	broken := filepath.Join(t.TempDir(), "broken.pem")
	if err := os.WriteFile(broken, []byte("-----BEGIN CERTIFICATE-----\nnothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(s.proxy, proxyLogin+"@", "", 1)
	for name, c := range map[string]struct {
		vars map[string]string
		want []string
	}{
		"a broken file": {map[string]string{"NODE_EXTRA_CA_CERTS": broken}, []string{"NODE_EXTRA_CA_CERTS", "broken.pem", "a PEM block in it is broken"}},
		"no file":       {map[string]string{"SSL_CERT_FILE": broken + "2"}, []string{"SSL_CERT_FILE", "broken.pem2"}},
		"no trust":      {map[string]string{"HTTPS_PROXY": s.proxy}, []string{"Connection error.: ", "certificate", "NODE_EXTRA_CA_CERTS"}},
		"no password":   {map[string]string{"HTTPS_PROXY": without}, []string{"Connection error.: the proxy " + without, "407 Proxy Authentication Required"}},
		"no proxy":      {map[string]string{"HTTPS_PROXY": "ftp://" + proxyLogin + "@x"}, []string{"HTTPS_PROXY is not the address of a proxy"}},
	} {
		t.Run(name, func(t *testing.T) {
			setenv(t, c.vars)
			p := launch(t, s.home(t, `{}`), t.TempDir(), "isotope", "--mode", "rpc", "--model", "far/m", "--no-session")
			p.follow()
			p.send(`{"type":"prompt","message":"hi"}`)
			lines := p.until(`"type":"agent_settled"`)
			p.closeInput()
			p.wantExit(0)
			all := strings.Join(lines, "\n")
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("no %q in\n%s", want, all)
				}
			}
			if strings.Contains(all, "auto_retry_start") || strings.Contains(all+p.stderr.String(), "topsecret") {
				t.Errorf("a retry, or a secret:\n%s", all)
			}
		})
	}
}

// Field report 111: the time to the first byte and the silence in an answer have settings
// of their own; a request is ended by the one that is its, also when the other is none.
func TestLimitsOfSettings(t *testing.T) {
	setenv(t, nil)
	for name, c := range map[string]struct{ settings, sent, want string }{
		"no headers":           {`"httpIdleTimeoutMs":"disabled","retry":{"maxRetries":0,"provider":{"timeoutMs":200}}`, "", "Request timed out: no answer within 0.2 s"},
		"headers alone":        {`"httpIdleTimeoutMs":"disabled","retry":{"maxRetries":0,"provider":{"timeoutMs":200}}`, "headers", "Request timed out: no answer within 0.2 s"},
		"one limit for both":   {`"httpIdleTimeoutMs":200,"retry":{"maxRetries":0}`, "headers", "Request timed out: no answer within 0.2 s"},
		"silent in mid-stream": {`"httpIdleTimeoutMs":200,"retry":{"maxRetries":0,"provider":{"timeoutMs":0}}`, "part", "Request timed out: the stream was silent for 0.2 s"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				if c.sent != "" {
					w.WriteHeader(http.StatusOK)
				}
				if c.sent == "part" {
					io.WriteString(w, `data: {"id":"r","choices":[{"index":0,"delta":{"content":"part"}}]}`+"\n\n")
				}
				if c.sent != "" {
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			defer srv.Close()
			p := launch(t, homeFor(t, srv.URL, "{"+c.settings+"}"), t.TempDir(), "isotope", "--mode", "rpc", "--model", "far/m", "--no-session")
			p.follow()
			p.send(`{"type":"prompt","message":"hi"}`)
			lines := p.until(`"type":"agent_settled"`)
			if all := strings.Join(lines, "\n"); !strings.Contains(all, `"errorMessage":"`+c.want+`"`) || strings.Contains(all, `"text":"part"`) != (c.sent == "part") {
				t.Errorf("no %q in\n%s", c.want, all)
			}
			p.closeInput()
			p.wantExit(0)
		})
	}
}

// Field report 100: what passes by itself is tried again, once, and then there is an
// answer.
func TestFailuresThatPass(t *testing.T) {
	setenv(t, nil)
	var failed sync.Map // by prompt
	models := &modelServer{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, how, _ := strings.Cut(string(body), "fault:")
		how, _, _ = strings.Cut(how, `"`)
		if _, again := failed.LoadOrStore(how, true); again {
			r.Body = io.NopCloser(bytes.NewReader(body))
			models.answer(w, r)
			return
		}
		if status, err := strconv.Atoi(how); err == nil {
			http.Error(w, "<html>the gateway says "+how+"</html>", status)
			return
		}
		if how == "cut" {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"id":"r","choices":[{"index":0,"delta":{"content":"half an"}}]}`+"\n\n")
			w.(http.Flusher).Flush()
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		if tcp, ok := conn.(*net.TCPConn); ok && how == "reset" {
			tcp.SetLinger(0)
		}
		conn.Close()
	}))
	defer srv.Close()
	for how, said := range map[string]string{
		"502": "502", "503": "503", "520": "520", "524": "524", "529": "529", "408": "408", "reset": "", "closed": "", "cut": "terminated",
	} {
		t.Run(how, func(t *testing.T) {
			p := launch(t, homeFor(t, srv.URL, `{"retry":{"baseDelayMs":1}}`), t.TempDir(), "isotope", "--mode", "rpc", "--model", "far/m", "--no-session")
			p.follow()
			p.send(`{"type":"prompt","message":"fault:` + how + `"}`)
			all := strings.Join(p.until(`"type":"agent_settled"`), "\n")
			if strings.Count(all, `"type":"auto_retry_start","attempt":1,`) != 1 || !strings.Contains(all, `"type":"auto_retry_end","success":true,"attempt":1`) ||
				strings.Contains(all, `"attempt":2`) || !strings.Contains(all, "you said: fault:"+how) || !strings.Contains(all, said) {
				t.Errorf("no retry and no answer:\n%s", all)
			}
			p.closeInput()
			p.wantExit(0)
		})
	}
}
