package google

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts of a setup that is not complete.
const (
	textNoProject  = "Vertex AI requires a project ID: set GOOGLE_CLOUD_PROJECT or GCLOUD_PROJECT"
	textNoLocation = "Vertex AI requires a location: set GOOGLE_CLOUD_LOCATION"
)

// ambientKey is what a key store hands over where Google's own credentials are to be
// used.
const ambientKey = "gcp-vertex-credentials"

// VertexOptions are what Vertex AI's credentials depend on.
type VertexOptions struct {
	// Getenv looks up a variable of the environment, "" for none; variables of a
	// request come first. Nil means that there are none.
	Getenv func(string) string
	// ReadFile is os.ReadFile when nil, Now time.Now.
	ReadFile func(string) ([]byte, error)
	Now      func() time.Time
}

type vertex struct {
	client *wire.Client
	o      VertexOptions
	tokens tokens
}

// NewVertex returns the provider of google-vertex on a client. It takes an API key
// (GOOGLE_CLOUD_API_KEY), or without one the application default credentials: a
// service account's key or those of gcloud auth application-default login.
func NewVertex(c *wire.Client, o VertexOptions) llm.Provider {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &vertex{client: c, o: o, tokens: newTokens()}
}

// Stream implements llm.Provider.
func (p *vertex) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		r, token, err := p.request(ctx, req)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		err = exchange(ctx, p.client, req, r, textNoReasonVertex, yield)
		if e := llm.AsError(err); e != nil && e.Status == http.StatusUnauthorized && token != "" {
			p.tokens.drop(token) // it may have been revoked: the next request gets a new one
		}
	}
}

// getenv returns a variable of the request's credential, else of the environment.
func (p *vertex) getenv(req *llm.Request, name string) string {
	if v, ok := req.Env[name]; ok {
		return v
	}
	return p.o.Getenv(name)
}

// request returns where a request goes and its headers; token is the access token that
// is among them, "" for none.
func (p *vertex) request(ctx context.Context, req *llm.Request) (r wire.Request, token string, err error) {
	own := map[string]string{}
	var adc *credentials
	key := strings.TrimSpace(req.APIKey)
	placeholder := strings.HasPrefix(key, "<") && strings.HasSuffix(key, ">")
	switch {
	case key != "" && key != ambientKey && !placeholder:
		own["x-goog-api-key"] = key
	case authorized(wire.Headers(req.Model.Headers, req.Headers)):
	default:
		if adc, err = p.credentials(req); err != nil {
			return r, "", err
		}
		if token, err = p.tokens.get(ctx, p.client, adc, p.o.Now); err != nil {
			return r, "", err
		}
		own["Authorization"], own["x-goog-user-project"] = "Bearer "+token, adc.QuotaProject
	}
	r.Header = wire.Headers(own, req.Model.Headers, req.Headers)
	r.URL, err = p.endpoint(req, adc, own["x-goog-api-key"] != "")
	return r, token, err
}

// endpoint returns the request's URL. A base URL of the user's own holds all but the
// publisher's path.
func (p *vertex) endpoint(req *llm.Request, adc *credentials, keyed bool) (string, error) {
	path := vertexPath(req.Model.ID)
	if base := strings.TrimSpace(req.Model.BaseURL); base != "" && !strings.Contains(base, "{location}") {
		base = strings.TrimRight(base, "/")
		if !versioned(base) {
			base += "/v1"
		}
		return base + "/" + path + method, nil
	}
	if keyed {
		return "https://aiplatform.googleapis.com/v1/" + path + method, nil
	}
	project := p.getenv(req, "GOOGLE_CLOUD_PROJECT")
	if project == "" {
		project = p.getenv(req, "GCLOUD_PROJECT")
	}
	if project == "" && adc != nil {
		project = adc.Project
	}
	location := p.getenv(req, "GOOGLE_CLOUD_LOCATION")
	switch {
	case project == "":
		return "", &llm.Error{Kind: llm.ErrAuth, Message: textNoProject}
	case location == "":
		return "", &llm.Error{Kind: llm.ErrAuth, Message: textNoLocation}
	}
	if !strings.HasPrefix(path, "projects/") {
		path = "projects/" + url.PathEscape(project) + "/locations/" + url.PathEscape(location) + "/" + path
	}
	return "https://" + host(location) + "/v1/" + path + method, nil
}

// host returns the server of a location.
func host(location string) string {
	switch location {
	case "global":
		return "aiplatform.googleapis.com"
	case "us", "eu":
		return "aiplatform." + location + ".rep.googleapis.com"
	}
	return location + "-aiplatform.googleapis.com"
}

// versioned reports whether a URL's path has a part like v1 or v1beta1.
func versioned(base string) bool {
	_, path, _ := strings.Cut(base, "://")
	for i, part := range strings.Split(path, "/") {
		if i == 0 || len(part) < 2 || part[0] != 'v' {
			continue
		}
		n, rest := leadingNumber(part[1:])
		if beta, ok := strings.CutPrefix(rest, "beta"); ok {
			_, rest = leadingNumber("0" + beta)
		}
		if n >= 0 && rest == "" {
			return true
		}
	}
	return false
}

// vertexPath returns the path of a model: publishers/google/models/ID, or what the id
// names itself.
func vertexPath(id string) string {
	for _, prefix := range []string{"publishers/", "projects/", "models/"} {
		if strings.HasPrefix(id, prefix) {
			return escaped(id)
		}
	}
	if publisher, name, ok := strings.Cut(id, "/"); ok {
		return "publishers/" + escaped(publisher) + "/models/" + escaped(name)
	}
	return "publishers/google/models/" + escaped(id)
}

// escaped returns an id as it stands in a path; its slashes stay.
func escaped(id string) string { return (&url.URL{Path: id}).EscapedPath() }
