package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// providersNet is the network of the providers that can be signed in to: their authorization
// servers, under the addresses that they really have, and their models.
type providersNet struct {
	t    *testing.T
	mu   sync.Mutex
	n    int                 // tokens so far
	asks []map[string]string // what token servers were sent
	got  []*http.Request     // by models
}

// hosts are those of the providers.
var hosts = []string{"oauth2.googleapis.com", "aiplatform.googleapis.com", "generativelanguage.googleapis.com", "platform.claude.com", "api.anthropic.com"}

func (p *providersNet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.Method + " " + r.Host + r.URL.Path {
	case "POST oauth2.googleapis.com/token", "POST platform.claude.com/v1/oauth/token":
		fields := map[string]string{}
		if jsonx.Unmarshal(body, &fields) != nil {
			form, err := url.ParseQuery(string(body))
			if err != nil {
				p.t.Errorf("a token request: %s", body)
			}
			for name := range form {
				fields[name] = form.Get(name)
			}
		}
		p.asks = append(p.asks, fields)
		p.n++
		life := 3600
		if p.n == 1 { // so that the first request renews
			life = 1
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"sk-ant-oat-access-%d","refresh_token":"refresh-%d","expires_in":%d}`, p.n, p.n, life)
		return
	case "POST api.anthropic.com/v1/messages":
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{
			`{"type":"message_start","message":{"id":"m","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello from afar"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`,
		} {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", member(p.t, event, "type"), event)
		}
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"hello from afar"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":3}}`+"\n\n")
	}
	p.got = append(p.got, r)
}

// A person signs in over the protocol, with a browser that comes back, and is answered;
// the login is renewed in its file; who logs out is told what to do. Tokens are in no
// record. The records are those of atomic-facts 3.4.
func TestLoginOverTheProtocol(t *testing.T) {
	for name, c := range map[string]struct {
		provider, model, scope string
		method                 string // the choice of a method, "" for none
		key, advice            string
		request                string
		header                 map[string]string
	}{
		"Google": {
			"google", "google/gemini-2.5-flash", "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/generative-language.retriever",
			"", "GEMINI_API_KEY", "isotope auth login google",
			"generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent",
			map[string]string{"X-Goog-User-Project": "my-project", "X-Goog-Api-Key": ""},
		},
		"Vertex": {
			"google-vertex", "google-vertex/gemini-2.5-flash", "https://www.googleapis.com/auth/cloud-platform", "", "GOOGLE_CLOUD_API_KEY", "isotope auth login google-vertex",
			"aiplatform.googleapis.com/v1/projects/my-project/locations/global/publishers/google/models/gemini-2.5-flash:streamGenerateContent",
			map[string]string{"X-Goog-User-Project": "my-project", "X-Goog-Api-Key": ""},
		},
		"Anthropic": {
			"anthropic", "anthropic/claude-haiku-4-5", "", "browser", "ANTHROPIC_API_KEY", "isotope auth login anthropic",
			"api.anthropic.com/v1/messages",
			map[string]string{"X-Api-Key": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			far := &providersNet{t: t}
			s := newSecureServer(t, far, hosts...)
			setenv(t, map[string]string{
				"HTTPS_PROXY": s.proxy, "NODE_EXTRA_CA_CERTS": s.certificate, "GOOGLE_OAUTH_CLIENT_ID": "my-client", "GOOGLE_OAUTH_CLIENT_SECRET": "my-client-secret",
				"GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": "global", "GEMINI_API_KEY": "", "GOOGLE_CLOUD_API_KEY": "", "ANTHROPIC_API_KEY": "",
				"ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_OAUTH_TOKEN": "", "GOOGLE_APPLICATION_CREDENTIALS": "", "CLOUDSDK_CONFIG": t.TempDir(),
			})
			p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", c.model, "--no-session", "--debug-http", "http.log")
			p.follow()
			p.send(`{"id":"early","type":"prompt","message":"hi"}`)
			early := p.until(`"id":"early"`)
			if last := early[len(early)-1]; !strings.Contains(last, c.key) || !strings.Contains(last, c.advice) || !strings.Contains(last, "No API key found for "+c.provider) {
				t.Errorf("without a key: %s", last)
			}
			all := signIn(t, p, c.provider, c.method, c.scope)

			p.send(`{"type":"prompt","message":"hi"}`)
			lines := p.until(`"type":"agent_settled"`)
			all = append(all, lines...)
			if !strings.Contains(strings.Join(lines, "\n"), "hello from afar") {
				t.Errorf("the answer:\n%s", strings.Join(lines, "\n"))
			}
			far.mu.Lock()
			if len(far.asks) != 2 || far.asks[0]["grant_type"] != "authorization_code" || far.asks[1]["grant_type"] != "refresh_token" || far.asks[1]["refresh_token"] != "refresh-1" {
				t.Errorf("token requests: %v", far.asks)
			}
			if len(far.got) != 1 || far.got[0].Host+far.got[0].URL.Path != c.request || far.got[0].Header.Get("Authorization") != "Bearer sk-ant-oat-access-2" {
				t.Errorf("requests: %v", far.got)
			} else {
				for name, want := range c.header {
					if got := far.got[0].Header.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
			}
			far.mu.Unlock()
			stored, err := os.ReadFile(filepath.Join(p.home, ".isotope", "agent", "auth.json"))
			if err != nil || !strings.Contains(string(stored), "sk-ant-oat-access-2") || strings.Contains(string(stored), "refresh-1") {
				t.Errorf("the file: %v\n%s", err, stored)
			}

			all = append(all, p.answer(`{"type":"logout_provider","provider":"`+c.provider+`"}`))
			if out := all[len(all)-1]; !strings.Contains(out, `"authStatus":{"configured":false}`) {
				t.Errorf("logged out: %s", out)
			}
			p.send(`{"id":"late","type":"prompt","message":"hi"}`)
			late := p.until(`"id":"late"`)
			if last := late[len(late)-1]; !strings.Contains(last, c.advice) {
				t.Errorf("after the logout: %s", last)
			}
			p.closeInput()
			p.wait()
			log, err := os.ReadFile(filepath.Join(p.dir, "http.log"))
			if err != nil || !strings.Contains(string(log), "hello from afar") {
				t.Errorf("the log: %v\n%s", err, log)
			}
			shown := strings.Join(all, "\n") + p.stderr.String() + string(log)
			for _, secret := range []string{"sk-ant-oat-access", "refresh-1", "refresh-2", "my-client-secret", "topsecret", "code-of-login"} {
				if strings.Contains(shown, secret) {
					t.Errorf("%s is shown", secret)
				}
			}
		})
	}
}

// signIn logs in to a provider with a browser and returns the records of that.
func signIn(t *testing.T, p *process, provider, method, scope string) (all []string) {
	t.Helper()
	next := func(parts ...string) string {
		t.Helper()
		lines := p.until(append(parts, `"provider":"`+provider+`"`)...)
		all = append(all, lines...)
		return lines[len(lines)-1]
	}
	p.send(`{"id":"in","type":"login_provider","provider":"` + provider + `","authType":"oauth","loginId":"mine"}`)
	if method != "" {
		q := next(`"method":"oauth_select"`, `"loginId":"mine"`, `"options":[`, `"id":"`+method+`"`)
		p.send(`{"type":"extension_ui_response","id":"` + member(t, q, "id") + `","value":"` + method + `"}`)
	}
	page := next(`"method":"oauth_auth"`, `"loginId":"mine"`, `"instructions":`)
	next(`"method":"oauth_manual_code"`)
	u, err := url.Parse(member(t, page, "info", "url"))
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Scheme != "https" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != base64.RawURLEncoding.EncodedLen(sha256.Size) ||
		q.Get("state") == "" || scope != "" && q.Get("scope") != scope {
		t.Errorf("the page: %s", u)
	}
	back, err := http.Get(q.Get("redirect_uri") + "?" + url.Values{"code": {"code-of-login"}, "state": {q.Get("state")}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	back.Body.Close()
	if back.StatusCode != http.StatusOK {
		t.Errorf("the browser got %s", back.Status)
	}
	next(`"method":"oauth_manual_code_cancel"`) // the browser was faster
	next(`"method":"oauth_progress"`)
	if r := next(`"type":"response"`, `"id":"in"`); !strings.Contains(r, `"success":true,"data":{"provider":"`+provider+`","cancelled":false,"models":[`) {
		t.Errorf("the login: %s", r)
	}
	return all
}

// A login that a client cancels, by its id or by the provider, leaves nothing.
func TestLoginIsCancelled(t *testing.T) {
	setenv(t, map[string]string{"GOOGLE_OAUTH_CLIENT_ID": "my-client", "GOOGLE_CLOUD_PROJECT": "p"})
	p := start(t, "--mode", "rpc", "--model", "scripted/demo", "--no-session")
	for _, cancel := range []string{`,"loginId":"mine"`, ``} {
		p.send(`{"id":"in","type":"login_provider","provider":"google","authType":"oauth","loginId":"mine"}`)
		p.until(`"method":"oauth_auth"`)
		if r := p.answer(`{"type":"cancel_login_provider","provider":"google","loginId":"another"}`); !strings.Contains(r, `"success":true`) {
			t.Errorf("another's: %s", r)
		}
		p.send(`{"id":"out","type":"cancel_login_provider","provider":"google"` + cancel + `}`)
		p.until(`"id":"in"`, `"data":{"provider":"google","cancelled":true}`)
	}
	if _, err := os.Stat(filepath.Join(p.home, ".isotope", "agent", "auth.json")); !os.IsNotExist(err) {
		t.Errorf("something was stored: %v", err)
	}
	p.closeInput()
	p.wantExit(0)
}

// The address that the browser is awaited on can be another one.
func TestCallbackHost(t *testing.T) {
	setenv(t, map[string]string{"GOOGLE_OAUTH_CLIENT_ID": "my-client", "GOOGLE_CLOUD_PROJECT": "p", "PI_OAUTH_CALLBACK_HOST": "192.0.2.1"}) // nobody's
	p := start(t, "--mode", "rpc", "--model", "scripted/demo", "--no-session")
	r := p.answer(`{"type":"login_provider","provider":"google","authType":"oauth"}`)
	if !strings.Contains(r, `"success":false`) || !strings.Contains(r, "Google: waiting for the browser: listen tcp 192.0.2.1:") {
		t.Errorf("%s", r)
	}
	p.closeInput()
	p.wantExit(0)
}

// Google's default credentials need no login: those of gcloud, and the key of a service
// account. Tokens are asked for once, and are shown nowhere.
func TestGoogleDefaultCredentials(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	account, err := jsonx.Marshal(map[string]string{
		"type": "service_account", "project_id": "its-project", "private_key_id": "k1", "client_email": "bot@its-project.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": "https://oauth2.googleapis.com/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	user := `{"type":"authorized_user","client_id":"c","client_secret":"secret-of-client","refresh_token":"refresh-0","quota_project_id":"who-pays"}`
	for name, c := range map[string]struct {
		data      string
		vars      map[string]string
		grant     string
		path      string
		quota     string
		variables bool // name the file, else it is in gcloud's folder
	}{
		"gcloud": {
			data: user, vars: map[string]string{"GOOGLE_CLOUD_PROJECT": "my-project"}, grant: "refresh_token",
			path: "/v1/projects/my-project/locations/global/", quota: "who-pays",
		},
		"a service account": {
			data: string(account), grant: "urn:ietf:params:oauth:grant-type:jwt-bearer",
			path: "/v1/projects/its-project/locations/global/", variables: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "application_default_credentials.json")
			if err := os.WriteFile(file, []byte(c.data), 0o600); err != nil {
				t.Fatal(err)
			}
			far := &providersNet{t: t, n: 1}
			s := newSecureServer(t, far, hosts...)
			setenv(t, map[string]string{
				"HTTPS_PROXY": s.proxy, "NODE_EXTRA_CA_CERTS": s.certificate, "GOOGLE_CLOUD_API_KEY": "", "GOOGLE_CLOUD_PROJECT": "", "GCLOUD_PROJECT": "",
				"GOOGLE_CLOUD_LOCATION": "global", "CLOUDSDK_CONFIG": dir, "GOOGLE_APPLICATION_CREDENTIALS": "",
			})
			for k, v := range c.vars {
				t.Setenv(k, v)
			}
			if c.variables {
				t.Setenv("CLOUDSDK_CONFIG", t.TempDir())
				t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
			}
			p := launch(t, t.TempDir(), t.TempDir(), "isotope", "--mode", "rpc", "--model", "google-vertex/gemini-2.5-flash", "--no-session", "--debug-http", "http.log")
			p.follow()
			for range 2 {
				p.send(`{"type":"prompt","message":"hi"}`)
				all := strings.Join(p.until(`"type":"agent_settled"`), "\n")
				if !strings.Contains(all, "hello from afar") || strings.Contains(all, "sk-ant-oat-access") {
					t.Errorf("the answer:\n%s", all)
				}
			}
			p.closeInput()
			p.wantExit(0)
			log, err := os.ReadFile(filepath.Join(p.dir, "http.log"))
			if err != nil || !strings.Contains(string(log), "POST https://oauth2.googleapis.com/token") {
				t.Errorf("the log: %v\n%s", err, log)
			}
			for _, secret := range []string{"sk-ant-oat-access", "refresh-0", "secret-of-client", "assertion=", "topsecret"} {
				if strings.Contains(string(log), secret) {
					t.Errorf("%s is in the log:\n%s", secret, log)
				}
			}
			far.mu.Lock()
			defer far.mu.Unlock()
			if len(far.asks) != 1 || far.asks[0]["grant_type"] != c.grant || len(far.got) != 2 {
				t.Fatalf("token requests %v, %d requests", far.asks, len(far.got))
			}
			for _, r := range far.got {
				if !strings.HasPrefix(r.URL.Path, c.path) || r.Header.Get("Authorization") != "Bearer sk-ant-oat-access-2" || r.Header.Get("X-Goog-User-Project") != c.quota {
					t.Errorf("%s %v", r.URL, r.Header)
				}
			}
		})
	}
}
