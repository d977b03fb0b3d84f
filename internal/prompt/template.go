package prompt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/frontmatter"
)

// descriptionLen is how much of a template's first line describes it.
const descriptionLen = 60

// Template is a prompt template: "/name args" stands for its body.
type Template struct {
	Name         string
	Description  string
	ArgumentHint string
	Body         string
	Info         SourceInfo
}

func (f *finder) findTemplates() {
	for _, p := range f.places("prompts", f.opt.Templates, f.opt.TemplatePaths, f.opt.NoTemplates) {
		files := []string{p.path}
		if isDir(p.path) {
			files = markdown(p.path)
		} else if !isFile(p.path) {
			if p.listed {
				f.note(diagNoTemplatePath, p.path)
			}
			continue
		} else if !strings.HasSuffix(p.path, ".md") {
			continue
		}
		for _, file := range files {
			if p.enabled(file) {
				f.template(file, p.info)
			}
		}
	}
}

// markdown returns the .md files of a directory, not of those below it, by name.
func markdown(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if strings.HasSuffix(e.Name(), ".md") && !strings.HasPrefix(e.Name(), ".") && isFile(path) {
			files = append(files, path)
		}
	}
	return files
}

func (f *finder) template(path string, info SourceInfo) {
	data, err := os.ReadFile(path)
	if err != nil {
		f.note(diagFile, path, reason(err))
		return
	}
	head, body, err := frontmatter.Parse(string(data))
	if err != nil {
		f.note(diagFile, path, err)
		return
	}
	info.Path = path
	t := Template{
		Name:        strings.TrimSuffix(filepath.Base(path), ".md"),
		Description: head.Text("description"), ArgumentHint: head.Text("argument-hint"),
		Body: body, Info: info,
	}
	if t.Description == "" {
		t.Description = firstLine(body)
	}
	if i := slices.IndexFunc(f.out.templates, func(o Template) bool { return o.Name == t.Name }); i >= 0 {
		if old := f.out.templates[i].Info.Path; realPath(old) != realPath(path) {
			f.note(diagCollision, "prompt template", t.Name, path, old)
		}
		return
	}
	f.out.templates = append(f.out.templates, t)
}

// firstLine returns the first line that is not blank, cut after 60 characters.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if r := []rune(line); len(r) > descriptionLen {
			return string(r[:descriptionLen]) + "..."
		}
		return line
	}
	return ""
}
