package rpc_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A hook that cancels a replacement leaves everything as it was, a run included; a fork
// says all the same what it would have been of. A refusal is its error.
func TestReplacementsCancelled(t *testing.T) {
	var asked []string
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.BeforeSwitch = func(_ context.Context, kind string) (bool, error) {
			asked = append(asked, kind)
			if len(asked) > 4 {
				return false, errors.New("not today")
			}
			return true, nil
		}
		b.write("proj/other.jsonl", `{"type":"session","version":3,"id":"o","timestamp":"1999-01-01T00:00:00.000Z","cwd":""}`+"\n")
	}, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"first"}`)
		c.await("agent_settled", "")
		c.send(`{"id":"q","type":"prompt","message":"long"}`)
		c.await("message_update", "some ")
		other := filepath.ToSlash(filepath.Join(c.bed.work, "proj", "other.jsonl"))
		for _, tt := range []struct{ id, send, want string }{
			{"f", `"fork","entryId":"00000003"`, `"data":{"text":"first","cancelled":true}`},
			{"c", `"clone"`, `"data":{"cancelled":true}`},
			{"s", `"switch_session","sessionPath":"` + other + `"`, `"data":{"cancelled":true}`},
			{"n", `"new_session"`, `"data":{"cancelled":true}`},
			{"x", `"clone"`, `"error":"not today"`},
			{"bad", `"fork","entryId":"nope"`, `"error":"Invalid entry ID for forking"`}, // nobody is asked
		} {
			c.send(`{"id":"` + tt.id + `","type":` + tt.send + `}`)
			c.await("response", `"`+tt.id+`"`)
			if r := c.response(tt.id); !strings.Contains(r, tt.want) {
				t.Errorf("%s: %s\nwant %s", tt.send, r, tt.want)
			}
		}
		c.await("agent_settled", `"aborted":false`)
	})
	if got := strings.Join(asked, " "); got != "fork fork resume new fork" {
		t.Errorf("the hook was asked for %s", got)
	}
}

// A copy that cannot be made leaves the old session alive: what ran was aborted and is
// stored, and the next prompt goes on.
func TestCopyFails(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"first"}`)
		c.await("agent_settled", "")
		dir := filepath.Join(c.bed.work, "sessions")
		if os.Getuid() == 0 { // root may write anywhere: the file itself goes
			if err := os.Rename(c.bed.stores[0].Path(), filepath.Join(dir, "away")); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		c.send(`{"id":"c","type":"clone"}`)
		c.await("response", `"c"`)
		if r := c.response("c"); !strings.Contains(r, `"success":false`) {
			t.Errorf("the clone: %s", r)
		}
		c.send(`{"id":"s","type":"get_state"}`)
		c.await("response", `"s"`)
		if r := c.response("s"); !strings.Contains(r, `"sessionId":"test"`) || !strings.Contains(r, `"messageCount":2`) {
			t.Errorf("the session afterwards: %s", r)
		}
		if os.Getuid() != 0 {
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Two replacements in one write: the second waits for the first and works on its
// session; a bash command that began before goes on and is recorded where it began.
func TestReplacementsInARow(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"first"}`)
		c.await("agent_settled", "")
		c.send(`{"id":"b","type":"bash","command":"sleep 5; echo late"}`, `{"id":"c","type":"clone"}`,
			`{"id":"f","type":"fork","entryId":"00000003"}`, `{"id":"e","type":"get_entries"}`, `{"id":"n","type":"set_session_name","name":"last"}`)
		c.await("response", `"b"`)
		for _, id := range []string{"c", "f", "n", "b"} {
			if r := c.response(id); !strings.Contains(r, `"success":true`) {
				t.Errorf("%s: %s", id, r)
			}
		}
		old, err := os.ReadFile(c.bed.stores[0].Path())
		if err != nil || strings.Count(string(old), "bashExecution") != 1 || strings.Contains(string(old), "session_info") {
			t.Errorf("the first session: %s, %v", old, err)
		}
	})
}

// A move with a summary goes on beside the lane, leaves the summary below the new place,
// and its label on it.
func TestNavigateWithSummary(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		for _, text := range []string{"first", "second"} {
			c.send(`{"type":"prompt","message":"` + text + `"}`)
			c.await("agent_settled", "")
		}
		c.send(`{"id":"n","type":"navigate_tree","targetId":"00000004","options":{"summarize":true,"label":"left"}}`)
		c.await("response", `"n"`)
		if r := c.response("n"); !strings.Contains(r, `"data":{"cancelled":false}`) {
			t.Fatalf("the move: %s", r)
		}
		c.send(`{"id":"e","type":"get_entries","since":"00000006"}`)
		c.await("response", `"e"`)
		r := c.response("e")
		if !strings.Contains(r, `"type":"branch_summary"`) || !strings.Contains(r, `"fromId":"00000004"`) || !strings.Contains(r, `"label":"left"`) {
			t.Errorf("what was stored: %s", r)
		}
	})
}

// What was switched right before a session replacement counts in the new session.
func TestSwitchesRightBeforeAReplacement(t *testing.T) {
	for range 20 {
		inBubble(t, repeats, nil, func(c *talk) {
			c.send(`{"id":"a","type":"set_auto_compaction","enabled":false}`, `{"id":"m","type":"set_steering_mode","mode":"all"}`,
				`{"id":"f","type":"set_follow_up_mode","mode":"all"}`, `{"id":"n","type":"new_session"}`)
			c.await("response", `"n"`)
			c.send(`{"id":"s","type":"get_state"}`)
			c.await("response", `"s"`)
			if r := c.response("s"); !strings.Contains(r, `"steeringMode":"all","followUpMode":"all"`) || !strings.Contains(r, `"autoCompactionEnabled":false`) {
				t.Errorf("the new session: %s", r)
			}
		})
	}
}
