package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Texts of Google's logins.
const (
	textGoogle = "Google signs people in for a client of their own: make an OAuth client of type \"Desktop app\" in your project, and download its file."

	askGoogleClient   = "OAuth client: the path of its JSON file, or its ID"
	askGoogleSecret   = "Secret of the OAuth client (empty for none)"
	askGoogleProject  = "Google Cloud project ID"
	askGoogleLocation = "Google Cloud location"
	errGoogleFile     = "Google: the OAuth client in %s cannot be used: %s"
	textNoJSON        = "it is not JSON"
	textNotDesktop    = "it is not the file of a client for desktop apps"
	errGoogleAgain    = "Google: the stored login names no OAuth client: log in again"
	googleClientPage  = "https://ai.google.dev/gemini-api/docs/oauth"
)

const (
	googleCloud    = "https://www.googleapis.com/auth/cloud-platform"
	googleGemini   = "https://www.googleapis.com/auth/generative-language.retriever"
	googleSlack    = time.Minute
	googleLocation = "global" // where nobody says another one
)

// The variables that say which client, project and location.
const (
	envGoogleClient   = "GOOGLE_OAUTH_CLIENT_ID"
	envGoogleSecret   = "GOOGLE_OAUTH_CLIENT_SECRET"
	envGoogleProject  = "GOOGLE_CLOUD_PROJECT"
	envGoogleProject2 = "GCLOUD_PROJECT"
	envGoogleLocation = "GOOGLE_CLOUD_LOCATION"
)

func googleEndpoints() Endpoints {
	return Endpoints{
		Authorize: "https://accounts.google.com/o/oauth2/v2/auth",
		Token:     "https://oauth2.googleapis.com/token",
		Redirect:  "http://127.0.0.1:0/oauth2callback",
	}
}

// googleFlow signs in to the Gemini API or to Vertex AI with a Google account: PKCE with
// the browser's callback, for an OAuth client of the person's own. Client, project and
// location are kept beside the tokens.
type googleFlow struct {
	c      *client
	opt    FlowOptions
	at     Endpoints
	info   FlowInfo
	vertex bool
}

func googleFlows(c *client, o FlowOptions) []Flow {
	gemini := FlowInfo{ID: "google", Name: "Google (Gemini API)", LoginLabel: "Sign in with Google", CallbackServer: true}
	vertex := FlowInfo{ID: "google-vertex", Name: "Google Cloud (Vertex AI)", LoginLabel: "Sign in with Google Cloud", CallbackServer: true}
	return []Flow{
		&googleFlow{c, o, o.Endpoints[gemini.ID].or(googleEndpoints()), gemini, false},
		&googleFlow{c, o, o.Endpoints[vertex.ID].or(googleEndpoints()), vertex, true},
	}
}

// Info implements Flow.
func (f *googleFlow) Info() FlowInfo { return f.info }

// googleClient is an OAuth client.
type googleClient struct {
	ID      string `json:"client_id"`
	Secret  string `json:"client_secret"`
	Project string `json:"project_id"`
}

// Login implements Flow.
func (f *googleFlow) Login(ctx context.Context, ui UI) (Login, error) {
	own, err := f.client(ctx, ui)
	if err != nil {
		return Login{}, err
	}
	env, err := f.place(ctx, ui, own.Project)
	if err != nil {
		return Login{}, err
	}
	verifier, challenge := newPKCE()
	state := randomText(32)
	cb, err := listen("Google", f.opt.CallbackHost, f.at.Redirect, state)
	if err != nil {
		return Login{}, err
	}
	defer cb.close()
	scope := googleCloud
	if !f.vertex {
		scope += " " + googleGemini
	}
	openPage(ui, f.at.Authorize+"?"+url.Values{
		"client_id": {own.ID}, "response_type": {"code"}, "redirect_uri": {cb.redirect}, "scope": {scope}, "state": {state},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"},
		// without both there is no refresh token
		"access_type": {"offline"}, "prompt": {"consent"},
	}.Encode(), textBrowser)
	q, err := await(ctx, ui, cb, "Google", state, Prompt{Message: textPaste, Placeholder: cb.redirect})
	if err != nil {
		return Login{}, err
	}
	progress(ui, textExchange)
	return f.token(ctx, "token exchange", "", own, url.Values{
		"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "code_verifier": {verifier}, "redirect_uri": {cb.redirect},
	}, "env", env)
}

// client returns the client to sign in for: that of the variables, else the one that the
// person names.
func (f *googleFlow) client(ctx context.Context, ui UI) (googleClient, error) {
	if id := f.variable(envGoogleClient); id != "" {
		return googleClient{ID: id, Secret: f.variable(envGoogleSecret)}, nil
	}
	ui.Notify(Notice{Method: MethodInfo, Message: textGoogle, Links: []Link{{"How to make one", googleClientPage}}})
	answer, err := askText(ctx, ui, askGoogleClient, "client_secret.json")
	if err != nil {
		return googleClient{}, err
	}
	if answer == "" {
		return googleClient{}, fmt.Errorf(errEmptyField, askGoogleClient)
	}
	data, err := os.ReadFile(atHome(answer))
	if err == nil {
		return clientFile(answer, data)
	}
	if !strings.HasSuffix(answer, ".apps.googleusercontent.com") { // what all IDs end with
		return googleClient{}, fmt.Errorf(errGoogleFile, answer, reason(err))
	}
	secret, err := ui.Ask(ctx, Question{Method: MethodPrompt, Prompt: Prompt{Message: askGoogleSecret}, Secret: true})
	return googleClient{ID: answer, Secret: strings.TrimSpace(secret)}, err
}

// atHome returns a path that a person typed, with the home directory for "~".
func atHome(path string) string {
	rest, short := strings.CutPrefix(path, "~"+string(os.PathSeparator))
	home, err := os.UserHomeDir()
	if !short || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// clientFile reads the file of a client as it can be downloaded. No error shows a secret.
func clientFile(path string, data []byte) (googleClient, error) {
	var file struct {
		Installed googleClient `json:"installed"`
	}
	if jsonx.Unmarshal(data, &file) != nil {
		return googleClient{}, fmt.Errorf(errGoogleFile, path, textNoJSON)
	}
	if file.Installed.ID == "" {
		return googleClient{}, fmt.Errorf(errGoogleFile, path, textNotDesktop)
	}
	return file.Installed, nil
}

// place returns the variables that go with the login: the project that pays, which the
// Gemini API can do without, and where Vertex AI is to run.
func (f *googleFlow) place(ctx context.Context, ui UI, project string) (map[string]string, error) {
	project = first(f.variable(envGoogleProject), f.variable(envGoogleProject2), project)
	var err error
	if project == "" {
		if project, err = askText(ctx, ui, askGoogleProject, ""); err != nil {
			return nil, err
		}
	}
	env := map[string]string{}
	switch {
	case project != "":
		env[envGoogleProject] = project
	case f.vertex:
		return nil, fmt.Errorf(errEmptyField, askGoogleProject)
	}
	if !f.vertex {
		return env, nil
	}
	location := f.variable(envGoogleLocation)
	if location == "" {
		if location, err = askText(ctx, ui, askGoogleLocation, googleLocation); err != nil {
			return nil, err
		}
	}
	env[envGoogleLocation] = first(location, googleLocation)
	return env, nil
}

func (f *googleFlow) variable(name string) string {
	value, _ := f.opt.Env(name)
	return strings.TrimSpace(value)
}

// Renew implements Flow.
func (f *googleFlow) Renew(ctx context.Context, old Login) (Login, error) {
	own := googleClient{ID: old.member("clientId"), Secret: old.member("clientSecret")}
	if own.ID == "" {
		return Login{}, errors.New(errGoogleAgain)
	}
	return f.token(ctx, "token refresh", old.Refresh, own, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
}

func (f *googleFlow) token(ctx context.Context, what, kept string, own googleClient, form url.Values, extra ...any) (Login, error) {
	form.Set("client_id", own.ID)
	if own.Secret != "" {
		form.Set("client_secret", own.Secret)
	}
	r, err := f.c.do(ctx, call{who: "Google", what: what, url: f.at.Token, form: form})
	if err != nil {
		return Login{}, err
	}
	t, expires, err := r.tokens(f.c.now(), kept, 0, googleSlack)
	if err != nil {
		return Login{}, err
	}
	return newLogin(t.Access, t.Refresh, expires, append([]any{"clientId", own.ID, "clientSecret", own.Secret}, extra...)...), nil
}

// bear implements bearing: a token is no key here, and the project that pays is named.
func (f *googleFlow) bear(c Credential) Credential {
	c.Headers = map[string]string{"Authorization": "Bearer " + c.APIKey}
	if project := c.Env[envGoogleProject]; project != "" {
		c.Headers["x-goog-user-project"] = project
	}
	c.APIKey = ""
	return c
}
