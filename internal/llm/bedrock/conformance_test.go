package bedrock

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"go.uber.org/goleak"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func model(id, name string) *llm.Model {
	return &llm.Model{
		ID: id, Name: name, API: llm.APIBedrockConverse, Provider: "amazon-bedrock", BaseURL: "http://provider.invalid", Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: 200_000, MaxTokens: 16_384,
	}
}

func protocol() llmtest.Protocol {
	return llmtest.Protocol{
		New:     func(c *wire.Client) llm.Provider { return New(c, Options{}) },
		Model:   model("amazon.nova-lite-v1:0", "Nova"),
		Framing: &llmtest.Framing{Ext: ".frames", Encode: encode, Split: split},
	}
}

// encode makes the frames of a fixture: a line each, "event NAME JSON", "exception NAME
// JSON" or "error CODE MESSAGE".
func encode(fixture []byte) ([]byte, error) {
	var out bytes.Buffer
	for line := range strings.Lines(string(fixture)) {
		kind, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		name, payload, ok := strings.Cut(rest, " ")
		if !ok {
			return nil, fmt.Errorf("line %q has no payload", line)
		}
		var m eventstream.Message
		m.Headers.Set(":message-type", eventstream.StringValue(kind))
		switch kind {
		case "error":
			m.Headers.Set(":error-code", eventstream.StringValue(name))
			m.Headers.Set(":error-message", eventstream.StringValue(payload))
		default:
			m.Headers.Set(":"+kind+"-type", eventstream.StringValue(name))
			m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
			m.Payload = []byte(payload)
		}
		if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// split cuts a body into frames: each begins with its length.
func split(body []byte) [][]byte {
	var out [][]byte
	for len(body) >= 4 {
		n := int(binary.BigEndian.Uint32(body))
		out, body = append(out, body[:n]), body[n:]
	}
	return out
}

// Among the fixtures: an answer without a stop reason (field report 103), arguments that
// are no JSON or null (105, 106), calls with one id (107).
func TestConformance(t *testing.T) { llmtest.Run(t, protocol()) }

func TestCorpus(t *testing.T) {
	llmtest.RunCorpus(t, protocol(), llmtest.Corpus{
		APIs: []string{"bedrock"}, // the three of InvokeModel are another protocol
		Deviations: map[string]llmtest.Deviation{
			"amazon-bedrock/server-tool-result": {
				Why:   "a tool that the server ran itself is not ours to run",
				Apply: func(e *llmtest.Expected) { e.Calls = e.Calls[1:] },
			},
		},
	})
}

// Whatever a server sends, the events keep their contract.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.frames"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		fixture, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		body, err := encode(fixture)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { protocol().Play(t, body) })
}

// A frame that was damaged on its way is a broken stream, which is retried, and none of
// it is believed.
func TestChecksums(t *testing.T) {
	fixture, err := os.ReadFile(filepath.Join("testdata", "text.frames"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := encode(fixture)
	if err != nil {
		t.Fatal(err)
	}
	for i := range body {
		damaged := bytes.Clone(body)
		damaged[i] ^= 0x20
		r := protocol().Play(t, damaged)
		if r.Err == nil || r.Err.Kind != llm.ErrTransport {
			t.Fatalf("byte %d damaged: %v\n%s", i, r.Err, r.Text(t))
		}
		if got := r.Message.Content.PlainText(""); !strings.HasPrefix("Grüße Welt 🌍\n", got) {
			t.Fatalf("byte %d damaged: %q", i, got)
		}
	}
}

// An answer without its last event has all but its usage.
func TestEndsWithoutMetadata(t *testing.T) {
	fixture, err := os.ReadFile(filepath.Join("testdata", "text.frames"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSpace(fixture), []byte("\n"))
	body, err := encode(bytes.Join(lines[:len(lines)-1], nil))
	if err != nil {
		t.Fatal(err)
	}
	if r := protocol().Play(t, body); r.Err != nil || r.Message.StopReason != llm.StopEnd {
		t.Errorf("%v\n%s", r.Err, r.Text(t))
	}
}
