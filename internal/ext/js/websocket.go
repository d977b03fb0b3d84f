package js

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The kinds of frames (RFC 6455).
const (
	frameContinue = 0
	frameText     = 1
	frameBinary   = 2
	frameClose    = 8
	framePing     = 9
	framePong     = 10
)

// socket is the client's end of a WebSocket.
type socket struct {
	rwc io.ReadWriteCloser
	rd  *bufio.Reader
	mu  sync.Mutex // one frame at a time
}

type wsArgs struct {
	Key       string      `json:"key"`
	URL       string      `json:"url"`
	Protocols []string    `json:"protocols"`
	Headers   [][2]string `json:"headers"`
}

// wsConnect opens a WebSocket and tells its messages until it closes.
func wsConnect(ctx context.Context, r *Runtime, a wsArgs, emit func(any)) (any, error) {
	s, protocol, err := dial(ctx, r.cfg.Network, a)
	if err != nil {
		return nil, netError(ctx, err)
	}
	defer func() { _ = s.rwc.Close() }()
	defer context.AfterFunc(ctx, func() { _ = s.rwc.Close() })()
	r.conns.mu.Lock()
	r.conns.ws[a.Key] = s
	r.conns.mu.Unlock()
	defer func() {
		r.conns.mu.Lock()
		delete(r.conns.ws, a.Key)
		r.conns.mu.Unlock()
	}()
	emit(map[string]any{"type": "open", "protocol": protocol})
	code, reason, err := s.read(emit)
	if ctx.Err() != nil {
		return nil, context.Canceled
	}
	if err != nil {
		code, reason = 1006, ""
	}
	return map[string]any{"code": code, "reason": reason, "clean": err == nil}, nil
}

// dial makes the handshake.
func dial(ctx context.Context, carrier http.RoundTripper, a wsArgs) (*socket, string, error) {
	addr := a.URL
	if rest, ok := strings.CutPrefix(addr, "ws"); ok {
		addr = "http" + rest
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, addr, nil)
	if err != nil {
		return nil, "", err
	}
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	for _, kv := range a.Headers {
		req.Header.Add(kv[0], kv[1])
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	req.Header.Set("Sec-WebSocket-Version", "13")
	req.Header.Set("Sec-WebSocket-Key", key)
	if len(a.Protocols) > 0 {
		req.Header.Set("Sec-WebSocket-Protocol", strings.Join(a.Protocols, ", "))
	}
	res, err := (&http.Client{Transport: carrier}).Do(req)
	if err != nil {
		return nil, "", err
	}
	rwc, ok := res.Body.(io.ReadWriteCloser)
	if res.StatusCode != http.StatusSwitchingProtocols || !ok {
		_ = res.Body.Close()
		return nil, "", fmt.Errorf("Unexpected server response: %d", res.StatusCode)
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // the protocol's
	if res.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		_ = rwc.Close()
		return nil, "", errors.New("Invalid Sec-WebSocket-Accept header")
	}
	return &socket{rwc: rwc, rd: bufio.NewReader(rwc)}, res.Header.Get("Sec-WebSocket-Protocol"), nil
}

// read tells messages until the peer closes.
func (s *socket) read(emit func(any)) (code int, reason string, err error) {
	var (
		message []byte
		kind    byte
	)
	for {
		fin, op, payload, err := s.frame()
		if err != nil {
			return 0, "", err
		}
		switch op {
		case framePing:
			_ = s.send(framePong, payload)
		case framePong:
		case frameClose:
			_ = s.send(frameClose, payload)
			if len(payload) < 2 {
				return 1005, "", nil
			}
			return int(binary.BigEndian.Uint16(payload)), string(payload[2:]), nil
		default:
			if op != frameContinue {
				kind, message = op, nil
			}
			message = append(message, payload...)
			if len(message) > maxReadFile {
				return 0, "", errors.New("message is too long")
			}
			if fin {
				emit(map[string]any{"type": "message", "text": kind == frameText, "data": messageData(kind, message)})
			}
		}
	}
}

func messageData(kind byte, message []byte) any {
	if kind == frameText {
		return string(message)
	}
	return toBinary(message)
}

// frame reads one frame.
func (s *socket) frame() (fin bool, op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(s.rd, head[:]); err != nil {
		return false, 0, nil, err
	}
	length := uint64(head[1] & 0x7f)
	switch length {
	case 126:
		var b [2]byte
		_, err = io.ReadFull(s.rd, b[:])
		length = uint64(binary.BigEndian.Uint16(b[:]))
	case 127:
		var b [8]byte
		_, err = io.ReadFull(s.rd, b[:])
		length = binary.BigEndian.Uint64(b[:])
	}
	if err != nil {
		return false, 0, nil, err
	}
	if head[1]&0x80 != 0 || length > maxReadFile {
		return false, 0, nil, errors.New("invalid frame")
	}
	payload = make([]byte, length)
	_, err = io.ReadFull(s.rd, payload)
	return head[0]&0x80 != 0, head[0] & 0x0f, payload, err
}

// send writes one frame, masked as a client's must be.
func (s *socket) send(op byte, payload []byte) error {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:]) // never fails
	b = append(b, mask[:]...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.rwc.Write(b)
	return err
}

type sendArgs struct {
	Key    string  `json:"key"`
	Text   *string `json:"text"`
	Data   *bin    `json:"data"`
	Close  bool    `json:"close"`
	Code   int     `json:"code"`
	Reason string  `json:"reason"`
}

func wsSend(_ context.Context, r *Runtime, a sendArgs, _ func(any)) (any, error) {
	r.conns.mu.Lock()
	s := r.conns.ws[a.Key]
	r.conns.mu.Unlock()
	if s == nil {
		return nil, errors.New("WebSocket is not open")
	}
	switch {
	case a.Close:
		var payload []byte
		if a.Code != 0 {
			payload = append(binary.BigEndian.AppendUint16(nil, uint16(a.Code)), a.Reason...)
		}
		return nil, s.send(frameClose, payload)
	case a.Text != nil:
		return nil, s.send(frameText, []byte(*a.Text))
	case a.Data != nil:
		return nil, s.send(frameBinary, a.Data.bytes())
	}
	return nil, nil
}
