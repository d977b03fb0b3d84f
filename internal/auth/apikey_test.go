package auth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// script is a UI that gives its answers in order.
type script struct {
	answers []string
	asked   []string // methods and messages
	secret  []bool
	notices []Notice
}

func (s *script) Notify(n Notice) { s.notices = append(s.notices, n) }

func (s *script) Ask(_ context.Context, q Question) (string, error) {
	s.asked = append(s.asked, q.Method+" "+q.Prompt.Message)
	s.secret = append(s.secret, q.Secret)
	if len(s.answers) == 0 {
		return "", ErrCancelled
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer, nil
}

func TestAskKey(t *testing.T) {
	tests := []struct {
		provider string
		answers  []string
		want     string
		asked    int
		secret   int // which question must not be shown, -1 for none
	}{
		{"groq", []string{"k"}, `{"type":"api_key","key":"k"}`, 1, 0},
		{"groq", []string{" !op read x "}, `{"type":"api_key","key":"!op read x"}`, 1, 0},
		{"google", []string{"k"}, `{"type":"api_key","key":"k"}`, 1, 0},
		{"cloudflare-workers-ai", []string{"k", "acc"}, `{"type":"api_key","key":"k","env":{"CLOUDFLARE_ACCOUNT_ID":"acc"}}`, 2, 0},
		{"cloudflare-ai-gateway", []string{"k", "acc", "gw"}, `{"type":"api_key","key":"k","env":{"CLOUDFLARE_ACCOUNT_ID":"acc","CLOUDFLARE_GATEWAY_ID":"gw"}}`, 3, 0},
		{"google-vertex", []string{"api-key", "k"}, `{"type":"api_key","key":"k"}`, 2, 1},
		{"google-vertex", []string{"adc", "proj", "here"}, `{"type":"api_key","env":{"GOOGLE_CLOUD_LOCATION":"here","GOOGLE_CLOUD_PROJECT":"proj"}}`, 3, -1},
		{
			"google-vertex",
			[]string{"service-account", "proj", "here", "/f.json"},
			`{"type":"api_key","env":{"GOOGLE_APPLICATION_CREDENTIALS":"/f.json","GOOGLE_CLOUD_LOCATION":"here","GOOGLE_CLOUD_PROJECT":"proj"}}`, 4, -1,
		},
		{"amazon-bedrock", []string{"bearer-token", "k"}, `{"type":"api_key","key":"k"}`, 2, 1},
		{"amazon-bedrock", []string{"aws-profile", "dev"}, `{"type":"api_key","env":{"AWS_PROFILE":"dev"}}`, 2, -1},
		{"amazon-bedrock", []string{"credential-chain", ""}, `{"type":"api_key"}`, 2, -1},
	}
	for _, tt := range tests {
		t.Run(tt.provider+" "+strings.Join(tt.answers, ","), func(t *testing.T) {
			s := &script{answers: tt.answers}
			raw, err := askKey(t.Context(), s, tt.provider)
			if err != nil || string(raw) != tt.want {
				t.Errorf("%s, %v", raw, err)
			}
			if len(s.asked) != tt.asked {
				t.Errorf("asked %v", s.asked)
			}
			for i, secret := range s.secret {
				if secret != (i == tt.secret) {
					t.Errorf("%s: secret is %v", s.asked[i], secret)
				}
			}
			for _, n := range s.notices {
				if n.Method != MethodInfo || len(n.Links) != 1 {
					t.Errorf("%+v", n)
				}
			}
		})
	}
}

func TestAskKeyErrors(t *testing.T) {
	tests := []struct {
		provider string
		answers  []string
		want     string
	}{
		{"groq", []string{"  "}, "No API key was given"},
		{"groq", []string{"two\nlines"}, "The API key must be one line without control characters"},
		{"groq", nil, "Login cancelled"},
		{"cloudflare-workers-ai", []string{""}, "No API key was given"},
		{"cloudflare-workers-ai", []string{"k", ""}, "Cloudflare account ID is needed"},
		{"cloudflare-workers-ai", []string{"k"}, "Login cancelled"},
		{"google-vertex", nil, "Login cancelled"},
		{"google-vertex", []string{"x"}, "Google Vertex AI: unknown login method: x"},
		{"google-vertex", []string{"adc", ""}, "Google Cloud project ID is needed"},
		{"amazon-bedrock", nil, "Login cancelled"},
		{"amazon-bedrock", []string{"x"}, "Amazon Bedrock: unknown login method: x"},
		{"amazon-bedrock", []string{"credential-chain"}, "Login cancelled"},
	}
	for _, tt := range tests {
		raw, err := askKey(t.Context(), &script{answers: tt.answers}, tt.provider)
		if err == nil || err.Error() != tt.want || raw != nil {
			t.Errorf("%s %q: %s, %v", tt.provider, tt.answers, raw, err)
		}
	}
}

// Clouds' own credentials count as a key that the protocol finds by itself.
func TestAmbientCredentials(t *testing.T) {
	dir := t.TempDir()
	adc := filepath.Join(dir, "application_default_credentials.json")
	if err := os.WriteFile(adc, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, provider string
		env            map[string]string
		own            string
		source         Source
		label          string
		with           map[string]string // Env of the credential
	}{
		{"gcloud", "google-vertex", map[string]string{"CLOUDSDK_CONFIG": dir, "GOOGLE_CLOUD_LOCATION": "x"}, ``, SourceEnvironment, "gcloud application default credentials", nil},
		{"gcloud without a location", "google-vertex", map[string]string{"CLOUDSDK_CONFIG": dir}, ``, "", "", nil},
		{"no file", "google-vertex", map[string]string{"CLOUDSDK_CONFIG": filepath.Join(dir, "no"), "GOOGLE_CLOUD_LOCATION": "x"}, ``, "", "", nil},
		{"a folder", "google-vertex", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": dir, "GOOGLE_CLOUD_LOCATION": "x"}, ``, "", "", nil},
		{"a file", "google-vertex", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": adc, "GOOGLE_CLOUD_LOCATION": "x"}, ``, SourceEnvironment, "GOOGLE_APPLICATION_CREDENTIALS", nil},
		{"a key wins", "google-vertex", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": adc, "GOOGLE_CLOUD_LOCATION": "x", "GOOGLE_CLOUD_API_KEY": "k"}, ``, SourceEnvironment, "GOOGLE_CLOUD_API_KEY", nil},
		{
			"stored", "google-vertex",
			map[string]string{"CLOUDSDK_CONFIG": dir},
			`{"google-vertex":{"type":"api_key","env":{"GOOGLE_CLOUD_LOCATION":"here"}}}`,
			SourceStored, "",
			map[string]string{"GOOGLE_CLOUD_LOCATION": "here"},
		},
		{"stored without a file", "google-vertex", nil, `{"google-vertex":{"type":"api_key","env":{"GOOGLE_CLOUD_LOCATION":"here"}}}`, "", "", nil},
		{"a profile", "amazon-bedrock", map[string]string{"AWS_PROFILE": "p"}, ``, SourceEnvironment, "AWS_PROFILE", nil},
		{"a pair of keys", "amazon-bedrock", map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, ``, SourceEnvironment, "AWS_ACCESS_KEY_ID", nil},
		{"half a pair", "amazon-bedrock", map[string]string{"AWS_ACCESS_KEY_ID": "a"}, ``, "", "", nil},
		{"the other half", "amazon-bedrock", map[string]string{"AWS_SECRET_ACCESS_KEY": "a"}, ``, "", "", nil},
		{"a container", "amazon-bedrock", map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://x"}, ``, SourceEnvironment, "AWS_CONTAINER_CREDENTIALS_FULL_URI", nil},
		{"a web identity", "amazon-bedrock", map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/f"}, ``, SourceEnvironment, "AWS_WEB_IDENTITY_TOKEN_FILE", nil},
		{"a stored profile", "amazon-bedrock", nil, `{"amazon-bedrock":{"type":"api_key","env":{"AWS_PROFILE":"dev"}}}`, SourceStored, "", map[string]string{"AWS_PROFILE": "dev"}},
		{"a stored chain", "amazon-bedrock", map[string]string{"AWS_PROFILE": "p"}, `{"amazon-bedrock":{"type":"api_key"}}`, SourceEnvironment, "AWS_PROFILE", nil},
		{"another provider", "groq", map[string]string{"AWS_PROFILE": "p", "CLOUDSDK_CONFIG": dir, "GOOGLE_CLOUD_LOCATION": "x"}, ``, "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := setup{own: tt.own, env: tt.env}.keys(t)
			c, err := k.Provider(t.Context(), tt.provider)
			if (err == nil) != (tt.source != "") || c.Source != tt.source || c.Label != tt.label {
				t.Errorf("%+v, %v", c, err)
			}
			if diff := cmp.Diff(tt.with, c.Env); diff != "" {
				t.Error(diff)
			}
			if c.APIKey != "" && tt.label != "GOOGLE_CLOUD_API_KEY" {
				t.Errorf("the key is %q", c.APIKey)
			}
			source, label, ok := k.Status(tt.provider)
			if ok != (tt.source != "") || ok && (source != tt.source || label != tt.label) {
				t.Errorf("Status: %q, %q, %v", source, label, ok)
			}
		})
	}
}

// An account's id that is stored alone goes along with the key of the environment.
func TestStoredVariablesGoWithAKeyFromElsewhere(t *testing.T) {
	own := `{"cloudflare-workers-ai":{"type":"api_key","env":{"CLOUDFLARE_ACCOUNT_ID":"acc"}}}`
	want := map[string]string{"CLOUDFLARE_ACCOUNT_ID": "acc"}
	for name, s := range map[string]setup{
		"environment": {own: own, env: map[string]string{"CLOUDFLARE_API_KEY": "k"}},
		"models.json": {own: own, apiKey: "k"},
	} {
		c, err := s.keys(t).Provider(t.Context(), "cloudflare-workers-ai")
		if diff := cmp.Diff(want, c.Env); diff != "" || err != nil || c.APIKey != "k" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	_, err := setup{own: own}.keys(t).Provider(t.Context(), "cloudflare-workers-ai")
	var e *Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Message, "No API key found for cloudflare-workers-ai.") {
		t.Error(err)
	}
}

func TestGcloudFile(t *testing.T) {
	get := func(env map[string]string) func(string) string { return func(name string) string { return env[name] } }
	if got := gcloudFile(get(map[string]string{"CLOUDSDK_CONFIG": "c"})); got != filepath.Join("c", "application_default_credentials.json") {
		t.Error(got)
	}
	got := gcloudFile(get(map[string]string{"HOME": "h", "APPDATA": "a"}))
	if got != filepath.Join("h", ".config", "gcloud", "application_default_credentials.json") && got != filepath.Join("a", "gcloud", "application_default_credentials.json") {
		t.Error(got)
	}
}
