package bundle

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var exports = map[string][]string{
	"node:fs": {"readFileSync", "default"}, "node:path": {"join"}, ModuleAgent: {"defineTool"}, ModuleTypebox: {"Type"},
}

// tree writes files below a fresh folder and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestHostModule(t *testing.T) {
	for spec, want := range map[string]string{
		"fs": "node:fs", "node:fs": "node:fs", "fs/promises": "node:fs/promises", "node:test": "node:test", "lodash": "",
		"@earendil-works/pi-coding-agent": ModuleAgent, "@mariozechner/pi-coding-agent": ModuleAgent, "@bastani/atomic": ModuleAgent,
		"@mariozechner/pi-ai/dist/x": ModuleAI, "@bastani/pi-ai": ModuleAI, "@earendil-works/pi-tui": ModuleTUI,
		"@mariozechner/pi-agent-core": ModuleCore, "@earendil-works/gondolin": "",
		"typebox": ModuleTypebox, "@sinclair/typebox": ModuleTypebox, "typebox/value": ModuleTypeValue, "@sinclair/typebox/compiler": ModuleTypeCheck,
	} {
		if got := HostModule(spec); got != want {
			t.Errorf("HostModule(%q) = %q, want %q", spec, got, want)
		}
	}
}

func TestBundle(t *testing.T) {
	dir := tree(t, map[string]string{
		"index.ts": `import { join } from "path";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { defineTool } from "@earendil-works/pi-coding-agent";
import { twice } from "./lib.js";
import dep from "dep";
export default async function (pi: ExtensionAPI) { console.log(twice(2), join("a"), dep, defineTool, import.meta.url, __dirname); }
await Promise.resolve();`,
		"lib.ts":                        "export const twice = (n: number): number => n * 2;",
		"node_modules/dep/package.json": `{"name":"dep","main":"main.js"}`,
		"node_modules/dep/main.js":      `module.exports = "the dependency";`,
	})
	s, err := New(Config{Exports: exports}).Bundle(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{ModuleAgent, "node:path"}, s.Modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if len(s.Missing) != 0 {
		t.Errorf("missing: %v", s.Missing)
	}
	var inputs []string
	for _, in := range s.Inputs {
		rel, _ := filepath.Rel(dir, in.Path)
		inputs = append(inputs, filepath.ToSlash(rel))
	}
	if diff := cmp.Diff([]string{"index.ts", "lib.ts", "node_modules/dep/main.js"}, inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	for _, want := range []string{"the dependency", "globalThis.__ext.run(", "await Promise.resolve()", `__ext.meta(`} {
		if !strings.Contains(s.Code, want) {
			t.Errorf("the script has no %q", want)
		}
	}
}

func TestPositions(t *testing.T) {
	dir := tree(t, map[string]string{"my e#1.ts": "interface A {\n\tx: number;\n}\n\nexport default function () {\n\tboom();\n}\n"})
	s, err := New(Config{Exports: exports}).Bundle(filepath.Join(dir, "my e#1.ts"))
	if err != nil {
		t.Fatal(err)
	}
	line, col := 0, 0
	for i, l := range strings.Split(s.Code, "\n") {
		if c := strings.Index(l, "boom()"); c >= 0 {
			line, col = i+1, c+1
		}
	}
	got, ok := NewReader(s.Map).Find(line, col)
	want := Position{File: filepath.Join(dir, "my e#1.ts"), Line: 6, Col: 2}
	if !ok || got != want {
		t.Errorf("%d:%d maps to %+v (%v), want %+v", line, col, got, ok, want)
	}
	if _, ok := NewReader(s.Map).Find(line+1000, 1); ok {
		t.Error("a line behind the script has a position")
	}
	if _, ok := NewReader(SourceMap{Raw: []byte("{")}).Find(1, 1); ok {
		t.Error("a broken map has a position")
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct{ files, want string }{
		"syntax":          {"export default function ( {", "e.ts:1:"},
		"missing package": {`import x from "not-installed"; export default x;`, "Cannot find module 'not-installed'"},
		"missing file":    {`import x from "./nope.js"; export default x;`, `Could not resolve "./nope.js"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, map[string]string{"e.ts": c.files})
			_, err := New(Config{Exports: exports}).Bundle(filepath.Join(dir, "e.ts"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := New(Config{}).Bundle(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no index.ts") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := New(Config{}).Bundle(filepath.Join(t.TempDir(), "none.ts")); err == nil {
		t.Error("a missing file bundles")
	}
}

// What a host module lacks is undefined and told; an optional package is an exception
// where it is used.
func TestLacking(t *testing.T) {
	dir := tree(t, map[string]string{"e.ts": `import { join, fancy } from "node:path";
let opt; try { opt = require("optional-thing"); } catch {}
export default () => [join, fancy, opt, import("another-optional")];`})
	s, err := New(Config{Exports: exports}).Bundle(filepath.Join(dir, "e.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"node:path#fancy"}, s.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	for _, want := range []string{`notFound("optional-thing")`, `notFound("another-optional")`} {
		if !strings.Contains(s.Code, want) {
			t.Errorf("the script has no %s", want)
		}
	}
}

func TestCache(t *testing.T) {
	dir := tree(t, map[string]string{"e.ts": `import "./l.ts"; export default () => "one";`, "l.ts": "export {};"})
	cfg := Config{Exports: exports, CacheDir: filepath.Join(t.TempDir(), "cache", "ext")}
	entry := filepath.Join(dir, "e.ts")
	first, err := New(cfg).Bundle(entry)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if st, err := os.Stat(cfg.CacheDir); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("cache folder: %v, %v", st.Mode(), err)
		}
	}
	key := hash(version, "", entry)
	kept, ok := NewCache(cfg.CacheDir).script(key)
	if !ok {
		t.Fatal("nothing was kept")
	}
	kept.Name = first.Name
	if diff := cmp.Diff(first, kept, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("kept script differs (-first +kept):\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "l.ts"), []byte("export const changed = 1; console.log(changed);"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := NewCache(cfg.CacheDir).script(key); ok {
		t.Error("a script is kept although a file of it changed")
	}
	if again, err := New(cfg).Bundle(entry); err != nil || !strings.Contains(again.Code, "changed") {
		t.Errorf("the new script: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, ok := NewCache(cfg.CacheDir).script(key); ok {
		t.Error("a script is kept although packages were installed")
	}
	// Damage is noticed.
	if _, err := New(cfg).Bundle(entry); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cfg.CacheDir, key)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := NewCache(cfg.CacheDir).script(key); ok {
		t.Error("a damaged script is used")
	}
}

func TestModules(t *testing.T) {
	got, err := Modules(map[string]string{"a/main.js": `import { x } from "../b/lib.js"; globalThis.out = x;`, "b/lib.js": "export const x = 42;"}, "a/main.js")
	if err != nil || !strings.Contains(got, "42") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Modules(map[string]string{"main.js": `import "./none.js"`}, "main.js"); err == nil || !strings.Contains(err.Error(), "none.js") {
		t.Errorf("a missing host module: %v", err)
	}
}

func FuzzSourceMap(f *testing.F) {
	f.Add([]byte(`{"sources":["a.ts"],"mappings":"AAAA;CAACA,EAAE"}`), 1, 1)
	f.Add([]byte(`{"sources":[],"mappings":"gggggggggggggggB"}`), 1, 1)
	f.Fuzz(func(t *testing.T, raw []byte, line, col int) {
		NewReader(SourceMap{Raw: raw}).Find(line, col)
	})
}

func BenchmarkWarm(b *testing.B) {
	dir := b.TempDir()
	entry := filepath.Join(dir, "e.ts")
	if err := os.WriteFile(entry, []byte("export default (pi: any) => { pi.on('x', () => 1); };"), 0o644); err != nil {
		b.Fatal(err)
	}
	bu := New(Config{Exports: exports, CacheDir: filepath.Join(dir, "cache")})
	for b.Loop() {
		if _, err := bu.Bundle(entry); err != nil {
			b.Fatal(err)
		}
	}
}
