package ext

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// dialogs are the questions that wait for the client (atomic-facts.md section 3).
type dialogs struct {
	x *Extensions

	mu      sync.Mutex
	waiting map[string]*dialog
	closed  bool
}

type dialog struct {
	g     *generation
	owner string
	askArgs
	answer chan any // capacity 1
}

func newDialogs(x *Extensions) *dialogs {
	return &dialogs{x: x, waiting: map[string]*dialog{}}
}

// askArgs are a method of the user interface with its members.
type askArgs struct {
	Method string    `json:"method"`
	Fields jsonx.Raw `json:"fields"`
}

// show puts a dialog before the client and returns its id; "" where nobody can answer.
// It is called on the scripts' goroutine, so that dialogs come in the order of the calls.
func (d *dialogs) show(g *generation, owner string, a askArgs) string {
	h := d.x.host.Load()
	if !d.x.hasUI() || h.Emit == nil {
		return ""
	}
	id := newID()
	w := &dialog{g: g, owner: owner, askArgs: a, answer: make(chan any, 1)}
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return ""
	}
	d.waiting[id] = w
	first := len(d.waiting) == 1
	d.mu.Unlock()
	if first {
		d.x.prompted(g, "ui_prompt_start", a)
	}
	h.Emit(event.ExtensionUIRequest{ID: id, Method: a.Method, Fields: a.Fields})
	return id
}

type awaitArgs struct {
	ID      string  `json:"id"`
	Timeout float64 `json:"timeout"` // milliseconds; 0 for none
}

// await waits for the answer to a dialog; nil is the default. The time-out is kept here:
// what the client is told of it is for its information.
func (d *dialogs) await(ctx context.Context, a awaitArgs) (any, error) {
	d.mu.Lock()
	w := d.waiting[a.ID]
	d.mu.Unlock()
	if w == nil {
		return nil, nil
	}
	defer func() {
		d.mu.Lock()
		delete(d.waiting, a.ID)
		last := len(d.waiting) == 0
		d.mu.Unlock()
		if last {
			d.x.prompted(w.g, "ui_prompt_end", w.askArgs)
		}
	}()
	var late <-chan time.Time
	if a.Timeout > 0 {
		t := time.NewTimer(time.Duration(a.Timeout * float64(time.Millisecond)))
		defer t.Stop()
		late = t.C
	}
	select {
	case v := <-w.answer:
		return v, nil
	case <-late:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// prompted tells extensions, without waiting, that a dialog is open or closed.
func (x *Extensions) prompted(g *generation, name string, a askArgs) {
	if !g.has(name) {
		return
	}
	var f struct {
		Title string `json:"title"`
	}
	_ = jsonx.Unmarshal(a.Fields, &f) // a dialog without a title has none
	x.wg.Go(func() {
		_, _ = g.emit(context.Background(), name, map[string]string{"reason": "extension", "kind": a.Method, "title": f.Title}, emission{})
	})
}

// open reports whether a dialog of an extension waits.
func (d *dialogs) open(g *generation, owner string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.waiting {
		if w.g == g && w.owner == owner {
			return true
		}
	}
	return false
}

// closeAll lets all dialogs take their defaults, also those to come.
func (d *dialogs) closeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, w := range d.waiting {
		w.settle(nil)
	}
}

func (w *dialog) settle(v any) {
	select {
	case w.answer <- v:
	default: // answered already
	}
}

// DialogAnswer takes the client's answer to a dialog: {value}, {confirmed} or
// {cancelled:true}. Answers to dialogs that do not wait (any more) are ignored.
func (x *Extensions) DialogAnswer(id string, raw jsonx.Raw) {
	x.dialogs.mu.Lock()
	w := x.dialogs.waiting[id]
	x.dialogs.mu.Unlock()
	if w == nil {
		return
	}
	var a struct {
		Value     jsonx.Raw `json:"value"`
		Confirmed jsonx.Raw `json:"confirmed"`
		Cancelled jsonx.Raw `json:"cancelled"`
	}
	if jsonx.Unmarshal(raw, &a) != nil || string(a.Cancelled) == "true" {
		w.settle(nil)
		return
	}
	switch {
	case w.Method == "confirm" && string(a.Confirmed) == "true":
		w.settle(true)
	case w.Method == "confirm":
		w.settle(false)
	case len(a.Value) > 0 && a.Value[0] == '"':
		w.settle(a.Value)
	default:
		w.settle(nil)
	}
}

// tell shows something for which no answer comes.
func (d *dialogs) tell(a askArgs) {
	if h := d.x.host.Load(); d.x.hasUI() && h.Emit != nil {
		h.Emit(event.ExtensionUIRequest{ID: newID(), Method: a.Method, Fields: a.Fields})
	}
}

// newID returns a random UUID (version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
