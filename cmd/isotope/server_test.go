package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// modelServer answers chat completions. The last user text says how:
//
//	cut:TEXT       TEXT, cut off at the token limit
//	status:N:TEXT  an error of HTTP status N
//	sh:COMMAND     a call of the bash tool, then "done: " and its result
//	silent:        headers, and then nothing until the client leaves
//	mute:COMMAND   as sh:, but silent once the result is there
//	TEXT           "you said: " and the text
//
// Connections are kept alive, as real servers do.
type modelServer struct {
	*httptest.Server
	log string // the bodies of all requests, one a line; "" for none

	mu    sync.Mutex
	mute  chan struct{} // one value for every silent answer that began
	left  chan struct{} // and for every client that left one
	keyed []string      // the keys that came with requests
}

func newModelServer(log string) *modelServer {
	s := &modelServer{log: log, mute: make(chan struct{}, 100), left: make(chan struct{}, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	return s
}

// models is a models.json that leads to the server.
func (s *modelServer) models() []byte {
	return []byte(`{"providers":{
	"local":{"baseUrl":"` + s.URL + `/v1","api":"openai-completions","apiKey":"sk-configured-secret",
		"models":[{"id":"m","name":"Local","contextWindow":64000,"maxTokens":4000,"input":["text","image"]},{"id":"thinker","reasoning":true}]},
	"gw":{"baseUrl":"` + s.URL + `/v1","api":"openai-completions","apiKey":"k","models":[{"id":"claude/claude-opus-5"}]}
}}`)
}

type chatRequest struct {
	Messages []struct {
		Role    string    `json:"role"`
		Content jsonx.Raw `json:"content"`
	} `json:"messages"`
}

// text returns the text of a content, a string or blocks.
func text(raw jsonx.Raw) string {
	var s string
	if jsonx.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	_ = jsonx.Unmarshal(raw, &blocks)
	for _, b := range blocks {
		s += b.Text
	}
	return s
}

func (s *modelServer) note(r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyed = append(s.keyed, r.Header.Get("Authorization"))
	if s.log == "" {
		return
	}
	f, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(f, "%s\n", body)
		f.Close()
	}
}

func (s *modelServer) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.note(r, body)
	var req chatRequest
	if err := jsonx.Unmarshal(body, &req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "no chat request", http.StatusBadRequest)
		return
	}
	last := req.Messages[len(req.Messages)-1]
	user := ""
	for _, m := range req.Messages {
		if m.Role == "user" {
			user = text(m.Content)
		}
	}
	kind, rest, _ := strings.Cut(user, ":")
	switch {
	case kind == "silent", kind == "mute" && last.Role == "tool":
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		s.mute <- struct{}{}
		<-r.Context().Done()
		s.left <- struct{}{}
	case last.Role == "tool":
		stream(w, delta("done: "+text(last.Content)), finish("stop"))
	case kind == "sh", kind == "mute":
		args, _ := jsonx.Marshal(map[string]string{"command": rest})
		quoted, _ := jsonx.Marshal(string(args))
		stream(w, `{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"bash","arguments":`+string(quoted)+`}}]}`, finish("tool_calls"))
	case kind == "cut":
		stream(w, delta(rest), finish("length"))
	case kind == "status":
		n, reason, _ := strings.Cut(rest, ":")
		status, _ := strconv.Atoi(n)
		http.Error(w, `{"error":{"message":"`+reason+`"}}`, status)
	default:
		stream(w, delta("you said: "), delta(user), finish("stop"))
	}
}

// delta is a piece of an answer's text.
func delta(text string) string {
	b, _ := jsonx.Marshal(map[string]string{"content": text})
	return string(b)
}

// finish is the end of an answer; stream knows it by its mark.
func finish(reason string) string { return "\x00" + reason }

func stream(w http.ResponseWriter, parts ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range parts {
		choice := `{"index":0,"delta":` + p + `}`
		if reason, ok := strings.CutPrefix(p, "\x00"); ok {
			choice = `{"index":0,"delta":{},"finish_reason":"` + reason + `"}`
		}
		fmt.Fprintf(w, "data: {\"id\":\"r1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[%s]}\n\n", choice)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
