// Package prompt owns what is said to the model around the conversation: the system
// prompt with its context files, and the texts that skills and prompt templates
// stand for.
//
// It must not know sessions, the loop or the client protocol. Files are read when
// they are first needed. A Library may be used concurrently; the other functions
// are pure apart from reading.
package prompt

import (
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/tool"
)

// Our words of the system prompt. The order of the sections is that of pi-facts.md
// section 7.
const (
	preamble = "You are a coding agent, run by %s in the user's working folder. You read and search files, run commands and change code until the user's request is done, and then you say what you found or did."

	moreTools    = "There may be more tools than these."
	noTools      = "(none)"
	ruleShell    = "No tool for listing or searching is active: use bash (ls, find, grep) for that."
	ruleShort    = "Answer briefly and to the point."
	rulePaths    = "Name the files you speak of by their paths."
	aboutProgram = "About %s itself: %s --help tells of its options, %s schema --settings of its settings. Look there only when the user asks about it."
	contextIntro = "What the user and the project ask of you:"
	skillsIntro  = "A skill is a set of instructions for one kind of task. When a task fits a skill's description, load its file with the %s tool and follow it. Paths in it are relative to the folder of that file; give tools absolute paths."
)

// Options of Build.
type Options struct {
	// Program names the program in the preamble.
	Program string
	// Custom replaces preamble, tools, rules and docs when it is not empty.
	Custom string
	// Append is added after them.
	Append []string
	// Tools are the active tools in order; those that are tool.Prompted speak for
	// themselves.
	Tools []tool.Tool
	// Context are the files of instructions in order.
	Context []File
	// Skills are offered when a tool can read them.
	Skills []Skill
	// Cwd is the working folder.
	Cwd string
}

// File is a file of instructions.
type File struct {
	Path    string
	Content string
}

// Build returns the system prompt: sections between blank lines, each but the first
// in an element of its name.
func Build(o Options) string {
	var b strings.Builder
	if o.Custom != "" {
		b.WriteString(o.Custom)
	} else {
		b.WriteString(strings.ReplaceAll(preamble, "%s", o.Program))
		section(&b, "tools", toolList(o.Tools))
		section(&b, "rules", rules(o.Tools))
		if active(o.Tools, "bash") {
			section(&b, "docs", strings.ReplaceAll(aboutProgram, "%s", o.Program))
		}
	}
	section(&b, "addendum", strings.Join(o.Append, "\n\n"))
	section(&b, "project_context", contextText(o.Context))
	section(&b, "skills", skillsText(o.Skills, o.Tools))
	section(&b, "cwd", strings.ReplaceAll(o.Cwd, `\`, "/"))
	return b.String()
}

func section(b *strings.Builder, name, text string) {
	if text == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteString("\n\n")
	}
	b.WriteString("<" + name + ">\n" + text + "\n</" + name + ">")
}

func toolList(tools []tool.Tool) string {
	var lines []string
	for _, t := range tools {
		if p, ok := t.(tool.Prompted); ok && p.Snippet() != "" {
			lines = append(lines, "- "+t.Spec().Name+": "+p.Snippet())
		}
	}
	if len(lines) == 0 {
		lines = []string{noTools}
	}
	return strings.Join(lines, "\n") + "\n\n" + moreTools
}

func rules(tools []tool.Tool) string {
	var lines []string
	add := func(rule string) {
		if rule = "- " + strings.TrimSpace(rule); rule != "- " && !slices.Contains(lines, rule) {
			lines = append(lines, rule)
		}
	}
	if active(tools, "bash") && !active(tools, "grep") && !active(tools, "find") && !active(tools, "ls") {
		add(ruleShell)
	}
	for _, t := range tools {
		if p, ok := t.(tool.Prompted); ok {
			for _, g := range p.Guidelines() {
				add(g)
			}
		}
	}
	add(ruleShort)
	add(rulePaths)
	return strings.Join(lines, "\n")
}

func active(tools []tool.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == name })
}

func contextText(files []File) string {
	if len(files) == 0 {
		return ""
	}
	parts := []string{contextIntro}
	for _, f := range files {
		parts = append(parts, `<project_instructions path="`+escape(f.Path)+"\">\n"+f.Content+"\n</project_instructions>")
	}
	return strings.Join(parts, "\n\n")
}

// skillsText lists the skills that the model may use by itself, when it can read.
func skillsText(skills []Skill, tools []tool.Tool) string {
	reader := ""
	for _, name := range []string{"read", "bash"} {
		if active(tools, name) {
			reader = name
			break
		}
	}
	skills = slices.DeleteFunc(slices.Clone(skills), func(s Skill) bool { return s.Manual })
	if reader == "" || len(skills) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(skillsIntro, "%s", reader))
	b.WriteString("\n\n<available_skills>\n")
	for _, s := range skills {
		b.WriteString("  <skill>\n    <name>" + escape(s.Name) + "</name>\n    <description>" + escape(s.Description) +
			"</description>\n    <location>" + escape(s.Path) + "</location>\n  </skill>\n")
	}
	b.WriteString("</available_skills>")
	return b.String()
}

// escape makes text safe inside an element or an attribute.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(s)
}
