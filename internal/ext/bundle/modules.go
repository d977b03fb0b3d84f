package bundle

import (
	"fmt"
	"path"

	"github.com/evanw/esbuild/pkg/api"
)

// Modules makes one classic script of the host's own modules: sources by slashed
// path, entry first to run. Imports between them are relative.
func Modules(sources map[string]string, entry string) (string, error) {
	const space = "embedded"
	plugin := api.Plugin{Name: "embedded", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `.*`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			p := a.Path
			if a.Namespace == space {
				p = path.Join(path.Dir(a.Importer), a.Path)
			}
			if _, ok := sources[p]; !ok {
				return api.OnResolveResult{}, fmt.Errorf("no host module %s (imported by %s)", p, a.Importer)
			}
			return api.OnResolveResult{Path: p, Namespace: space}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: space}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			return loaded(sources[a.Path], api.LoaderJS, "/")
		})
	}}
	res := api.Build(api.BuildOptions{
		EntryPoints: []string{entry},
		Bundle:      true,
		Format:      api.FormatIIFE,
		Target:      api.ESNext,
		LogLevel:    api.LogLevelSilent,
		KeepNames:   true,
		Plugins:     []api.Plugin{plugin},
	})
	if len(res.Errors) > 0 {
		return "", describe(res.Errors)
	}
	return string(res.OutputFiles[0].Contents), nil
}
