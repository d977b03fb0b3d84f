package ext

import (
	"context"
	"errors"
	"fmt"

	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// step is one handler's turn at an event.
type step struct {
	Key     string    `json:"key"`
	Handler int       `json:"handler"`
	Event   jsonx.Raw `json:"event,omitzero"` // with the first handler only
	Last    bool      `json:"last"`
	Signal  bool      `json:"signal,omitzero"`
}

// emission says how an event is given to its handlers.
type emission struct {
	closed bool // the first error ends it and is the outcome (fail closed)
	signal bool // the event carries an AbortSignal
}

// has reports whether anybody takes an event: without, nothing is encoded or sent.
func (g *generation) has(event string) bool { return g != nil && len(g.list(event)) > 0 }

// emit has the handlers of an event take it one after the other, each with its own time
// and blame. The outcome is nil when nobody takes it or nothing came of it. payload has
// the members of the event beside its type.
func (g *generation) emit(ctx context.Context, event string, payload any, how emission) (jsonx.Raw, error) {
	hs := g.list(event)
	if len(hs) == 0 {
		return nil, nil
	}
	if g.crashed.Load() {
		if how.closed {
			return nil, js.ErrDead
		}
		return nil, nil
	}
	body, err := eventJSON(event, payload)
	if err != nil {
		return nil, err
	}
	s := step{Key: g.key(), Event: body, Signal: how.signal}
	abort := func() { g.rt.Post("", "abort", s.Key, nil) }
	open := false // the script keeps the event until its last handler has answered
	for i, h := range hs {
		s.Handler, s.Last = h.number, i == len(hs)-1
		raw, err := g.call(ctx, h.owner, "handle", s, abort)
		open = open || !s.Last
		if err != nil {
			if errors.Is(err, js.ErrDead) || errors.Is(err, js.ErrClosed) || ctx.Err() != nil || how.closed {
				g.strike(h.owner, event, err)
				g.forget(open, s.Key)
				return nil, fmt.Errorf("%w", err)
			}
			g.strike(h.owner, event, err)
			s.Event = nil
			if !open {
				s.Event = body
			}
			continue
		}
		s.Event = nil
		done, out, err := outcomeOf(raw)
		if err != nil || done {
			return out, err
		}
	}
	if !open {
		return nil, nil
	}
	return g.finish(ctx, s.Key)
}

// finish takes what became of an event whose last handler failed.
func (g *generation) finish(ctx context.Context, key string) (jsonx.Raw, error) {
	raw, err := g.call(ctx, "", "finish", map[string]string{"key": key}, nil)
	if err != nil {
		return nil, err
	}
	_, out, err := outcomeOf(raw)
	return out, err
}

// forget drops an event that is kept.
func (g *generation) forget(open bool, key string) {
	if open {
		g.rt.Post("", "finish", "", map[string]string{"key": key})
	}
}

// outcomeOf reads {"stop":…,"out":…}, which the last handler's answer is; null from the
// others.
func outcomeOf(raw jsonx.Raw) (done bool, out jsonx.Raw, err error) {
	if isNull(raw) {
		return false, nil, nil
	}
	var a struct {
		Out jsonx.Raw `json:"out"`
	}
	if err := jsonx.Unmarshal(raw, &a); err != nil {
		return false, nil, fmt.Errorf("reading what an extension answered: %w", err)
	}
	if isNull(a.Out) {
		a.Out = nil
	}
	return true, a.Out, nil
}

func isNull(raw jsonx.Raw) bool { return len(raw) == 0 || string(raw) == "null" }

// eventJSON puts the type in front of the payload's members.
func eventJSON(event string, payload any) (jsonx.Raw, error) {
	head := `{"type":` + string(jsonx.String(event))
	if payload == nil {
		return jsonx.Raw(head + "}"), nil
	}
	b, err := jsonx.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("encoding the event %s: %w", event, err)
	}
	if len(b) <= 2 {
		return jsonx.Raw(head + "}"), nil
	}
	return jsonx.Raw(head + "," + string(b[1:])), nil
}
