package bedrock

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// keys sign requests; until is the zero time for those without an end.
type keys struct {
	id, secret, token string
	until             time.Time
}

// keySlack is how long before their end keys are replaced.
const keySlack = 2 * time.Minute

// maxAnswer is how many bytes of a credential server's answer are read.
const maxAnswer = 1 << 20

// credentials returns the keys to sign with, from the first place that has any: a
// profile that the request's own credential names, the environment, the profile that
// the environment names, a web identity, the default profile, the container.
func (c *call) credentials(ctx context.Context, region string) (keys, error) {
	if c.getenv("AWS_BEDROCK_SKIP_AUTH") == "1" { // a proxy adds its own
		return keys{id: "dummy-access-key", secret: "dummy-secret-key"}, nil
	}
	if name := c.req.Env["AWS_PROFILE"]; name != "" {
		return c.profileKeys(name)
	}
	if id, secret := c.getenv("AWS_ACCESS_KEY_ID"), c.getenv("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" {
		return keys{id: id, secret: secret, token: c.getenv("AWS_SESSION_TOKEN")}, nil
	}
	if name := c.getenv("AWS_PROFILE"); name != "" {
		return c.profileKeys(name)
	}
	if file, role := c.getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), c.getenv("AWS_ROLE_ARN"); file != "" && role != "" {
		return c.cache.get(ctx, "role "+role, c.o.Now, func() (keys, error) { return c.webIdentity(ctx, file, role, region) })
	}
	if k, ok := ownKeys(c.profile("default")); ok {
		return k, nil
	}
	if source := c.containerURL(); source != "" {
		return c.cache.get(ctx, "container "+source, c.o.Now, func() (keys, error) { return c.container(ctx, source) })
	}
	return keys{}, &llm.Error{Kind: llm.ErrAuth, Message: textNoKeys}
}

// cache keeps keys that have an end. One request at a time asks for new ones; the
// others wait for it.
type cache struct {
	turn  chan struct{}
	known map[string]keys
}

func newCache() cache { return cache{turn: make(chan struct{}, 1), known: map[string]keys{}} }

func (c *cache) get(ctx context.Context, source string, now func() time.Time, fetch func() (keys, error)) (keys, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return keys{}, wire.Aborted(ctx, wire.TextAborted)
	}
	if k, ok := c.known[source]; ok && now().Add(keySlack).Before(k.until) {
		return k, nil
	}
	k, err := fetch()
	if err == nil {
		c.known[source] = k
	}
	return k, err
}

// webIdentity exchanges the token of a workload for the keys of a role.
func (c *call) webIdentity(ctx context.Context, file, role, region string) (keys, error) {
	token, err := c.o.ReadFile(file)
	if err != nil {
		return keys{}, &llm.Error{Kind: llm.ErrAuth, Message: textCredentials + err.Error(), Err: err}
	}
	name := c.getenv("AWS_ROLE_SESSION_NAME")
	if name == "" {
		name = "isotope-" + strconv.FormatInt(c.o.Now().Unix(), 10)
	}
	domain := ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	secret := strings.TrimSpace(string(token))
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"},
		"RoleArn": {role}, "RoleSessionName": {name}, "WebIdentityToken": {secret},
	}
	data, err := c.fetch(ctx, wire.Request{
		URL: "https://sts." + region + domain + "/", Body: []byte(form.Encode()),
		Header: wire.Headers(map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}),
	}, secret)
	if err != nil {
		return keys{}, err
	}
	var answer struct {
		Response struct {
			Result struct {
				Credentials issued `json:"Credentials"`
			} `json:"AssumeRoleWithWebIdentityResult"`
		} `json:"AssumeRoleWithWebIdentityResponse"`
	}
	if jsonx.Unmarshal(data, &answer) != nil {
		return keys{}, answerError()
	}
	return answer.Response.Result.Credentials.keys(c.o.Now())
}

// containerURL returns where a container asks for keys, "" outside of one.
func (c *call) containerURL() string {
	if path := c.getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		return "http://169.254.170.2" + path
	}
	return c.getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
}

func (c *call) container(ctx context.Context, source string) (keys, error) {
	token := c.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if file := c.getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
		data, err := c.o.ReadFile(file)
		if err != nil {
			return keys{}, &llm.Error{Kind: llm.ErrAuth, Message: textCredentials + err.Error(), Err: err}
		}
		token = strings.TrimSpace(string(data))
	}
	data, err := c.fetch(ctx, wire.Request{
		Method: http.MethodGet, URL: source, Header: wire.Headers(map[string]string{"Authorization": token}),
	}, token)
	if err != nil {
		return keys{}, err
	}
	var answer issued
	if jsonx.Unmarshal(data, &answer) != nil {
		return keys{}, answerError()
	}
	return answer.keys(c.o.Now())
}

// fetch asks a credential server. The error never holds the secret.
func (c *call) fetch(ctx context.Context, r wire.Request, secret string) ([]byte, error) {
	r.Private = true
	resp, err := c.client.Post(ctx, r)
	if err == nil {
		defer resp.Close()
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(resp, maxAnswer)); err == nil {
			return data, nil
		}
	}
	e := *llm.AsError(err)
	if e.Kind == llm.ErrAborted {
		return nil, &e
	}
	e.Message = textCredentials + e.Message
	if e.Status >= 400 && e.Status < 500 && e.Kind != llm.ErrRateLimit {
		e.Kind = llm.ErrAuth
	}
	if secret != "" {
		e.Message, e.Body = strings.ReplaceAll(e.Message, secret, wire.Redacted), strings.ReplaceAll(e.Body, secret, wire.Redacted)
	}
	return nil, &e
}

// issued are keys as credential servers send them; the role server counts seconds, the
// container gives a date.
type issued struct {
	ID         jsonx.Raw `json:"AccessKeyId"`
	Secret     jsonx.Raw `json:"SecretAccessKey"`
	Token      jsonx.Raw `json:"SessionToken"`
	Token2     jsonx.Raw `json:"Token"`
	Expiration jsonx.Raw `json:"Expiration"`
}

func (i issued) keys(now time.Time) (keys, error) {
	k := keys{id: text(i.ID), secret: text(i.Secret), token: text(i.Token), until: now.Add(15 * time.Minute)}
	if k.token == "" {
		k.token = text(i.Token2)
	}
	if k.id == "" || k.secret == "" {
		return keys{}, answerError()
	}
	if until, err := time.Parse(time.RFC3339, text(i.Expiration)); err == nil {
		k.until = until
	} else if seconds, err := strconv.ParseFloat(string(i.Expiration), 64); err == nil && seconds > 0 && seconds < 1e11 {
		k.until = time.Unix(int64(seconds), 0)
	}
	return k, nil
}

func answerError() *llm.Error {
	return &llm.Error{Kind: llm.ErrAuth, Message: textCredentials + "the answer holds no keys"}
}
