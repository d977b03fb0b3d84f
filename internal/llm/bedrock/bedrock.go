// Package bedrock speaks bedrock-converse-stream: POST /model/ID/converse-stream of
// Amazon Bedrock, whose answer comes in binary frames with checksums.
//
// It owns the request body, the reading of frames, Amazon's credentials and signatures,
// and the error texts of this protocol (providers.md). It knows no settings, no session
// and no retry. Signing and framing are Amazon's own modules; all else of their kit is
// left out for its size. A provider may be used concurrently; one stream is read by one
// goroutine.
package bedrock

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Options are what Amazon's credentials depend on.
type Options struct {
	// Getenv looks up a variable of the environment, "" for none; variables of a
	// request come first. Nil means that there are none.
	Getenv func(string) string
	// ReadFile is os.ReadFile when nil, Now time.Now.
	ReadFile func(string) ([]byte, error)
	Now      func() time.Time
}

type provider struct {
	client *wire.Client
	o      Options
	cache  cache
}

// New returns the provider of the protocol on a client.
func New(c *wire.Client, o Options) llm.Provider {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &provider{client: c, o: o, cache: newCache()}
}

// Stream implements llm.Provider.
func (p *provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		c := &call{provider: p, req: req}
		r, err := c.request(ctx)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		resp, err := p.client.Post(ctx, r)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		defer resp.Close()
		s := &stream{resp: resp, Emitter: wire.Emitter{Yield: yield}, level: c.level}
		s.run()
	}
}

// call is one request in the making.
type call struct {
	*provider
	req   *llm.Request
	level string // what the provider calls the thinking level, when it differs
}

// getenv returns a variable of the request's credential, else of the environment.
func (c *call) getenv(name string) string {
	if v, ok := c.req.Env[name]; ok {
		return v
	}
	return c.o.Getenv(name)
}

// request returns the request with its credentials; the error is an *llm.Error.
func (c *call) request(ctx context.Context) (wire.Request, error) {
	b, err := c.body()
	if err != nil {
		return wire.Request{}, &llm.Error{Kind: llm.ErrBadRequest, Message: textBadRequest + err.Error(), Err: err}
	}
	content, err := jsonx.Marshal(b)
	if err != nil {
		return wire.Request{}, &llm.Error{Kind: llm.ErrBadRequest, Message: textBadRequest + err.Error(), Err: err}
	}
	region := c.region()
	r := wire.Request{
		URL:  c.endpoint(region) + "/model/" + pathSegment(c.req.Model.ID) + "/converse-stream",
		Body: content, ExplainHeader: explain,
	}
	own := map[string]string{"Content-Type": "application/json", "Accept": "application/vnd.amazon.eventstream"}
	r.Header = wire.Headers(own, unreserved(c.req.Model.Headers), unreserved(c.req.Headers))
	if token := c.bearer(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
		return r, nil
	}
	keys, err := c.credentials(ctx, region)
	if err != nil {
		return wire.Request{}, err
	}
	return r, sign(ctx, &r, keys, region, c.o.Now())
}

// bearer returns the API key of Bedrock, "" when requests are to be signed.
func (c *call) bearer() string {
	if c.getenv("AWS_BEDROCK_SKIP_AUTH") == "1" {
		return ""
	}
	if key := strings.TrimSpace(c.req.APIKey); key != "" && !strings.HasPrefix(key, "<") {
		return key
	}
	return c.getenv("AWS_BEARER_TOKEN_BEDROCK")
}

// unreserved leaves out the headers that the signature owns.
func unreserved(headers map[string]string) map[string]string {
	out := make(map[string]string, len(headers))
	for name, value := range headers {
		switch lower := strings.ToLower(name); {
		case lower == "authorization", lower == "host", strings.HasPrefix(lower, "x-amz-"):
		default:
			out[name] = value
		}
	}
	return out
}

// region returns the region of a request: that of the model's ARN, what the
// environment says, what the profile says, that of the base URL, the first of all.
func (c *call) region() string {
	if rest, ok := strings.CutPrefix(c.req.Model.ID, "arn:"); ok {
		if parts := strings.SplitN(rest, ":", 4); len(parts) == 4 && strings.HasPrefix(parts[0], "aws") && parts[1] == "bedrock" && parts[2] != "" {
			return parts[2]
		}
	}
	if r := c.configuredRegion(); r != "" {
		return r
	}
	if c.getenv("AWS_PROFILE") != "" {
		if r := c.profile(c.getenv("AWS_PROFILE"))["region"]; r != "" {
			return r
		}
	}
	if r := standardRegion(c.req.Model.BaseURL); r != "" {
		return r
	}
	return "us-east-1"
}

func (c *call) configuredRegion() string {
	if r := c.getenv("AWS_REGION"); r != "" {
		return r
	}
	return c.getenv("AWS_DEFAULT_REGION")
}

// endpoint returns the base URL. The standard one of the catalogue gives way to that
// of a region the user chose; any other stays.
func (c *call) endpoint(region string) string {
	base := strings.TrimRight(strings.TrimSpace(c.req.Model.BaseURL), "/")
	standard := standardRegion(base)
	if base != "" && (standard == "" || standard == region) {
		return base
	}
	domain := ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return "https://bedrock-runtime." + region + domain
}

// standardRegion returns the region of one of Bedrock's own URLs, "" for another.
func standardRegion(base string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	for _, prefix := range []string{"bedrock-runtime.", "bedrock-runtime-fips."} {
		if rest, ok := strings.CutPrefix(host, prefix); ok {
			region, ok := strings.CutSuffix(strings.TrimSuffix(rest, ".cn"), ".amazonaws.com")
			if ok && !strings.Contains(region, ".") {
				return region
			}
		}
	}
	return ""
}

// pathSegment escapes an id as Amazon's signature needs it: all but letters, digits
// and -_.~
func pathSegment(id string) string {
	return strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
}

// explain words an error status: the name of the exception, which is in a header, and
// the body's message.
func explain(status int, h http.Header, body string) (message, code string) {
	code, _, _ = strings.Cut(h.Get("X-Amzn-Errortype"), ":")
	var e struct {
		Type    jsonx.Raw `json:"__type"`
		Message jsonx.Raw `json:"message"`
		Capital jsonx.Raw `json:"Message"`
	}
	if jsonx.Unmarshal([]byte(body), &e) != nil {
		return "", code
	}
	if code == "" {
		code = text(e.Type)
		code = code[strings.LastIndexByte(code, '#')+1:]
	}
	said := text(e.Message)
	if said == "" {
		said = text(e.Capital)
	}
	if code == "" || said == "" {
		return "", code
	}
	return worded(code, wire.Truncate(said)), code
}
