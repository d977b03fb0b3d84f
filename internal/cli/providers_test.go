package cli

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// surroundings are the variables that some providers need beside their key.
var surroundings = map[string]string{
	"AZURE_OPENAI_RESOURCE_NAME": "my-resource", "CLOUDFLARE_ACCOUNT_ID": "my-account", "CLOUDFLARE_GATEWAY_ID": "my-gateway",
	"GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": "europe-west1", "AWS_REGION": "eu-central-1",
}

// storedLogins is for a provider that takes no key: its token names the account.
func storedLogins() string {
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"https://api.openai.com/auth":{"chatgpt_account_id":"my-account"}}`))
	return `{"openai-codex": {"type": "oauth", "access": "secret-login.` + claims + `.sig", "refresh": "r", "expires": 4102444800000, "accountId": "my-account"}}`
}

// capture is a network that shows requests and answers none.
type capture struct{ got []*http.Request }

func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	c.got = append(c.got, r)
	return nil, errors.New("nothing is sent")
}

// Every provider of the catalogue, and of it every protocol: the variable that a user
// without a key is told to set, the address of the request, and its headers.
func TestEveryProviderOfTheCatalogue(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "providers.golden"))
	if err != nil {
		t.Fatal(err)
	}
	home, _ := world(t)
	for name, value := range surroundings {
		t.Setenv(name, value)
	}
	f, err := parseFlags(nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := newApp(f, "isotope", stdio{err: new(buffer)}, usualLimits())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".isotope", "agent", "auth.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(storedLogins()), 0o600)); err != nil {
		t.Fatal(err)
	}
	network := &capture{}
	client := wire.New(wire.Options{UserAgent: "isotope/test", Transport: network})
	a.providers.client = func() *wire.Client { return client }
	var out strings.Builder
	for _, m := range oneOfEachProtocol(a) {
		fmt.Fprintf(&out, "%s %s\n", m.Provider, m.API)
		cred, err := a.keys.Model(t.Context(), m)
		if err != nil {
			variable := regexp.MustCompile(`[A-Z][A-Z0-9_]+_(API_KEY|TOKEN|TOKEN_BEDROCK)\b`).FindString(err.Error())
			if variable == "" {
				t.Errorf("%s: nobody is told what to do: %v", m.Provider, err)
				continue
			}
			fmt.Fprintf(&out, "  key      %s\n", variable)
			t.Setenv(variable, "secret-key")
			if cred, err = a.keys.Model(t.Context(), m); err != nil {
				t.Errorf("%s with %s: %v", m.Provider, variable, err)
				continue
			}
			os.Unsetenv(variable) // the next provider may look for it, too
		}
		req := &llm.Request{Model: m, System: "s", Messages: []llm.Message{&llm.UserMessage{Content: llm.Content{llm.NewText("hi")}}}, SessionID: "my-session"}
		engine.Authorize(req, cred)
		p, err := a.providers.get(m.API)
		if err != nil {
			fmt.Fprintf(&out, "  %v\n", err)
			continue
		}
		network.got = nil
		for range p.Stream(t.Context(), req) {
			break
		}
		if len(network.got) == 0 {
			t.Errorf("%s %s: no request", m.Provider, m.API)
			continue
		}
		show(&out, network.got[0])
	}
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(golden), 0o755), os.WriteFile(golden, []byte(out.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// oneOfEachProtocol returns the first model of every provider and protocol.
func oneOfEachProtocol(a *app) []*llm.Model {
	first := map[string]*llm.Model{}
	for _, m := range a.models.All() {
		if name := m.Provider + " " + m.API; first[name] == nil && m.API != llm.APIScripted {
			first[name] = m
		}
	}
	var out []*llm.Model
	for _, name := range slices.Sorted(maps.Keys(first)) {
		out = append(out, first[name])
	}
	return out
}

// show prints a request without what differs from run to run, and without secrets.
func show(out *strings.Builder, r *http.Request) {
	mask := regexp.MustCompile(`secret-[a-z]+(\.[\w-]+\.sig)?`)
	uuid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	clean := func(s string) string { return uuid.ReplaceAllString(mask.ReplaceAllString(s, "<secret>"), "<id>") }
	fmt.Fprintf(out, "  %s     %s\n", r.Method, clean(r.URL.String()))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(out, "  %s: %s\n", name, clean(strings.Join(r.Header[name], ", ")))
	}
}
