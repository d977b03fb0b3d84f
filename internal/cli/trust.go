package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// textUntrusted tells what was left out because nobody vouched for the project.
const textUntrusted = "this project's own resources are left out, as it is not trusted: %s. Use --approve (-a) to use them."

// trustedOnly are the names in a project's directory that count only with trust
// (dialects.md): what can change what the program does, not what a model reads.
func trustedOnly() []string {
	return []string{"settings.json", "mcp.json", "extensions", "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md"}
}

// projectDirs are the project's own directories, none without trust.
func (a *app) projectDirs() []string {
	if !a.at().trusted {
		return nil
	}
	return a.dialect.ProjectDirs(a.at().cwd)
}

// untrusted says which resources of the project are left out for want of trust; ""
// when there are none, or when the user left them out.
func (a *app) untrusted() string {
	if a.at().trusted || a.flags.noApprove {
		return ""
	}
	var found []string
	for _, dir := range a.dialect.ProjectDirs(a.at().cwd) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if slices.Contains(trustedOnly(), e.Name()) {
				found = append(found, filepath.Join(filepath.Base(dir), e.Name()))
			}
		}
	}
	if agents := filepath.Join(".agents", "skills"); a.at().cwd != a.home && isFolder(filepath.Join(a.at().cwd, agents)) {
		found = append(found, agents)
	}
	if len(found) == 0 {
		return ""
	}
	return strings.Replace(textUntrusted, "%s", strings.Join(found, ", "), 1)
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
