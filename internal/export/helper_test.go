package export

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/session"
)

// writeSession writes a session file of these lines under a usual header.
func writeSession(t testing.TB, lines ...string) string {
	t.Helper()
	head := `{"type":"session","version":3,"id":"0195d3c0-1111-7000-8000-000000000001","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}`
	path := filepath.Join(t.TempDir(), "2025-01-01T00-00-00-000Z_0195d3c0.jsonl")
	if err := os.WriteFile(path, []byte(head+"\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openView(t testing.TB, path string) *session.View {
	t.Helper()
	s, err := session.Open(path, session.Config{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.View()
}

// longSession writes a session of n messages in the proportions of real ones (question,
// answer with a tool call, result, answer), about 630 bytes an entry.
func longSession(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "long.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	vocabulary := strings.Fields("the a session entry reads writes file test fails because parser never saw an empty line so it returns early and we fix that by checking length first then rerun all tests green")
	words := func(k int) string {
		var s strings.Builder
		for range k {
			s.WriteString(vocabulary[rnd.IntN(len(vocabulary))])
			s.WriteByte(' ')
		}
		return s.String()
	}
	const usage = `"api":"openai-completions","provider":"mock-chat","model":"mock-gpt","usage":{"input":1200,"output":60,"cacheRead":0,"cacheWrite":0,"totalTokens":1260,"cost":{"input":0.0012,"output":0.00012,"cacheRead":0,"cacheWrite":0,"total":0.00132}}`
	fmt.Fprintln(w, `{"type":"session","version":3,"id":"0195d3c0-2222-7000-8000-000000000002","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}`)
	fmt.Fprintln(w, `{"type":"model_change","id":"00000001","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","provider":"mock-chat","modelId":"mock-gpt"}`)
	parent, at := "00000001", time.UnixMilli(1735689600000)
	for i := range n {
		at = at.Add(time.Second)
		ms := at.UnixMilli()
		var m string
		switch i % 4 {
		case 0:
			m = fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"question %d %s"}],"timestamp":%d}`, i, words(30), ms)
		case 1:
			m = fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"%s"},{"type":"toolCall","id":"call_%d","name":"bash","arguments":{"command":"ls %s"}}],"stopReason":"toolUse","timestamp":%d,%s}`, words(20), i, words(3), ms, usage)
		case 2:
			m = fmt.Sprintf(`{"role":"toolResult","toolCallId":"call_%d","toolName":"bash","content":[{"type":"text","text":"%s"}],"isError":false,"timestamp":%d}`, i-1, words(80), ms)
		case 3:
			m = fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"%s"}],"stopReason":"stop","timestamp":%d,%s}`, words(60), ms, usage)
		}
		id := fmt.Sprintf("%08x", 0x10000000+i)
		fmt.Fprintf(w, `{"type":"message","id":"%s","parentId":"%s","timestamp":"%s","message":%s}`+"\n", id, parent, at.UTC().Format("2006-01-02T15:04:05.000Z"), m)
		parent = id
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
