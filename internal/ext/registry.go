package ext

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// extension is one that is loaded.
type extension struct {
	Source
	id      string
	missing []string
}

// handler is a function of an extension that takes an event.
type handler struct {
	number int
	owner  string
}

// command, shortcut, flag, toolDef and provider are what extensions register.
type (
	command struct {
		Ext         string `json:"ext"`
		Name        string `json:"name"`
		Description string `json:"description"`
		Completions bool   `json:"completions"`
		invoked     string // its name, with :1, :2 where several extensions have it
	}
	shortcut struct {
		Ext         string `json:"ext"`
		Key         string `json:"key"`
		Description string `json:"description"`
	}
	flag struct {
		Ext         string    `json:"ext"`
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Type        string    `json:"type"`
		Default     jsonx.Raw `json:"default"`
	}
	toolDef struct {
		Ext           string    `json:"ext"`
		Name          string    `json:"name"`
		Label         string    `json:"label"`
		Description   string    `json:"description"`
		Parameters    jsonx.Raw `json:"parameters"`
		Snippet       string    `json:"promptSnippet"`
		Guidelines    []string  `json:"promptGuidelines"`
		ExecutionMode string    `json:"executionMode"`
		Exposure      string    `json:"exposure"`
		DefaultActive *bool     `json:"defaultActive"`
		Constrained   jsonx.Raw `json:"constrainedSampling"`
	}
	provider struct {
		Ext    string    `json:"ext"`
		Name   string    `json:"name"`
		Config jsonx.Raw `json:"config"`
		Stream bool      `json:"stream"`
		OAuth  bool      `json:"oauth"`
		taken  bool      // Offer handed it over
	}
)

// reg is what the extensions of a generation registered, in order. It is written by
// the scripts and read by everybody.
type reg struct {
	mu        sync.Mutex
	exts      []*extension
	handlers  map[string][]handler
	commands  []*command
	shortcuts []*shortcut
	flags     []*flag
	tools     []*toolDef
	providers []*provider
	muted     map[string]bool

	bound   *atomic.Bool
	crashed *atomic.Bool
}

func newReg() reg {
	return reg{handlers: map[string][]handler{}, muted: map[string]bool{}, bound: &atomic.Bool{}, crashed: &atomic.Bool{}}
}

func (r *reg) add(e *extension) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exts = append(r.exts, e)
}

// remove takes an extension out with all that it registered.
func (r *reg) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exts = slices.DeleteFunc(r.exts, func(e *extension) bool { return e.id == id })
	for ev, hs := range r.handlers {
		r.handlers[ev] = slices.DeleteFunc(slices.Clone(hs), func(h handler) bool { return h.owner == id })
	}
	r.commands = slices.DeleteFunc(r.commands, func(c *command) bool { return c.Ext == id })
	r.shortcuts = slices.DeleteFunc(r.shortcuts, func(s *shortcut) bool { return s.Ext == id })
	r.flags = slices.DeleteFunc(r.flags, func(f *flag) bool { return f.Ext == id })
	r.tools = slices.DeleteFunc(r.tools, func(t *toolDef) bool { return t.Ext == id })
	r.providers = slices.DeleteFunc(r.providers, func(p *provider) bool { return p.Ext == id })
}

// mute has an extension's handlers called no more; its commands and tools fail.
func (r *reg) mute(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted[id] = true
}

func (r *reg) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.exts)
}

// path returns the path of an extension for messages.
func (r *reg) path(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.exts {
		if e.id == id {
			return e.Path
		}
	}
	return "<extension host>"
}

func (r *reg) source(id string) (Source, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.exts {
		if e.id == id {
			return e.Source, true
		}
	}
	return Source{}, false
}

// list returns who takes an event; the result does not change.
func (r *reg) list(event string) []handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	hs := r.handlers[event]
	if len(r.muted) > 0 {
		hs = slices.DeleteFunc(slices.Clone(hs), func(h handler) bool { return r.muted[h.owner] })
	}
	return hs
}

func (r *reg) on(owner, event string, number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hs := append(slices.Clone(r.handlers[event]), handler{number, owner})
	order := map[string]int{} // handlers run in load order, then in the order of their registration
	for i, e := range r.exts {
		order[e.id] = i
	}
	slices.SortStableFunc(hs, func(a, b handler) int { return order[a.owner] - order[b.owner] })
	r.handlers[event] = hs
}

func (r *reg) off(event string, number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers[event] = slices.DeleteFunc(slices.Clone(r.handlers[event]), func(h handler) bool { return h.number == number })
}

// addCommand keeps a command; one of the same extension and name is replaced.
func (r *reg) addCommand(c *command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = replace(r.commands, c, func(o *command) bool { return o.Ext == c.Ext && o.Name == c.Name })
	count, seen := map[string]int{}, map[string]int{}
	for _, o := range r.commands {
		count[o.Name]++
	}
	for _, o := range r.commands {
		o.invoked = o.Name
		if count[o.Name] > 1 {
			seen[o.Name]++
			o.invoked = numbered(o.Name, seen[o.Name])
		}
	}
}

func (r *reg) addShortcut(s *shortcut) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shortcuts = replace(r.shortcuts, s, func(o *shortcut) bool { return o.Key == s.Key && o.Ext == s.Ext })
}

func (r *reg) addFlag(f *flag) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flags = replace(r.flags, f, func(o *flag) bool { return o.Name == f.Name && o.Ext == f.Ext })
}

// addTool keeps a tool; of two extensions with one name the first wins.
func (r *reg) addTool(t *toolDef) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.tools {
		if o.Name == t.Name && o.Ext != t.Ext {
			return
		}
	}
	r.tools = replace(r.tools, t, func(o *toolDef) bool { return o.Name == t.Name })
}

func (r *reg) addProvider(p *provider) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.providers = replace(r.providers, p, func(o *provider) bool { return o.Name == p.Name })
}

func (r *reg) removeProvider(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.providers = slices.DeleteFunc(r.providers, func(p *provider) bool { return p.Name == name })
}

func (r *reg) commandList() []command {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]command, 0, len(r.commands))
	for _, c := range r.commands {
		out = append(out, *c)
	}
	return out
}

func (r *reg) toolList() []*toolDef {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tools)
}

func (r *reg) providerList() []*provider {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.providers)
}

func (r *reg) isMuted(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.muted[id]
}

// replace puts v in the place of the one that is the same, else at the end.
func replace[T any](list []*T, v *T, same func(*T) bool) []*T {
	for i, o := range list {
		if same(o) {
			list[i] = v
			return list
		}
	}
	return append(list, v)
}
