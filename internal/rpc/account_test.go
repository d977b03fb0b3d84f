package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// question is an extension_ui_request of a login.
type question struct {
	Type, ID, Method, Provider, LoginID string
}

// questions returns what the client was asked so far.
func (c *talk) questions() (list []question) {
	c.t.Helper()
	for line := range strings.Lines(c.out.String()) {
		var q struct {
			Type     string `json:"type"`
			ID       string `json:"id"`
			Method   string `json:"method"`
			Provider string `json:"provider"`
			LoginID  string `json:"loginId"`
		}
		if jsonx.Unmarshal([]byte(line), &q) == nil && q.Type == "extension_ui_request" {
			list = append(list, question(q))
		}
	}
	return list
}

// A login asks the client; the answer is stored and never shown.
func TestLoginAsksTheClient(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		c.send(`{"id":"l","type":"login_provider","provider":"fake","loginId":"mine"}`, `{"id":"m","type":"login_provider","provider":"fake"}`)
		c.await("extension_ui_request", "")
		synctest.Wait()
		if r := c.response("m"); !strings.Contains(r, "Login already in progress: fake") {
			t.Errorf("a second login: %s", r)
		}
		q := c.questions()
		if len(q) != 1 || q[0].Method != "oauth_prompt" || q[0].Provider != "fake" || q[0].LoginID != "mine" {
			t.Fatalf("questions: %+v", q)
		}
		c.send(`{"type":"extension_ui_response","id":"nobody","value":"wrong"}`) // an unknown id is ignored
		c.send(`{"type":"get_state","id":"free"}`)                               // the lane is free
		c.await("response", `"free"`)
		c.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"value":"sk-secret"}`, q[0].ID))
		c.await("response", `"l"`)
		c.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"value":"late"}`, q[0].ID)) // so is a late answer
		if r := c.response("l"); !strings.Contains(r, `"data":{"provider":"fake","cancelled":false,"type":"api_key","models":[`) {
			t.Errorf("the login: %s", r)
		}
		stored, err := os.ReadFile(filepath.Join(c.bed.work, "agent", "auth.json"))
		if err != nil || !strings.Contains(string(stored), "sk-secret") {
			t.Errorf("stored: %s, %v", stored, err)
		}
		c.send(`{"id":"o","type":"logout_provider","provider":"fake"}`)
		c.await("response", `"o"`)
		if strings.Contains(c.out.String(), "sk-secret") {
			t.Error("the key is shown")
		}
	})
}

// A login ends when it is cancelled by command, by its answer, or with the program.
func TestLoginCancelled(t *testing.T) {
	for name, cancel := range map[string]func(c *talk, q question){
		"by command": func(c *talk, _ question) {
			c.send(`{"id":"other","type":"cancel_login_provider","provider":"fake","loginId":"another"}`)
			synctest.Wait()
			if strings.Contains(c.out.String(), `"command":"login_provider"`) {
				c.t.Error("another login's cancel ended it")
			}
			c.send(`{"id":"x","type":"cancel_login_provider","provider":"fake"}`)
		},
		"by its answer": func(c *talk, q question) {
			c.send(fmt.Sprintf(`{"type":"extension_ui_response","id":%q,"cancelled":true,"value":"no"}`, q.ID))
		},
		"with the program": func(c *talk, _ question) { c.end() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, repeats, nil, func(c *talk) {
				c.send(`{"id":"l","type":"login_provider","provider":"fake"}`)
				c.await("extension_ui_request", "")
				cancel(c, c.questions()[0])
				if !c.ended {
					c.await("response", `"l"`)
				}
				if r := c.response("l"); !strings.Contains(r, `"cancelled":true`) && !strings.Contains(r, `"success":false`) {
					t.Errorf("the login: %s", r)
				}
				if _, err := os.Stat(filepath.Join(c.bed.work, "agent", "auth.json")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("something was stored: %v", err)
				}
			})
		})
	}
}

// Extensions complete commands and listen to keys; one that fails or panics is the
// command's failure.
func TestShortcutsAndCompletions(t *testing.T) {
	pressed := 0
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Shortcuts = func() []engine.Shortcut { return []engine.Shortcut{{Key: "ctrl+x", Description: "d"}} }
		b.hooks.Shortcut = func(key string) (func(context.Context), bool) {
			switch key {
			case "ctrl+x":
				return func(context.Context) { pressed++ }, true
			case "ctrl+p":
				return func(context.Context) { panic("boom") }, true
			}
			return nil, false
		}
		b.hooks.Completions = func(_ context.Context, command, prefix string) ([]engine.Completion, error) {
			switch command {
			case "none":
				return nil, nil
			case "bad":
				return nil, errors.New("no luck")
			}
			return []engine.Completion{{Value: prefix + "1", Label: command}}, nil
		}
	}, func(c *talk) {
		for _, tt := range []struct{ send, want string }{
			{`"get_shortcuts"`, `"data":{"shortcuts":[{"key":"ctrl+x","description":"d"}]}`},
			{`"invoke_shortcut","key":"ctrl+x"`, `"success":true`},
			{`"invoke_shortcut","key":"ctrl+p"`, `"error":"internal error: boom"`},
			{`"invoke_shortcut","key":"ctrl+q"`, `"error":"Shortcut not found: ctrl+q"`},
			{`"get_command_completions","commandName":"/go","argumentPrefix":"a"`, `"data":{"completions":[{"value":"a1","label":"go"}]}`},
			{`"get_command_completions","commandName":"none","argumentPrefix":""`, `"data":{"completions":null}`},
			{`"get_command_completions","commandName":"bad","argumentPrefix":""`, `"error":"no luck"`},
		} {
			id := fmt.Sprintf("%q", tt.send)
			c.send(fmt.Sprintf(`{"id":%s,"type":%s}`, id, tt.send))
			synctest.Wait()
			var plain string
			if err := jsonx.Unmarshal([]byte(id), &plain); err != nil {
				t.Fatal(err)
			}
			if r := c.response(plain); !strings.Contains(r, tt.want) {
				t.Errorf("%s: %s\nwant %s", tt.send, r, tt.want)
			}
		}
	})
	if pressed != 1 {
		t.Errorf("the key was pressed %d times", pressed)
	}
}
