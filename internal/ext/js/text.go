package js

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// textOps are addresses, compression and the search for packages.
func textOps() map[string]syncOp {
	return map[string]syncOp{"url.parse": with(parseURL), "zlib": with(zlibOp)}
}

// parsedURL is an address in parts as the URL class shows them.
type parsedURL struct {
	Protocol string  `json:"protocol"`
	Username string  `json:"username"`
	Password string  `json:"password"`
	Host     string  `json:"host"`
	Pathname string  `json:"pathname"`
	Search   string  `json:"search"`
	Hash     string  `json:"hash"`
	Opaque   *string `json:"opaque,omitzero"`
}

// special are the schemes whose addresses always have a path, with their own port.
func special(scheme string) (port string, ok bool) {
	switch scheme {
	case "http", "ws":
		return ":80", true
	case "https", "wss":
		return ":443", true
	case "ftp":
		return ":21", true
	case "file":
		return "", true
	}
	return "", false
}

// parseURL returns null for what is no address.
func parseURL(_ *Runtime, a struct {
	URL  string  `json:"url"`
	Base *string `json:"base"`
},
) (any, error) {
	u, err := parseLoose(a.URL)
	if err != nil {
		return nil, nil //nolint:nilerr // the class throws its own error
	}
	if a.Base != nil && u.Scheme == "" {
		base, err := parseLoose(*a.Base)
		if err != nil || base.Scheme == "" || base.Opaque != "" {
			return nil, nil //nolint:nilerr // as above
		}
		u = base.ResolveReference(u)
	}
	port, isSpecial := special(u.Scheme)
	if u.Scheme == "" || isSpecial && u.Scheme != "file" && u.Host == "" {
		return nil, nil
	}
	p := parsedURL{Protocol: strings.ToLower(u.Scheme) + ":", Host: u.Host, Pathname: u.EscapedPath()}
	if isSpecial {
		p.Host = strings.TrimSuffix(strings.ToLower(u.Host), port)
		if p.Pathname == "" {
			p.Pathname = "/"
		}
		p.Pathname = cleanDots(p.Pathname)
	}
	if u.User != nil {
		p.Username = url.PathEscape(u.User.Username())
		pw, _ := u.User.Password()
		p.Password = url.PathEscape(pw)
	}
	if u.RawQuery != "" {
		p.Search = "?" + strings.ReplaceAll(u.RawQuery, " ", "%20")
	}
	if f := u.EscapedFragment(); f != "" {
		p.Hash = "#" + f
	}
	if u.Opaque != "" {
		p.Opaque, p.Pathname = &u.Opaque, u.Opaque
	}
	return p, nil
}

// parseLoose takes what browsers take: white space around, stray percent signs and
// backslashes.
func parseLoose(s string) (*url.URL, error) {
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }))
	if u, err := url.Parse(s); err == nil {
		return u, nil
	}
	var b strings.Builder
	for i := range len(s) {
		hex := i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2])
		if s[i] == '%' && !hex {
			b.WriteString("%25")
		} else {
			b.WriteByte(s[i])
		}
	}
	return url.Parse(b.String())
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// cleanDots takes "." and ".." out of a path.
func cleanDots(p string) string {
	if !strings.Contains(p, "/.") {
		return p
	}
	var out []string
	parts := strings.Split(p, "/")
	for i, s := range parts {
		switch strings.ToLower(s) {
		case ".", "%2e":
			if i == len(parts)-1 {
				out = append(out, "")
			}
		case "..", ".%2e", "%2e.", "%2e%2e":
			if len(out) > 1 {
				out = out[:len(out)-1]
			}
			if i == len(parts)-1 {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	return strings.Join(out, "/")
}

type zlibArgs struct {
	Method string `json:"method"`
	Level  *int   `json:"level"`
	Data   bin    `json:"data"`
}

func zlibOp(_ *Runtime, a zlibArgs) (any, error) {
	in := a.Data.bytes()
	level := flate.DefaultCompression
	if a.Level != nil && *a.Level >= -1 && *a.Level <= 9 {
		level = *a.Level
	}
	var (
		out bytes.Buffer
		w   io.WriteCloser
		rd  io.Reader
		err error
	)
	switch a.Method {
	case "gzip":
		w, err = gzip.NewWriterLevel(&out, level)
	case "deflate":
		w, err = zlib.NewWriterLevel(&out, level)
	case "deflateRaw":
		w, err = flate.NewWriter(&out, level)
	case "gunzip":
		rd, err = gzip.NewReader(bytes.NewReader(in))
	case "inflate":
		rd, err = zlib.NewReader(bytes.NewReader(in))
	case "inflateRaw":
		rd = flate.NewReader(bytes.NewReader(in))
	case "unzip":
		if rd, err = gzip.NewReader(bytes.NewReader(in)); err != nil {
			rd, err = zlib.NewReader(bytes.NewReader(in))
		}
	default:
		return nil, &OpError{Message: "zlib." + a.Method + " is not available in this host", Code: "ERR_UNSUPPORTED"}
	}
	if err == nil && w != nil {
		_, err = w.Write(in)
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}
	if err == nil && rd != nil {
		_, err = io.Copy(&out, io.LimitReader(rd, maxReadFile))
	}
	if err != nil {
		return nil, &OpError{Message: "incorrect data check: " + err.Error(), Code: "Z_DATA_ERROR"}
	}
	return toBinary(out.Bytes()), nil
}

// resolveModule finds the folder or file of a package as Node does from a file.
func resolveModule(r *Runtime, a struct {
	From string `json:"from"`
	Spec string `json:"spec"`
},
) (any, error) {
	for dir := filepath.Dir(r.path(a.From)); ; dir = filepath.Dir(dir) {
		p := filepath.Join(dir, "node_modules", filepath.FromSlash(a.Spec))
		if st, err := os.Stat(p); err == nil {
			if st.IsDir() {
				return packageMain(p), nil
			}
			return p, nil
		}
		if filepath.Dir(dir) == dir {
			return nil, nil
		}
	}
}

func packageMain(dir string) string {
	var m struct {
		Main string `json:"main"`
	}
	if data, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil {
		_ = jsonx.Unmarshal(data, &m) // a broken one has no main
	}
	if m.Main == "" {
		m.Main = "index.js"
	}
	return filepath.Join(dir, filepath.FromSlash(m.Main))
}
