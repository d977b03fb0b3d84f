package rpc_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
)

// Fifty commands of all kinds in one write, in any order, again and again: each gets one
// response, of its own command, whatever the others do.
func TestConcurrentCommands(t *testing.T) {
	rounds := 100
	if testing.Short() || raceEnabled {
		rounds = 25
	}
	rows := tableRows()
	for round := range rounds {
		inBubble(t, tableScript, nil, func(c *talk) {
			rnd := rand.New(rand.NewPCG(uint64(round), 50))
			enterState(c, "running")
			sent := map[string]string{}
			var lines []string
			list := rpc.Commands()
			for i, at := range rnd.Perm(max(len(list), 50))[:50] {
				cmd := list[at%len(list)]
				if cmd.Name == "login_provider" {
					cmd = list[0] // it waits for a person
				}
				params := strings.ReplaceAll(rows[cmd.Name].valid, "$WORK", filepath.ToSlash(c.bed.work))
				if params != "" {
					params = "," + params
				}
				id := fmt.Sprintf("r%d-%d", round, i)
				sent[id] = cmd.Name
				lines = append(lines, fmt.Sprintf(`{"id":%q,"type":%q%s}`, id, cmd.Name, params))
			}
			c.send(lines...)
			if round%4 > 0 { // else the end of input comes in between
				time.Sleep(5 * time.Minute)
			}
			checkAnswered(t, c.end(), sent)
		})
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

// checkAnswered checks that each command that was sent got one response of its name.
func checkAnswered(t *testing.T, out string, sent map[string]string) {
	t.Helper()
	got := map[string]int{}
	for line := range strings.Lines(out) {
		var r struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Command string `json:"command"`
		}
		if err := jsonx.Unmarshal([]byte(line), &r); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if r.Type != "response" || r.ID == "" {
			continue
		}
		got[r.ID]++
		if sent[r.ID] != r.Command {
			t.Errorf("%s was %s, and was answered as %s", r.ID, sent[r.ID], r.Command)
		}
	}
	for id, name := range sent {
		if got[id] != 1 {
			t.Errorf("%d responses to %s %s", got[id], name, id)
		}
	}
}
