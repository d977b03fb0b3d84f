package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

const (
	copilotClient  = "Iv1.b507a08c87ecfe98"
	copilotAgent   = "GitHubCopilotChat/0.35.0"
	copilotAPI     = "https://api.individual.githubcopilot.com"
	copilotVersion = "2026-06-01"
	copilotSlack   = 5 * time.Minute
	copilotModels  = 10 * time.Second // for the list of models, which is not needed
)

// errDomain is the text of a GitHub Enterprise address that is none.
const errDomain = "Invalid GitHub Enterprise URL/domain"

// copilotFlow signs in to GitHub Copilot: a device login at GitHub, whose token is
// exchanged for Copilot's. That token lives for minutes; GitHub's is what is kept to
// renew it. Endpoints of the server: Device, Token, DeviceToken (the exchange), API.
type copilotFlow struct {
	c  *client
	at Endpoints
}

// Info implements Flow.
func (f *copilotFlow) Info() FlowInfo {
	return FlowInfo{ID: "github-copilot", Name: "GitHub Copilot", Subscription: true}
}

// places returns the endpoints of a GitHub domain.
func (f *copilotFlow) places(domain string) Endpoints {
	if domain == "" {
		domain = "github.com"
	}
	return f.at.or(Endpoints{
		Device:      "https://" + domain + "/login/device/code",
		Token:       "https://" + domain + "/login/oauth/access_token",
		DeviceToken: "https://api." + domain + "/copilot_internal/v2/token",
	})
}

func copilotHeader(more map[string]string) map[string]string {
	h := map[string]string{
		"User-Agent": copilotAgent, "Editor-Version": "vscode/1.107.0", "Editor-Plugin-Version": "copilot-chat/0.35.0",
		"Copilot-Integration-Id": "vscode-chat",
	}
	for name, value := range more {
		h[name] = value
	}
	return h
}

// Login implements Flow.
func (f *copilotFlow) Login(ctx context.Context, ui UI) (Login, error) {
	input, err := askText(ctx, ui, "GitHub Enterprise URL/domain (blank for github.com)", "company.ghe.com")
	if err != nil {
		return Login{}, err
	}
	domain, ok := copilotDomain(input)
	if !ok {
		return Login{}, errors.New(errDomain)
	}
	at := f.places(domain)
	header := map[string]string{"User-Agent": copilotAgent}
	g, err := f.c.startDevice(ctx, call{
		who: "GitHub", what: "device code request", url: at.Device, header: header,
		form: url.Values{"client_id": {copilotClient}, "scope": {"read:user"}},
	}, false)
	if err != nil {
		return Login{}, err
	}
	g.show(ui)
	r, err := f.c.deviceToken(ctx, g, call{who: "GitHub", what: "device login", url: at.Token, header: header, form: deviceForm(copilotClient, g.code)})
	if err != nil {
		return Login{}, err
	}
	var t tokens
	if err := r.into(&t); err != nil {
		return Login{}, err
	}
	l, err := f.exchange(ctx, t.Access, domain)
	if err != nil {
		return Login{}, err
	}
	return f.withModels(ctx, ui, l, domain), nil
}

// Renew implements Flow.
func (f *copilotFlow) Renew(ctx context.Context, old Login) (Login, error) {
	domain, _ := copilotDomain(old.member("enterpriseUrl"))
	l, err := f.exchange(ctx, old.Refresh, domain)
	if err != nil {
		return Login{}, err
	}
	return f.withModels(ctx, nil, l, domain), nil
}

// exchange gets Copilot's token for GitHub's.
func (f *copilotFlow) exchange(ctx context.Context, github, domain string) (Login, error) {
	r, err := f.c.do(ctx, call{
		who: "GitHub Copilot", what: "token exchange", method: http.MethodGet, url: f.places(domain).DeviceToken,
		header: copilotHeader(map[string]string{"Authorization": "Bearer " + github}),
	})
	if err != nil {
		return Login{}, err
	}
	var a struct {
		Token   string  `json:"token"`
		Expires float64 `json:"expires_at"`
	}
	if err := r.into(&a); err != nil {
		return Login{}, err
	}
	if a.Token == "" || a.Expires <= 0 || a.Expires > 1e12 {
		return Login{}, fmt.Errorf(errNoToken, r.who, r.what)
	}
	expires := time.UnixMilli(int64(a.Expires * 1000)).Add(-copilotSlack)
	if domain != "" {
		return newLogin(a.Token, github, expires, "enterpriseUrl", domain), nil
	}
	return newLogin(a.Token, github, expires), nil
}

// withModels adds the ids of the models that the account may use. On a login (ui is
// set), those that wait for the account's consent are enabled first. A list that cannot
// be had is not worth a login: the entry then has none.
func (f *copilotFlow) withModels(ctx context.Context, ui UI, l Login, domain string) Login {
	limited, cancel := context.WithTimeout(ctx, copilotModels)
	defer cancel()
	base := first(f.at.API, copilotBase(l.Access, domain))
	models, err := f.models(limited, l.Access, base)
	if err != nil {
		return l
	}
	usable, waiting := copilotPick(models, base == copilotAPI)
	if ui != nil && len(waiting) > 0 {
		progress(ui, "Enabling models...")
		for _, id := range waiting {
			ok, again := f.enable(limited, l.Access, base, id)
			if ok && !slices.Contains(usable, id) {
				usable = append(usable, id)
			}
			if !again {
				break
			}
		}
	}
	if usable == nil {
		usable = []string{}
	}
	extra := []any{"availableModelIds", usable}
	if domain != "" {
		extra = append(extra, "enterpriseUrl", domain)
	}
	return newLogin(l.Access, l.Refresh, l.Expires, extra...)
}

// copilotModel is one model of an account.
type copilotModel struct {
	ID     string `json:"id"`
	Picker bool   `json:"model_picker_enabled"`
	Policy struct {
		State string `json:"state"`
	} `json:"policy"`
	Capabilities struct {
		Supports struct {
			ToolCalls *bool `json:"tool_calls"`
		} `json:"supports"`
	} `json:"capabilities"`
}

func (f *copilotFlow) models(ctx context.Context, token, base string) ([]copilotModel, error) {
	r, err := f.c.do(ctx, call{
		who: "GitHub Copilot", what: "list of models", method: http.MethodGet, url: base + "/models",
		header: copilotHeader(map[string]string{"Authorization": "Bearer " + token, "X-GitHub-Api-Version": copilotVersion}),
	})
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []jsonx.Raw `json:"data"`
	}
	if err := r.into(&list); err != nil {
		return nil, err
	}
	if list.Data == nil {
		return nil, fmt.Errorf(errAnswer, r.who, r.what, r.status)
	}
	var out []copilotModel
	for _, raw := range list.Data {
		var m copilotModel
		tools := true
		if jsonx.Unmarshal(raw, &m) == nil && m.Capabilities.Supports.ToolCalls != nil {
			tools = *m.Capabilities.Supports.ToolCalls
		}
		if m.ID != "" && tools {
			out = append(out, m)
		}
	}
	return out, nil
}

// copilotPick returns the models that can be used and those that wait for consent. Some
// individual accounts have no model in the picker at all: then the policies decide.
func copilotPick(models []copilotModel, individual bool) (usable, waiting []string) {
	picked := slices.ContainsFunc(models, func(m copilotModel) bool { return m.Picker && m.Policy.State != "disabled" })
	byPolicy := individual && !picked
	for _, m := range models {
		if byPolicy && m.Policy.State == "enabled" || m.Picker && m.Policy.State != "disabled" {
			usable = append(usable, m.ID)
		}
		if m.Policy.State == "unconfigured" && (m.Picker || byPolicy) {
			waiting = append(waiting, m.ID)
		}
	}
	return usable, waiting
}

// enable gives the account's consent to a model. again is false when the server has had
// enough.
func (f *copilotFlow) enable(ctx context.Context, token, base, id string) (ok, again bool) {
	r, err := f.c.do(ctx, call{
		who: "GitHub Copilot", what: "enabling a model", url: base + "/models/" + url.PathEscape(id) + "/policy", json: map[string]string{"state": "enabled"},
		header: copilotHeader(map[string]string{"Authorization": "Bearer " + token, "openai-intent": "chat-policy", "x-interaction-type": "chat-policy"}),
	})
	return err == nil && r.ok(), ctx.Err() == nil && r.status != http.StatusTooManyRequests
}

// baseURL implements addressed: the token says where the account's server is.
func (f *copilotFlow) baseURL(l Login) string {
	domain, _ := copilotDomain(l.member("enterpriseUrl"))
	return first(f.at.API, copilotBase(l.Access, domain))
}

// copilotBase returns the API of an account: the token names a proxy beside it.
func copilotBase(token, domain string) string {
	for part := range strings.SplitSeq(token, ";") {
		if host, ok := strings.CutPrefix(part, "proxy-ep="); ok && host != "" && !strings.ContainsAny(host, "/@ ?#") {
			if rest, ok := strings.CutPrefix(host, "proxy."); ok {
				host = "api." + rest
			}
			return "https://" + host
		}
	}
	if domain != "" {
		return "https://copilot-api." + domain
	}
	return copilotAPI
}

// copilotDomain returns the host that a person entered, "" for github.com; ok is false
// for what is none.
func copilotDomain(input string) (domain string, ok bool) {
	input = strings.TrimSpace(input)
	if input == "" {
		return "", true
	}
	if !strings.Contains(input, "://") {
		input = "https://" + input
	}
	u, err := url.Parse(input)
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Hostname(), " %_\\") {
		return "", false
	}
	return strings.ToLower(u.Hostname()), true
}
