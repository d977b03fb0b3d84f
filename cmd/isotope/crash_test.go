package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// crashRunsVar names how many times TestKilledAtAnyMoment kills the program; by default
// crashRuns times.
const (
	crashRunsVar = "ISOTOPE_TEST_CRASH_RUNS"
	crashRuns    = 20
	// crashesPerSession bounds how long the session gets that every run opens again.
	crashesPerSession = 25
)

// The program is killed at random moments of a run with tools, again and again on one
// session: it always opens again, with every message whose end was told, and every
// parent there.
func TestKilledAtAnyMoment(t *testing.T) {
	runs := crashRuns
	if s := os.Getenv(crashRunsVar); s != "" {
		var err error
		if runs, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", crashRunsVar, err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var home, dir string
	var told []string
	for i := range runs {
		if i%crashesPerSession == 0 {
			home, dir, told = t.TempDir(), t.TempDir(), nil
			if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(strings.Repeat("A line of text.\n", 100)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p := launch(t, home, dir, "isotope", "--mode", "rpc", "--model", "scripted/demo", "--session-id", "crashes")
		p.torn = true
		p.follow()
		checkEntries(t, i, told, p.answer(`{"type":"get_entries"}`))
		p.send(`{"type":"prompt","message":"What is here?"}`)
		for range 1 + random.IntN(40) {
			line, ok := <-p.lines
			if !ok {
				t.Fatalf("run %d: the program ended by itself", i)
			}
			told = append(told, ended(t, line)...)
			if strings.Contains(line, `"agent_settled"`) {
				break
			}
		}
		time.Sleep(time.Duration(random.IntN(2000)) * time.Microsecond)
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.wait()
		for line := range p.lines { // what was in the pipe was told, too
			told = append(told, ended(t, line)...)
		}
	}
}

// ended returns the message of a message_end.
func ended(t *testing.T, line string) []string {
	if !strings.Contains(line, `"type":"message_end"`) {
		return nil
	}
	return []string{member(t, line, "message")}
}

// checkEntries checks that the messages told are in the session, in their order, and that
// every entry's parent is before it.
func checkEntries(t *testing.T, run int, told []string, response string) {
	t.Helper()
	var r struct {
		Data struct {
			Entries []struct {
				ID       string    `json:"id"`
				ParentID *string   `json:"parentId"`
				Message  jsonx.Raw `json:"message"`
			} `json:"entries"`
		} `json:"data"`
	}
	if err := jsonx.Unmarshal([]byte(response), &r); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, e := range r.Data.Entries {
		if e.ParentID != nil && !known[*e.ParentID] {
			t.Fatalf("run %d: the parent %s of %s is not there", run, *e.ParentID, e.ID)
		}
		known[e.ID] = true
		if len(told) > 0 && string(e.Message) == told[0] {
			told = told[1:]
		}
	}
	if len(told) > 0 {
		t.Fatalf("run %d: %d messages that were told are lost, the first is %s", run, len(told), told[0])
	}
}
