package rpc_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

var stressSeed = flag.Uint64("stress-seed", 0, "run TestStress with this seed only")

// The model of the stress test: what it does depends on the words of the prompt.
const stressScript = `
-- settings.json --
{"defaultProvider":"fake","defaultModel":"one","retry":{"baseDelayMs":20,"maxRetries":2}}
-- provider --
{"onEnd":"repeat","turns":[
 {"match":"tools","turn":"0-1","steps":[{"text":"calling"},{"toolCall":{"name":"bash","arguments":{"command":"sleep 0.02; echo a"}}},{"toolCall":{"name":"bash","arguments":{"command":"sleep 0.01; echo b"}}},{"toolCall":{"name":"nope"}}]},
 {"match":"long","turn":0,"steps":[{"text":"aaaaaaaaaaaaaaaaaaaa","chunkSize":1,"delayMs":3}]},
 {"match":"flaky","turn":0,"steps":[{"text":"half"},{"error":{"status":529,"message":"Overloaded","times":1}},{"text":" whole"}]},
 {"match":"broken","turn":0,"steps":[{"error":{"status":400,"message":"no"}}]},
 {"match":"length","turn":0,"steps":[{"toolCall":{"name":"bash","arguments":{"command":"echo never"}}}],"stopReason":"length"},
 {"steps":[{"text":"ok"}]}]}
`

// Whatever clients do, and when: every line gets one response, the records are in
// order, an accepted text is never lost and a refused one never appears, every tool
// call has its result, and the end comes.
func TestStress(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() || raceEnabled {
		seeds = 10
	}
	first := uint64(1)
	if *stressSeed != 0 {
		first, seeds = *stressSeed, *stressSeed
	}
	for seed := first; seed <= seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, stressScript, nil, func(c *talk) {
				s := &stress{c: c, rnd: rand.New(rand.NewPCG(seed, 0)), texts: map[string]string{}}
				for range 60 {
					s.act()
				}
				before := time.Now()
				c.end()
				if d := time.Since(before); d > 2*time.Second {
					t.Errorf("the end took %v", d)
				}
				s.check()
			})
			if t.Failed() {
				t.Logf("again with: go test ./internal/rpc -run TestStress -stress-seed %d", seed)
			}
		})
	}
}

// stress is one client at random.
type stress struct {
	c     *talk
	rnd   *rand.Rand
	sent  []string          // ids
	texts map[string]string // id -> the unique word of the text it brought
}

func (s *stress) pick(list ...string) string { return list[s.rnd.IntN(len(list))] }

// act sends one to three lines in one write and waits for a while, or not at all.
func (s *stress) act() {
	var lines []string
	for range 1 + s.rnd.IntN(3) {
		lines = append(lines, s.line())
	}
	s.c.send(lines...)
	if s.rnd.IntN(3) > 0 {
		time.Sleep(time.Duration(s.rnd.IntN(60)) * time.Millisecond)
	}
}

func (s *stress) line() string {
	id := fmt.Sprintf("i%d", len(s.sent))
	s.sent = append(s.sent, id)
	head := fmt.Sprintf(`{"id":%q,"type":`, id)
	switch n := s.rnd.IntN(100); {
	case n < 45:
		word := "w" + id + "w"
		s.texts[id] = word
		text := word + " " + s.pick("tools", "long", "flaky", "broken", "length", "quick", "quick")
		switch s.rnd.IntN(6) {
		case 0:
			return fmt.Sprintf(`%s"steer","message":%q}`, head, text)
		case 1:
			return fmt.Sprintf(`%s"follow_up","message":%q}`, head, text)
		case 2:
			return fmt.Sprintf(`%s"prompt","message":%q,"streamingBehavior":%q}`, head, text, s.pick("steer", "followUp"))
		}
		return fmt.Sprintf(`%s"prompt","message":%q}`, head, text)
	case n < 57:
		return head + `"abort"}`
	case n < 61:
		return head + `"clear_queue"}`
	case n < 64:
		return head + `"abort_retry"}`
	case n < 68:
		return head + `"new_session"}`
	case n < 76:
		return fmt.Sprintf(`%s"bash","command":"echo b%s; sleep 0.0%d; echo done"}`, head, id, s.rnd.IntN(9))
	case n < 79:
		return head + `"abort_bash"}`
	case n < 82:
		return fmt.Sprintf(`%s"set_steering_mode","mode":%q}`, head, s.pick("all", "one-at-a-time"))
	case n < 85:
		return fmt.Sprintf(`%s"set_follow_up_mode","mode":%q}`, head, s.pick("all", "one-at-a-time"))
	case n < 88:
		return head + `"cycle_model"}`
	case n < 91:
		return fmt.Sprintf(`%s"set_session_name","name":%q}`, head, id)
	}
	return head + `"` + s.pick("get_state", "get_messages", "get_session_stats", "get_tree", "cycle_thinking_level", "nope") + `"}`
}

// check compares what the client was told with what is stored.
func (s *stress) check() {
	t := s.c.t
	t.Helper()
	stored := s.stored()
	told := s.told()
	for _, id := range s.sent {
		if n := len(told.responses[id]); n != 1 {
			t.Errorf("%d responses for %s: %q", n, id, told.responses[id])
			continue
		}
		word, ok := s.texts[id]
		if !ok {
			continue
		}
		accepted := strings.Contains(told.responses[id][0], `"success":true`)
		switch n := stored[word]; {
		case n > 1:
			t.Errorf("%s is stored %d times", id, n)
		case n == 1 && !accepted:
			t.Errorf("%s was refused and is stored: %s", id, told.responses[id][0])
		case n == 0 && accepted && !told.gone[word]:
			t.Errorf("%s was accepted and is lost: %s", id, told.responses[id][0])
		case n == 1 && told.cleared[word]:
			t.Errorf("%s was cleared from the queue and delivered", id)
		}
	}
}

// stored counts the unique words in the user messages of all session files, and
// checks that every call has exactly one result.
func (s *stress) stored() map[string]int {
	t := s.c.t
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.c.bed.work, "sessions", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var open []string
		for line := range strings.Lines(string(data)) {
			var r anyRecord
			if err := jsonx.Unmarshal([]byte(line), &r); err != nil {
				t.Errorf("%s: %v: %s", file, err, line)
			}
			switch r.Message.Role {
			case "user":
				for word := range strings.FieldsSeq(strings.NewReplacer(`"`, " ").Replace(line)) {
					if strings.HasPrefix(word, "wi") && strings.HasSuffix(word, "w") {
						words[word]++
					}
				}
				fallthrough
			case "assistant", "bashExecution":
				if len(open) > 0 {
					t.Errorf("%s: calls %v have no result before %s", file, open, line)
				}
				open = nil
				if stop := r.Message.StopReason; stop != "error" && stop != "aborted" {
					for _, b := range r.Message.Content {
						if b.Type == "toolCall" {
							open = append(open, b.ID)
						}
					}
				}
			case "toolResult":
				if len(open) == 0 || open[0] != r.Message.ToolCallID {
					t.Errorf("%s: a result nobody waits for, of %v: %s", file, open, line)
					continue
				}
				open = open[1:]
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: calls %v have no result at the end", file, open)
		}
	}
	return words
}

// said is what the client was told.
type said struct {
	responses map[string][]string
	cleared   map[string]bool // words that clear_queue returned
	gone      map[string]bool // and those that left the queue with a session, or waited at the end
}

func (s *stress) told() said {
	out := said{responses: map[string][]string{}, cleared: map[string]bool{}, gone: map[string]bool{}}
	var waiting []string
	words := func(texts ...string) (list []string) {
		for _, text := range texts {
			word, _, _ := strings.Cut(text, " ")
			list = append(list, word)
		}
		return list
	}
	lines := strings.SplitAfter(strings.TrimSuffix(s.c.out.String(), "\n"), "\n")
	for i, line := range lines {
		var r struct {
			ID       string   `json:"id"`
			Type     string   `json:"type"`
			Command  string   `json:"command"`
			Steering []string `json:"steering"`
			FollowUp []string `json:"followUp"`
			Data     struct {
				Steering []string `json:"steering"`
				FollowUp []string `json:"followUp"`
			} `json:"data"`
		}
		if err := jsonx.Unmarshal([]byte(line), &r); err != nil && !strings.Contains(line, `"response"`) {
			s.c.t.Errorf("%v: %s", err, line)
		}
		switch r.Type {
		case "response":
			out.responses[r.ID] = append(out.responses[r.ID], line)
			if r.Command == "clear_queue" {
				for _, w := range words(slices.Concat(r.Data.Steering, r.Data.FollowUp)...) {
					out.cleared[w], out.gone[w] = true, true
				}
			}
		case "queue_update":
			now := words(slices.Concat(r.Steering, r.FollowUp)...)
			for _, w := range waiting {
				if len(now) == 0 && dropped(lines[i+1:], w) {
					out.gone[w] = true
				}
			}
			waiting = now
		}
	}
	for _, w := range waiting {
		out.gone[w] = true
	}
	return out
}

// dropped reports whether a session replacement took a word out of the queue: it is
// not delivered next, and a new session follows.
func dropped(rest []string, word string) bool {
	for _, line := range rest {
		switch {
		case strings.Contains(line, `"type":"message_start"`) && strings.Contains(line, word):
			return false
		case strings.Contains(line, `"command":"new_session","success":true`):
			return true
		}
	}
	return false
}
