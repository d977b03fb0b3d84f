package bedrock

import (
	"path/filepath"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// profile returns what Amazon's two files say of a profile: the credentials file wins
// over the config file. Files that are missing say nothing.
func (c *call) profile(name string) map[string]string {
	out := map[string]string{}
	section := "profile " + name
	if name == "default" {
		section = name
	}
	for _, f := range []struct{ variable, file, section string }{
		{"AWS_CONFIG_FILE", "config", section},
		{"AWS_SHARED_CREDENTIALS_FILE", "credentials", name},
	} {
		path := c.getenv(f.variable)
		if path == "" {
			path = filepath.Join(c.home(), ".aws", f.file)
		}
		data, err := c.o.ReadFile(path)
		if err != nil {
			continue
		}
		for key, value := range sectionOf(string(data), f.section) {
			out[key] = value
		}
	}
	return out
}

func (c *call) home() string {
	if h := c.getenv("HOME"); h != "" {
		return h
	}
	return c.getenv("USERPROFILE")
}

// sectionOf returns the values of a section; names are in lower case. Lines that are
// set in belong to the value before them and are left out.
func sectionOf(file, name string) map[string]string {
	out := map[string]string{}
	inside := false
	for line := range strings.Lines(file) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "", trimmed[0] == '#', trimmed[0] == ';':
		case trimmed[0] == '[':
			title, _, _ := strings.Cut(trimmed[1:], "]")
			inside = strings.Join(strings.Fields(title), " ") == name
		case inside && line[0] != ' ' && line[0] != '\t':
			key, value, ok := strings.Cut(trimmed, "=")
			if ok {
				out[strings.ToLower(strings.TrimSpace(key))] = withoutComment(value)
			}
		}
	}
	return out
}

// withoutComment drops a comment behind a value: it begins with white space.
func withoutComment(value string) string {
	for _, mark := range []string{" #", " ;", "\t#", "\t;"} {
		value, _, _ = strings.Cut(value, mark)
	}
	return strings.TrimSpace(value)
}

// ownKeys returns the keys that a profile holds itself.
func ownKeys(p map[string]string) (keys, bool) {
	k := keys{id: p["aws_access_key_id"], secret: p["aws_secret_access_key"], token: p["aws_session_token"]}
	return k, k.id != "" && k.secret != ""
}

// profileKeys returns the keys of a profile that somebody named.
func (c *call) profileKeys(name string) (keys, error) {
	p := c.profile(name)
	if k, ok := ownKeys(p); ok {
		return k, nil
	}
	what := textNoProfile
	if len(p) > 0 {
		what = textIndirect
	}
	return keys{}, &llm.Error{Kind: llm.ErrAuth, Message: textProfile + name + what}
}
