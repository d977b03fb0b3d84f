package cli

import (
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/tool"
)

// projectDirs are the project's own directories, none without trust.
func (a *app) projectDirs() []string {
	if !a.flags.approve {
		return nil
	}
	return a.dialect.ProjectDirs(a.cwd)
}

// newLibrary builds the skills and prompt templates. It reads nothing yet.
func (a *app) newLibrary() *prompt.Library {
	return prompt.NewLibrary(prompt.LibraryOptions{
		AgentDirs: a.dirs, Home: a.home, ProjectDirs: a.projectDirs(), Cwd: a.cwd, Trusted: a.flags.approve,
		Skills: listed(a.settings.Resources(settings.Skills)), Templates: listed(a.settings.Resources(settings.Prompts)),
		SkillPaths: a.flags.skills, TemplatePaths: a.flags.promptTemplates,
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
	texts := prompt.Sources{
		AgentDirs: a.dirs, ProjectDirs: a.projectDirs(), Cwd: a.cwd,
		System: a.flags.systemPrompt, Append: a.flags.appendSystemPrompt, NoContext: a.flags.noContextFiles,
	}.Load()
	for _, w := range texts.Warnings {
		a.warn(w)
	}
	return prompt.Options{
		Program: a.dialect.Name, Custom: texts.Custom, Append: texts.Append, Tools: tools.All(),
		Context: texts.Context, Skills: a.library.Skills(), Cwd: a.cwd,
	}
}
