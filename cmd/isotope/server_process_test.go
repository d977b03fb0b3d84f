package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Field reports 38, 39 and 40: connections that a server keeps open do not keep the
// program alive after its answer.
func TestKeptConnectionsDoNotHoldTheProgram(t *testing.T) {
	srv := newModelServer("")
	defer srv.Close()
	home := t.TempDir()
	agent := filepath.Join(home, ".isotope", "agent")
	if err := errors.Join(os.MkdirAll(agent, 0o755), os.WriteFile(filepath.Join(agent, "models.json"), srv.models(), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"json", "text"} {
		p := launch(t, home, t.TempDir(), "isotope", "--mode", mode, "--model", "local/m", "hi")
		p.closeInput()
		out, err := io.ReadAll(p.stdout)
		if err != nil || !strings.Contains(string(out), "you said: hi") {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
		p.wantExit(0) // the server would keep its connections for longer than this waits
	}
}

// soon waits for a value.
func soon(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("no " + what)
	}
}

// Field reports 43 and 44: a server that takes a request, be it the first or that behind a
// tool, and is silent then: after the limit of the settings the request is tried again,
// and the run ends with an error; an abort ends it at once. The connection is closed.
func TestSilentServer(t *testing.T) {
	needShell(t)
	const settings = `{"httpIdleTimeoutMs":2000,"retry":{"maxRetries":1,"baseDelayMs":1}}`
	for _, prompt := range []string{"silent:", "mute:echo hi"} {
		for name, wait := range map[string]func(t *testing.T, p *process){
			"limit": func(t *testing.T, p *process) {
				p.until(`"type":"auto_retry_start"`, `"attempt":1`)
				p.until(`"type":"message_end"`, `"stopReason":"error"`)
				p.until(`"type":"auto_retry_end","success":false`)
				p.until(`{"type":"agent_settled","aborted":false}`)
			},
			"abort": func(t *testing.T, p *process) {
				p.send(`{"id":"a","type":"abort"}`)
				lines := p.until(`{"type":"agent_settled","aborted":true}`)
				if all := strings.Join(lines, "\n"); !strings.Contains(all, `"stopReason":"aborted"`) || strings.Contains(all, "auto_retry_start") {
					t.Errorf("the end of the run:\n%s", all)
				}
				p.until(`"id":"a"`, `"success":true`)
			},
		} {
			t.Run(prompt+" "+name, func(t *testing.T) {
				t.Parallel()
				srv := newModelServer("")
				defer srv.Close()
				home := t.TempDir()
				agent := filepath.Join(home, ".isotope", "agent")
				kept := settings
				if name == "abort" {
					kept = `{}` // minutes
				}
				if err := errors.Join(os.MkdirAll(agent, 0o755), os.WriteFile(filepath.Join(agent, "models.json"), srv.models(), 0o600),
					os.WriteFile(filepath.Join(agent, "settings.json"), []byte(kept), 0o600)); err != nil {
					t.Fatal(err)
				}
				p := launch(t, home, t.TempDir(), "isotope", "--mode", "rpc", "--model", "local/m", "--no-session")
				p.follow()
				p.send(`{"type":"prompt","message":"` + prompt + `"}`)
				soon(t, "request", srv.mute)
				wait(t, p)
				soon(t, "end of the connection", srv.left)
				if s := p.answer(`{"type":"get_state"}`); !strings.Contains(s, `"isStreaming":false`) {
					t.Errorf("the state: %s", s)
				}
				p.closeInput()
				p.wantExit(0)
			})
		}
	}
}
