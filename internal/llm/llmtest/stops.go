package llmtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

// The rows of the table of stop reasons that are no value of a provider's.
const (
	StopNone  = "(none)"          // the answer ends without a reason
	StopDone  = "(none, [DONE])"  // as StopNone, but with the marker of a complete stream
	StopOther = "(anything else)" // a value that no other row has
)

// outcome is a cell of the table: what an answer comes to. Kind is set for errors.
type outcome struct {
	stop llm.StopReason
	kind llm.ErrorKind
}

func (o outcome) String() string {
	if o.kind != "" {
		return string(o.stop) + ": " + string(o.kind)
	}
	return string(o.stop)
}

// stopTable is a protocol's section of docs/stop-reasons.md: for a raw value, the
// outcome of an answer without tool calls and of one with them.
type stopTable map[string][2]outcome

// readStops reads the section of a protocol.
func readStops(t *testing.T, api string) stopTable {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(repository(t), "docs", "stop-reasons.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := stopTable{}
	here := false
	for line := range strings.Lines(string(doc)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			here = strings.Contains(name, "`"+api+"`")
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !here || len(cells) != 3 || strings.Contains(cells[0], "---") || strings.Contains(cells[1], "without") {
			continue
		}
		raw := strings.Trim(strings.TrimSpace(cells[0]), "`")
		table[raw] = [2]outcome{cell(cells[1]), cell(cells[2])}
	}
	if len(table) == 0 {
		t.Fatalf("docs/stop-reasons.md has no table of %s", api)
	}
	return table
}

func cell(text string) outcome {
	stop, kind, _ := strings.Cut(strings.ReplaceAll(text, "`", ""), ":")
	return outcome{llm.StopReason(strings.TrimSpace(stop)), llm.ErrorKind(strings.TrimSpace(kind))}
}

// stop returns what the table says of a recorded answer; a value that is not in the
// table fails the test.
func (s stopTable) stop(t *testing.T, raw string, calls bool) llm.StopReason {
	if raw == "" {
		raw = StopNone
	}
	row, ok := s[raw]
	if !ok {
		t.Errorf("docs/stop-reasons.md does not have %q", raw)
	}
	if calls {
		return row[1].stop
	}
	return row[0].stop
}

// RunStops holds a protocol to its section of docs/stop-reasons.md. Body makes the
// shortest whole answer, of text or of one tool call, that stops for raw; raw is a value
// of the provider's, StopNone or StopDone.
func RunStops(t *testing.T, p Protocol, body func(raw string, call bool) []byte) {
	for raw, row := range readStops(t, string(p.Model.API)) {
		said := raw
		if raw == StopOther {
			said = "something-new"
		}
		for i, want := range row {
			r := p.Play(t, body(said, i == 1))
			got := outcome{stop: r.Message.StopReason}
			if r.Err != nil {
				got.kind = r.Err.Kind
			}
			if got != want {
				t.Errorf("%s, tool call %v: %v, the table has %v (%v)", raw, i == 1, got, want, r.Err)
			}
			if raw != StopNone && raw != StopDone && r.Message.RawStopReason != said {
				t.Errorf("%s, tool call %v: the raw reason is %q", raw, i == 1, r.Message.RawStopReason)
			}
		}
	}
}

// ChatStop is a body for RunStops in the form of Chat Completions.
func ChatStop(raw string, call bool) []byte {
	delta := `{"content":"hi"}`
	if call {
		delta = `{"tool_calls":[{"index":0,"id":"aX2gaLIyo","function":{"name":"read","arguments":"{}"}}]}`
	}
	body := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
	const done = "data: [DONE]\n\n"
	switch raw {
	case StopNone:
		return []byte(body)
	case StopDone:
		return []byte(body + done)
	}
	return fmt.Appendf(nil, "%sdata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n%s", body, raw, done)
}
