package bundle

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// The compiler's name spaces for modules that are no files.
const (
	hostSpace     = "host"     // what import finds: a module with the host's names
	requiredSpace = "required" // what require finds: the host's object itself
	missingSpace  = "missing"
)

// resolver is one extension's build. lacking holds the names that host modules do not
// export although they are imported.
type resolver struct {
	cfg     Config
	lacking map[string][]string

	mu    sync.Mutex // the compiler calls from several goroutines
	hosts map[string]bool
}

// asIs marks a resolution that comes from this package's own plugin.
type asIs struct{}

// run compiles once.
func (r *resolver) run(name, file string) (*Script, api.BuildResult) {
	r.hosts = map[string]bool{}
	dir := filepath.Dir(file)
	entry := fmt.Sprintf("import * as ns from %s; globalThis.__ext.mods[%s] = ns;", jsonx.String(filepath.ToSlash(file)), jsonx.String(name))
	res := api.Build(api.BuildOptions{
		Stdin:          &api.StdinOptions{Contents: entry, ResolveDir: dir, Sourcefile: "<entry>", Loader: api.LoaderJS},
		Bundle:         true,
		Outfile:        filepath.Join(dir, "bundle.js"),
		AbsWorkingDir:  dir,
		Format:         api.FormatESModule, // the only one with await at the top level
		Platform:       api.PlatformNode,
		Target:         api.ESNext,
		Supported:      map[string]bool{"using": false, "import-attributes": false, "decorators": false},
		MainFields:     []string{"module", "main"},
		Conditions:     []string{"import", "node", "default"},
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Metafile:       true,
		LogLevel:       api.LogLevelSilent,
		Define:         map[string]string{"import.meta": metaName},
		Loader: map[string]api.Loader{
			".node": api.LoaderEmpty, ".wasm": api.LoaderBinary, ".md": api.LoaderText, ".txt": api.LoaderText, ".html": api.LoaderText, ".css": api.LoaderText, ".sql": api.LoaderText,
		},
		KeepNames:   true,
		Plugins:     []api.Plugin{{Name: "isotope", Setup: r.setup}},
		TsconfigRaw: `{"compilerOptions":{"experimentalDecorators":true,"useDefineForClassFields":true}}`,
	})
	if len(res.Errors) > 0 {
		return nil, res
	}
	return r.script(name, dir, res), res
}

// script takes the compiler's output apart. The body is wrapped into an async function
// on its first line, so that line numbers stay true.
func (r *resolver) script(name, dir string, res api.BuildResult) *Script {
	s := &Script{Name: name}
	for _, f := range res.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			s.Map = SourceMap{Dir: dir, Raw: f.Contents}
		} else {
			s.Code = "globalThis.__ext.run(" + string(jsonx.String(name)) + ",async()=>{" + string(f.Contents) + "\n});"
		}
	}
	for m := range r.hosts {
		s.Modules = append(s.Modules, m)
	}
	slices.Sort(s.Modules)
	var meta struct {
		Inputs map[string]struct{} `json:"inputs"`
	}
	if err := jsonx.Unmarshal([]byte(res.Metafile), &meta); err == nil {
		for p := range meta.Inputs {
			if space, _, _ := strings.Cut(p, ":"); p != "<entry>" && !slices.Contains([]string{hostSpace, requiredSpace, missingSpace}, space) {
				s.Inputs = append(s.Inputs, stamp(filepath.Join(dir, filepath.FromSlash(p))))
			}
		}
	}
	slices.SortFunc(s.Inputs, func(a, b Input) int { return strings.Compare(a.Path, b.Path) })
	s.Folders = packageFolders(dir)
	return s
}

func (r *resolver) setup(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: `^[^./]`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if _, own := a.PluginData.(asIs); own || a.Namespace != "file" && a.Namespace != "" || filepath.IsAbs(a.Path) {
			return api.OnResolveResult{}, nil
		}
		return r.resolve(b, a), nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: hostSpace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return loaded(r.stub(a.Path), api.LoaderJS, "")
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: requiredSpace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return loaded(fmt.Sprintf("module.exports = globalThis.__ext.require(%s);", jsonx.String(a.Path)), api.LoaderJS, "")
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: missingSpace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return loaded(fmt.Sprintf("throw globalThis.__ext.notFound(%s); module.exports = {};", jsonx.String(a.Path)), api.LoaderJS, "")
	})
	b.OnLoad(api.OnLoadOptions{Filter: `\.([mc]?[tj]s|[tj]sx)$`, Namespace: "file"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		return loadSource(a.Path)
	})
}

// resolve binds an import to a host module or to a package. A package that is not
// there is an error when it is imported statically (the extension could not work) and
// an exception at the place of use otherwise (optional dependencies).
func (r *resolver) resolve(b api.PluginBuild, a api.OnResolveArgs) api.OnResolveResult {
	if m := HostModule(a.Path); m != "" && r.cfg.Exports[m] != nil {
		r.mu.Lock()
		r.hosts[m] = true
		r.mu.Unlock()
		if a.Kind == api.ResolveJSRequireCall {
			return api.OnResolveResult{Path: m, Namespace: requiredSpace}
		}
		return api.OnResolveResult{Path: m, Namespace: hostSpace}
	}
	res := b.Resolve(a.Path, api.ResolveOptions{ResolveDir: a.ResolveDir, Importer: a.Importer, Kind: a.Kind, Namespace: a.Namespace, PluginData: asIs{}})
	if len(res.Errors) > 0 {
		if a.Kind == api.ResolveJSImportStatement {
			return api.OnResolveResult{Errors: []api.Message{{Text: "Cannot find module '" + a.Path + "'" + from(a.Importer)}}}
		}
		return api.OnResolveResult{Path: a.Path, Namespace: missingSpace}
	}
	effects := api.SideEffectsFalse
	if res.SideEffects {
		effects = api.SideEffectsTrue
	}
	return api.OnResolveResult{Path: res.Path, Namespace: res.Namespace, External: res.External, SideEffects: effects, Suffix: res.Suffix, PluginData: res.PluginData}
}

func from(importer string) string {
	if importer == "" || importer == "<entry>" {
		return ""
	}
	return " (imported by " + importer + ")"
}

func loaded(text string, l api.Loader, dir string) (api.OnLoadResult, error) {
	return api.OnLoadResult{Contents: &text, Loader: l, ResolveDir: dir}, nil
}

// stub is a module that exports what a host module has, by name.
func (r *resolver) stub(module string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "const m = globalThis.__ext.require(%s); const get = (k) => m[k]; export default m;\n", jsonx.String(module))
	n := 0
	for _, names := range [][]string{r.cfg.Exports[module], r.lacking[module]} {
		for _, k := range names {
			if k == "default" || !isIdentifier(k) {
				continue
			}
			fmt.Fprintf(&b, "const e%d = /* @__PURE__ */ get(%s); export { e%d as %s };\n", n, jsonx.String(k), n, k)
			n++
		}
	}
	return b.String()
}

// isIdentifier reports whether a name can stand in an export clause.
func isIdentifier(s string) bool {
	for i, c := range s {
		letter := c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
