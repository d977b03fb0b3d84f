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
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

func TestVertexConformance(t *testing.T) {
	p := vertexProtocol()
	p.Dir = filepath.Join("testdata", "vertex")
	llmtest.Run(t, p)
}

func vertexModel(base string) *llm.Model {
	m := model("gemini-3-flash-preview")
	m.API, m.Provider, m.BaseURL = llm.APIGoogleVertex, "google-vertex", base
	return m
}

const catalogueURL = "https://{location}-aiplatform.googleapis.com"

// google is a network of Google's: a token server and Vertex AI, which refuses
// everything but remembers it.
type network struct {
	mu     sync.Mutex
	forms  []url.Values
	seen   []*http.Request
	token  string // the answer of the token server; "" refuses
	status int    // of Vertex AI
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answer := func(status int, text string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
	if strings.Contains(r.URL.Path, "token") {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		n.forms = append(n.forms, form)
		if n.token == "" {
			return answer(400, `{"error":"invalid_grant","error_description":"Bad Request `+form.Get("refresh_token")+`"}`)
		}
		return answer(200, n.token)
	}
	n.seen = append(n.seen, r)
	return answer(n.status, "{}")
}

// send sends one request to Vertex AI and returns its error.
func send(t *testing.T, p llm.Provider, req *llm.Request) *llm.Error {
	t.Helper()
	var failed error
	for _, err := range p.Stream(t.Context(), req) {
		failed = err
	}
	return llm.AsError(failed)
}

func getenv(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestVertexURLs(t *testing.T) {
	env := map[string]string{"GOOGLE_CLOUD_PROJECT": "p 1", "GOOGLE_CLOUD_LOCATION": "europe-west1", "HOME": "/home/x"}
	in := func(location string) map[string]string { return map[string]string{"GOOGLE_CLOUD_LOCATION": location} }
	const path = "/publishers/google/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
	for _, tt := range []struct {
		name, id, base, key string
		env                 map[string]string // of the request
		want                string
	}{
		{"a key needs neither project nor location", "", catalogueURL, "key", nil, "https://aiplatform.googleapis.com/v1" + path},
		{"a region", "", catalogueURL, "", nil, "https://europe-west1-aiplatform.googleapis.com/v1/projects/p%201/locations/europe-west1" + path},
		{"everywhere", "", catalogueURL, ambientKey, in("global"), "https://aiplatform.googleapis.com/v1/projects/p%201/locations/global" + path},
		{"a continent", "", catalogueURL, "<authenticated>", in("eu"), "https://aiplatform.eu.rep.googleapis.com/v1/projects/p%201/locations/eu" + path},
		{"a URL of one's own", "", "http://proxy.invalid/x/", "key", nil, "http://proxy.invalid/x/v1" + path},
		{"one with a version", "", "http://proxy.invalid/v1beta1", "", nil, "http://proxy.invalid/v1beta1" + path},
		{"another publisher", "meta/llama", catalogueURL, "key", nil, "https://aiplatform.googleapis.com/v1/publishers/meta/models/llama:streamGenerateContent?alt=sse"},
		{"a full name", "projects/q/locations/us/endpoints/7", catalogueURL, "", nil, "https://europe-west1-aiplatform.googleapis.com/v1/projects/q/locations/us/endpoints/7:streamGenerateContent?alt=sse"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &network{token: `{"access_token":"tok-12345678","expires_in":3599}`, status: 418}
			p := NewVertex(wire.New(wire.Options{Transport: n}), VertexOptions{
				Getenv: getenv(env), ReadFile: func(string) ([]byte, error) { return []byte(userFile), nil },
			})
			req := request(vertexModel(tt.base), user(llm.NewText("hi")))
			req.APIKey, req.Env = tt.key, tt.env
			if tt.id != "" {
				req.Model.ID = tt.id
			}
			if e := send(t, p, req); e == nil || len(n.seen) != 1 {
				t.Fatalf("%v, %d requests", e, len(n.seen))
			}
			if got := n.seen[0].URL.String(); got != tt.want {
				t.Errorf("sent to %s\nwant    %s", got, tt.want)
			}
			key, token := n.seen[0].Header.Get("X-Goog-Api-Key"), n.seen[0].Header.Get("Authorization")
			if tt.key == "key" && (key != "key" || token != "") || tt.key != "key" && (key != "" || token != "Bearer tok-12345678") {
				t.Errorf("key %q, token %q", key, token)
			}
		})
	}
}

const userFile = `{"type":"authorized_user","client_id":"id","client_secret":"secret-of-client","refresh_token":"refresh-token","quota_project_id":"quota"}`

func TestUserCredentials(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	n := &network{token: `{"access_token":"tok-1","expires_in":3600}`, status: 418}
	var read []string
	p := NewVertex(wire.New(wire.Options{Transport: n}), VertexOptions{
		Getenv: getenv(map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l", "CLOUDSDK_CONFIG": "/cfg"}),
		ReadFile: func(path string) ([]byte, error) {
			read = append(read, path)
			return []byte(userFile), nil
		},
		Now: func() time.Time { return now },
	})
	req := request(vertexModel(catalogueURL), user(llm.NewText("hi")))
	req.APIKey = ""
	for i, wait := range []time.Duration{0, 50 * time.Minute, 9*time.Minute + 30*time.Second} {
		now = now.Add(wait)
		send(t, p, req)
		if want := []int{1, 1, 2}[i]; len(n.forms) != want {
			t.Errorf("after %v: %d tokens asked for, want %d", wait, len(n.forms), want)
		}
	}
	want := url.Values{"grant_type": {"refresh_token"}, "client_id": {"id"}, "client_secret": {"secret-of-client"}, "refresh_token": {"refresh-token"}}
	if got := n.forms[0].Encode(); got != want.Encode() {
		t.Errorf("asked with %s", got)
	}
	if read[0] != filepath.Join("/cfg", "application_default_credentials.json") {
		t.Errorf("read %s", read[0])
	}
	if h := n.seen[0].Header; h.Get("Authorization") != "Bearer tok-1" || h.Get("X-Goog-User-Project") != "quota" {
		t.Errorf("%v", h)
	}
	n.status = 401 // the token was revoked: the next request asks for another
	send(t, p, req)
	if send(t, p, req); len(n.forms) != 3 {
		t.Errorf("%d tokens asked for after a 401, want 3", len(n.forms))
	}
}

func TestServiceAccount(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"PKCS 8": {Type: "PRIVATE KEY", Bytes: pkcs8},
		"PKCS 1": {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := jsonx.Marshal(credentials{
				Type: "service_account", Project: "from-file", Email: "me@x", KeyID: "k1", TokenURL: "http://token.invalid/token",
				PrivateKey: string(pem.EncodeToMemory(block)),
			})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "key.json")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			n := &network{token: `{"access_token":"tok-1"}`, status: 418}
			p := NewVertex(wire.New(wire.Options{Transport: n}), VertexOptions{
				Getenv: getenv(map[string]string{"GOOGLE_CLOUD_LOCATION": "global"}), Now: func() time.Time { return time.Unix(1000, 0) },
			})
			req := request(vertexModel(catalogueURL), user(llm.NewText("hi")))
			req.APIKey, req.Env = "", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": path}
			send(t, p, req)
			if len(n.seen) != 1 || !strings.Contains(n.seen[0].URL.Path, "/projects/from-file/") {
				t.Fatalf("%d requests, %v", len(n.seen), n.seen)
			}
			if got := n.forms[0].Get("grant_type"); got != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
				t.Errorf("grant %q", got)
			}
			checkJWT(t, n.forms[0].Get("assertion"), &key.PublicKey,
				`{"alg":"RS256","typ":"JWT","kid":"k1"}`,
				`{"iss":"me@x","scope":"https://www.googleapis.com/auth/cloud-platform","aud":"http://token.invalid/token","iat":1000,"exp":4600}`)
		})
	}
}

func checkJWT(t *testing.T, jwt string, key *rsa.PublicKey, header, claims string) {
	t.Helper()
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		t.Fatalf("no JWT: %s", jwt)
	}
	var got [3][]byte
	for i, p := range parts {
		var err error
		if got[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			t.Fatal(err)
		}
	}
	if string(got[0]) != header || string(got[1]) != claims {
		t.Errorf("header %s\nclaims %s", got[0], got[1])
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], got[2]); err != nil {
		t.Error(err)
	}
}

func TestVertexErrors(t *testing.T) {
	file := func(text string) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return []byte(text), nil }
	}
	missing := func(path string) ([]byte, error) { return nil, fmt.Errorf("open %s: %w", path, os.ErrNotExist) }
	full := map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"}
	named := map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/k.json"}
	for _, tt := range []struct {
		name  string
		env   map[string]string
		read  func(string) ([]byte, error)
		token string
		want  string
	}{
		{"nothing at all", full, missing, "", textNoADC},
		{"the file is missing", named, missing, "", "reading Google credentials: open /k.json: file does not exist"},
		{"no JSON", named, file(`{"private_key": "-----BEGIN`), "", "reading Google credentials: /k.json: not the JSON of a key file"},
		{"another type", full, file(`{"type":"external_account"}`), "", "Google credentials of this type are not supported: external_account"},
		{"a key that is none", full, file(`{"type":"service_account","private_key":"secret"}`), "", "reading Google credentials: the private key of the service account is no RSA key"},
		{"refused", full, file(userFile), "", `getting a Google access token: 400 {"error":"invalid_grant","error_description":"Bad Request [redacted]"}`},
		{"no token", full, file(userFile), `{}`, textBadToken},
		{"no project", map[string]string{"GOOGLE_CLOUD_LOCATION": "l"}, file(userFile), `{"access_token":"t"}`, textNoProject},
		{"no location", map[string]string{"GCLOUD_PROJECT": "p"}, file(userFile), `{"access_token":"t"}`, textNoLocation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &network{token: tt.token, status: 418}
			p := NewVertex(wire.New(wire.Options{Transport: n}), VertexOptions{Getenv: getenv(tt.env), ReadFile: tt.read})
			req := request(vertexModel(catalogueURL), user(llm.NewText("hi")))
			req.APIKey = ""
			e := send(t, p, req)
			if e == nil || e.Message != tt.want || e.Kind != llm.ErrAuth || len(n.seen) > 0 {
				t.Errorf("got  %+v\nwant %s", e, tt.want)
			}
			if e != nil && strings.Contains(e.Body, "refresh-token") {
				t.Errorf("the body shows the token: %s", e.Body)
			}
		})
	}
}

// Requests that wait for one another's token can be cancelled.
func TestTokenIsFetchedOnce(t *testing.T) {
	n := &network{token: `{"access_token":"t","expires_in":3600}`, status: 418}
	p := NewVertex(wire.New(wire.Options{Transport: n}), VertexOptions{
		Getenv:   getenv(map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"}),
		ReadFile: func(string) ([]byte, error) { return []byte(userFile), nil },
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			req := request(vertexModel(catalogueURL), user(llm.NewText("hi")))
			req.APIKey = ""
			send(t, p, req)
		})
	}
	wg.Wait()
	if len(n.forms) != 1 || len(n.seen) != 8 {
		t.Errorf("%d tokens for %d requests", len(n.forms), len(n.seen))
	}
	held := newTokens()
	held.turn <- struct{}{}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	_, err := held.get(ctx, wire.New(wire.Options{}), &credentials{}, time.Now)
	if e := llm.AsError(err); e == nil || e.Kind != llm.ErrAborted || !errors.Is(e, cause) {
		t.Errorf("%v", err)
	}
}
