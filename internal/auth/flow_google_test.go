package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Which client and which place: variables first, then the client's file, then what the
// person says. What is known is not asked for.
func TestGoogleClients(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("client.json", `{"installed":{"client_id":"file-id","project_id":"file-project","client_secret":"file-secret","redirect_uris":["http://localhost"]}}`)
	const byID = "9.apps.googleusercontent.com"
	for name, c := range map[string]struct {
		id      string
		env     map[string]string
		answers map[string]string
		client  string // id and secret that are sent
		place   map[string]any
		asked   int
		err     string
	}{
		"variables": {
			"google-vertex",
			map[string]string{"GOOGLE_OAUTH_CLIENT_ID": " env-id ", "GOOGLE_OAUTH_CLIENT_SECRET": "env-secret", "GCLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
			nil, "env-id env-secret",
			map[string]any{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"},
			0, "",
		},
		"a file": {"google", nil, map[string]string{askGoogleClient: good}, "file-id file-secret", map[string]any{"GOOGLE_CLOUD_PROJECT": "file-project"}, 1, ""},
		"a project over the file's": {
			"google",
			map[string]string{"GOOGLE_CLOUD_PROJECT": "mine"},
			map[string]string{askGoogleClient: good},
			"file-id file-secret",
			map[string]any{"GOOGLE_CLOUD_PROJECT": "mine"},
			1, "",
		},
		"the Gemini API without a project": {"google", nil, map[string]string{askGoogleClient: byID, askGoogleSecret: "", askGoogleProject: " "}, byID + " ", map[string]any{}, 3, ""},
		"a place that is typed": {
			"google-vertex", nil,
			map[string]string{askGoogleClient: good, askGoogleLocation: "us"},
			"file-id file-secret",
			map[string]any{"GOOGLE_CLOUD_PROJECT": "file-project", "GOOGLE_CLOUD_LOCATION": "us"},
			2, "",
		},
		"no client":       {"google", nil, map[string]string{askGoogleClient: ""}, "", nil, 1, askGoogleClient + " is needed"},
		"no project":      {"google-vertex", nil, map[string]string{askGoogleClient: byID, askGoogleSecret: "", askGoogleProject: ""}, "", nil, 3, askGoogleProject + " is needed"},
		"no such file":    {"google", nil, map[string]string{askGoogleClient: filepath.Join(dir, "none.json")}, "", nil, 1, "none.json cannot be used: "},
		"no JSON":         {"google", nil, map[string]string{askGoogleClient: write("x", "secret-secret")}, "", nil, 1, "x cannot be used: " + textNoJSON},
		"a web client":    {"google", nil, map[string]string{askGoogleClient: write("web", `{"web":{"client_id":"secret-secret"}}`)}, "", nil, 1, "web cannot be used: " + textNotDesktop},
		"given up":        {"google", nil, map[string]string{askGoogleClient: "(cancel)"}, "", nil, 1, ErrCancelled.Error()},
		"given up later":  {"google", nil, map[string]string{askGoogleClient: byID, askGoogleSecret: "(cancel)"}, "", nil, 2, ErrCancelled.Error()},
		"given up at the": {"google-vertex", nil, map[string]string{askGoogleClient: good, askGoogleLocation: "(cancel)"}, "", nil, 2, ErrCancelled.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			p := &person{t: t, browse: true, answers: c.answers}
			login, err := a.flowWith(c.env, c.id, newClock(), a.endpoints()).Login(t.Context(), p)
			p.open.Wait()
			asked := len(p.questions)
			if c.err != "" {
				if err == nil || !strings.HasSuffix(err.Error(), c.err) && !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret-secret") || asked != c.asked {
					t.Errorf("%v, %d questions", err, asked)
				}
				if len(a.seen()) > 0 {
					t.Errorf("requests: %v", a.seen())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sent, _ := a.last("/token")
			if got := sent.Get("client_id") + " " + sent.Get("client_secret"); got != c.client {
				t.Errorf("the client was %q, want %q", got, c.client)
			}
			if diff := cmp.Diff(any(c.place), entryOf(t, login.Raw)["env"]); diff != "" {
				t.Error(diff)
			}
			if asked-1 != c.asked { // the last is for a code that is pasted
				t.Errorf("%d questions, want %d", asked-1, c.asked)
			}
		})
	}
}

// A Google login is sent in headers, goes with its project and its place, and is renewed
// in its file with what the file says of the client.
func TestGoogleLoginIsUsedAndRenewed(t *testing.T) {
	for id, place := range map[string]map[string]string{
		"google":        {"GOOGLE_CLOUD_PROJECT": "my-project"},
		"google-vertex": {"GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": "us"},
	} {
		t.Run(id, func(t *testing.T) {
			a, c := newAuthority(t), newClock()
			a.keep = true // Google sends no other refresh token when it renews
			file := filepath.Join(t.TempDir(), "auth.json")
			k := New(Options{
				Files: []string{file}, Now: c.Now,
				Env:  lookupIn(map[string]string{"GOOGLE_OAUTH_CLIENT_ID": "my-client", "GOOGLE_OAUTH_CLIENT_SECRET": "my-secret", "GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": "us"}),
				Flow: FlowOptions{Endpoints: map[string]Endpoints{id: a.endpoints()}, Sleep: c.Sleep},
			})
			a.extra = `,"refresh_token":"stays"` // but with the first one it does
			p := &person{t: t, browse: true}
			res, err := k.Login(t.Context(), LoginRequest{Provider: id, Type: LoginOAuth}, p)
			p.open.Wait()
			if err != nil || res.Cancelled {
				t.Fatalf("%+v, %v", res, err)
			}
			check := func(token string) {
				t.Helper()
				got, err := k.Provider(t.Context(), id)
				want := Credential{Headers: map[string]string{"Authorization": "Bearer " + token, "x-goog-user-project": "my-project"}, Env: place, Source: SourceStored}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%v\n%s", err, diff)
				}
			}
			check("access-2")
			a.mu.Lock()
			a.extra, a.refresh["stays"] = "", true
			a.mu.Unlock()
			if err := c.Sleep(t.Context(), 58*time.Minute); err != nil {
				t.Fatal(err)
			}
			check("access-3")
			sent, _ := a.last("/token")
			checkFields(t, "renewal", sent, map[string]string{"grant_type": "refresh_token", "refresh_token": "stays", "client_id": "my-client", "client_secret": "my-secret"})
			data, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(data), "access-3") || strings.Contains(string(data), "access-2") || !strings.Contains(string(data), "my-secret") {
				t.Errorf("%v\n%s", err, data)
			}
			a.answer["/token"] = func() (int, string) {
				return 400, `{"error":"invalid_grant","error_description":"Token stays of my-secret has been expired or revoked."}`
			}
			if err := c.Sleep(t.Context(), 2*time.Hour); err != nil {
				t.Fatal(err)
			}
			_, err = k.Provider(t.Context(), id)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(e.Message, "isotope auth login "+id) || strings.Contains(e.Cause.Error(), "my-secret") || !strings.Contains(e.Cause.Error(), "invalid_grant") {
				t.Errorf("%v, because of %v", err, e.Cause)
			}
		})
	}
}
