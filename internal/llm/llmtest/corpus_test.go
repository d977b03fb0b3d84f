package llmtest

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each recording is of an API that some protocol's TestCorpus names; only InvokeModel of
// Bedrock, which nothing here calls, has none.
func TestEveryRecordingHasAProtocol(t *testing.T) {
	dir, ok := recordings(t)
	if !ok {
		t.Skip("no recorded streams here")
	}
	var index []indexItem
	readJSON(t, filepath.Join(dir, "index.json"), &index)
	left := map[string]int{}
	for _, it := range index {
		switch it.API {
		case "anthropic", "bedrock", "google", "mistral", "openai-chat", "openai-responses":
		default:
			left[it.API]++
		}
	}
	if diff := cmp.Diff(map[string]int{"bedrock-anthropic": 3}, left); diff != "" {
		t.Errorf("recordings without a protocol (-want +got):\n%s", diff)
	}
}
