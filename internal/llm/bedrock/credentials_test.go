package bedrock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// network answers credential servers from a table by host and path; Bedrock itself
// refuses everything but remembers it.
type network struct {
	answers map[string]string // "" refuses
	asked   []*http.Request
	bodies  []string
	bedrock []*http.Request
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := func(status int, text string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
	if strings.HasSuffix(r.URL.Path, "/converse-stream") {
		n.bedrock = append(n.bedrock, r)
		return answer(http.StatusTeapot, "{}")
	}
	n.asked, n.bodies = append(n.asked, r), append(n.bodies, string(body))
	if text := n.answers[r.URL.Host+r.URL.Path]; text != "" {
		return answer(200, text)
	}
	return answer(403, "refused: "+string(body)+r.Header.Get("Authorization"))
}

const home = "/home/x"

// setup is an environment with files.
type setup struct {
	env, vars map[string]string // of the request's credential, of the process
	files     map[string]string
	answers   map[string]string
	key       string
	id, base  string
}

const standardURL = "https://bedrock-runtime.us-east-1.amazonaws.com"

func (s setup) send(t *testing.T, times ...time.Duration) (*network, *llm.Error) {
	t.Helper()
	n := &network{answers: s.answers}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var trace strings.Builder
	p := New(wire.New(wire.Options{Transport: n, Trace: &trace}), Options{
		Getenv: func(name string) string {
			if name == "HOME" {
				return home
			}
			return s.vars[name]
		},
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := s.files[filepath.ToSlash(path)]; ok {
				return []byte(text), nil
			}
			return nil, fmt.Errorf("open %s: %w", path, os.ErrNotExist)
		},
		Now: func() time.Time { return now },
	})
	m := model("anthropic.claude-v2:0", "")
	m.BaseURL = standardURL
	if s.base != "" {
		m.BaseURL = s.base
	}
	if s.id != "" {
		m.ID = s.id
	}
	req := request(m, user(llm.NewText("hi")))
	req.APIKey, req.Env, req.Headers = s.key, s.env, map[string]string{"X-One": "a  b"}
	var failed error
	for _, wait := range append([]time.Duration{0}, times...) {
		now = now.Add(wait)
		for _, err := range p.Stream(t.Context(), req) {
			failed = err
		}
	}
	for _, text := range append(slices.Collect(maps.Values(s.answers)), n.bodies...) {
		if text != "" && strings.Contains(trace.String(), text) {
			t.Errorf("--debug-http shows %s in\n%s", text, trace.String())
		}
	}
	return n, llm.AsError(failed)
}

// The expected signature was computed by a program of its own.
func TestSignature(t *testing.T) {
	n, _ := setup{vars: map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
		"AWS_SESSION_TOKEN": "session-token-1",
	}}.send(t)
	if len(n.bedrock) != 1 {
		t.Fatalf("%d requests", len(n.bedrock))
	}
	r := n.bedrock[0]
	want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/bedrock/aws4_request, " +
		"SignedHeaders=accept;content-length;content-type;host;x-amz-date;x-amz-security-token;x-one, " +
		"Signature=27fabdd8940a61406f04364fff88115a94248005c10de3c1491bc53eba6c8c46"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if r.URL.String() != "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude-v2%3A0/converse-stream" {
		t.Errorf("sent to %s", r.URL)
	}
	if r.Header.Get("X-Amz-Date") != "20260102T030405Z" || r.Header.Get("X-Amz-Security-Token") != "session-token-1" {
		t.Errorf("%v", r.Header)
	}
}

const (
	credentialsFile = "# keys\n[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key=secret-default\n\n[ work ]\naws_access_key_id=AKWORK\naws_secret_access_key = secret-work ; a comment\naws_session_token=token-work\n"
	configFile      = "[default]\nregion = ap-south-1\n[profile work]\nregion=eu-north-1\ns3 =\n  region = inner\n[profile sso]\nsso_start_url = https://x\nregion = eu-west-3\n"
)

func files() map[string]string {
	return map[string]string{
		home + "/.aws/credentials": credentialsFile, home + "/.aws/config": strings.ReplaceAll(configFile, "\n", "\r\n"),
		"/web/token": " web-token-1\n", "/pod/token": "pod-token-1\n", "/elsewhere": "[work]\naws_access_key_id=AKELSEWHERE\naws_secret_access_key=s\n",
	}
}

const (
	issuedByRole = `{"AssumeRoleWithWebIdentityResponse":{"AssumeRoleWithWebIdentityResult":{"Credentials":
		{"AccessKeyId":"AKROLE","SecretAccessKey":"s","SessionToken":"t","Expiration":1.767326645E9}}}}`
	issuedToContainer = `{"AccessKeyId":"AKCONTAINER","SecretAccessKey":"s","Token":"t","Expiration":"2026-01-02T04:04:05Z"}`
)

func TestCredentials(t *testing.T) {
	keysOf := map[string]string{"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "secret-env"}
	with := func(more ...string) map[string]string {
		out := map[string]string{}
		for k, v := range keysOf {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	role := map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/web/token", "AWS_ROLE_ARN": "arn:role", "AWS_REGION": "eu-west-1"}
	answers := map[string]string{
		"sts.eu-west-1.amazonaws.com/": issuedByRole, "169.254.170.2/v2/x": issuedToContainer, "pod.invalid/keys": issuedToContainer,
	}
	for _, tt := range []struct {
		name string
		s    setup
		want string // the host's region and the key's id or token
	}{
		{"the API key of Bedrock", setup{key: "bedrock-key", vars: keysOf}, "us-east-1 Bearer bedrock-key"},
		{"in the environment", setup{vars: with("AWS_BEARER_TOKEN_BEDROCK", "env-key")}, "us-east-1 Bearer env-key"},
		{"a marker of a key store is none", setup{key: "<authenticated>", vars: keysOf}, "us-east-1 AKENV"},
		{"keys of the environment", setup{vars: with("AWS_DEFAULT_REGION", "eu-west-2")}, "eu-west-2 AKENV"},
		{"keys win over a profile of the environment", setup{vars: with("AWS_PROFILE", "work"), files: files()}, "eu-north-1 AKENV"},
		{"a profile of the credential wins over keys", setup{env: map[string]string{"AWS_PROFILE": "work"}, vars: keysOf, files: files()}, "eu-north-1 AKWORK"},
		{"a profile", setup{vars: map[string]string{"AWS_PROFILE": "work", "AWS_REGION": "ca-central-1"}, files: files()}, "ca-central-1 AKWORK"},
		{"a profile in a file elsewhere", setup{vars: map[string]string{"AWS_PROFILE": "work", "AWS_SHARED_CREDENTIALS_FILE": "/elsewhere"}, files: files()}, "eu-north-1 AKELSEWHERE"},
		{"the default profile, whose region nobody asked for", setup{files: files()}, "us-east-1 AKDEFAULT"},
		{"a role", setup{vars: role, files: files(), answers: answers}, "eu-west-1 AKROLE"},
		{"a container", setup{vars: map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x"}, answers: answers}, "us-east-1 AKCONTAINER"},
		{
			"a pod",
			setup{vars: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://pod.invalid/keys", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "/pod/token"}, files: map[string]string{"/pod/token": "pod-token-1\n"}, answers: answers},
			"us-east-1 AKCONTAINER",
		},
		{"a proxy that adds its own", setup{key: "key", vars: with("AWS_BEDROCK_SKIP_AUTH", "1")}, "us-east-1 dummy-access-key"},
		{"the region of an ARN", setup{id: "arn:aws:bedrock:eu-south-1:1:inference-profile/x", vars: with("AWS_REGION", "eu-west-2")}, "eu-south-1 AKENV"},
		{"the region of the catalogue", setup{base: "https://bedrock-runtime.eu-central-1.amazonaws.com", vars: keysOf}, "eu-central-1 AKENV"},
		{"China", setup{vars: with("AWS_REGION", "cn-north-1")}, "cn-north-1.amazonaws.com.cn AKENV"},
		{"FIPS", setup{base: "https://bedrock-runtime-fips.us-west-2.amazonaws.com", vars: keysOf}, "us-west-2 AKENV"},
		{"a URL of one's own", setup{base: "http://proxy.invalid/aws/", vars: with("AWS_REGION", "eu-west-2")}, "proxy.invalid AKENV"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, e := tt.s.send(t)
			if len(n.bedrock) != 1 {
				t.Fatalf("%d requests: %v", len(n.bedrock), e)
			}
			r := n.bedrock[0]
			place := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(r.URL.Host, "bedrock-runtime."), "bedrock-runtime-fips."), ".amazonaws.com")
			auth := r.Header.Get("Authorization")
			if _, credential, ok := strings.Cut(auth, "Credential="); ok {
				auth, _, _ = strings.Cut(credential, "/")
			}
			if got := place + " " + auth; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCredentialServers(t *testing.T) {
	s := setup{
		vars:    map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/web/token", "AWS_ROLE_ARN": "arn:role", "AWS_ROLE_SESSION_NAME": "me", "AWS_REGION": "eu-west-1"},
		files:   files(),
		answers: map[string]string{"sts.eu-west-1.amazonaws.com/": issuedByRole},
	}
	n, _ := s.send(t, 30*time.Minute, 29*time.Minute)
	want := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {"arn:role"}, "RoleSessionName": {"me"}, "WebIdentityToken": {"web-token-1"},
	}
	if len(n.bodies) != 2 || n.bodies[0] != want.Encode() || n.asked[0].Method != http.MethodPost {
		t.Errorf("asked %d times: %q", len(n.bodies), n.bodies)
	}
	s = setup{
		vars:    map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://pod.invalid/keys", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "pod-token-2"},
		answers: map[string]string{"pod.invalid/keys": issuedToContainer},
	}
	n, _ = s.send(t, time.Minute)
	if len(n.asked) != 1 || n.asked[0].Method != http.MethodGet || n.asked[0].Header.Get("Authorization") != "pod-token-2" {
		t.Errorf("%d requests, %v", len(n.asked), n.asked)
	}
}

func TestCredentialErrors(t *testing.T) {
	role := map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/web/token", "AWS_ROLE_ARN": "arn:role", "AWS_REGION": "eu-west-1"}
	for _, tt := range []struct {
		name string
		s    setup
		want string
	}{
		{"nothing at all", setup{}, textNoKeys},
		{"an unknown profile", setup{vars: map[string]string{"AWS_PROFILE": "nobody"}, files: files()}, "AWS profile nobody was not found"},
		{"a profile of SSO", setup{vars: map[string]string{"AWS_PROFILE": "sso"}, files: files()}, "AWS profile sso has no keys of its own (SSO, roles and processes are not followed): run aws configure export-credentials and set what it prints"},
		{"no token file", setup{vars: role}, "reading AWS credentials: open /web/token: file does not exist"},
		{"refused", setup{vars: role, files: files()}, "reading AWS credentials: 403 refused: Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Arole&RoleSessionName=isotope-1767323045&Version=2011-06-15&WebIdentityToken=[redacted]"},
		{"no keys in the answer", setup{vars: role, files: files(), answers: map[string]string{"sts.eu-west-1.amazonaws.com/": `{}`}}, "reading AWS credentials: the answer holds no keys"},
		{"no JSON in the answer", setup{vars: role, files: files(), answers: map[string]string{"sts.eu-west-1.amazonaws.com/": `<xml>`}}, "reading AWS credentials: the answer holds no keys"},
		{"a container that refuses", setup{vars: map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/x", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "pod-token-1"}}, "reading AWS credentials: 403 refused: [redacted]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, e := tt.s.send(t)
			if e == nil || e.Message != tt.want || e.Kind != llm.ErrAuth || len(n.bedrock) > 0 {
				t.Errorf("got  %+v\nwant %s", e, tt.want)
			}
		})
	}
}

func TestWaitingForKeysCanBeCancelled(t *testing.T) {
	c := newCache()
	c.turn <- struct{}{}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, err := c.get(ctx, "x", time.Now, func() (keys, error) { return keys{}, nil })
	if e := llm.AsError(err); e == nil || e.Kind != llm.ErrAborted || !errors.Is(e, cause) {
		t.Errorf("%v", err)
	}
}

// A server that echoes a session token does not make it known.
func TestSessionTokenIsNotShown(t *testing.T) {
	n := &echo{}
	p := New(wire.New(wire.Options{Transport: n}), Options{Getenv: func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "secret-env", "AWS_SESSION_TOKEN": "session-token-1"}[name]
	}})
	req := request(model("m", ""), user(llm.NewText("hi")))
	req.APIKey = ""
	for _, err := range p.Stream(t.Context(), req) {
		e := llm.AsError(err)
		if e == nil || strings.Contains(e.Message+e.Body, "session-token-1") || !strings.Contains(e.Message, wire.Redacted) {
			t.Errorf("%+v", e)
		}
	}
}

type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.NopCloser(strings.NewReader(`{"message":"x-amz-security-token:` + r.Header.Get("X-Amz-Security-Token") + `"}`))
	h := http.Header{"X-Amzn-Errortype": {"InvalidSignatureException"}}
	return &http.Response{StatusCode: 403, Header: h, Body: body}, nil
}

func TestSections(t *testing.T) {
	file := "a=0\n[x]\n# a=1\n; a=2\na = 3 # comment\nB=4\n c=5\nodd\n[[y]\na=6\n[x ]\nd=\n"
	want := map[string]string{"a": "3", "b": "4", "d": ""}
	if diff := cmp.Diff(want, sectionOf(file, "x")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever stands in a file, reading it ends.
func FuzzSections(f *testing.F) {
	f.Add(credentialsFile)
	f.Add(configFile)
	f.Fuzz(func(t *testing.T, file string) {
		for key := range sectionOf(file, "default") {
			if key != strings.ToLower(key) {
				t.Errorf("name %q", key)
			}
		}
	})
}
