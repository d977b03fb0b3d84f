// Package bundle turns an extension into one script: it compiles TypeScript, puts
// imported files and npm packages into the script, and binds imports of what the host
// itself provides (Node's built-ins, the packages of the agent) to host modules.
//
// It must not know the JavaScript engine, the session or what host modules do; it
// knows their names and what they export. A Bundler may be used by any number of
// goroutines.
package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// version is part of every cache key: it changes with anything that changes scripts.
const version = "2"

// Config is what a Bundler needs of its host.
type Config struct {
	// Exports lists the names that each host module exports.
	Exports map[string][]string
	// CacheDir holds scripts between runs; "" keeps none. It is made with mode 0700.
	CacheDir string
	// Salt is part of the cache keys: it changes when the host changes.
	Salt string
}

// Bundler makes scripts.
type Bundler struct {
	cfg   Config
	cache *Cache
}

// New returns a bundler.
func New(cfg Config) *Bundler {
	return &Bundler{cfg: cfg, cache: NewCache(cfg.CacheDir)}
}

// Script is a bundled extension. Code is an async function expression's call:
//
//	globalThis.__ext.run(Name, async () => { … })
//
// which leaves the module's namespace in globalThis.__ext.mods[Name].
type Script struct {
	Name    string    `json:"name"` // the script's name in stack traces
	Code    string    `json:"-"`
	Map     SourceMap `json:"-"`
	Inputs  []Input   `json:"inputs"`  // the files it was made from
	Modules []string  `json:"modules"` // the host modules it imports, sorted
	Missing []string  `json:"missing"` // "module#name": names that a host module lacks
	// Folders are the node_modules folders in which packages were looked for.
	Folders []Input `json:"folders"`
}

// Bundle makes the script of the extension whose entry file or folder is entry (an
// absolute path). An error names the file and position, or the module that is missing.
func (b *Bundler) Bundle(entry string) (*Script, error) {
	file, err := EntryFile(entry)
	if err != nil {
		return nil, err
	}
	name := scriptName(file)
	key := hash(version, b.cfg.Salt, file)
	if s, ok := b.cache.script(key); ok {
		s.Name = name
		return s, nil
	}
	s, err := b.build(name, file)
	if err != nil {
		return nil, err
	}
	b.cache.putScript(key, s)
	return s, nil
}

// scriptName is the file's name in stack traces: short, unique, and without characters
// that would end a name there.
func scriptName(file string) string {
	plain := strings.Map(func(r rune) rune {
		if r < 0x21 || r > 0x7e || strings.ContainsRune("():%", r) {
			return '_'
		}
		return r
	}, filepath.Base(file))
	return "ext:" + shortHash(file) + "/" + plain
}

// EntryFile returns the file that stands for an extension: path itself, or the index
// file of the folder path.
func EntryFile(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !st.IsDir() {
		return path, nil
	}
	for _, name := range []string{"index.ts", "index.mts", "index.js", "index.mjs", "index.cjs"} {
		file := filepath.Join(path, name)
		if st, err := os.Stat(file); err == nil && !st.IsDir() {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s: the folder has no index.ts or index.js", path)
}

// build runs the compiler until every name that host modules lack is known: such a
// name is undefined, as it is for the loaders that the extensions were written for.
func (b *Bundler) build(name, file string) (*Script, error) {
	const rounds = 8
	r := &resolver{cfg: b.cfg, lacking: map[string][]string{}}
	for round := 0; ; round++ {
		s, res := r.run(name, file)
		if len(res.Errors) == 0 {
			s.Missing = r.missingNames()
			return s, nil
		}
		if round == rounds || !r.learn(res.Errors) {
			return nil, describe(res.Errors)
		}
	}
}

// learn takes from the compiler's errors which names host modules lack and which
// packages have no default export. It reports whether another round may succeed.
func (r *resolver) learn(errs []api.Message) bool {
	learned := false
	for _, e := range errs {
		module, name, ok := noExport(e.Text)
		if ok && !slices.Contains(r.lacking[module], name) {
			r.lacking[module] = append(r.lacking[module], name)
			learned = true
		}
	}
	return learned
}

// noExport reads `No matching export in "host:MODULE" for import "NAME"`.
func noExport(text string) (module, name string, ok bool) {
	rest, ok := strings.CutPrefix(text, `No matching export in "`+hostSpace+`:`)
	if !ok {
		return "", "", false
	}
	module, rest, ok = strings.Cut(rest, `" for import "`)
	return module, strings.TrimSuffix(rest, `"`), ok
}

func (r *resolver) missingNames() []string {
	var out []string
	for module, names := range r.lacking {
		for _, n := range names {
			out = append(out, module+"#"+n)
		}
	}
	slices.Sort(out)
	return out
}

// describe makes one error of the compiler's, each with its place.
func describe(errs []api.Message) error {
	const most = 5
	var lines []string
	for i, e := range errs {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(errs)-most))
			break
		}
		text := e.Text
		if l := e.Location; l != nil {
			text = fmt.Sprintf("%s:%d:%d: %s", l.File, l.Line, l.Column+1, text)
		}
		lines = append(lines, text)
	}
	return errors.New(strings.Join(lines, "\n"))
}
