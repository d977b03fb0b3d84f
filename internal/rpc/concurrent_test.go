package rpc_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
)

var rounds = flag.Int("rounds", 0, "rounds of TestConcurrentCommands; 0 for 100, or 25 under the race detector")

// Fifty commands of all kinds in one write, in any order, again and again: each gets one
// response, of its own command and with its own output, whatever the others do.
// go test -race ./internal/rpc -run TestConcurrentCommands -rounds 100
func TestConcurrentCommands(t *testing.T) {
	n := *rounds
	if n == 0 {
		if n = 100; testing.Short() || raceEnabled {
			n = 25
		}
	}
	for round := range n {
		rnd := rand.New(rand.NewPCG(uint64(round), 50))
		inBubble(t, tableScript, nil, func(c *talk) {
			enterState(c, tableStates[rnd.IntN(len(tableStates))])
			lines, sent := fiftyCommands(c, rnd)
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

// fiftyCommands returns lines, and the name of the command by its id.
func fiftyCommands(c *talk, rnd *rand.Rand) (lines []string, sent map[string]string) {
	rows, sent := tableRows(), map[string]string{}
	list := append(rpc.Commands(), rpc.Command{Name: "no_such_command"})
	for i, at := range rnd.Perm(max(len(list), 50))[:50] {
		name := list[at%len(list)].Name
		id := fmt.Sprintf("r%d", i)
		params := strings.ReplaceAll(rows[name].valid, "$WORK", filepath.ToSlash(c.bed.work))
		if strings.HasSuffix(name, "bash") && name != "abort_bash" {
			params = fmt.Sprintf(`"command":"echo of %s; sleep 0.0%d"`, id, rnd.IntN(9))
		}
		if params != "" {
			params = "," + params
		}
		sent[id] = name
		lines = append(lines, fmt.Sprintf(`{"id":%q,"type":%q%s}`, id, name, params))
	}
	return lines, sent
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
			Delta   string `json:"delta"`
			Data    struct {
				Output string `json:"output"`
			} `json:"data"`
		}
		if err := jsonx.Unmarshal([]byte(line), &r); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		if output := r.Delta + r.Data.Output; strings.HasPrefix(output, "of ") && output != "of "+r.ID+"\n" {
			t.Errorf("the output of another command: %s", line)
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
