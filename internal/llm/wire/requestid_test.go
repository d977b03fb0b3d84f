package wire

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/llm"
)

// A failure names the request as its provider knows it, by the best header there is, and
// never what is no id.
func TestRequestIDs(t *testing.T) {
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		want   string
	}{
		"none":         {nil, "no", ""},
		"OpenAI":       {map[string]string{"X-Request-Id": "req_1", "CF-Ray": "ray-1"}, "no", " (x-request-id: req_1)"},
		"Anthropic":    {map[string]string{"Request-Id": "req_2"}, "no", " (request-id: req_2)"},
		"Amazon":       {map[string]string{"x-amzn-RequestId": "f-1"}, "no", " (x-amzn-requestid: f-1)"},
		"Azure":        {map[string]string{"Apim-Request-Id": "a-1"}, "no", " (apim-request-id: a-1)"},
		"Mistral":      {map[string]string{"Mistral-Correlation-Id": "m-1"}, "no", " (mistral-correlation-id: m-1)"},
		"a gateway":    {map[string]string{"CF-Ray": "8c1-FRA"}, "no", " (cf-ray: 8c1-FRA)"},
		"said already": {map[string]string{"Request-Id": "req_3"}, `{"request_id":"req_3"}`, ""},
		"blank":        {map[string]string{"X-Request-Id": "  ", "CF-Ray": "ray"}, "no", " (cf-ray: ray)"},
		"odd":          {map[string]string{"X-Request-Id": "two words", "Request-Id": "é", "CF-Ray": "(x"}, "no", ""},
		"long":         {map[string]string{"X-Request-Id": strings.Repeat("x", maxID+1)}, "no", ""},
		"a secret":     {map[string]string{"X-Request-Id": "topsecret123"}, "no", " (x-request-id: [redacted])"},
	} {
		t.Run(name, func(t *testing.T) {
			client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(http.StatusInternalServerError)
				io.WriteString(w, c.body)
			})
			e := fail(t, client, t.Context(), Request{URL: url, Header: Headers(map[string]string{"Authorization": "Bearer topsecret123"})})
			if want := "500 " + c.body + c.want; e.Message != want || e.Kind != llm.ErrTransient {
				t.Errorf("%s %q, want %q", e.Kind, e.Message, want)
			}
		})
	}
}

// What goes wrong in mid-stream names its request, too; an answer that never began has
// no name.
func TestRequestIDsInMidStream(t *testing.T) {
	s := &Response{Header: http.Header{"Request-Id": {"req_1"}}, ctx: t.Context(), inner: t.Context(), started: true}
	if e := s.StreamError("Overloaded", "overloaded_error", "Overloaded"); e.Message != "Overloaded (request-id: req_1)" || e.Kind != llm.ErrTransient || e.Body != "Overloaded" {
		t.Errorf("%+v", e)
	}
	if e := s.readError(io.ErrUnexpectedEOF); e.Message != "terminated: other side closed (UND_ERR_SOCKET) (request-id: req_1)" || e.Kind != llm.ErrTransport {
		t.Errorf("%+v", e)
	}
	c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req_2")
		io.WriteString(w, "part")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	if e := fail(t, c, t.Context(), Request{URL: url, Idle: time.Millisecond}); e.Message != "Request timed out: the stream was silent for 0.001 s (x-request-id: req_2)" {
		t.Errorf("%+v", e)
	}
	c, url = serve(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body); <-r.Context().Done() })
	if e := fail(t, c, t.Context(), Request{URL: url, FirstByte: time.Millisecond}); e.Message != "Request timed out: no answer within 0.001 s" {
		t.Errorf("%+v", e)
	}
}
