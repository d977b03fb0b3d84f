package wire

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// What is written down shows requests and answers, line by line, and no credential: not
// in headers, parameters or bodies, nor where a server repeats one.
func TestTrace(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Request-Id", "req-1")
		w.Header().Set("Set-Cookie", "session=topsecret-cookie")
		io.WriteString(w, "data: first\n\ndata: you sent "+r.Header.Get("Authorization")+" and "+string(body)+"\n\nthe end")
	}))
	defer srv.Close()
	var out bytes.Buffer
	c := New(Options{UserAgent: "isotope/test", Trace: &out})
	h := http.Header{}
	h.Set("Authorization", "Bearer topsecret-token")
	h.Set("X-Custom-Api-Key", "topsecret-custom")
	h.Set("X-Plain", "plain")
	resp, err := c.Post(t.Context(), Request{URL: srv.URL + "/v1?key=topsecret-query&alt=sse", Header: h, Body: []byte(`{"say":"topsecret-custom is in here"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp); err != nil {
		t.Fatal(err)
	}
	resp.Close()
	got := out.String()
	if strings.Contains(got, "topsecret") {
		t.Errorf("a secret is in it:\n%s", got)
	}
	for _, want := range []string{
		" POST http://", "/v1?alt=sse&key=", "1> Authorization: [redacted]\n", "1> X-Custom-Api-Key: [redacted]\n", "1> X-Plain: plain\n",
		`1> {"say":"[redacted] is in here"}` + "\n", "1< 200 OK after ", "1< X-Request-Id: req-1\n", "1< Set-Cookie: [redacted]\n",
		"1< data: first\n", "1< data: you sent Bearer [redacted] and ", "1< the end\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// Of a request for a credential and its answer only the frame is shown, whatever becomes
// of it.
func TestTraceOfPrivateRequests(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, `{"access_token":"topsecret"}`)
		}))
		var out bytes.Buffer
		resp, err := New(Options{Trace: &out}).Post(t.Context(), Request{URL: srv.URL, Body: []byte("refresh_token=topsecret"), Private: true})
		if err == nil {
			io.ReadAll(resp)
			resp.Close()
		}
		srv.Close()
		got := out.String()
		if strings.Contains(got, "topsecret") || !strings.Contains(got, "1> "+textPrivate+"\n") || !strings.Contains(got, "1< "+textPrivate+"\n") || !strings.Contains(got, "1< "+strconv.Itoa(status)+" ") {
			t.Errorf("%d:\n%s", status, got)
		}
	}
}
