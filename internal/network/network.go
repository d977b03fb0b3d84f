// Package network owns how the program reaches other machines: the proxy a request goes
// through, the authorities it trusts beside the system's, and one set of connections for
// everything that speaks HTTP.
//
// It must not know who asks for what. Nothing is read before the first request; the user
// name and the password of a proxy are in no error. A Network may be used concurrently.
package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Texts that people see.
const (
	adviceCA        = "for an authority of your own, set NODE_EXTRA_CA_CERTS to a PEM file of its certificate"
	textProxyStatus = "the proxy %s refused the connection: %s"
	textProxyLogin  = textProxyStatus + "; it wants a user name and a password: http://USER:PASSWORD@HOST:PORT"
)

// SetupError is something of the user's setup that must be changed before a request can
// be sent: a variable, a setting, a file.
type SetupError struct{ Message string }

// Error returns the message.
func (e *SetupError) Error() string { return e.Message }

// ProxyError is the answer of a proxy that makes no connection.
type ProxyError struct {
	Proxy  string // without user name and password
	Status int
	text   string
}

// Error says which proxy answered what.
func (e *ProxyError) Error() string {
	if e.Status == http.StatusProxyAuthRequired {
		return fmt.Sprintf(textProxyLogin, e.Proxy, e.text)
	}
	return fmt.Sprintf(textProxyStatus, e.Proxy, e.text)
}

// Options say where a Network is set up. The zero value is the process's environment.
type Options struct {
	// Env finds a variable, as os.LookupEnv does, which is used when it is nil.
	Env func(name string) (string, bool)
	// Proxy returns the proxy that a setting names, "" for none; nil: none. It is asked
	// once. Variables come first.
	Proxy func() string
}

// Network carries requests. Connections are kept and used again; HTTP/2 is spoken where
// the server does.
type Network struct {
	setup func() *setup
	made  atomic.Pointer[setup] // what setup returned; nil before
}

// setup is what the first request finds.
type setup struct {
	transport *http.Transport
	proxies   proxies
	roots     *x509.CertPool // nil for the system's
	rootsErr  error
}

// New returns a network. Nothing is read yet.
func New(o Options) *Network {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	if o.Proxy == nil {
		o.Proxy = func() string { return "" }
	}
	n := &Network{}
	n.setup = sync.OnceValue(func() *setup {
		s := &setup{proxies: readProxies(o.Env, o.Proxy())}
		s.roots, s.rootsErr = roots(o.Env)
		s.transport = transport(s)
		n.made.Store(s)
		return s
	})
	return n
}

func transport(s *setup) *http.Transport {
	return &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return s.proxies.of(r.URL) },
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: s.roots},
		OnProxyConnectResponse: proxyAnswer,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    20 * time.Second,
		// A connection that died while the machine slept must not hold a request
		// until its caller's limit.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

func proxyAnswer(_ context.Context, proxy *url.URL, _ *http.Request, r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	return &ProxyError{Proxy: proxy.Scheme + "://" + proxy.Host, Status: r.StatusCode, text: r.Status}
}

// RoundTrip implements http.RoundTripper. The error is a *SetupError when the request
// was not sent because of the setup, and has a *ProxyError in it when a proxy refused.
func (n *Network) RoundTrip(r *http.Request) (*http.Response, error) {
	s := n.setup()
	if err := s.trust(r.URL); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	resp, err := s.transport.RoundTrip(r)
	if untrusted(err) {
		err = fmt.Errorf("%w (%s)", err, adviceCA)
	}
	return resp, err
}

// trust returns the error of a setup without which no server can be trusted, for a
// request that has to trust one.
func (s *setup) trust(u *url.URL) error {
	if s.rootsErr == nil || u.Scheme == "https" {
		return s.rootsErr
	}
	if proxy, err := s.proxies.of(u); err == nil && proxy != nil && proxy.Scheme == "https" {
		return s.rootsErr
	}
	return nil
}

// untrusted reports whether err says that nobody vouches for a server's certificate.
func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) && !errors.As(err, &name) && !errors.As(err, &invalid)
}

// CloseIdleConnections closes the connections that are not in use.
func (n *Network) CloseIdleConnections() {
	if s := n.made.Load(); s != nil {
		s.transport.CloseIdleConnections()
	}
}

// Roots returns the authorities to trust, nil for those of the system. The error is a
// *SetupError.
func (n *Network) Roots() (*x509.CertPool, error) {
	s := n.setup()
	return s.roots, s.rootsErr
}
