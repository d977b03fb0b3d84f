package js

import (
	"context"
	"errors"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// OpError is an error with the fields that Node's errors have.
type OpError struct {
	Message string `json:"message"`
	Name    string `json:"name,omitzero"`
	Code    string `json:"code,omitzero"`
	Errno   int    `json:"errno,omitzero"`
	Syscall string `json:"syscall,omitzero"`
	Path    string `json:"path,omitzero"`
	Dest    string `json:"dest,omitzero"`
}

// Error implements error.
func (e *OpError) Error() string { return e.Message }

// outcome is what crosses the border: a value or an error.
type outcome struct {
	Value any      `json:"v,omitzero"`
	Err   *OpError `json:"e,omitzero"`
}

func encode(v any, err error) string {
	out := outcome{Value: v}
	if err != nil {
		out = outcome{Err: AsOpError(err)}
	}
	b, err := jsonx.Marshal(out)
	if err != nil {
		b, _ = jsonx.Marshal(outcome{Err: &OpError{Message: "encoding a result: " + err.Error()}})
	}
	return string(b)
}

// AsOpError returns the error that scripts see for err.
func AsOpError(err error) *OpError {
	var e *OpError
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, ErrClosed):
		return &OpError{Message: "The operation was aborted", Name: "AbortError", Code: "ABORT_ERR"}
	}
	return systemError(err)
}

// dispatch hands arg to a dispatcher of the scripts.
func (r *Runtime) dispatch(kind, id string, arg any) error {
	text := ""
	if arg != nil {
		b, err := jsonx.Marshal(arg)
		if err != nil {
			return err
		}
		text = string(b)
	}
	reply, now, err := r.eng.dispatch(kind, id, text)
	if err != nil {
		return err
	}
	if now {
		r.replied(id, jsonx.Raw(reply))
	}
	return nil
}

// replied takes the answer of a script to a call: {"v":…} or {"e":…}.
func (r *Runtime) replied(id string, raw jsonx.Raw) {
	var a struct {
		Value jsonx.Raw `json:"v"`
		Err   *Error    `json:"e"`
	}
	if err := jsonx.Unmarshal(raw, &a); err != nil {
		r.answer(id, answer{err: err})
		return
	}
	if a.Err != nil {
		a.Err.Stack = r.mapStack(a.Err.Stack)
		r.answer(id, answer{err: a.Err})
		return
	}
	r.answer(id, answer{value: a.Value})
}

// host is the one native function that scripts have. Operations whose name starts with
// "@" are started and answered later.
func (r *Runtime) host(op, args string) string {
	if name, ok := strings.CutPrefix(op, "@"); ok {
		return r.startOp(name, args)
	}
	raw := jsonx.Raw(args)
	if f := syncOps()[op]; f != nil {
		return encode(f(r, raw))
	}
	if f := r.cfg.Sync[op]; f != nil {
		return encode(f(r.owner, raw))
	}
	return encode(nil, &OpError{Message: "the host has no operation " + op, Code: "ERR_UNSUPPORTED"})
}

// startOp starts an operation that is answered later. args is {"id":…,"args":…}.
func (r *Runtime) startOp(name, args string) string {
	var in struct {
		ID   string    `json:"id"`
		Args jsonx.Raw `json:"args"`
	}
	if err := jsonx.Unmarshal([]byte(args), &in); err != nil {
		return encode(nil, err)
	}
	op := r.asyncOp(name)
	if op == nil {
		return encode(nil, &OpError{Message: "the host has no operation " + name, Code: "ERR_UNSUPPORTED"})
	}
	ctx, cancel := context.WithCancel(r.ctx)
	owner := r.owner
	r.cancels[in.ID] = cancel
	r.count(owner, 1)
	r.ops.Add(1)
	go func() {
		defer r.ops.Done()
		defer cancel()
		v, err := r.runOp(ctx, owner, op, in.ID, in.Args)
		text := encode(v, err)
		r.post(func() {
			delete(r.cancels, in.ID)
			r.count(owner, -1)
			if err := r.enter(owner, r.cfg.Limits.Slice, func() error { _, _, err := r.eng.dispatch("settle", in.ID, text); return err }); err != nil {
				r.failed(owner, err)
			}
		})
	}()
	return encode(nil, nil)
}

// runOp runs an operation; a panic of it is its error.
func (r *Runtime) runOp(ctx context.Context, owner string, op AsyncOp, id string, args jsonx.Raw) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, &OpError{Message: "internal error of the host"}
		}
	}()
	return op(ctx, owner, args, func(ev any) { r.emit(owner, id, ev) })
}

// emit tells the script something about an operation and waits until it has taken it.
func (r *Runtime) emit(owner, id string, ev any) {
	taken := make(chan struct{})
	ok := r.post(func() {
		defer close(taken)
		if err := r.enter(owner, r.cfg.Limits.Slice, func() error { return r.dispatch("stream", id, ev) }); err != nil {
			r.failed(owner, err)
		}
	})
	if !ok {
		return
	}
	select {
	case <-taken:
	case <-r.done:
	}
}

func (r *Runtime) asyncOp(name string) AsyncOp {
	if f := asyncOps()[name]; f != nil {
		return func(ctx context.Context, _ string, args jsonx.Raw, emit func(any)) (any, error) {
			return f(ctx, r, args, emit)
		}
	}
	return r.cfg.Async[name]
}

func (r *Runtime) count(owner string, n int) {
	r.mu.Lock()
	if r.inflight[owner] += n; r.inflight[owner] == 0 {
		delete(r.inflight, owner)
	}
	r.mu.Unlock()
}

// cancelOp cancels an operation that is under way.
func (r *Runtime) cancelOp(id string) {
	if cancel := r.cancels[id]; cancel != nil {
		cancel()
	}
}
