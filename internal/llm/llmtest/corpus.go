package llmtest

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Corpus says which recorded streams a protocol is run against and how it reads them.
type Corpus struct {
	// APIs are names of the index: "anthropic", "openai-chat", "openai-responses".
	APIs []string
	// Deviations change what the index expects of an item, by its name, where this
	// program decides otherwise; Why is for the reader. The stop reason is what
	// docs/stop-reasons.md says of the raw one, unless a deviation sets it.
	Deviations map[string]Deviation
	// Other has the raw stop reasons of the recorded answers that are no streams, by
	// their names; the index expects nothing of them. All of them stop for errors; ""
	// stands for one that cannot be read, since no request of ours asks for it.
	Other map[string]string
}

// Deviation is a change to what an item is expected to give.
type Deviation struct {
	Why   string
	Apply func(*Expected)
}

// Expected is what a recorded stream must give.
type Expected struct {
	Text          string
	Thinking      string
	Calls         []Call
	RawStopReason string
	Stop          llm.StopReason
	Usage         *Tokens // nil: not compared
}

// Call is an expected tool call. ID is "" when the provider sent none; Arguments is
// compact JSON with sorted keys, "" when they are no JSON.
type Call struct {
	ID, Name, Arguments string
}

// repository finds the root of the repository from a package's directory.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("not in the repository")
		}
		dir = up
	}
}

// recordings finds the recorded streams.
func recordings(t *testing.T) (string, bool) {
	streams := filepath.Join(repository(t), "..", "shared", "data", "streams")
	_, err := os.Stat(filepath.Join(streams, "index.json"))
	return streams, err == nil
}

type indexItem struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	API      string `json:"api"`
	Kind     string `json:"kind"`
	File     string `json:"response_file"`
}

type metaFile struct {
	Expected struct {
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID        *string   `json:"id"`
			Name      string    `json:"name"`
			Arguments jsonx.Raw `json:"arguments"`
		} `json:"tool_calls"`
		StopReason jsonx.Raw `json:"stop_reason"` // text, or a number of an enum
		Usage      *struct {
			Input      int64  `json:"input"`
			Output     int64  `json:"output"`
			CacheRead  int64  `json:"cacheRead"`
			CacheWrite int64  `json:"cacheWrite"`
			Reasoning  *int64 `json:"reasoning"`
		} `json:"usage"`
		Error jsonx.Raw `json:"error"`
	} `json:"expected"`
}

// RunCorpus replays every recorded stream of the corpus; it skips when the recordings
// are not there.
func RunCorpus(t *testing.T, p Protocol, c Corpus) {
	dir, ok := recordings(t)
	if !ok {
		t.Skip("no recorded streams here")
	}
	var index []indexItem
	readJSON(t, filepath.Join(dir, "index.json"), &index)
	stops := readStops(t, string(p.Model.API))
	m := *p.Model
	m.Cost = corpusPrices
	p.Model = &m
	n := 0
	for _, it := range index {
		if it.Kind == "http-error" || !slices.Contains(c.APIs, it.API) {
			continue // the bodies of errors are in the test of llm.Classify
		}
		n++
		t.Run(it.Name, func(t *testing.T) {
			var meta metaFile
			readJSON(t, filepath.Join(dir, it.Name+".meta.json"), &meta)
			body, err := os.ReadFile(filepath.Join(dir, it.Provider, it.File))
			if err != nil {
				t.Fatal(err)
			}
			if it.Kind != "stream" {
				raw, ok := c.Other[it.Name]
				r := p.Play(t, body)
				if m := r.Message; !ok || m.StopReason != stops.stop(t, raw, len(m.Content.ToolCalls()) > 0) || m.RawStopReason != raw {
					t.Errorf("%s %q, want %q", m.StopReason, m.RawStopReason, raw)
				}
				return
			}
			p.corpusItem(t, body, expected(t, meta, stops, c.Deviations[it.Name].Apply))
		})
	}
	if n == 0 {
		t.Errorf("the index has no streams for %v", c.APIs)
	}
}

// corpusPrices has a tier that some recordings reach and most do not.
var corpusPrices = llm.ModelCost{Input: 2, Output: 8, CacheRead: 0.5, CacheWrite: 2.5, Tiers: []llm.CostTier{
	{InputTokensAbove: 1000, Input: 4, Output: 16, CacheRead: 1, CacheWrite: 5},
}}

// bill returns what an answer costs in millionths of a dollar by the tokens that the index
// expects of it.
func bill(u *Tokens, hour int64) float64 {
	factor := int64(1)
	if u.Input+u.CacheRead+u.CacheWrite > 1000 {
		factor = 2
	}
	half := factor * (4*u.Input + 16*u.Output + u.CacheRead + 5*(u.CacheWrite-hour) + 8*hour)
	return float64(half) / 2
}

// checkBill compares the cost of an answer with the usage that the index expects.
func checkBill(t *testing.T, u llm.Usage, want *Tokens) {
	t.Helper()
	if want == nil || u.Cost.TotalFromProvider != nil && *u.Cost.TotalFromProvider {
		return
	}
	var hour int64
	if u.CacheWrite1h != nil {
		hour = *u.CacheWrite1h
	}
	if got, want := u.Cost.Total*1e6, bill(want, hour); math.Abs(got-want) > 1e-6 {
		t.Errorf("costs %v millionths of a dollar, want %v", got, want)
	}
}

func (p Protocol) corpusItem(t *testing.T, body []byte, want Expected) {
	r := p.Play(t, body)
	checkBill(t, r.Message.Usage, want.Usage)
	if diff := cmp.Diff(want, actual(t, r, want), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s\nerror: %v", diff, r.Err)
	}
	whole := r.Text(t)
	for name, pieces := range map[string][][]byte{
		"byte by byte":   bytewise(body),
		"pieces of 1009": slices.Collect(slices.Chunk(body, 1009)),
	} {
		if diff := cmp.Diff(whole, p.Play(t, pieces...).Text(t)); diff != "" {
			t.Errorf("%s (-whole +pieces):\n%s", name, diff)
		}
	}
	for i := range bytes.Count(body, []byte("\n")) {
		lines := bytes.SplitAfterN(body, []byte("\n"), i+2)
		rest := lines[len(lines)-1]
		p.Play(t, body[:len(body)-len(rest)]) // keeps the contract
		if i > 400 {
			break
		}
	}
}

// expected translates what the index expects.
func expected(t *testing.T, m metaFile, stops stopTable, deviate func(*Expected)) Expected {
	e := Expected{Text: m.Expected.Text, Thinking: m.Expected.Thinking}
	if raw := m.Expected.StopReason; len(raw) > 0 && raw.Kind() != 'n' {
		e.RawStopReason = strings.Trim(string(raw), `"`)
	}
	if m.Expected.Error != nil && m.Expected.Error.Kind() != 'n' {
		e.Stop = llm.StopError
	}
	for _, tc := range m.Expected.ToolCalls {
		call := Call{Name: tc.Name, Arguments: sorted(t, tc.Arguments)}
		if tc.ID != nil {
			call.ID = *tc.ID
		}
		e.Calls = append(e.Calls, call)
	}
	if u := m.Expected.Usage; u != nil {
		e.Usage = &Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		if u.Reasoning != nil && *u.Reasoning > 0 {
			e.Usage.Reasoning = u.Reasoning
		}
	}
	if deviate != nil {
		deviate(&e)
	}
	if e.Stop == "" {
		e.Stop = stops.stop(t, e.RawStopReason, len(e.Calls) > 0)
	}
	return e
}

// actual is what came, in the terms of want.
func actual(t *testing.T, r Result, want Expected) Expected {
	m := r.Message
	got := Expected{RawStopReason: m.RawStopReason, Stop: m.StopReason, Text: m.Content.PlainText("")}
	var thinking strings.Builder
	for _, b := range m.Content {
		if th, ok := b.(*llm.Thinking); ok && !th.Redacted {
			thinking.WriteString(th.Thinking)
		}
	}
	got.Thinking = thinking.String()
	for i, tc := range m.Content.ToolCalls() {
		call := Call{ID: tc.ID, Name: tc.Name, Arguments: sorted(t, tc.Arguments)}
		if tc.ArgumentsError != "" {
			call.Arguments = ""
		}
		if i < len(want.Calls) && want.Calls[i].ID == "" {
			if tc.ID == "" {
				t.Error("a tool call without an id")
			}
			call.ID = "" // made here
		}
		got.Calls = append(got.Calls, call)
	}
	if want.Usage != nil {
		u := m.Usage
		got.Usage = &Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
		if u.Reasoning != nil && *u.Reasoning > 0 {
			got.Usage.Reasoning = u.Reasoning
		}
	}
	return got
}

// sorted returns JSON with its keys in order, "" for none.
func sorted(t *testing.T, raw jsonx.Raw) string {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return ""
	}
	var v any
	if err := jsonx.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := jsonx.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
