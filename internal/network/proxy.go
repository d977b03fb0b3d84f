package network

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// textProxy is the error of a proxy's address, without the address: it may hold a
// password. What names it comes first.
const textProxy = "%s is not the address of a proxy: it must be like http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT"

// settingProxy names the setting in errors.
const settingProxy = "the setting httpProxy"

// proxies says which requests go through which proxy.
type proxies struct {
	http, https proxy
	except      []exception
}

// proxy is one that was named; err is of an address that is none.
type proxy struct {
	url *url.URL
	err error
}

// readProxies reads http_proxy, https_proxy and no_proxy, in either case. The setting
// stands for variables that are not set; HTTPS goes through HTTP's proxy when it has none
// of its own, as in the reference. A variable that is set to nothing means no proxy.
func readProxies(env func(string) (string, bool), setting string) proxies {
	var p proxies
	plain, plainName, hasPlain := variable(env, "http_proxy")
	secure, secureName, hasSecure := variable(env, "https_proxy")
	if setting != "" && !hasPlain {
		p.http = parseProxy(settingProxy, setting)
	} else {
		p.http = parseProxy(plainName, plain)
	}
	switch {
	case hasSecure:
		p.https = parseProxy(secureName, secure)
	case setting != "":
		p.https = parseProxy(settingProxy, setting)
	default:
		p.https = p.http
	}
	list, _, _ := variable(env, "no_proxy")
	p.except = exceptions(list)
	return p
}

// variable returns a variable under its name or that in capitals, the first that is set.
func variable(env func(string) (string, bool), name string) (value, as string, set bool) {
	for _, as := range []string{name, strings.ToUpper(name)} {
		if value, ok := env(as); ok {
			return strings.TrimSpace(value), as, true
		}
	}
	return "", "", false
}

// parseProxy reads an address; one without a scheme is of HTTP. name is what holds it.
func parseProxy(name, value string) proxy {
	if value == "" {
		return proxy{}
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" {
		return proxy{err: &SetupError{fmt.Sprintf(textProxy, name)}}
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return proxy{url: u}
	}
	return proxy{err: &SetupError{fmt.Sprintf(textProxy, name)}}
}

// of returns the proxy for a request to u, nil for none.
func (p proxies) of(u *url.URL) (*url.URL, error) {
	chosen := p.http
	if u.Scheme == "https" {
		chosen = p.https
	}
	if chosen == (proxy{}) || p.direct(u) {
		return nil, nil
	}
	return chosen.url, chosen.err
}

// direct reports whether a request to u goes past the proxy: what no_proxy lists, and
// what is on this machine or on its own link, where no proxy could reach it.
func (p proxies) direct(u *url.URL) bool {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	ip, err := netip.ParseAddr(host)
	if err == nil {
		ip = ip.Unmap().WithZone("")
	}
	if host == "localhost" || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		return true
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	for _, e := range p.except {
		if e.covers(host, ip, port) {
			return true
		}
	}
	return false
}

// exception is an entry of no_proxy. Empty members ask for nothing.
type exception struct {
	any   bool
	name  string       // a host and what lies below it
	block netip.Prefix // addresses
	port  string
}

// exceptions reads no_proxy: names, addresses and blocks of them, each perhaps with a
// port, between commas or spaces; "*" for everything.
func exceptions(list string) []exception {
	var out []exception
	for _, entry := range strings.FieldsFunc(strings.ToLower(list), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		if entry == "*" {
			return []exception{{any: true}}
		}
		if block, err := netip.ParsePrefix(entry); err == nil {
			out = append(out, exception{block: block.Masked()})
			continue
		}
		e := exception{}
		if host, port, err := net.SplitHostPort(entry); err == nil {
			entry, e.port = host, port
		}
		entry = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(entry, "]"), "["), ".")
		if ip, err := netip.ParseAddr(entry); err == nil {
			ip = ip.Unmap()
			e.block = netip.PrefixFrom(ip, ip.BitLen())
		} else if e.name = strings.TrimPrefix(strings.TrimPrefix(entry, "*"), "."); e.name == "" {
			continue
		}
		out = append(out, e)
	}
	return out
}

func (e exception) covers(host string, ip netip.Addr, port string) bool {
	switch {
	case e.any:
		return true
	case e.port != "" && e.port != port:
		return false
	case e.block.IsValid():
		return ip.IsValid() && e.block.Contains(ip)
	}
	return host == e.name || strings.HasSuffix(host, "."+e.name)
}
