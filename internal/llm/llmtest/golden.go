package llmtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// RunRequest compares the body that a protocol makes of one rich conversation with a
// golden file, testdata/requests/API.json: pictures, thinking and calls of another
// provider's model, a blank and a failed result. UPDATE_GOLDEN=1 writes it anew.
func RunRequest(t *testing.T, p Protocol) {
	req := p.Request()
	req.Thinking = llm.ThinkingHigh
	req.SessionID = "session-1"
	call := func(id, path string) *llm.ToolCall {
		return &llm.ToolCall{ID: id, Name: "read", Arguments: jsonx.Raw(`{"path":"` + path + `"}`)}
	}
	req.Messages = llm.ForModel([]llm.Message{
		&llm.UserMessage{Content: llm.Content{llm.NewText("Compare them."), llm.NewImage("iVBORw0KGgo=", "image/png")}, Timestamp: 1},
		&llm.AssistantMessage{
			API: "another-api", Provider: "another", Model: "other", StopReason: llm.StopToolUse, Timestamp: 2,
			Content: llm.Content{&llm.Thinking{Thinking: "I read both."}, llm.NewText("I look."), call("call|1", "a"), call("call_2", "b")},
		},
		&llm.ToolResultMessage{ToolCallID: "call|1", ToolName: "read", Content: llm.Content{llm.NewText(" \n")}, Timestamp: 3},
		&llm.ToolResultMessage{ToolCallID: "call_2", ToolName: "read", Content: llm.Content{llm.NewText("no such file")}, IsError: true, Timestamp: 4},
		&llm.UserMessage{Content: llm.Content{llm.NewText("Go on.")}, Timestamp: 5},
	})
	a := &Answer{}
	p.Stream(t, a, req)
	compareGolden(t, filepath.Join("testdata", "requests", string(p.Model.API)+".json"), string(jsonx.Indent(a.Body)))
}

// compareGolden compares a text with a file, which UPDATE_GOLDEN=1 writes anew, a line
// feed behind it.
func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got+"\n"); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}
