// Package dialect owns what differs between the names the engine answers to:
// directories, environment prefixes and the split answers of the protocol.
//
// It must not know any other package and reads neither files nor the process's
// environment: what it needs is passed in. A Dialect is an immutable value; all
// functions may be called concurrently.
package dialect

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// The names of the dialects.
const (
	Isotope = "isotope"
	Atomic  = "atomic"
	Pi      = "pi"
)

// Variables of the program itself, which have this name under every name: EnvChoice
// chooses the dialect when no flag does, EnvSnapshots the older form of message updates.
const (
	EnvChoice    = "ISOTOPE_DIALECT"
	EnvSnapshots = "ISOTOPE_SNAPSHOTS"
)

// The compaction strategies that a dialect can default to.
const (
	CompactionVerbatim = "verbatim-lines"
	CompactionSummary  = "summary"
)

// errUnknown is the text of a choice that names no dialect.
const errUnknown = "unknown dialect %q: use isotope, atomic or pi"

// A Dialect is one way to answer: a name, its directories and environment
// prefixes, and the answers that dialects.md marks as split.
type Dialect struct {
	// Name is isotope, atomic or pi. It is also the word in "not a valid … session"
	// and the stem of names of temporary files.
	Name string
	// DirNames are the names of the dot directories in order of precedence, own first:
	// ".pi" holds "agent" under the home directory and project files under a project.
	DirNames []string
	// EnvPrefixes are the prefixes of variables in order of precedence, own first.
	EnvPrefixes []string
	// NullModel: get_state.model is null when there is none; else the key is omitted.
	NullModel bool
	// NullCompactionResult: compaction_end.result is null after abort or failure; else
	// the key is omitted.
	NullCompactionResult bool
	// DefaultCompaction is the strategy without a setting.
	DefaultCompaction string
}

// Lookup finds a variable of the environment, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Names returns the names of all dialects, the default first.
func Names() []string { return []string{Isotope, Atomic, Pi} }

// Choose returns the dialect named by flag, else by the variable EnvChoice (env is
// its value), else by the base name of argv0, else isotope. An unknown name in flag
// or env is an error that lists the valid ones; an unknown argv0 is not.
func Choose(flag, env, argv0 string) (Dialect, error) {
	for _, name := range []string{flag, env} {
		if name == "" {
			continue
		}
		d, ok := Named(name)
		if !ok {
			return Dialect{}, fmt.Errorf(errUnknown, name)
		}
		return d, nil
	}
	base := argv0[strings.LastIndexAny(argv0, `/\`)+1:]
	if d, ok := Named(strings.TrimSuffix(strings.ToLower(base), ".exe")); ok {
		return d, nil
	}
	d, _ := Named(Isotope)
	return d, nil
}

// Named returns the dialect of that exact name.
func Named(name string) (Dialect, bool) {
	all := []Dialect{
		{
			Name: Isotope, DirNames: []string{".isotope", ".atomic", ".pi"}, EnvPrefixes: []string{"ISOTOPE_", "ATOMIC_", "PI_"},
			NullModel: true, NullCompactionResult: true, DefaultCompaction: CompactionVerbatim,
		},
		{
			Name: Atomic, DirNames: []string{".atomic", ".pi"}, EnvPrefixes: []string{"ATOMIC_", "PI_"},
			NullModel: true, NullCompactionResult: true, DefaultCompaction: CompactionVerbatim,
		},
		{
			Name: Pi, DirNames: []string{".pi"}, EnvPrefixes: []string{"PI_"},
			DefaultCompaction: CompactionSummary,
		},
	}
	i := slices.IndexFunc(all, func(d Dialect) bool { return d.Name == name })
	if i < 0 {
		return Dialect{}, false
	}
	return all[i], true
}

// Getenv returns the value of the first variable PREFIX+name that is set and not
// empty, own prefix first. name comes without prefix ("TELEMETRY").
func (d Dialect) Getenv(name string, env Lookup) (string, bool) {
	return first(d.EnvPrefixes, name, env)
}

// getShared is Getenv for the variables that work under every name: the prefixes of
// the other dialects are tried last.
func (d Dialect) getShared(name string, env Lookup) (string, bool) {
	prefixes := slices.Clone(d.EnvPrefixes)
	for _, p := range []string{"PI_", "ATOMIC_", "ISOTOPE_"} {
		if !slices.Contains(prefixes, p) {
			prefixes = append(prefixes, p)
		}
	}
	return first(prefixes, name, env)
}

func first(prefixes []string, name string, env Lookup) (string, bool) {
	for _, p := range prefixes {
		if v, ok := env(p + name); ok && v != "" {
			return v, true
		}
	}
	return "", false
}

// AgentDirs returns the directories of the user's files, the one that is written to
// first, then the layers read below it. A directory named by …_CODING_AGENT_DIR is
// the only one. home is the home directory.
func (d Dialect) AgentDirs(env Lookup, home string) []string {
	if dir, ok := d.getShared("CODING_AGENT_DIR", env); ok {
		return []string{filepath.Clean(expandHome(dir, home))}
	}
	dirs := make([]string, len(d.DirNames))
	for i, name := range d.DirNames {
		dirs[i] = filepath.Join(home, name, "agent")
	}
	return dirs
}

// SessionDir returns the directory named by …_CODING_AGENT_SESSION_DIR, or "".
func (d Dialect) SessionDir(env Lookup, home string) string {
	dir, ok := d.getShared("CODING_AGENT_SESSION_DIR", env)
	if !ok {
		return ""
	}
	return filepath.Clean(expandHome(dir, home))
}

// Offline reports whether …_OFFLINE forbids network use at start-up: set, and none
// of 0, false, no, off.
func (d Dialect) Offline(env Lookup) bool {
	v, _ := d.getShared("OFFLINE", env)
	return isOn(v)
}

// Snapshots reports whether EnvSnapshots asks for the older form of message updates.
func Snapshots(env Lookup) bool {
	v, _ := env(EnvSnapshots)
	return isOn(v)
}

// isOn reports whether the value of a variable switches something on.
func isOn(v string) bool {
	switch strings.ToLower(strings.TrimSpace(v)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// ProjectDirs returns the directories of a project's own files, in order of
// precedence. cwd is the project's directory.
func (d Dialect) ProjectDirs(cwd string) []string {
	dirs := make([]string, len(d.DirNames))
	for i, name := range d.DirNames {
		dirs[i] = filepath.Join(cwd, name)
	}
	return dirs
}

// SessionWord is the word in "Session file is not a valid … session".
func (d Dialect) SessionWord() string { return d.Name }

// TempPrefix is the stem of the names of temporary files and directories: "pi-".
func (d Dialect) TempPrefix() string { return d.Name + "-" }

func expandHome(path, home string) string {
	if path == "~" {
		return home
	}
	if strings.HasPrefix(path, "~/") || strings.HasPrefix(path, `~\`) {
		return filepath.Join(home, path[2:])
	}
	return path
}
