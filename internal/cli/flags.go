package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Modes of the program.
const (
	modeRPC   = "rpc"
	modeJSON  = "json"
	modePrint = "text"
)

// flags are the command line, checked as far as the line alone allows.
type flags struct {
	mode                                          string
	print, help, version                          bool
	continueLast, resume, noSession               bool
	session, sessionID, sessionDir, fork, name    string
	durability                                    string
	provider, model, apiKey, thinking             string
	models, tools, excludeTools                   string
	noTools, noBuiltinTools, noContextFiles       bool
	systemPrompt                                  string
	appendSystemPrompt                            []string
	extensions, skills, promptTemplates, themes   []string
	noExtensions, noSkills, noTemplates, noThemes bool
	listModels, export                            string
	dialect, record, profile, debugHTTP           string
	approve, noApprove, offline, verbose, noColor bool
	readOnly, snapshots, settings, json           bool

	args  []string // messages
	files []string // @file arguments
	set   map[string]bool

	foreign []foreignFlag // options that only an extension can know, in order
}

// foreignFlag is an option that is not the program's own. Text that stands behind it may
// be its value: until its type is known, its place among the messages has the mark.
type foreignFlag struct {
	name, value string
	joined      bool // by an equals sign: the value is one
	mark        string
}

// shortcuts are the reference's short flags of more than one letter.
var shortcuts = map[string]string{
	"-nt": "--no-tools", "-nbt": "--no-builtin-tools", "-xt": "--exclude-tools", "-ne": "--no-extensions",
	"-ns": "--no-skills", "-np": "--no-prompt-templates", "-nc": "--no-context-files", "-na": "--no-approve",
}

// define declares the flags and returns where their values go.
func define() (*pflag.FlagSet, *flags) {
	f := &flags{set: map[string]bool{}}
	fs := pflag.NewFlagSet("isotope", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.SetOutput(io.Discard)
	fs.StringVar(&f.mode, "mode", "", "")
	fs.BoolVarP(&f.print, "print", "p", false, "")
	fs.BoolVarP(&f.continueLast, "continue", "c", false, "")
	fs.BoolVarP(&f.resume, "resume", "r", false, "")
	fs.BoolVar(&f.noSession, "no-session", false, "")
	fs.StringVar(&f.session, "session", "", "")
	fs.StringVar(&f.sessionID, "session-id", "", "")
	fs.StringVar(&f.sessionDir, "session-dir", "", "")
	fs.StringVar(&f.fork, "fork", "", "")
	fs.BoolVar(&f.snapshots, "snapshots", false, "")
	fs.BoolVar(&f.readOnly, "read-only", false, "")
	fs.StringVar(&f.durability, "durability", "", "")
	fs.StringVarP(&f.name, "name", "n", "", "")
	fs.StringVar(&f.provider, "provider", "", "")
	fs.StringVar(&f.model, "model", "", "")
	fs.StringVar(&f.apiKey, "api-key", "", "")
	fs.StringVar(&f.models, "models", "", "")
	fs.StringVar(&f.thinking, "thinking", "", "")
	fs.StringVarP(&f.tools, "tools", "t", "", "")
	fs.StringVar(&f.excludeTools, "exclude-tools", "", "")
	fs.BoolVar(&f.noTools, "no-tools", false, "")
	fs.BoolVar(&f.noBuiltinTools, "no-builtin-tools", false, "")
	fs.StringVar(&f.systemPrompt, "system-prompt", "", "")
	fs.StringArrayVar(&f.appendSystemPrompt, "append-system-prompt", nil, "")
	fs.StringArrayVarP(&f.extensions, "extension", "e", nil, "")
	fs.BoolVar(&f.noExtensions, "no-extensions", false, "")
	fs.StringArrayVar(&f.skills, "skill", nil, "")
	fs.BoolVar(&f.noSkills, "no-skills", false, "")
	fs.StringArrayVar(&f.promptTemplates, "prompt-template", nil, "")
	fs.BoolVar(&f.noTemplates, "no-prompt-templates", false, "")
	fs.StringArrayVar(&f.themes, "theme", nil, "")
	fs.StringArrayVar(&f.themes, "use-theme", nil, "")
	fs.BoolVar(&f.noThemes, "no-themes", false, "")
	fs.BoolVar(&f.noContextFiles, "no-context-files", false, "")
	fs.StringVar(&f.export, "export", "", "")
	fs.StringVar(&f.listModels, "list-models", "", "")
	fs.Lookup("list-models").NoOptDefVal = " "
	fs.BoolVar(&f.settings, "settings", false, "")
	fs.StringVar(&f.dialect, "dialect", "", "")
	fs.StringVar(&f.record, "record", "", "")
	fs.StringVar(&f.profile, "profile", "", "")
	fs.StringVar(&f.debugHTTP, "debug-http", "", "")
	fs.BoolVar(&f.json, "json", false, "")
	fs.BoolVar(&f.offline, "offline", false, "")
	fs.BoolVarP(&f.approve, "approve", "a", false, "")
	fs.BoolVar(&f.noApprove, "no-approve", false, "")
	fs.BoolVar(&f.verbose, "verbose", false, "")
	fs.BoolVar(&f.noColor, "no-color", false, "")
	fs.BoolVarP(&f.help, "help", "h", false, "")
	fs.BoolVarP(&f.version, "version", "v", false, "")
	return fs, f
}

// parseFlags reads the command line without the program's name.
func parseFlags(args []string) (*flags, error) {
	fs, f := define()
	args = slices.Clone(args)
	for i, a := range args {
		if a == "--" {
			break
		}
		if long, ok := shortcuts[a]; ok {
			args[i] = long
		}
	}
	args, f.foreign = foreign(fs, args)
	if err := fs.Parse(args); err != nil {
		return nil, flagError(err)
	}
	fs.Visit(func(fl *pflag.Flag) { f.set[fl.Name] = true })
	rest, literal := fs.Args(), len(fs.Args())
	if at := fs.ArgsLenAtDash(); at >= 0 {
		literal = at
	}
	for i, a := range rest {
		if i < literal && strings.HasPrefix(a, "@") && len(a) > 1 {
			f.files = append(f.files, a[1:])
		} else {
			f.args = append(f.args, a)
		}
	}
	if f.set["list-models"] && strings.TrimSpace(f.listModels) == "" && len(f.args) > 0 {
		f.listModels, f.args = f.args[0], f.args[1:]
	}
	return f, f.check()
}

// foreign takes the long options out of a command line that fs does not define.
func foreign(fs *pflag.FlagSet, args []string) (own []string, out []foreignFlag) {
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		switch known := fs.Lookup(name); {
		case args[i] == "--":
			return append(own, args[i:]...), out
		case !strings.HasPrefix(args[i], "--"):
			own = append(own, args[i])
		case known != nil:
			own = append(own, args[i])
			if known.NoOptDefVal == "" && !joined && i+1 < len(args) { // its value may look like an option
				i++
				own = append(own, args[i])
			}
		default:
			x := foreignFlag{name: name, value: value, joined: joined}
			if !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") && !strings.HasPrefix(args[i+1], "@") {
				i++
				x.value, x.mark = args[i], "\x00"+strconv.Itoa(len(out)) // no argument can hold a zero
				own = append(own, x.mark)
			}
			out = append(out, x)
		}
	}
	return own, out
}

// settle gives a foreign flag's type: what stands behind a switch is a message.
func (f *flags) settle(x foreignFlag, isSwitch bool) {
	i := slices.Index(f.args, x.mark)
	switch {
	case x.mark == "" || i < 0:
	case isSwitch:
		f.args[i] = x.value
	default:
		f.args = slices.Delete(f.args, i, i+1)
	}
}

// errUnknownOption is the error of an option that nobody knows.
func errUnknownOption(option string) error {
	return fmt.Errorf("Unknown option: %s. See --help for the options there are", option)
}

// flagError puts pflag's complaint in the words that users of the reference know.
func flagError(err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := "--" + unknown.GetSpecifiedName()
		if s := unknown.GetSpecifiedShortnames(); s != "" {
			name = "-" + s
		}
		return errUnknownOption(name)
	}
	var value *pflag.ValueRequiredError
	if errors.As(err, &value) {
		return fmt.Errorf("--%s requires a value", value.GetFlag().Name)
	}
	return err
}

// check refuses values and combinations that can mean nothing.
func (f *flags) check() error {
	switch f.mode {
	case "", modeRPC, modeJSON, modePrint:
	default:
		return fmt.Errorf("--mode must be %q, %q or %q, not %q", modeRPC, modeJSON, modePrint, f.mode)
	}
	if f.thinking != "" && !llm.ThinkingLevel(f.thinking).Valid() {
		return fmt.Errorf("--thinking must be one of %s, not %q", joinLevels(), f.thinking)
	}
	for name, value := range map[string]string{"name": f.name, "session": f.session, "fork": f.fork} {
		if f.set[name] && strings.TrimSpace(value) == "" {
			return fmt.Errorf("--%s requires a non-empty value", name)
		}
	}
	if f.set["session-id"] {
		if err := session.ValidateID(f.sessionID); err != nil {
			return err
		}
	}
	if f.set["durability"] {
		if _, err := session.ParseDurability(f.durability); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	if f.provider != "" && f.model == "" {
		return errors.New("--provider needs --model: name the model too, or use --model provider/id")
	}
	if f.approve && f.noApprove {
		return errors.New("--approve cannot be combined with --no-approve")
	}
	if f.mode == modeRPC && len(f.files) > 0 {
		return errors.New("@file arguments are not supported in RPC mode")
	}
	return f.checkSession()
}

func (f *flags) checkSession() error {
	var chosen []string
	for _, name := range []string{"fork", "session", "continue", "resume", "session-id", "no-session"} {
		if f.set[name] {
			chosen = append(chosen, "--"+name)
		}
	}
	if len(chosen) > 1 && !(len(chosen) == 2 && f.set["session-id"] && (f.set["no-session"] || f.set["fork"])) {
		return fmt.Errorf("%s cannot be combined with %s", chosen[0], chosen[1])
	}
	return nil
}

func joinLevels() string {
	var words []string
	for _, l := range llm.ThinkingLevels() {
		words = append(words, string(l))
	}
	return strings.Join(words, ", ")
}
