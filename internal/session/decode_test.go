package session

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

var messageSamples = []string{
	`{"role":"user","content":[{"type":"text","text":"a \"quoted\" \u00e4\ud83d\ude00 text"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"timestamp":1700000000000}`,
	`{"role":"user","content":"bare","timestamp":1}`,
	`{"content":[],"role":"user"}`,
	`{"role":"user","content":null,"timestamp":null}`,
	`{"role":"user","content":5,"timestamp":1}`,
	`{"role":"user","content":[5],"timestamp":1}`,
	`{"role":"user","content":[{"type":"text","text":null}],"timestamp":1.5}`,
	`{"role":"user","content":[{"type":"text","text":"x"}],"timestamp":1e3}`,
	`{"role":"user","content":[{"text":"type comes later","type":"text","textSignature":"s"}, {"type":"novel","x":[1, 2]}],"timestamp":1}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig","redacted":true},{"type":"text","text":""},{"type":"toolCall","id":"c","name":"read","arguments":{"b": 1,"a":[]},"thoughtSignature":"t","namespace":"n"}],"api":"a","provider":"p","model":"m","responseModel":"rm","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cacheWrite1h":5,"reasoning":6,"totalTokens":7,"cost":{"input":0.1,"output":1e-7,"cacheRead":0,"cacheWrite":0,"total":0.1,"totalFromProvider":false}},"stopReason":"toolUse","timestamp":2,"responseId":"r","rawStopReason":"raw","endTurn":true,"errorMessage":"e","durationMs":9,"thinkingLevel":"high","providerThinkingLevel":"h","unknown":{"deep":[1]}}`,
	`{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read"}],"usage":{"input":"x"},"timestamp":2}`,
	`{"role":"assistant","content":[],"usage":null,"endTurn":null,"durationMs":null,"timestamp":2}`,
	`{"role":"assistant","content":[],"usage":{"cost":null,"reasoning":null},"timestamp":2}`,
	`{"role":"assistant","content":[],"usage":[],"timestamp":2}`,
	`{"role":"assistant","content":"text","api":5}`,
	`{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"r"}],"details":{"z":1, "a":null},"usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"total":1}},"isError":true,"durationMs":4,"timestamp":3}`,
	`{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"details":null,"isError":null,"timestamp":3}`,
	`{"role":"toolResult","content":[{"type":"image","data":5}],"isError":"yes"}`,
	`{"role":"bashExecution","command":"ls","output":"x","exitCode":0,"cancelled":false,"truncated":false,"fullOutputPath":null,"timestamp":1}`,
	`{"role":"custom","customType":"c","content":"x","display":true,"timestamp":1}`,
	`{"role":"system","content":"x","sections":{}}`,
	`{"role":"\u0075ser","content":"escaped role"}`,
	`{"content":"no role"}`,
	`{"role":5}`,
}

// sameAsLibrary holds the fast decoder against llm.DecodeMessage.
func sameAsLibrary(t *testing.T, raw []byte) {
	t.Helper()
	want, err := llm.DecodeMessage(raw)
	if err != nil {
		want = &llm.UnknownMessage{Name: string(text(member(raw, "role"))), Raw: raw}
	}
	var d decoder
	if diff := cmp.Diff(want, d.message(raw), exportAll); diff != "" {
		t.Errorf("%s: %s", raw, diff)
	}
}

func TestDecoderAgreesWithTheLibrary(t *testing.T) {
	for _, raw := range messageSamples {
		sameAsLibrary(t, []byte(raw))
	}
}

// FuzzDecoder looks for messages that the two decoders take differently.
func FuzzDecoder(f *testing.F) {
	for _, raw := range messageSamples {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h, ok := scanLine(raw)
		if !ok || h.dirty {
			return
		}
		seen := map[string]bool{} // of equal names the two keep different parts
		for name := range members(raw) {
			if seen[string(text(name))] {
				return
			}
			seen[string(text(name))] = true
		}
		if !jsonx.Valid(raw) {
			return
		}
		sameAsLibrary(t, raw)
	})
}

// exportAll lets cmp see the discriminators, which are unexported types.
var exportAll = cmp.Exporter(func(reflect.Type) bool { return true })
