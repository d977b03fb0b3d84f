package auth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// setup describes one machine: files, variables, models.json.
type setup struct {
	own, below string // auth.json layers, "" for none
	env        map[string]string
	apiKey     string // of models.json, for every provider
	headers    map[string]string
	authHeader bool
	run        func(context.Context, string) (string, error)
	refresh    func(context.Context, string, Login) (Login, error)
	now        time.Time
}

func (s setup) keys(t testing.TB) *Keys {
	t.Helper()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "own", "auth.json"), filepath.Join(dir, "below", "auth.json")}
	for i, text := range []string{s.own, s.below} {
		if text == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(files[i]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return New(Options{
		Files:   files,
		Env:     func(name string) (string, bool) { v, ok := s.env[name]; return v, ok },
		Config:  func(string, string) (string, map[string]string, bool) { return s.apiKey, s.headers, s.authHeader },
		Run:     s.run,
		Refresh: s.refresh,
		Now: func() time.Time {
			if s.now.IsZero() {
				return time.Unix(1000, 0)
			}
			return s.now
		},
	})
}

func TestPrecedence(t *testing.T) {
	full := setup{
		own:    `{"openai":{"type":"api_key","key":"own"}}`,
		below:  `{"openai":{"type":"api_key","key":"below"},"groq":{"type":"api_key","key":"groq-below"}}`,
		env:    map[string]string{"OPENAI_API_KEY": "env", "GROQ_API_KEY": "env", "XAI_API_KEY": "env"},
		apiKey: "config",
	}
	noConfig := full
	noConfig.apiKey = ""
	tests := []struct {
		name     string
		setup    setup
		runtime  string
		provider string
		want     Credential
	}{
		{"runtime", full, "flag", "openai", Credential{APIKey: "flag", Source: SourceRuntime}},
		{"stored", full, "", "openai", Credential{APIKey: "own", Source: SourceStored}},
		{"stored in the lower layer", full, "", "groq", Credential{APIKey: "groq-below", Source: SourceStored}},
		{"models.json", full, "", "xai", Credential{APIKey: "config", Source: SourceModelsKey}},
		{"environment", noConfig, "", "xai", Credential{APIKey: "env", Source: SourceEnvironment, Label: "XAI_API_KEY"}},
		{"scripted", setup{}, "", "scripted", Credential{Source: SourceNone}},
		{
			"bearer token",
			setup{env: map[string]string{"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_API_KEY": "k"}},
			"", "anthropic",
			Credential{Headers: map[string]string{"Authorization": "Bearer t"}, Source: SourceEnvironment, Label: "ANTHROPIC_AUTH_TOKEN"},
		},
		{
			"profile",
			setup{env: map[string]string{"AWS_PROFILE": "p"}},
			"", "amazon-bedrock",
			Credential{Source: SourceEnvironment, Label: "AWS_PROFILE"},
		},
		{
			"variables of the entry",
			setup{own: `{"p":{"type":"api_key","key":"$KEY","env":{"KEY":"inner","OTHER":"x"}}}`, env: map[string]string{"KEY": "outer"}},
			"", "p",
			Credential{APIKey: "inner", Env: map[string]string{"KEY": "inner", "OTHER": "x"}, Source: SourceStored},
		},
		{
			"an entry of variables alone",
			setup{own: `{"openai":{"type":"api_key","env":{"OPENAI_API_KEY":"inner"}}}`},
			"", "openai",
			Credential{APIKey: "inner", Env: map[string]string{"OPENAI_API_KEY": "inner"}, Source: SourceStored},
		},
		{
			"login",
			setup{own: `{"p":{"type":"oauth","access":"a","refresh":"r","expires":2000000}}`},
			"", "p",
			Credential{APIKey: "a", Source: SourceStored},
		},
		{
			"an empty variable is none",
			setup{env: map[string]string{"QWEN_TOKEN_PLAN_TEAM_API_KEY": "", "QWEN_TOKEN_PLAN_API_KEY": "second"}},
			"", "qwen-token-plan",
			Credential{APIKey: "second", Source: SourceEnvironment, Label: "QWEN_TOKEN_PLAN_API_KEY"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := tt.setup.keys(t)
			k.SetRuntime(tt.provider, tt.runtime)
			got, err := k.Provider(t.Context(), tt.provider)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			source, label, ok := k.Status(tt.provider)
			if !ok || source != tt.want.Source || label != tt.want.Label {
				t.Errorf("Status: %q, %q, %v", source, label, ok)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name, provider string
		setup          setup
		want           string
	}{
		{"no key", "openai", setup{}, "No API key found for openai.\n\nSet OPENAI_API_KEY, or run: isotope auth login openai"},
		{"no key of several variables", "anthropic", setup{}, "No API key found for anthropic.\n\nSet ANTHROPIC_API_KEY, or run: isotope auth login anthropic"},
		{"no key of a token variable", "huggingface", setup{}, "No API key found for huggingface.\n\nSet HF_TOKEN, or run: isotope auth login huggingface"},
		{"custom provider", "mine", setup{}, "No API key found for mine.\n\nAdd \"apiKey\" for it to models.json, or run: isotope auth login mine"},
		{"variable of models.json", "mine", setup{apiKey: "${A}-$B"}, "No API key found for mine.\n\nSet A, B, which models.json names as its API key."},
		{"variable of auth.json", "mine", setup{own: `{"mine":{"type":"api_key","key":"$A"}}`}, `Failed to resolve API key of provider "mine": A is not set`},
		{
			"failing command", "mine",
			setup{apiKey: "!echo top-secret; false", run: func(context.Context, string) (string, error) { return "top-secret", errors.New("top-secret") }},
			`Failed to resolve API key of provider "mine": its command could not be run`,
		},
		{
			"silent command", "mine",
			setup{apiKey: "!x", run: func(context.Context, string) (string, error) { return " \n", nil }},
			`Failed to resolve API key of provider "mine": its command printed nothing`,
		},
		{
			"expired login", "p",
			setup{own: `{"p":{"type":"oauth","access":"top-secret","refresh":"top-secret","expires":1}}`},
			`Authentication failed for "p". Credentials may have expired or network is unavailable. Run 'isotope auth login p' to re-authenticate.`,
		},
		{
			"failed refresh", "p",
			setup{own: `{"p":{"type":"oauth","access":"a","refresh":"r","expires":1}}`, refresh: func(context.Context, string, Login) (Login, error) { return Login{}, errors.New("top-secret") }},
			`Authentication failed for "p". Credentials may have expired or network is unavailable. Run 'isotope auth login p' to re-authenticate.`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := tt.setup.keys(t)
			_, err := k.Provider(t.Context(), tt.provider)
			var e *Error
			if !errors.As(err, &e) || e.Message != tt.want || e.Provider != tt.provider {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestHas(t *testing.T) {
	ran := false
	k := setup{
		apiKey: "!get-key", run: func(context.Context, string) (string, error) { ran = true; return "k", nil },
		own: `{"old":{"type":"oauth","refresh":"r","expires":1}}`,
	}.keys(t)
	if !k.Has("any") || !k.Has("old") || ran {
		t.Error("Has must count what is configured, and run nothing")
	}
	if (setup{apiKey: "$NOPE"}).keys(t).Has("any") {
		t.Error("a variable that is not set counts as a key")
	}
	if (setup{}).keys(t).Has("openai") {
		t.Error("a key out of nothing")
	}
	if (setup{own: `{"openai":{"type":"api_key","key":"$NOPE"}}`}).keys(t).Has("openai") {
		t.Error("a stored variable that is not set counts as a key")
	}
}

func TestHeadersOfAModel(t *testing.T) {
	s := setup{
		apiKey: "k", authHeader: true, env: map[string]string{"B": "bee"},
		headers: map[string]string{"X-A": "1$$2", "X-B": "v-$B", "Catalogue": "new"},
	}
	c, err := s.keys(t).Model(t.Context(), &llm.Model{Provider: "p", ID: "m", Headers: map[string]string{"Catalogue": "old", "Other": "o"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"X-A": "1$2", "X-B": "v-bee", "Catalogue": "new", "Other": "o", "Authorization": "Bearer k"}
	if diff := cmp.Diff(want, c.Headers); diff != "" {
		t.Error(diff)
	}
	s.headers = map[string]string{"X-B": "$MISSING"}
	_, err = s.keys(t).Model(t.Context(), &llm.Model{Provider: "p", ID: "m"})
	if want := `Failed to resolve header "X-B" of provider "p": MISSING is not set`; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func TestExpand(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "a", "B_1": "b", "E": ""}[name]
		return v, ok
	}
	tests := []struct{ in, want, err string }{
		{"literal", "literal", ""},
		{"$A", "a", ""},
		{"x${A}y$B_1-z", "xayb-z", ""},
		{"$$A$!x", "$A!x", ""},
		{"a$", "a$", ""},
		{"$1", "$1", ""},
		{"${", "${", ""},
		{"${not a name}", "${not a name}", ""},
		{"${}", "${}", ""},
		{"$NO", "", "NO is not set"},
		{"$E$NO", "", "E, NO is not set"},
		{"$ä", "$ä", ""},
	}
	v := &values{}
	for _, tt := range tests {
		got, err := v.resolve(t.Context(), tt.in, env)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.err {
			t.Errorf("resolve(%q) = %q, %q; want %q, %q", tt.in, got, text, tt.want, tt.err)
		}
	}
}

func TestCommandIsRunOnceAndTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		v := &values{run: func(ctx context.Context, command string) (string, error) {
			runs.Add(1)
			time.Sleep(time.Second)
			return " key-of-" + command + "\n", nil
		}}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if got, err := v.resolve(t.Context(), "!vault", nil); got != "key-of-vault" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		wg.Wait()
		if runs.Load() != 1 {
			t.Errorf("the command ran %d times", runs.Load())
		}
	})
}

func TestCommandTimesOutAndIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := true
		v := &values{run: func(ctx context.Context, _ string) (string, error) {
			if slow {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "k", nil
		}}
		start := time.Now()
		if _, err := v.resolve(t.Context(), "!x", nil); !errors.Is(err, errCommandTime) || time.Since(start) != 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		slow = false
		if got, err := v.resolve(t.Context(), "!x", nil); got != "k" {
			t.Errorf("%q, %v: a failure was kept", got, err)
		}
	})
}

func TestOneStalledCommandHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &values{run: func(ctx context.Context, command string) (string, error) {
			if command == "stall" {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "k", nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		stalled := make(chan error)
		go func() { _, err := v.resolve(ctx, "!stall", nil); stalled <- err }()
		synctest.Wait()
		start := time.Now()
		if got, err := v.resolve(t.Context(), "!other", nil); got != "k" || time.Since(start) != 0 {
			t.Errorf("%q, %v after %s", got, err, time.Since(start))
		}
		cancel()
		if err := <-stalled; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	v := &values{run: runShell}
	if got, err := v.resolve(t.Context(), "!echo ' a b '; echo noise >&2", nil); got != "a b" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := v.resolve(t.Context(), "!echo top-secret; exit 3", nil); err == nil || err.Error() != "its command failed: exit status 3" {
		t.Errorf("%v", err)
	}
}

func TestRefreshIsSingleFlightByProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k *Keys
		var calls atomic.Int32
		s := setup{
			own: `{"p":{"type":"oauth","access":"old","refresh":"r1","expires":1,"accountId":"acc"},"stalled":{"type":"oauth","access":"x","refresh":"y","expires":1}}`,
			refresh: func(ctx context.Context, provider string, l Login) (Login, error) {
				if provider == "stalled" {
					<-ctx.Done()
					return Login{}, ctx.Err()
				}
				calls.Add(1)
				time.Sleep(time.Second)
				if l.Refresh != "r1" || !strings.Contains(string(l.Raw), `"accountId":"acc"`) {
					t.Errorf("login %+v", l)
				}
				l.Access, l.Expires = "new", time.Unix(5000, 0)
				return l, k.Save(ctx, l.File, provider, jsonx.Raw(`{"type":"oauth","access":"new","refresh":"r2","expires":5000000}`))
			},
		}
		k = s.keys(t)
		ctx, cancel := context.WithCancel(t.Context())
		stalled := make(chan error)
		go func() { _, err := k.Provider(ctx, "stalled"); stalled <- err }()
		synctest.Wait()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if c, err := k.Provider(t.Context(), "p"); c.APIKey != "new" || err != nil {
					t.Errorf("%+v, %v", c, err)
				}
			})
		}
		wg.Wait()
		if calls.Load() != 1 {
			t.Errorf("%d refreshes", calls.Load())
		}
		cancel()
		if err := <-stalled; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := k.Wait(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait for the stalled one: %v", err)
		}
		if err := k.Wait(t.Context()); err != nil { // it has a limit of its own
			t.Error(err)
		}
	})
}
