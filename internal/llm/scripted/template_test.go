package scripted_test

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

// textTurn is a script of one turn that says a text.
func textTurn(text string) string {
	return `{"turns":[{"steps":[{"text":` + string(jsonx.String(text)) + `}]}]}`
}

func TestTemplates(t *testing.T) {
	const readme = "<p align=\"center\"><img></p>\n[![build](x)](y)\n\n# The *Lathe* #\n\n> old\n\nTurns wood.\nSafely.\n\n## More\n"
	for _, tt := range []struct{ template, want string }{
		{"plain }} text", "plain }} text"},
		{"{{user}}", "what is it?"},
		{"{{cwd}} {{cwd | base}} {{model}} {{turn}}", "/home/ada/lathe lathe demo 2"},
		{"{{'a}}b'}}{{\"c\\n\"}}", "a}}bc\n"},
		{"{{tool}}", "denied"},
		{"{{tool 0}}, {{tool 1}}, {{tool 2}}.", readme + ", denied, ."},
		{"{{toolOk 1}}{{toolError 0}}-{{toolError 1}}", "-denied"},
		{"{{toolOk | heading}}", "The *Lathe*"},
		{"{{toolOk.read | paragraph}}", "old"},
		{"{{toolError.bash}}", "denied"},
		{"{{tool.ls}}", "a.go\nb/\nc.md"},
		{"{{tool.read 'README'}}{{tool.read 'LICENSE' | or 'none'}}", readme + "none"},
		{"{{tool.grep || tool.ls | line 2}}", "b/"},
		{"{{tool.ls | first 2}}|{{tool.ls | skip 2}}|{{tool.ls | line 9}}", "a.go\nb/|c.md|"},
		{"{{tool.ls | list 2}}; {{tool.ls | list 3}}", "a.go, b/ and 1 more; a.go, b/, c.md"},
		{"{{tool.ls | count}}", "3"},
		{"{{tool.ls | pick '^x' '\\.md$' '\\.go$'}}", "c.md"},
		{"{{tool.ls | pick '^x'}}", ""},
		{"{{user | clip 4}} {{user | clip 40}}", "what… what is it?"},
		{"{{tool.none | wrap '<' '>'}}{{user | clip 1 | wrap '<' '>'}}", "<w…>"},
		{"{{user | not 'what is it?' | or \"same\"}} {{user | not 'x'}}", "same what is it?"},
		{"{{ 'C:\\dir\\sub\\' | base }}", "sub"},
		{"{{'Title\n=====\n\nBody\ntext' | heading}}: {{'Title\n=====\n\nBody\ntext' | paragraph}}", "Title: Body text"},
		{"{{'[a](b)\nOne, see\n`code` and\n[link](x)\n\nTwo' | paragraph}}", "One, see `code` and [link](x)"},
		{"{{'```\n# no\n```\nfirst' | heading}}", "```"},
		{"{{'\n\nno heading' | heading}}", "no heading"},
		{"{{'' | heading}}{{'' | paragraph}}", ""},
	} {
		c := newChat(t, textTurn(tt.template), "ls", "read", "bash").user("what is it?")
		// The history was made by another script: its turns are not ours.
		other := newChat(t, `{"turns":[
			{"turn":0,"steps":[{"toolCall":{"name":"ls","arguments":{}}}]},
			{"turn":1,"steps":[{"toolCall":{"name":"read","arguments":{"path":"README"}}},{"toolCall":{"name":"bash","arguments":{}}}]}
		]}`)
		other.req = c.req
		other.say()
		c.result("ls", "a.go\nb/\nc.md", false)
		other.say()
		c.result("read", readme, false).result("bash", "denied", true)
		s, err := scripted.Parse([]byte(`{"onEnd":"repeat",` + textTurn(tt.template)[1:]))
		if err != nil {
			t.Errorf("%s: %v", tt.template, err)
			continue
		}
		c.provider = scripted.NewScript(s)
		if got := c.text(); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.template, got, tt.want)
		}
	}
}

func TestWorkingDirectory(t *testing.T) {
	for system, want := range map[string]string{
		"Be brief.": "here",
		"Be brief.\n\n<cwd>\nC:/src/lathe\n</cwd>\n\n<date>":    "lathe",
		"You help.\nCurrent working directory: /src/mill\nEnd.": "mill",
	} {
		c := newChat(t, textTurn("{{cwd | base | or 'here'}}"))
		c.req.System = system
		if got := c.text(); got != want {
			t.Errorf("%q: %q, want %q", system, got, want)
		}
	}
}

// The results of the run before are not those of this one.
func TestResultsOfAnEarlierRun(t *testing.T) {
	c := newChat(t, `{"turns":[{"match":"x","turn":0,"steps":[{"toolCall":{"name":"ls"}}]},{"turn":1,"steps":[{"text":"ok"}]},{"turn":0,"steps":[{"text":"[{{tool}}]"}]}]}`).user("x")
	c.say()
	c.result("ls", "old", false)
	c.say()
	if got := c.user("y").text(); got != "[]" {
		t.Errorf("got %q", got)
	}
}

func TestTemplateErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a {{user":                "}} is missing",
		"{{'open}}":               "}} is missing",
		"{{}}":                    `something is missing beside "||"`,
		"{{users}}":               `"users" is no source`,
		"{{user 1}}":              "user takes no argument",
		"{{user | }}":             `something is missing beside "|"`,
		"{{user | shout}}":        `"shout" is no filter`,
		"{{user | 'first' 2}}":    `"first" is no filter`,
		"{{user | first}}":        "first has 0 arguments",
		"{{user | first '2'}}":    `first: "2" is of the wrong type`,
		"{{user | first -1}}":     `first: "-1" is no number`,
		"{{user | wrap 'a'}}":     "wrap has 1 arguments",
		"{{user | or 1}}":         `or: "1" is of the wrong type`,
		"{{user | pick '('}}":     "pick: error parsing regexp",
		"{{tool x}}":              `"x" is neither a number nor a string`,
		"{{tool.ls 1}}":           "tool.ls takes a string",
		"{{tool 1 2}}":            `"2" is one argument too many`,
		"{{tool.}}":               `"tool.": the tool's name is missing`,
		"{{'a' b}}":               `"b" follows a string`,
		"{{user | count || cwd}}": `"||" comes before the filters`,
	} {
		_, err := scripted.Parse([]byte(textTurn(text)))
		if err == nil || !strings.Contains(err.Error(), "turns[0]: steps[0]: template ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{user}}", "a{{tool.ls 'x' || \"y\\n\" | first 2 | pick 'a' | wrap 'b' ''}}z", "{{", "{{'}}", "}}{{ cwd|base }}"} {
		f.Add(s, "text\n# two")
	}
	f.Fuzz(func(t *testing.T, text, user string) {
		s, err := scripted.Parse([]byte(textTurn(text)))
		if err != nil {
			return
		}
		c := chatWith(t, scripted.NewScript(s)).user(user)
		if got := c.call(); got.Err != nil {
			t.Errorf("%v", got.Err)
		}
	})
}
