// Package trust decides whether a project's own settings, extensions, skills, prompts
// and system prompts count: who opens a folder must not run its code by that
// (dialects.md, atomic-facts.md 12.11). Context files such as AGENTS.md need no trust:
// they are not its business.
//
// It owns trust.json and the list of what needs trust. It must not know what the
// resources say: it looks for them and reads none. Decide reads files and takes no
// lock; all functions may be called concurrently.
package trust

import (
	"context"
	"path/filepath"
	"strings"
)

// Choice is what the command line says.
type Choice uint8

// The choices: nothing, --approve, --no-approve. They hold for one program and are
// never written.
const (
	Undecided Choice = iota
	Approve
	Refuse
)

// FlagApprove is the flag that lets a project's resources count.
const FlagApprove = "--approve"

// The words of the setting defaultProjectTrust. Ask counts as Never where nobody can
// be asked.
const (
	Ask    = "ask"
	Always = "always"
	Never  = "never"
)

// Reason says what a decision comes from.
type Reason string

// The reasons, in the order in which they are looked at.
const (
	ByFlag      Reason = "flag"      // --approve or --no-approve
	ByExtension Reason = "extension" // an extension's project_trust handler
	ByFile      Reason = "file"      // trust.json
	ByFault     Reason = "fault"     // a trust.json that cannot be read: nothing is trusted
	BySetting   Reason = "setting"   // defaultProjectTrust
	ByNothing   Reason = "nothing"   // there is nothing that needs trust
)

// Answer is what an extension says about a project.
type Answer struct {
	Decided  bool
	Trusted  bool
	Remember bool // in trust.json
}

// Options are what a decision depends on.
type Options struct {
	// Dirs are the agent directories, whose trust.json count, the strongest first. The
	// first is written to.
	Dirs []string
	// Cwd is the project's folder, ProjectDirs its directories of own files (".pi" …).
	Cwd         string
	ProjectDirs []string
	// Home is the user's home directory, whose .agents/skills are the user's own.
	Home string
	// Flag is the command line's word.
	Flag Choice
	// Default is the user's setting defaultProjectTrust; "" is Ask.
	Default string
	// Extension asks the user's own extensions, nil when there are none.
	Extension func(ctx context.Context, cwd string) Answer
}

// Decision is whether a project is trusted.
type Decision struct {
	Trusted bool
	By      Reason
	// Path is the entry of trust.json that decided, for ByFile.
	Path string
	// Resources are what the project has that needs trust.
	Resources []Resource
	// Warnings say what is wrong with the files, for stderr.
	Warnings []string
}

// Texts for people.
const (
	textLeftOut = "this project's own resources are left out, as it is not trusted: %s. Use --approve (-a) to use them."
	textDenied  = "this project's own resources are left out, as %s does not trust %s: %s. Use --approve (-a) to use them."
)

// Decide decides. It writes only when an extension wants its answer remembered.
func Decide(ctx context.Context, o Options) Decision {
	d := Decision{Resources: find(o)}
	if o.Flag != Undecided {
		d.Trusted, d.By = o.Flag == Approve, ByFlag
		return d
	}
	s := NewStore(o.Dirs)
	if len(d.Resources) > 0 && o.Extension != nil {
		if a := o.Extension(ctx, o.Cwd); a.Decided {
			d.Trusted, d.By = a.Trusted, ByExtension
			if a.Remember {
				if err := s.Set(ctx, o.Cwd, a.Trusted); err != nil {
					d.Warnings = append(d.Warnings, err.Error())
				}
			}
			return d
		}
	}
	found := s.Lookup(o.Cwd)
	d.Warnings = found.Warnings
	switch {
	case found.Decided:
		d.Trusted, d.By, d.Path = found.Trusted, ByFile, found.Path
	case len(d.Resources) == 0:
		d.Trusted, d.By = true, ByNothing
	case found.Broken: // it may hold the word against this project
		d.By = ByFault
	default:
		d.Trusted, d.By = o.Default == Always, BySetting
	}
	return d
}

// LeftOut returns the resources that do not count, for get_state.untrusted; none when
// the project is trusted.
func (d Decision) LeftOut() []Resource {
	if d.Trusted {
		return nil
	}
	return d.Resources
}

// Notice tells a person on stderr what is left out and how to change that. It is ""
// when nothing is, and when the person said so with --no-approve.
func (d Decision) Notice() string {
	left := d.LeftOut()
	if len(left) == 0 || d.By == ByFlag {
		return ""
	}
	names := make([]string, len(left))
	for i, r := range left {
		names[i] = r.Name
	}
	list := strings.Join(names, ", ")
	if d.By == ByFile {
		return fill(textDenied, fileName, d.Path, list)
	}
	return fill(textLeftOut, list)
}

// fill puts texts in the places of a pattern. Paths may hold any character: they are no
// patterns themselves.
func fill(pattern string, texts ...string) string {
	parts := strings.Split(pattern, "%s")
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(texts) {
			b.WriteString(texts[i])
		}
	}
	return b.String()
}

// realPath returns the path that decisions are kept under: absolute, without links.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return filepath.Clean(path)
}
