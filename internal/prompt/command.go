package prompt

// The sources of commands, and the scopes and origins of resources.
const (
	SourceExtension = "extension"
	SourcePrompt    = "prompt"
	SourceSkill     = "skill"

	ScopeUser      = "user"
	ScopeProject   = "project"
	ScopeTemporary = "temporary" // named on the command line

	originTop = "top-level"
	fromAuto  = "auto"  // found in a directory that is always looked into
	fromLocal = "local" // named by a setting or on the command line
)

// Command is an item of get_commands: both the form of seed 000 (location, path) and
// that of the source (sourceInfo).
type Command struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitzero"`
	Source      string     `json:"source"`
	Location    string     `json:"location,omitzero"` // user, project or path; "" for extensions
	Path        string     `json:"path,omitzero"`
	SourceInfo  SourceInfo `json:"sourceInfo"`
}

// SourceInfo says where a resource comes from.
type SourceInfo struct {
	Path    string `json:"path"`
	Source  string `json:"source"`
	Scope   string `json:"scope"`
	Origin  string `json:"origin"`
	BaseDir string `json:"baseDir,omitzero"`
}

// location is the scope in the words of seed 000.
func (s SourceInfo) location() string {
	if s.Scope == ScopeTemporary {
		return "path"
	}
	return s.Scope
}

func command(name, description, source string, info SourceInfo) Command {
	return Command{Name: name, Description: description, Source: source, Location: info.location(), Path: info.Path, SourceInfo: info}
}
