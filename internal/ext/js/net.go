package js

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// conns are the connections, servers and sockets of scripts, by the key that the script
// gave them.
type conns struct {
	mu   sync.Mutex
	conn map[string]net.Conn
	http map[string]*exchange
	ws   map[string]*socket
	next int
}

func newConns() *conns {
	return &conns{conn: map[string]net.Conn{}, http: map[string]*exchange{}, ws: map[string]*socket{}}
}

func (c *conns) setConn(key string, n net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n == nil {
		delete(c.conn, key)
		return
	}
	c.conn[key] = n
}

func (c *conns) getConn(key string) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn[key]
}

type fetchArgs struct {
	URL      string      `json:"url"`
	Method   string      `json:"method"`
	Headers  [][2]string `json:"headers"`
	Body     *bin        `json:"body"`
	Redirect string      `json:"redirect"`
}

// fetch sends a request and tells first the head of the response, then its body piece by
// piece.
func fetch(ctx context.Context, r *Runtime, a fetchArgs, emit func(any)) (any, error) {
	var body io.Reader
	if a.Body != nil {
		body = bytes.NewReader(a.Body.bytes())
	}
	req, err := http.NewRequestWithContext(ctx, a.Method, a.URL, body)
	if err != nil {
		return nil, err
	}
	for _, kv := range a.Headers {
		if strings.EqualFold(kv[0], "host") {
			req.Host = kv[1]
			continue
		}
		req.Header.Add(kv[0], kv[1])
	}
	c := http.Client{Transport: r.cfg.Network}
	if a.Redirect == "manual" || a.Redirect == "error" {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, netError(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	if a.Redirect == "error" && res.StatusCode >= 300 && res.StatusCode < 400 {
		return nil, errors.New("unexpected redirect")
	}
	emit(map[string]any{
		"type": "head", "status": res.StatusCode, "statusText": strings.TrimSpace(strings.TrimPrefix(res.Status, res.Status[:min(3, len(res.Status))])),
		"headers": headerList(res.Header), "url": res.Request.URL.String(), "redirected": res.Request.URL.String() != a.URL,
	})
	return nil, netError(ctx, pieces(res.Body, func(b []byte) { emit(map[string]any{"type": "data", "data": toBinary(b)}) }))
}

// pieces calls f with what is read until the end.
func pieces(rd io.Reader, f func([]byte)) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := rd.Read(buf)
		if n > 0 {
			f(buf[:n])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// netError makes a cancelled request an abort.
func netError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Canceled
	}
	return err
}

func headerList(h http.Header) [][2]string {
	out := [][2]string{}
	for k, vs := range h {
		for _, v := range vs {
			out = append(out, [2]string{strings.ToLower(k), v})
		}
	}
	slices.SortStableFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}

func lookup(ctx context.Context, _ *Runtime, a nameArg, _ func(any)) (any, error) {
	addrs, err := net.DefaultResolver.LookupHost(ctx, a.Name)
	return addrs, err
}

type connArgs struct {
	Key        string `json:"key"`
	Host       string `json:"host"`
	Port       int    `json:"port"`
	Path       string `json:"path"` // of a Unix socket
	TLS        bool   `json:"tls"`
	ServerName string `json:"serverName"`
	Insecure   bool   `json:"insecure"`
}

func (a connArgs) address() (network, addr string) {
	if a.Path != "" {
		return "unix", a.Path
	}
	host := a.Host
	if host == "" {
		host = "localhost"
	}
	return "tcp", net.JoinHostPort(host, strconv.Itoa(a.Port))
}

// connect opens a connection and tells what is read from it until its end.
func connect(ctx context.Context, r *Runtime, a connArgs, emit func(any)) (any, error) {
	network, addr := a.address()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, netError(ctx, connectError(err, addr))
	}
	if a.TLS {
		name := a.ServerName
		if name == "" {
			name = a.Host
		}
		roots, err := r.cfg.Network.Roots()
		if err != nil && !a.Insecure {
			_ = conn.Close()
			return nil, err
		}
		tc := tls.Client(conn, &tls.Config{ServerName: name, RootCAs: roots, InsecureSkipVerify: a.Insecure}) //nolint:gosec // as the script asks
		if err := tc.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		conn = tc
	}
	return r.serveConn(ctx, a.Key, conn, emit)
}

func connectError(err error, addr string) error {
	e := systemError(err)
	if e.Code == "ECONNREFUSED" {
		e.Message, e.Syscall = "connect ECONNREFUSED "+addr, "connect"
	}
	return e
}

// serveConn tells what comes over a connection until its end.
func (r *Runtime) serveConn(ctx context.Context, key string, conn net.Conn, emit func(any)) (any, error) {
	r.conns.setConn(key, conn)
	defer r.conns.setConn(key, nil)
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	emit(map[string]any{"type": "connect", "local": conn.LocalAddr().String(), "remote": conn.RemoteAddr().String()})
	err := pieces(conn, func(b []byte) { emit(map[string]any{"type": "data", "data": toBinary(b)}) })
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return nil, netError(ctx, err)
}

// listen takes connections and tells each by a key, under which "net.accept" serves it.
func listen(ctx context.Context, r *Runtime, a connArgs, emit func(any)) (any, error) {
	l, err := a.listen(ctx)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	emit(listening(l))
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil, netError(ctx, err)
		}
		key := r.conns.fresh()
		r.conns.setConn(key, conn)
		emit(map[string]any{"type": "connection", "key": key})
	}
}

// listen opens the listener; without a host it takes connections of all addresses.
func (a connArgs) listen(ctx context.Context) (net.Listener, error) {
	network, addr := a.address()
	if a.Host == "" && network == "tcp" {
		addr = net.JoinHostPort("", strconv.Itoa(a.Port))
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, addr)
	if err == nil {
		return l, nil
	}
	e := systemError(err)
	if e.Code == "EADDRINUSE" {
		e.Message, e.Syscall = "listen EADDRINUSE: address already in use "+addr, "listen"
	}
	return nil, e
}

func listening(l net.Listener) map[string]any {
	out := map[string]any{"type": "listening", "address": l.Addr().String()}
	if t, ok := l.Addr().(*net.TCPAddr); ok {
		out["address"], out["port"], out["family"] = t.IP.String(), t.Port, "IPv4"
		if t.IP.To4() == nil {
			out["family"] = "IPv6"
		}
	}
	return out
}

func (c *conns) fresh() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return "in" + strconv.Itoa(c.next)
}

func accept(ctx context.Context, r *Runtime, a connArgs, emit func(any)) (any, error) {
	conn := r.conns.getConn(a.Key)
	if conn == nil {
		return nil, net.ErrClosed
	}
	return r.serveConn(ctx, a.Key, conn, emit)
}

type writeArgs struct {
	Key  string `json:"key"`
	Data *bin   `json:"data"`
	End  bool   `json:"end"`
}

// write writes to a connection and, at the end, closes its sending half.
func write(_ context.Context, r *Runtime, a writeArgs, _ func(any)) (any, error) {
	conn := r.conns.getConn(a.Key)
	if conn == nil {
		return nil, &OpError{Message: "write EPIPE", Code: "EPIPE", Syscall: "write"}
	}
	if a.Data != nil {
		if _, err := conn.Write(a.Data.bytes()); err != nil {
			return nil, err
		}
	}
	if a.End {
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			return nil, half.CloseWrite()
		}
		return nil, conn.Close()
	}
	return nil, nil
}

// netOps are the operations on the network that run beside the scripts.
func netOps() map[string]asyncOp {
	return map[string]asyncOp{
		"net.connect": withAsync(connect), "net.listen": withAsync(listen), "net.accept": withAsync(accept), "net.write": withAsync(write),
		"http.listen": withAsync(httpListen), "http.write": withAsync(httpWrite), "ws.connect": withAsync(wsConnect), "ws.send": withAsync(wsSend),
	}
}

// netSyncOps are those that do not wait.
func netSyncOps() map[string]syncOp {
	return map[string]syncOp{
		"net.close": with(func(r *Runtime, a writeArgs) (any, error) {
			if conn := r.conns.getConn(a.Key); conn != nil {
				_ = conn.Close()
			}
			return nil, nil
		}),
	}
}

// exchange is a request that a server of a script got, until it is answered.
type exchange struct {
	w    http.ResponseWriter
	done chan struct{}
	once sync.Once
	head bool
}

func (e *exchange) end() { e.once.Do(func() { close(e.done) }) }

// httpListen serves HTTP: each request is told whole, and answered by "http.write".
func httpListen(ctx context.Context, r *Runtime, a connArgs, emit func(any)) (any, error) {
	l, err := a.listen(ctx)
	if err != nil {
		return nil, err
	}
	var served sync.WaitGroup
	srv := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			served.Add(1)
			defer served.Done()
			r.exchange(ctx, w, req, emit)
		}),
	}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	emit(listening(l))
	err = srv.Serve(l)
	served.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil, nil
	}
	return nil, netError(ctx, err)
}

func (r *Runtime) exchange(ctx context.Context, w http.ResponseWriter, req *http.Request, emit func(any)) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReadFile))
	if err != nil {
		http.Error(w, "the request is too long", http.StatusRequestEntityTooLarge)
		return
	}
	e := &exchange{w: w, done: make(chan struct{})}
	key := r.conns.fresh()
	r.conns.mu.Lock()
	r.conns.http[key] = e
	r.conns.mu.Unlock()
	defer func() {
		r.conns.mu.Lock()
		delete(r.conns.http, key)
		r.conns.mu.Unlock()
	}()
	headers := append(headerList(req.Header), [2]string{"host", req.Host})
	emit(map[string]any{"type": "request", "key": key, "method": req.Method, "url": req.RequestURI, "headers": headers, "remote": req.RemoteAddr, "body": toBinary(body)})
	select {
	case <-e.done:
	case <-req.Context().Done():
		emit(map[string]any{"type": "gone", "key": key})
	case <-ctx.Done():
	}
}

type answerArgs struct {
	Key     string      `json:"key"`
	Status  int         `json:"status"` // 0 when the head was sent
	Headers [][2]string `json:"headers"`
	Data    *bin        `json:"data"`
	End     bool        `json:"end"`
}

func httpWrite(_ context.Context, r *Runtime, a answerArgs, _ func(any)) (any, error) {
	r.conns.mu.Lock()
	e := r.conns.http[a.Key]
	r.conns.mu.Unlock()
	if e == nil {
		return nil, &OpError{Message: "write EPIPE", Code: "EPIPE", Syscall: "write"}
	}
	if a.End {
		defer e.end()
	}
	if a.Status != 0 && !e.head {
		e.head = true
		for _, kv := range a.Headers {
			e.w.Header().Add(kv[0], kv[1])
		}
		e.w.WriteHeader(a.Status)
	}
	if a.Data != nil {
		if _, err := e.w.Write(a.Data.bytes()); err != nil {
			return nil, err
		}
	}
	if !a.End {
		if f, ok := e.w.(http.Flusher); ok {
			f.Flush()
		}
	}
	return nil, nil
}
