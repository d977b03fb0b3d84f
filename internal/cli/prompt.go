package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/tool"
)

// newLibrary builds the skills and prompt templates of a folder. It reads nothing yet.
func (a *app) newLibrary(p *place) *prompt.Library {
	return prompt.NewLibrary(prompt.LibraryOptions{
		AgentDirs: a.dirs, Home: a.home, ProjectDirs: p.projectDirs, Cwd: p.cwd, Trusted: p.trust.Trusted,
		Skills: listed(a.settings.Resources(settings.Skills)), Templates: listed(a.settings.Resources(settings.Prompts)),
		SkillPaths: a.fromStart(a.flags.skills), TemplatePaths: a.fromStart(a.flags.promptTemplates),
		NoSkills: a.flags.noSkills, NoTemplates: a.flags.noTemplates,
		NoSkillCommands: !a.settings.EnableSkillCommands(),
	})
}

func listed(resources []settings.Resource) []prompt.Listed {
	out := make([]prompt.Listed, len(resources))
	for i, r := range resources {
		out[i] = prompt.Listed{Entries: r.Entries, BaseDir: r.BaseDir, Project: r.Project}
	}
	return out
}

// promptOptions reads what the system prompt is made from.
func (a *app) promptOptions(tools *tool.Set) prompt.Options {
	here := a.at()
	sources := prompt.Sources{
		AgentDirs: a.dirs, ProjectDirs: here.projectDirs, Cwd: here.cwd,
		System: a.textOrPath(a.flags.systemPrompt), NoContext: a.flags.noContextFiles,
	}
	for _, text := range a.flags.appendSystemPrompt {
		sources.Append = append(sources.Append, a.textOrPath(text))
	}
	texts := sources.Load()
	for _, w := range slices.Concat(texts.Warnings, here.library.Diagnostics()) {
		a.warn(w)
	}
	return prompt.Options{
		Program: a.dialect.Name, Custom: texts.Custom, Append: texts.Append, Tools: tools.All(),
		Context: texts.Context, Skills: here.library.Skills(), Cwd: here.cwd,
	}
}

// fromStart makes paths of the command line absolute: a resumed session may work in
// another folder than the one the program was started in.
func (a *app) fromStart(paths []string) []string {
	out := slices.Clone(paths)
	for i, p := range out {
		if !filepath.IsAbs(p) && !strings.HasPrefix(p, "~") {
			out[i] = filepath.Join(a.started, p)
		}
	}
	return out
}

// textOrPath makes a text of the command line that names a file absolute, see
// fromStart. Other texts stay as they are.
func (a *app) textOrPath(text string) string {
	if text == "" || filepath.IsAbs(text) || strings.ContainsAny(text, "\n\x00") {
		return text
	}
	path := filepath.Join(a.started, text)
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return text
	}
	return path
}
