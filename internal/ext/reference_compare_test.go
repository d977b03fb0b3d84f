package ext

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// checkRow checks that the table of the documentation names all that an example takes
// part with.
func checkRow(t *testing.T, name string, o exampleOutcome) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "extensions.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, row, ok := strings.Cut(string(data), "\n| `"+name+"` |")
	if !ok {
		t.Errorf("docs/extensions.md has no row for %s", name)
		return
	}
	row, _, _ = strings.Cut(row, "\n")
	var parts []string
	for event := range o.Handlers {
		parts = append(parts, event)
	}
	for _, list := range [][]map[string]any{o.Tools, o.Commands, o.Flags, o.Shortcuts, o.Providers} {
		for _, m := range list {
			for _, k := range []string{"name", "key"} {
				if s, ok := m[k].(string); ok {
					parts = append(parts, s)
				}
			}
		}
	}
	for _, p := range parts {
		if !strings.Contains(row, p) {
			t.Errorf("docs/extensions.md: the row of %s lacks %s", name, p)
		}
	}
}

type difference struct{ step, want, got string }

// compare returns where two outcomes differ, after what differs by nature was masked.
func compare(want, got exampleOutcome) []difference {
	var out []difference
	check := func(step string, w, g any) {
		ws, gs := masked(w), masked(g)
		if step == "load" {
			ws, gs = loadText(ws), loadText(gs)
		}
		if ws != gs {
			out = append(out, difference{step, ws, gs})
		}
	}
	if want.Load != "ok" || got.Load != "ok" {
		check("load", strings.SplitN(want.Load, "\n", 2)[0], got.Load)
		return out
	}
	out = append(out, compareTools(want.Tools, got.Tools)...)
	check("handlers", want.Handlers, got.Handlers)
	check("commands", want.Commands, got.Commands)
	check("flags", want.Flags, got.Flags)
	check("shortcuts", want.Shortcuts, got.Shortcuts)
	check("providers", want.Providers, got.Providers)
	for i, w := range want.Steps {
		if i >= len(got.Steps) || w.Step != got.Steps[i].Step {
			check(fmt.Sprintf("step %d", i), w.Step, "another step")
			break
		}
		if strings.Contains(w.Error, "--no-require-git") {
			continue // this machine's fd is too old for the reference's find
		}
		check(w.Step, w, got.Steps[i])
	}
	return out
}

// loadText is the part of a load error that both have.
func loadText(s string) string {
	if i := strings.Index(s, "Cannot find module"); i >= 0 {
		s = s[i:]
	}
	s, _, _ = strings.Cut(s, " (imported by")
	return strings.Trim(s, `"`)
}

// compareTools compares definitions of tools. The built-in ones, which the factories
// pass on, have words of their own here: of their parameters names and types count.
func compareTools(want, got []map[string]any) []difference {
	if len(want) != len(got) {
		return []difference{{"tools", masked(want), masked(got)}}
	}
	var out []difference
	for i, w := range want {
		g := got[i]
		name, _ := w["name"].(string)
		keys := []string{"name", "label", "description", "parameters", "promptSnippet", "promptGuidelines", "executionMode", "exposure"}
		if _, err := (&Extensions{}).builtinSpec(name); err == nil && g["description"] != w["description"] {
			keys = []string{"name", "label", "parameters", "executionMode", "exposure"}
			w, g = map[string]any{"name": name, "label": w["label"], "parameters": wordless(w["parameters"])}, map[string]any{"name": g["name"], "label": g["label"], "parameters": wordless(g["parameters"])}
		}
		for _, k := range keys {
			if ws, gs := masked(w[k]), masked(g[k]); ws != gs {
				out = append(out, difference{name + "." + k, ws, gs})
			}
		}
	}
	return out
}

// wordless returns a schema without its descriptions.
func wordless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if _, word := x.(string); k != "description" || !word {
				out[k] = wordless(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = wordless(x)
		}
		return out
	}
	return v
}

// masks replace what differs from run to run.
var masks = sync.OnceValue(func() []struct {
	re *regexp.Regexp
	by string
} {
	m := func(re, by string) struct {
		re *regexp.Regexp
		by string
	} {
		return struct {
			re *regexp.Regexp
			by string
		}{regexp.MustCompile(re), by}
	}
	return append([]struct {
		re *regexp.Regexp
		by string
	}{}, m(`\x1b\[[0-9;]*m`, ""), m(`\d{1,2}:\d\d:\d\d( [AP]M)?`, "TIME"), m(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`, "UUID"), m(`\b1[78]\d{11}\b`, "MS"), m(`pi-rg-\w+`, "FOLDER"))
})

// masked returns a value as text with sorted members, without null, empty and masked
// parts.
func masked(v any) string {
	var tree any
	if err := jsonx.Unmarshal([]byte(text(v)), &tree); err != nil {
		return err.Error()
	}
	if tree = clean(tree); tree == "" {
		tree = nil
	}
	return text(tree)
}

func clean(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if x, ok := x.(string); ok && k == "content" { // a text is one block of text
				v[k] = []any{map[string]any{"type": "text", "text": x}}
			}
			if x = clean(v[k]); x != nil && x != "" && k != "wall_time_seconds" {
				out[k] = x
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if len(v) == 0 {
			return nil
		}
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = clean(x)
		}
		return out
	case float64:
		if v > 1.7e12 && v < 1.9e12 {
			return "MS"
		}
	case string:
		for _, m := range masks() {
			v = m.re.ReplaceAllString(v, m.by)
		}
		return strings.TrimRight(v, " ")
	}
	return v
}
