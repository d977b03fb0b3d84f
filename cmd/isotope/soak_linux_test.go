package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// unsteady is a model server with faults of every kind at random. It checks what it is
// sent: each result has its call, each call its result.
type unsteady struct {
	*httptest.Server
	mu     sync.Mutex
	rnd    *rand.Rand
	faults []string // what was wrong with requests
}

func newUnsteady() *unsteady {
	s := &unsteady{rnd: rand.New(rand.NewPCG(3, 1))}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	return s
}

func (s *unsteady) pick(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

// paired reports calls without a result and results without a call.
func paired(body []byte) error {
	var req struct {
		Messages []struct {
			Role  string `json:"role"`
			Call  string `json:"tool_call_id"`
			Calls []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := jsonx.Unmarshal(body, &req); err != nil {
		return err
	}
	open := map[string]bool{}
	for i, m := range req.Messages {
		if m.Role == "tool" {
			if !open[m.Call] {
				return fmt.Errorf("message %d is the result of no call", i)
			}
			delete(open, m.Call)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("before message %d calls have no result: %v", i, open)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	return nil
}

func (s *unsteady) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		if err := paired(body); err != nil {
			s.mu.Lock()
			s.faults = append(s.faults, err.Error())
			s.mu.Unlock()
		}
	}
	long := strings.Repeat("word by word and line after line\\n", 60)
	switch s.pick(20) {
	case 0:
		http.Error(w, `{"error":{"message":"Overloaded"}}`, 529)
	case 1:
		w.Header().Set("Retry-After-Ms", "5")
		http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
	case 2:
		http.Error(w, `{"error":{"code":"insufficient_quota"}}`, http.StatusTooManyRequests)
	case 3:
		http.Error(w, `{"error":{"message":"prompt is too long"}}`, http.StatusBadRequest)
	case 4:
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half\"}}]}\n\n") // no end
	case 5:
		panic(http.ErrAbortHandler) // the connection breaks
	case 6:
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // silence
	case 7:
		stream(w, delta("cut"), finish("length"))
	default:
		switch {
		case strings.Contains(string(body), "numbered-transcript"):
			stream(w, delta("2,40\n45,60\n70,90\n"), finish("stop"))
		case strings.Contains(string(body), `"tools"`) && s.pick(3) == 0:
			stream(w, `{"tool_calls":[{"index":0,"id":"c`+strconv.Itoa(s.pick(1<<30))+
				`","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}}]}`, finish("tool_calls"))
		default:
			stream(w, `{"content":"`+long+`"}`, finish("stop"))
		}
	}
}

const soakSettings = `{"httpIdleTimeoutMs":300,"retry":{"baseDelayMs":1,"maxRetries":3},
 "compaction":{"keepRecentTokens":4000,"reserveTokens":6000}}`

// soakTurns is how many prompts the program gets: a few, or as many as the variable
// ISOTOPE_SOAK says.
func soakTurns() int {
	if n, err := strconv.Atoi(os.Getenv("ISOTOPE_SOAK")); err == nil && n > 0 {
		return n
	}
	return 30
}

// A long session of the program itself against a server that fails at random, on a small
// window, with steering, aborts and compactions: every prompt settles, every request is
// valid, the file can be opened again, and from turn 100 on memory grows by at most a
// fifth.
func TestSoak(t *testing.T) {
	srv := newUnsteady()
	defer srv.Close()
	home := t.TempDir()
	agent := filepath.Join(home, ".isotope", "agent")
	models := `{"providers":{"local":{"baseUrl":"` + srv.URL + `/v1","api":"openai-completions","apiKey":"k",
		"models":[{"id":"m","contextWindow":30000,"maxTokens":4000}]}}}`
	if err := errors.Join(os.MkdirAll(agent, 0o755), os.WriteFile(filepath.Join(agent, "models.json"), []byte(models), 0o600),
		os.WriteFile(filepath.Join(agent, "settings.json"), []byte(soakSettings), 0o600)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := launch(t, home, dir, "isotope", "--mode", "rpc", "--model", "local/m")
	p.follow()
	rnd, turns, at100 := rand.New(rand.NewPCG(5, 5)), soakTurns(), 0
	told := map[string]int{}
	for i := range turns {
		p.soakTurn(rnd, i, told)
		if i+1 == 100 {
			at100 = residentMemory(t, p.cmd.Process.Pid)
		}
	}
	end := residentMemory(t, p.cmd.Process.Pid)
	t.Logf("resident: %d KiB after turn 100, %d KiB after turn %d", at100, end, turns)
	if turns >= 500 && end*5 > at100*6 {
		t.Errorf("memory grew from %d to %d KiB", at100, end)
	}
	for _, kind := range []string{"auto_retry_start", "auto_retry_end", "compaction_start", "compaction_end"} {
		if turns >= 500 && told[kind] == 0 {
			t.Errorf("there was no %s", kind)
		}
	}
	t.Log(told)
	file := member(t, p.answer(`{"type":"get_state"}`), "data", "sessionFile")
	count := member(t, p.answer(`{"type":"get_state"}`), "data", "messageCount")
	p.closeInput()
	p.rest()
	p.wantExit(0)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for _, f := range srv.faults {
		t.Error("a request: " + f)
	}
	again := launch(t, home, dir, "isotope", "--mode", "rpc", "--model", "local/m", "--session", file)
	again.follow()
	if got := member(t, again.answer(`{"type":"get_state"}`), "data", "messageCount"); got != count {
		t.Errorf("the file has %s messages, the session had %s", got, count)
	}
	again.closeInput()
	again.rest()
	again.wantExit(0)
}

// soakTurn sends one prompt, disturbs it, and waits until the session is idle. It counts
// the records of each type in told.
func (p *process) soakTurn(rnd *rand.Rand, i int, told map[string]int) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"id":"p%d","type":"prompt","message":"turn %d%s"}`, i, i, strings.Repeat(" more", rnd.IntN(300))))
	p.until(fmt.Sprintf(`"id":"p%d"`, i), `"success":true`)
	open := rnd.IntN(3) // responses that are still to come
	for range open {
		p.send([]string{
			`{"type":"abort"}`, `{"type":"compact"}`, `{"type":"abort_compaction"}`, `{"type":"abort_retry"}`,
			`{"type":"follow_up","message":"and then"}`, `{"type":"steer","message":"look here"}`,
		}[rnd.IntN(6)])
	}
	for settled := false; !settled || open > 0; {
		kind := member(p.t, p.until("")[0], "type")
		told[kind]++
		switch kind {
		case "agent_settled":
			settled = true
		case "response":
			open--
		}
	}
	for {
		state := p.answer(`{"type":"get_state"}`)
		if member(p.t, state, "data", "isStreaming") == "false" && member(p.t, state, "data", "isCompacting") == "false" {
			return
		}
	}
}

// residentMemory returns the resident size of a process in KiB.
func residentMemory(t *testing.T, pid int) int {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize() >> 10
}
