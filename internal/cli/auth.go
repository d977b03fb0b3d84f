package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/isotope-agent/isotope/internal/auth"
)

// Texts of the sub-command auth.
const (
	textAuthUsage    = "isotope auth needs one of: login PROVIDER, logout PROVIDER, list"
	textWhoToLogin   = "isotope auth login needs a provider. These have a login: %s. For others it stores an API key"
	textWhoToLogout  = "isotope auth logout needs a provider: see isotope auth list"
	textNotLoggedOut = "Nothing was stored for %s"
	textStillThere   = "A key for %s still comes from %s"
	textNoAccounts   = "No credentials yet. Run isotope auth login PROVIDER, or set a provider's variable such as ANTHROPIC_API_KEY"
)

// verbs of the sub-command.
var authVerbs = []string{"login", "logout", "list"}

// wantsAuth reports whether the line is the sub-command "auth": that word first, alone or
// before one of its verbs, without a mode.
func (f *flags) wantsAuth(args []string) bool {
	if len(args) < 2 || args[1] != "auth" || f.set["mode"] || f.print {
		return false
	}
	return len(f.args) == 1 || slices.Contains(authVerbs, f.args[1])
}

// auth runs the sub-command. Its answers are on stdout, its questions on stderr.
func (a *app) auth(ctx context.Context) int {
	verb, provider := "", ""
	if len(a.flags.args) > 1 {
		verb = a.flags.args[1]
	}
	if len(a.flags.args) > 2 {
		provider = a.flags.args[2]
	}
	var err error
	switch {
	case len(a.flags.args) > 3 || verb == "list" && provider != "":
		err = errors.New(textAuthUsage)
	case verb == "login":
		err = a.login(ctx, provider)
	case verb == "logout":
		err = a.logout(ctx, provider)
	case verb == "list":
		return written(0, a.listAccounts(a.std.out))
	default:
		err = errors.New(textAuthUsage)
	}
	if ctx.Err() != nil {
		return code(ctx, false, true)
	}
	if err != nil {
		return failed(a.std.err, err)
	}
	return exitOK
}

// login signs in to a provider, or stores an API key: --api-key's, or one that is typed
// in or piped.
func (a *app) login(ctx context.Context, provider string) error {
	if provider == "" {
		var names []string
		for _, f := range a.keys.OAuthProviders() {
			names = append(names, f.ID)
		}
		return fmt.Errorf(textWhoToLogin, strings.Join(names, ", "))
	}
	ui := newTerminal(a.std)
	kind, err := a.loginType(ctx, provider, ui)
	if err != nil {
		return err
	}
	res, err := a.keys.Login(ctx, auth.LoginRequest{Provider: provider, Type: kind}, ui)
	switch {
	case err != nil:
		return err
	case res.Cancelled:
		return auth.ErrCancelled
	}
	fmt.Fprintf(a.std.out, "Logged in to %s. Stored in %s\n", provider, a.keys.Path(a.home))
	return nil
}

// loginType returns how to log in to a provider. Where there are two ways a person is
// asked; what is on the command line or in a pipe can only be a key.
func (a *app) loginType(ctx context.Context, provider string, ui *terminal) (string, error) {
	types, err := a.keys.LoginTypes(provider)
	if err != nil {
		return "", err
	}
	ui.given = a.flags.apiKey
	takesKey := slices.Contains(types, auth.LoginKey)
	switch {
	case takesKey && (ui.given != "" || !a.std.inTerm):
		return auth.LoginKey, nil
	case len(types) == 1:
		return types[0], nil
	}
	return ui.Ask(ctx, auth.Question{Method: auth.MethodSelect, Prompt: auth.Prompt{Message: "How", Options: []auth.Option{
		{ID: auth.LoginOAuth, Label: "sign in with the browser"}, {ID: auth.LoginKey, Label: "store an API key"},
	}}})
}

func (a *app) logout(ctx context.Context, provider string) error {
	if provider == "" {
		return errors.New(textWhoToLogout)
	}
	stored := slices.Contains(a.keys.Stored(), provider)
	left, err := a.keys.Logout(ctx, provider)
	if err != nil {
		return err
	}
	if !stored {
		return fmt.Errorf(textNotLoggedOut, provider)
	}
	fmt.Fprintf(a.std.out, "Logged out of %s\n", provider)
	if left.Configured {
		a.note(fmt.Sprintf(textStillThere, provider, strings.TrimSpace(string(left.Source)+" "+left.Label)))
	}
	return nil
}

// listAccounts prints every credential that exists, without its secret.
func (a *app) listAccounts(out io.Writer) error {
	accounts := a.keys.List(a.models.ProviderIDs())
	for _, fault := range a.keys.Diagnostics() {
		a.warn(fault)
	}
	if len(accounts) == 0 {
		_, err := fmt.Fprintln(out, textNoAccounts)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "provider\ttype\tfrom\texpires\tused")
	for _, c := range accounts {
		from := c.File
		if from == "" {
			from = strings.TrimSpace(string(c.Source) + " " + c.Label)
		}
		kind, expires := c.Type, "-"
		if kind == "" {
			kind = auth.LoginKey
		}
		if c.Expires > 0 {
			expires = time.UnixMilli(c.Expires).UTC().Format("2006-01-02 15:04Z")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Provider, kind, from, expires, yesNo(!c.Shadowed))
	}
	return w.Flush()
}
