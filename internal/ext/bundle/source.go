package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// metaName stands for import.meta in scripts.
const metaName = "__import_meta"

// usesMeta finds files that want to know where they are, declares the ones that
// define those names themselves. Both are compiled when the first file is bundled.
var (
	usesMeta = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bimport\.meta\b|\b__dirname\b|\b__filename\b`)
	})
	declares = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:const|let|var)\s+(__dirname|__filename)\b`)
	})
)

// loadSource reads a source file. What it wants to know of its place is put on its
// first line, so that positions stay true.
func loadSource(path string) (api.OnLoadResult, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	if usesMeta().MatchString(text) {
		text = withPlace(path, text)
	}
	return loaded(text, loaderOf(path), filepath.Dir(path))
}

func withPlace(path, text string) string {
	if strings.HasPrefix(text, "#!") {
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			text = text[i:]
		} else {
			text = ""
		}
	}
	own := map[string]bool{}
	for _, m := range declares().FindAllStringSubmatch(text, -1) {
		own[m[1]] = true
	}
	file, dir := jsonx.String(path), jsonx.String(filepath.Dir(path))
	head := fmt.Sprintf("var %s = globalThis.__ext.meta(%s, %s);", metaName, file, dir)
	if !own["__dirname"] {
		head += fmt.Sprintf("var __dirname = %s;", dir)
	}
	if !own["__filename"] {
		head += fmt.Sprintf("var __filename = %s;", file)
	}
	return head + text
}

func loaderOf(path string) api.Loader {
	switch filepath.Ext(path) {
	case ".tsx":
		return api.LoaderTSX
	case ".jsx":
		return api.LoaderJSX
	case ".js", ".mjs", ".cjs":
		return api.LoaderJS
	}
	return api.LoaderTS
}
