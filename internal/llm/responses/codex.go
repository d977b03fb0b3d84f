package responses

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that clients see of ChatGPT subscriptions.
const (
	textNoAccount = "Failed to extract accountId from token"
	textUsage     = "You have hit your ChatGPT usage limit" // and the plan, and when it ends
)

const (
	codexURL = "https://chatgpt.com/backend-api"
	// originator names the program; the backend wants one with every request.
	originator    = "isotope"
	headerAccount = "chatgpt-account-id"
	// accountClaim is the part of a token that names the account.
	accountClaim = "https://api.openai.com/auth"
)

// codex implements llm.Provider for models whose API is openai-codex-responses.
type codex struct {
	client *wire.Client
	now    func() time.Time
}

// NewCodex returns the provider of openai-codex-responses on a client: the backend of
// ChatGPT subscriptions, over an event stream. Keys are tokens of a sign-in. now tells
// the time (nil: time.Now), which usage limits are measured from.
func NewCodex(c *wire.Client, now func() time.Time) llm.Provider {
	if now == nil {
		now = time.Now
	}
	return &codex{c, now}
}

// Stream implements llm.Provider.
func (p *codex) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	events := exchange(ctx, p.client, req, false, func(c *compat) (wire.Request, error) {
		h, err := codexHeaders(req)
		if err != nil {
			return wire.Request{}, err
		}
		b, err := codexBody(req, c)
		return wire.Request{URL: codexEndpoint(req.Model.BaseURL), Header: h, Body: b, Explain: p.explain}, err
	})
	return func(yield func(llm.Event, error) bool) {
		for e, err := range events {
			if !yield(e, p.limited(err)) {
				return
			}
		}
	}
}

// codexEndpoint returns the request's URL; base URLs are given up to different parts of
// the path.
func codexEndpoint(base string) string {
	base = strings.TrimRight(strings.TrimSpace(base), "/")
	switch {
	case base == "":
		base = codexURL
	case strings.HasSuffix(base, "/codex/responses"):
		return base
	case strings.HasSuffix(base, "/codex"):
		return base + path
	}
	return base + "/codex" + path
}

// codexHeaders returns the request's headers. What proves who asks cannot be replaced,
// except that a proxy's own headers may name the account in the token's place.
func codexHeaders(req *llm.Request) (http.Header, error) {
	if req.APIKey == "" {
		return nil, wire.NoKey(req.Model)
	}
	own := map[string]string{"originator": originator}
	if req.SessionID != "" && !req.NoCache {
		session := wire.FirstRunes(req.SessionID, maxCacheKey)
		own["session-id"], own["x-client-request-id"] = session, session
	}
	h := wire.Headers(own, req.Model.Headers, req.Headers, map[string]string{
		"Authorization": "Bearer " + req.APIKey, "OpenAI-Beta": "responses=experimental",
		"Accept": "text/event-stream", "Content-Type": "application/json",
	})
	if h.Get(headerAccount) == "" {
		account := accountOf(req.APIKey)
		if account == "" {
			return nil, &llm.Error{Kind: llm.ErrAuth, Message: textNoAccount}
		}
		h.Set(headerAccount, account)
	}
	return h, nil
}

// accountOf returns the account that a token (a JWT) belongs to, "" when it does not
// say. The token is not verified: the backend does that.
func accountOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return ""
	}
	var claims map[string]jsonx.Raw
	var auth struct {
		Account jsonx.Raw `json:"chatgpt_account_id"`
	}
	if jsonx.Unmarshal(payload, &claims) != nil || jsonx.Unmarshal(claims[accountClaim], &auth) != nil {
		return ""
	}
	return text(auth.Account)
}

// codexBody returns the request's JSON. The system prompt is the first item of the
// input: the backend puts the member "instructions" behind it, where every turn would
// change what the prompt cache has seen.
func codexBody(req *llm.Request, c *compat) (*jsonx.Object, error) {
	var o jsonx.Object
	o.Set("model", req.Model.ID)
	o.Set("store", false)
	o.Set("stream", true)
	update := c.update(req)
	o.Set("input", input(req, c, update))
	o.Set("text", struct {
		Verbosity string `json:"verbosity"`
	}{"low"})
	o.Set("include", []string{"reasoning.encrypted_content"})
	setCacheKey(&o, req, c)
	o.Set("tool_choice", "auto")
	o.Set("parallel_tool_calls", true)
	setCap(&o, req, c)
	if err := setTools(&o, req, allowed(c.SupportsStrictMode), jsonx.Raw("null")); err != nil {
		return nil, err
	}
	effort := codexEffort(req)
	if update != "" {
		effort = updatedEffort
	}
	if effort != "" {
		o.Set("reasoning", reasoning{Effort: effort, Summary: "auto"})
	}
	return &o, nil
}

// codexEffort returns how much a model is to reason in its own words, "" when it is not
// told.
func codexEffort(req *llm.Request) string {
	m, l := req.Model, level(req)
	word, named := m.ThinkingLevelMap[l]
	switch {
	case !m.Reasoning:
	case l != llm.ThinkingOff:
		return m.ProviderThinking(l)
	case !named:
		return "none"
	case word != nil:
		return *word
	}
	return ""
}

// usageLimit is the error of a subscription that is used up for some time.
type usageLimit struct {
	Code     jsonx.Raw `json:"code"`
	Type     jsonx.Raw `json:"type"`
	Plan     jsonx.Raw `json:"plan_type"`
	ResetsAt jsonx.Raw `json:"resets_at"`         // seconds since 1970
	ResetsIn jsonx.Raw `json:"resets_in_seconds"` // from now
}

// limitOf returns the usage limit that an error body reports, nil for another error.
func limitOf(body string) *usageLimit {
	var e struct {
		Error jsonx.Raw `json:"error"`
	}
	var u usageLimit
	if jsonx.Unmarshal([]byte(body), &e) != nil || jsonx.Unmarshal(e.Error, &u) != nil {
		return nil
	}
	for _, raw := range []jsonx.Raw{u.Code, u.Type} {
		switch text(raw) {
		case "usage_limit_reached", "usage_not_included":
			return &u
		}
	}
	return nil
}

// left returns how long the limit holds, 0 when it does not say.
func (u *usageLimit) left(now time.Time) time.Duration {
	if at, err := strconv.ParseFloat(string(u.ResetsAt), 64); err == nil && at > 0 && at < 1e11 {
		return max(0, time.Unix(int64(at), 0).Sub(now))
	}
	if in, err := strconv.ParseFloat(string(u.ResetsIn), 64); err == nil && in > 0 && in < 1e9 {
		return time.Duration(in) * time.Second
	}
	return 0
}

// explain words an error status as the reference does: limits of the subscription in
// plain words, all else as it came.
func (p *codex) explain(status int, body string) (message, code string) {
	message, code = explainerOf("Codex")(status, body)
	u := limitOf(body)
	if u == nil {
		return message, code
	}
	message = textUsage
	if plan := text(u.Plan); plan != "" {
		message += " (" + strings.ToLower(plan) + " plan)"
	}
	message += "."
	if left := u.left(p.now()); left > 0 {
		message += fmt.Sprintf(" Try again in ~%d min.", int64(math.Round(left.Minutes())))
	}
	return message, code
}

// limited adds to the error of a usage limit how long it holds.
func (p *codex) limited(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status == 0 || e.RetryAfter > 0 {
		return err
	}
	if u := limitOf(e.Body); u != nil {
		e.RetryAfter = u.left(p.now())
	}
	return err
}
