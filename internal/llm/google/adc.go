package google

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts of credentials that cannot be used. The file's path follows where there is one.
const (
	textNoADC = "No Google credentials: set GOOGLE_CLOUD_API_KEY, or GOOGLE_APPLICATION_CREDENTIALS to a key file, " +
		"or run gcloud auth application-default login"
	textBadADC   = "reading Google credentials: "
	textADCType  = "Google credentials of this type are not supported: "
	textToken    = "getting a Google access token: "
	textBadToken = textToken + "the answer holds none"
)

const (
	defaultTokenURL = "https://oauth2.googleapis.com/token"
	scope           = "https://www.googleapis.com/auth/cloud-platform"
	tokenLife       = time.Hour
	// tokenSlack is how long before its end a token is replaced.
	tokenSlack = time.Minute
	// maxToken is how many bytes of a token server's answer are read.
	maxToken = 1 << 20
)

// credentials are a file of application default credentials.
type credentials struct {
	Type         string `json:"type"`
	Project      string `json:"project_id"`
	QuotaProject string `json:"quota_project_id"`
	TokenURL     string `json:"token_uri"`
	// Of a service account.
	Email      string `json:"client_email"`
	PrivateKey string `json:"private_key"`
	KeyID      string `json:"private_key_id"`
	// Of a user.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
}

// credentials reads the application default credentials: the file that
// GOOGLE_APPLICATION_CREDENTIALS names, else the one gcloud writes.
func (p *vertex) credentials(req *llm.Request) (*credentials, error) {
	path := p.getenv(req, "GOOGLE_APPLICATION_CREDENTIALS")
	named := path != ""
	if !named {
		dir := p.getenv(req, "CLOUDSDK_CONFIG")
		switch {
		case dir != "":
		case runtime.GOOS == "windows":
			dir = filepath.Join(p.getenv(req, "APPDATA"), "gcloud")
		default:
			dir = filepath.Join(p.getenv(req, "HOME"), ".config", "gcloud")
		}
		path = filepath.Join(dir, "application_default_credentials.json")
	}
	data, err := p.o.ReadFile(path)
	switch {
	case err != nil && named:
		return nil, &llm.Error{Kind: llm.ErrAuth, Message: textBadADC + err.Error(), Err: err}
	case err != nil:
		return nil, &llm.Error{Kind: llm.ErrAuth, Message: textNoADC, Err: err}
	}
	var c credentials
	if jsonx.Unmarshal(data, &c) != nil { // what is wrong may quote a secret
		return nil, &llm.Error{Kind: llm.ErrAuth, Message: textBadADC + path + ": not the JSON of a key file"}
	}
	if c.TokenURL == "" {
		c.TokenURL = defaultTokenURL
	}
	return &c, nil
}

// tokens keeps access tokens until shortly before their end. One request at a time asks
// for one; the others wait for it.
type tokens struct {
	turn  chan struct{}
	known map[string]accessToken // by what identifies the credentials
}

type accessToken struct {
	value string
	until time.Time
}

func newTokens() tokens {
	return tokens{turn: make(chan struct{}, 1), known: map[string]accessToken{}}
}

// get returns an access token for c.
func (t *tokens) get(ctx context.Context, client *wire.Client, c *credentials, now func() time.Time) (string, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", wire.Aborted(ctx, wire.TextAborted)
	}
	id := strings.Join([]string{c.TokenURL, c.Email, c.KeyID, c.ClientID, c.RefreshToken}, "\n")
	if known, ok := t.known[id]; ok && now().Add(tokenSlack).Before(known.until) {
		return known.value, nil
	}
	fresh, err := c.fetch(ctx, client, now())
	if err != nil {
		return "", err
	}
	t.known[id] = fresh
	return fresh.value, nil
}

// drop forgets a token.
func (t *tokens) drop(token string) {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	for id, known := range t.known {
		if known.value == token {
			delete(t.known, id)
		}
	}
}

// fetch asks for an access token. The error never holds a secret.
func (c *credentials) fetch(ctx context.Context, client *wire.Client, now time.Time) (accessToken, error) {
	form := url.Values{}
	var secrets []string
	switch c.Type {
	case "service_account":
		jwt, err := c.assertion(now)
		if err != nil {
			return accessToken{}, &llm.Error{Kind: llm.ErrAuth, Message: textBadADC + err.Error(), Err: err}
		}
		form.Set("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
		form.Set("assertion", jwt)
		secrets = []string{jwt}
	case "authorized_user":
		form.Set("grant_type", "refresh_token")
		form.Set("client_id", c.ClientID)
		form.Set("client_secret", c.ClientSecret)
		form.Set("refresh_token", c.RefreshToken)
		secrets = []string{c.RefreshToken, c.ClientSecret}
	default:
		return accessToken{}, &llm.Error{Kind: llm.ErrAuth, Message: textADCType + c.Type}
	}
	resp, err := client.Post(ctx, wire.Request{
		URL: c.TokenURL, Header: wire.Headers(map[string]string{"Content-Type": "application/x-www-form-urlencoded"}),
		Body: []byte(form.Encode()), Private: true,
	})
	if err != nil {
		return accessToken{}, tokenError(llm.AsError(err), secrets)
	}
	defer resp.Close()
	return readToken(resp, now)
}

// readToken reads the answer of a token server.
func readToken(resp *wire.Response, now time.Time) (accessToken, error) {
	data, err := io.ReadAll(io.LimitReader(resp, maxToken))
	if err != nil {
		return accessToken{}, err
	}
	var answer struct {
		Token   lax    `json:"access_token"`
		Expires number `json:"expires_in"`
	}
	if jsonx.Unmarshal(data, &answer) != nil || answer.Token == "" {
		return accessToken{}, &llm.Error{Kind: llm.ErrAuth, Message: textBadToken}
	}
	life := time.Duration(answer.Expires.value) * time.Second
	if life <= 0 || life > tokenLife*24 {
		life = tokenLife
	}
	return accessToken{string(answer.Token), now.Add(life)}, nil
}

// tokenError words a failure of the token server. What it refuses is refused for good.
func tokenError(e *llm.Error, secrets []string) *llm.Error {
	out := *e
	if e.Kind == llm.ErrAborted {
		return &out
	}
	out.Message = textToken + e.Message
	if e.Status >= 400 && e.Status < 500 && e.Kind != llm.ErrRateLimit {
		out.Kind = llm.ErrAuth
	}
	for _, s := range secrets {
		if s != "" {
			out.Message = strings.ReplaceAll(out.Message, s, wire.Redacted)
			out.Body = strings.ReplaceAll(out.Body, s, wire.Redacted)
		}
	}
	return &out
}

// assertion returns a signed claim of the service account, valid for an hour (RFC 7523).
func (c *credentials) assertion(now time.Time) (string, error) {
	key, err := c.key()
	if err != nil {
		return "", err
	}
	header, err := jsonx.Marshal(struct {
		Alg string `json:"alg"`
		Typ string `json:"typ"`
		Kid string `json:"kid,omitzero"`
	}{"RS256", "JWT", c.KeyID})
	if err != nil {
		return "", err
	}
	claims, err := jsonx.Marshal(struct {
		Iss   string `json:"iss"`
		Scope string `json:"scope"`
		Aud   string `json:"aud"`
		Iat   int64  `json:"iat"`
		Exp   int64  `json:"exp"`
	}{c.Email, scope, c.TokenURL, now.Unix(), now.Add(tokenLife).Unix()})
	if err != nil {
		return "", err
	}
	signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(signed))
	sig, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", err
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(sig), nil
}

var errKey = errors.New("the private key of the service account is no RSA key")

func (c *credentials) key() (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(c.PrivateKey))
	if block == nil {
		return nil, errKey
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errKey
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errKey
	}
	return key, nil
}
