package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/settings"
)

func TestParseFlags(t *testing.T) {
	for _, tt := range []struct {
		line string
		want func(*flags) any
		is   any
	}{
		{"--mode rpc", func(f *flags) any { return f.mode }, "rpc"},
		{"--mode json --mode rpc", func(f *flags) any { return f.mode }, "rpc"},
		{"--mode=json a b", func(f *flags) any { return f.args }, []string{"a", "b"}},
		{"a --mode json b -- --c @d", func(f *flags) any { return f.args }, []string{"a", "b", "--c", "@d"}},
		{"@x a @y", func(f *flags) any { return f.files }, []string{"x", "y"}},
		{"@ a", func(f *flags) any { return f.args }, []string{"@", "a"}},
		{"-nt -nbt -ne -ns -np -nc", func(f *flags) any {
			return []bool{f.noTools, f.noBuiltinTools, f.noExtensions, f.noSkills, f.noTemplates, f.noContextFiles}
		}, []bool{true, true, true, true, true, true}},
		{"-xt bash,ls", func(f *flags) any { return f.excludeTools }, "bash,ls"},
		{"-- -nt", func(f *flags) any { return f.args }, []string{"-nt"}},
		{"-e a.ts -e b.ts", func(f *flags) any { return f.extensions }, []string{"a.ts", "b.ts"}},
		{"--append-system-prompt a,b --append-system-prompt c", func(f *flags) any { return f.appendSystemPrompt }, []string{"a,b", "c"}},
		{"--list-models", func(f *flags) any { return strings.TrimSpace(f.listModels) }, ""},
		{"--list-models word", func(f *flags) any { return f.listModels }, "word"},
		{"--list-models=word more", func(f *flags) any { return f.listModels }, "word"},
		{"-p -c", func(f *flags) any { return f.print && f.continueLast }, true},
	} {
		f, err := parseFlags(strings.Fields(tt.line))
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		if diff := cmp.Diff(tt.is, tt.want(f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}
}

// Errors name what is wrong and what may be written instead.
func TestFlagErrors(t *testing.T) {
	for line, want := range map[string]string{
		"-q":                             "Unknown option: -q. See --help for the options there are",
		"--model":                        "--model requires a value",
		"--mode tui":                     `--mode must be "rpc", "json" or "text", not "tui"`,
		"--thinking deep":                `--thinking must be one of off, minimal, low, medium, high, xhigh, max, not "deep"`,
		"--provider x":                   "--provider needs --model: name the model too, or use --model provider/id",
		"--name=":                        "--name requires a non-empty value",
		"--session=":                     "--session requires a non-empty value",
		"--fork= --session-id a":         "--fork requires a non-empty value",
		"-a -na":                         "--approve cannot be combined with --no-approve",
		"--mode rpc @f":                  "@file arguments are not supported in RPC mode",
		"--session a --continue":         "--session cannot be combined with --continue",
		"--fork a --session b":           "--fork cannot be combined with --session",
		"--session-id a --continue":      "--continue cannot be combined with --session-id",
		"--no-session --session-id a -c": "--continue cannot be combined with --session-id",
	} {
		_, err := parseFlags(strings.Fields(line))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	for _, line := range []string{"--no-session --session-id a", "--fork a --session-id b"} {
		if _, err := parseFlags(strings.Fields(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestActiveTools(t *testing.T) {
	_, dir := world(t)
	path := dir + "/settings.json"
	for _, tt := range []struct{ line, setting, want, unknown string }{
		{"", "", "read bash edit write", ""},
		{"--tools ls,bash", "", "bash ls", ""},
		{"--tools +ls,-edit", "", "read bash write ls", ""},
		{"--tools f*,read", "", "read find", ""},
		{"--tools=", "", "", ""},
		{"--exclude-tools bash,e*", "", "read write", ""},
		{"--no-tools", "", "", ""},
		{"--no-builtin-tools", "", "", ""},
		{"--no-tools --tools read", "", "read", ""},
		{"-nt -t +grep", "", "grep", ""},
		{"--tools read,fly", "", "read", "fly"},
		{"--tools +fly,-swim", "", "read bash edit write", "fly swim"},
		{"", `["-bash"]`, "read edit write", ""},
		{"--tools +ls", `["read"]`, "read ls", ""},
	} {
		f, err := parseFlags(strings.Fields(tt.line))
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, `{}`)
		if tt.setting != "" {
			write(t, path, `{"defaultTools":`+tt.setting+`}`)
		}
		active, unknown := activeTools(f, settings.Open(settings.Options{User: []string{path}}))
		if !slices.Equal(active, strings.Fields(tt.want)) || !slices.Equal(unknown, strings.Fields(tt.unknown)) {
			t.Errorf("%s %s: %v, unknown %v; want %s, unknown %s", tt.line, tt.setting, active, unknown, tt.want, tt.unknown)
		}
	}
}

func TestTokens(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 4000: "4K", 131072: "131.1K", 200000: "200K", 1_000_000: "1M", 1_048_576: "1M", 1_500_000: "1.5M"} {
		if got := tokens(n); got != want {
			t.Errorf("tokens(%d) = %s, want %s", n, got, want)
		}
	}
}
