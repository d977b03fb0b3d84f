package network

import (
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// proxyServer is an HTTP proxy whose connections all go to one server, so that names that
// nobody knows can be asked for. login is "user:password", "" for none.
type proxyServer struct {
	*httptest.Server
	target, login string

	mu   sync.Mutex
	seen []string // method and target of what was asked
}

func newProxy(t *testing.T, target, login string) *proxyServer {
	t.Helper()
	p := &proxyServer{target: target, login: login}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

func (p *proxyServer) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.seen...)
}

func (p *proxyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Method+" "+r.RequestURI)
	p.mu.Unlock()
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.login))
	if p.login != "" && r.Header.Get("Proxy-Authorization") != want {
		w.Header().Set("Proxy-Authenticate", "Basic")
		http.Error(w, "who are you, "+r.Header.Get("Proxy-Authorization")+"?", http.StatusProxyAuthRequired)
		return
	}
	if r.Method != http.MethodConnect {
		io.WriteString(w, "by the proxy")
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		http.Error(w, "no such server", http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, rest, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	done := make(chan struct{}, 2)
	go func() { io.Copy(server, rest); done <- struct{}{} }()
	go func() { io.Copy(client, server); done <- struct{}{} }()
	<-done
}

func TestProxy(t *testing.T) {
	srv, ca, conns := secure(t, echo)
	proxy := newProxy(t, srv.Listener.Addr().String(), "me:topsecret")
	address := strings.TrimPrefix(proxy.URL, "http://")
	for name, c := range map[string]struct {
		vars    map[string]string
		setting string
		url     string
		want    string // what the proxy is asked
	}{
		"HTTPS_PROXY":              {map[string]string{"HTTPS_PROXY": "http://me:topsecret@" + address}, "", "https://api.test/", "CONNECT api.test:443"},
		"in small letters":         {map[string]string{"https_proxy": "http://me:topsecret@" + address}, "", "https://api.test/", "CONNECT api.test:443"},
		"without a scheme":         {map[string]string{"HTTPS_PROXY": "me:topsecret@" + address}, "", "https://api.test/", "CONNECT api.test:443"},
		"HTTP_PROXY for both":      {map[string]string{"HTTP_PROXY": "http://me:topsecret@" + address}, "", "https://api.test/", "CONNECT api.test:443"},
		"HTTP_PROXY":               {map[string]string{"HTTP_PROXY": "http://me:topsecret@" + address}, "", "http://api.test/x", "POST http://api.test/x"},
		"the setting":              {nil, "http://me:topsecret@" + address, "https://api.test/", "CONNECT api.test:443"},
		"the setting, without TLS": {nil, "http://me:topsecret@" + address, "http://api.test/x", "POST http://api.test/x"},
		"variables come first":     {map[string]string{"HTTPS_PROXY": "http://me:topsecret@" + address}, "http://127.0.0.1:1", "https://api.test/", "CONNECT api.test:443"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(proxy.asked())
			vars := map[string]string{"NODE_EXTRA_CA_CERTS": ca}
			for k, v := range c.vars {
				vars[k] = v
			}
			n := New(Options{Env: env(vars), Proxy: func() string { return c.setting }})
			t.Cleanup(n.CloseIdleConnections)
			_, body, err := get(t, n, c.url)
			if err != nil || body != "api.test hello" && body != "by the proxy" {
				t.Errorf("%q %v", body, err)
			}
			if got := strings.Join(proxy.asked()[before:], ", "); got != c.want {
				t.Errorf("the proxy was asked %q, want %q", got, c.want)
			}
		})
	}
	t.Run("past it", func(t *testing.T) {
		before, reached := len(proxy.asked()), conns.Load()
		for _, vars := range []map[string]string{
			{"HTTPS_PROXY": proxy.URL}, // this machine needs none
			{"HTTPS_PROXY": proxy.URL, "NO_PROXY": "*"},
		} {
			vars["NODE_EXTRA_CA_CERTS"] = ca
			if _, body, err := get(t, network(t, vars), srv.URL); err != nil || !strings.HasSuffix(body, "hello") {
				t.Errorf("%q %v", body, err)
			}
		}
		if len(proxy.asked()) != before || conns.Load() != reached+2 {
			t.Errorf("the proxy was asked %q", proxy.asked()[before:])
		}
	})
}

// A proxy that refuses is named, without its user name and password, and one that is no
// address names what holds it.
func TestProxyErrors(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	closed.Close()
	strict := newProxy(t, gone, "me:topsecret")
	address := strings.TrimPrefix(strict.URL, "http://")
	open := newProxy(t, gone, "")
	for name, c := range map[string]struct {
		vars    map[string]string
		setting string
		want    string
		setup   bool
		status  int
	}{
		"no password":         {map[string]string{"HTTPS_PROXY": strict.URL}, "", "the proxy http://" + address + " refused the connection: 407 Proxy Authentication Required; it wants a user name and a password: http://USER:PASSWORD@HOST:PORT", false, 407},
		"a wrong password":    {map[string]string{"HTTPS_PROXY": "http://me:topsecret2@" + address}, "", "the proxy http://" + address + " refused the connection: 407 ", false, 407},
		"no way to the other": {map[string]string{"HTTPS_PROXY": open.URL}, "", "the proxy " + open.URL + " refused the connection: 502 Bad Gateway", false, 502},
		"no proxy there":      {map[string]string{"HTTPS_PROXY": "http://me:topsecret@" + gone}, "", "proxyconnect tcp: ", false, 0},
		"no address":          {map[string]string{"HTTPS_PROXY": "http://me:topsecret@:bad:"}, "", "https_proxy is not the address of a proxy: ", true, 0},
		"no host":             {map[string]string{"HTTP_PROXY": "http://"}, "", "HTTP_PROXY is not the address of a proxy: ", true, 0},
		"an odd scheme":       {map[string]string{"https_proxy": "ftp://me:topsecret@x"}, "", "https_proxy is not the address of a proxy: ", true, 0},
		"the setting":         {nil, "http://topsecret@ x", "the setting httpProxy is not the address of a proxy: ", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Options{Env: env(c.vars), Proxy: func() string { return c.setting }})
			_, _, err := get(t, n, "https://api.test/")
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.want)) || strings.Contains(err.Error(), "topsecret") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if errors.As(err, new(*SetupError)) != c.setup {
				t.Errorf("%T", err)
			}
			if refused := (*ProxyError)(nil); errors.As(err, &refused) != (c.status != 0) || refused != nil && refused.Status != c.status {
				t.Errorf("%+v", refused)
			}
		})
	}
}

func TestNoProxy(t *testing.T) {
	for _, c := range []struct {
		list, url string
		direct    bool
	}{
		{"", "https://api.test/", false},
		{"", "http://localhost:11434/v1", true},
		{"", "http://LOCALHOST./v1", true},
		{"", "http://127.0.0.1:1234/", true},
		{"", "http://[::1]:1234/", true},
		{"", "http://169.254.170.2/credentials", true},
		{"", "http://[fe80::1%25eth0]/", true},
		{"", "http://10.0.0.1/", false},
		{"*", "https://api.test/", true},
		{"other.test,api.test", "https://api.test/", true},
		{"other.test api.test", "https://api.test/", true},
		{" api.test , other.test", "https://API.TEST/", true},
		{"test", "https://api.test/", true},
		{".test", "https://api.test/", true},
		{"*.test", "https://api.test/", true},
		{".api.test", "https://api.test/", true},
		{"est", "https://api.test/", false},
		{"api.test.", "https://api.test./", true},
		{"api.test:443", "https://api.test/", true},
		{"api.test:443", "http://api.test/", false},
		{"api.test:8080", "http://api.test:8080/", true},
		{"api.test:8080", "https://api.test/", false},
		{"10.0.0.0/8", "http://10.1.2.3/", true},
		{"10.0.0.0/8", "http://11.1.2.3/", false},
		{"10.0.0.0/8", "http://ten.test/", false},
		{"10.1.2.3", "http://10.1.2.3/", true},
		{"10.1.2.3:81", "http://10.1.2.3/", false},
		{"[fd00::1]", "http://[fd00::1]/", true},
		{"[fd00::1]:80", "http://[fd00::1]/", true},
		{"fd00::1", "http://[fd00::1]/", true},
		{"fd00::/8", "http://[fd00::1]/", true},
		{"::ffff:10.1.2.3", "http://10.1.2.3/", true},
		{",, ,", "https://api.test/", false},
		{".", "https://api.test/", false},
	} {
		p := readProxies(env(map[string]string{"HTTP_PROXY": "http://proxy.test", "NO_PROXY": c.list}), "")
		got, err := p.of(parse(t, c.url))
		if err != nil || (got == nil) != c.direct {
			t.Errorf("no_proxy %q, %s: through %v, %v", c.list, c.url, got, err)
		}
	}
}

// A variable that is set to nothing means none, whatever the setting says.
func TestNoProxyByAnEmptyVariable(t *testing.T) {
	p := readProxies(env(map[string]string{"HTTP_PROXY": "http://proxy.test", "https_proxy": ""}), "http://setting.test")
	if got, err := p.of(parse(t, "https://api.test/")); got != nil || err != nil {
		t.Errorf("%v %v", got, err)
	}
	if got, err := p.of(parse(t, "http://api.test/")); got == nil || got.Host != "proxy.test" || err != nil {
		t.Errorf("%v %v", got, err)
	}
}
