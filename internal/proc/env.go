package proc

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// Env says how a command's environment differs from the one it inherits. Set holds
// KEY=value pairs; of two with one name the later wins, and both win over an
// inherited one. BinDir is put first in PATH unless PATH has it already.
//
// Names that describe the session of an enclosing engine (PI_SESSION_ID and the
// like) are not inherited: they would be stale. Everything else is.
type Env struct {
	BinDir string
	Set    []string
}

// Environ returns the environment made from inherited (os.Environ()).
func (e Env) Environ(inherited []string) []string {
	out := make([]string, 0, len(inherited)+len(e.Set)+1)
	path := false
	for _, kv := range inherited {
		name, value, ok := cutPair(kv)
		if !ok {
			out = append(out, kv) // Windows keeps "=C:=C:\dir" entries: not ours to judge
			continue
		}
		if isSessionVar(name) || slices.ContainsFunc(e.Set, func(s string) bool { return sameVar(s, name) }) {
			continue
		}
		if e.BinDir != "" && !path && envName(name) == "PATH" {
			path = true
			kv = name + "=" + withFirst(value, e.BinDir)
		}
		out = append(out, kv)
	}
	if e.BinDir != "" && !path {
		out = append(out, "PATH="+e.BinDir)
	}
	for i, kv := range e.Set {
		name, _, ok := cutPair(kv)
		if ok && !slices.ContainsFunc(e.Set[i+1:], func(s string) bool { return sameVar(s, name) }) {
			out = append(out, kv)
		}
	}
	return out
}

func withFirst(list, dir string) string {
	if list == "" {
		return dir
	}
	const sep = string(os.PathListSeparator)
	if slices.Contains(strings.Split(list, sep), dir) {
		return list
	}
	return dir + sep + list
}

// cutPair splits NAME=value; a name is never empty.
func cutPair(kv string) (name, value string, ok bool) {
	i := strings.IndexByte(kv, '=')
	if i <= 0 {
		return "", "", false
	}
	return kv[:i], kv[i+1:], true
}

func sameVar(kv, name string) bool {
	n, _, ok := cutPair(kv)
	return ok && envName(n) == envName(name)
}

// envName is the form in which names are compared.
func envName(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// isSessionVar reports whether name is one of the five variables that describe a
// session, under any of the names the engine goes by.
func isSessionVar(name string) bool {
	prefix, rest, _ := strings.Cut(name, "_")
	switch prefix {
	case "PI", "ATOMIC", "ISOTOPE":
	default:
		return false
	}
	switch rest {
	case "SESSION_ID", "SESSION_FILE", "PROVIDER", "MODEL", "REASONING_LEVEL":
		return true
	}
	return false
}
