package js

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"modernc.org/quickjs"
)

//go:embed prelude
var prelude embed.FS

// preludeRoot is where the modules of this package lie for those of others.
const preludeRoot = "node"

// boot starts the engine and loads the host modules. Their bytecode is kept in the
// cache: compiling them takes most of the time of a start.
func (r *Runtime) boot() error {
	eng, err := newEngine(r.cfg.Limits.Memory)
	if err != nil {
		return err
	}
	r.eng = eng
	if err := eng.host(r.host); err != nil {
		return err
	}
	sources, err := hostSources(r.cfg.Modules)
	if err != nil {
		return err
	}
	entry := r.cfg.Entry
	if entry == "" {
		entry = preludeRoot + "/main.js"
	}
	code, err := r.preludeCode(sources, entry)
	if err != nil {
		return fmt.Errorf("compiling the host modules: %w", err)
	}
	return r.enter("", r.cfg.Limits.Load, func() error { return eng.runCode(code) })
}

// hostSources puts the modules of this package and of its user side by side.
func hostSources(more map[string]string) (map[string]string, error) {
	out := maps.Clone(more)
	if out == nil {
		out = map[string]string{}
	}
	err := fs.WalkDir(prelude, "prelude", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := prelude.ReadFile(p)
		out[preludeRoot+strings.TrimPrefix(p, "prelude")] = string(data)
		return err
	})
	return out, err
}

func (r *Runtime) preludeCode(sources map[string]string, entry string) ([]byte, error) {
	parts := []string{"prelude", quickjs.Version(), engineVersion, entry}
	for _, p := range slices.Sorted(maps.Keys(sources)) {
		parts = append(parts, p, sources[p])
	}
	key := bundle.Key(parts...)
	if r.cfg.Cache != nil {
		if code, ok := r.cfg.Cache.Get(key); ok {
			return code, nil
		}
	}
	src, err := bundle.Modules(sources, entry)
	if err != nil {
		return nil, err
	}
	code, err := r.eng.compile(src)
	if err != nil {
		return nil, err
	}
	if r.cfg.Cache != nil {
		_ = r.cfg.Cache.Put(key, code) // costs time only
	}
	return code, nil
}

// engineVersion tells bytecode of one release of the engine from that of another.
const engineVersion = "v0.27.0"

// Salt changes with the host modules: scripts that were bundled for others are stale.
func Salt(modules map[string]string) string {
	sources, err := hostSources(modules)
	if err != nil {
		return ""
	}
	var parts []string
	for _, p := range slices.Sorted(maps.Keys(sources)) {
		parts = append(parts, p, sources[p])
	}
	return bundle.Key(parts...)
}

// Exports returns the names that each host module exports, as call (of a Runtime) tells.
func Exports(ctx context.Context, call func(ctx context.Context, owner, kind string, arg any) (jsonx.Raw, error)) (map[string][]string, error) {
	raw, err := call(ctx, "", "exports", nil)
	if err != nil {
		return nil, err
	}
	var out map[string][]string
	err = jsonx.Unmarshal(raw, &out)
	return out, err
}
