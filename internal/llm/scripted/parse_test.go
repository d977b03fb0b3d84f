package scripted_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

// badScripts are faults with what the error must say. The schema test uses them too:
// those marked are beyond what a schema can see.
var badScripts = []struct {
	script, want string
	beyond       bool
}{
	{`[]`, "unmarshal JSON array", false},
	{`{}`, "turns is missing", false},
	{`{"turns":[]}`, "turns is empty", false},
	{`{"turns":{}}`, "/turns", false},
	{`{"turns":[{}]}`, "turns[0]: steps is missing", false},
	{`{"turns":[{"steps":[]}],"turn":1}`, `unknown member "turn"`, false},
	{`{"turns":[{"steps":[]}],"onEnd":"stop"}`, `onEnd is "stop"`, false},
	{`{"turns":[{"steps":[]}],"delayMs":-1}`, "chunkSize and delayMs must not be negative", false},
	{`{"turns":[{"steps":[]}],"usage":"guess"}`, `not "guess"`, false},
	{`{"turns":[{"steps":[]}],"usage":{"in":1}}`, `usage: unknown member "in"`, false},
	{`{"turns":[{"steps":[]}],"model":{"id":"x"}}`, `model: unknown member "id"`, false},
	{`{"turns":[{"steps":[]}],"model":{"maxTokens":-1}}`, "model: contextWindow and maxTokens", false},
	{`{"turns":[{"steps":[],"stopReason":"error"}]}`, `stopReason is "error"`, false},
	{`{"turns":[{"steps":[],"mach":"x"}]}`, `unknown member "mach"`, false},
	{`{"turns":[{"steps":[],"match":"/(/"}]}`, "pattern /(/", true},
	{`{"turns":[{"steps":[],"turn":-1}]}`, "-1 is negative", false},
	{`{"turns":[{"steps":[],"turn":"3-2"}]}`, `"3-2" is no range`, true},
	{`{"turns":[{"steps":[],"turn":"x"}]}`, `"x" is no range`, false},
	{`{"turns":[{"steps":[],"result":"x"}]}`, "go with afterTool", false},
	{`{"turns":[{"steps":[],"toolFailed":true}]}`, "go with afterTool", false},
	{`{"turns":[{"steps":[],"retry":true}]}`, "retry has no turn before it", true},
	{`{"turns":[{"steps":[]},{"steps":[],"retry":true,"match":"x"}]}`, "turns[1]: retry goes with no condition", false},
	{`{"turns":[{"steps":[null]}]}`, "null is no step", false},
	{`{"turns":[{"steps":[{}]}]}`, "a step needs one of", false},
	{`{"turns":[{"steps":[{"text":"a","thinking":"b"}]}]}`, "a step does one thing", false},
	{`{"turns":[{"steps":[{"text":1}]}]}`, "/turns/0/steps/0/text", false},
	{`{"turns":[{"steps":[{"text":"a","chunk":1}]}]}`, `unknown member "chunk"`, false},
	{`{"turns":[{"steps":[{"text":"a","chunkSize":-1}]}]}`, "delayMs and chunkSize must not be negative", false},
	{`{"turns":[{"steps":[{"text":"a","block":0}]}]}`, "block 0 is not an open block", true},
	{`{"turns":[{"steps":[{"text":"a","open":true},{"thinking":"a","block":0}]}]}`, "block 0 is not an open block", true},
	{`{"turns":[{"steps":[{"text":"a"},{"end":0}]}]}`, "end: block 0 is not open", true},
	{`{"turns":[{"steps":[{"end":-1}]}]}`, "end: block -1 is not open", false},
	{`{"turns":[{"steps":[{"delayMs":1,"open":true}]}]}`, "open and block go with", false},
	{`{"turns":[{"steps":[{"toolCall":{}}]}]}`, "toolCall: name is missing", true},
	{`{"turns":[{"steps":[{"toolCall":{"name":"a","args":{}}}]}]}`, `toolCall: unknown member "args"`, false},
	{`{"turns":[{"steps":[{"toolCall":{"name":"a","arguments":{},"rawArguments":""}}]}]}`, "exclude each other", false},
	{`{"turns":[{"steps":[{"toolCall":{"name":"a","arguments":{"x":"{{y}}"}}}]}]}`, `toolCall: arguments: template {{y}}: "y" is no source`, true},
	{`{"turns":[{"steps":[{"repeat":{"count":0,"bytes":1}}]}]}`, "repeat: count must be at least 1", false},
	{`{"turns":[{"steps":[{"repeat":{"count":1}}]}]}`, "repeat: want either text or bytes", false},
	{`{"turns":[{"steps":[{"repeat":{"count":1,"bytes":1,"text":"x"}}]}]}`, "repeat: want either text or bytes", false},
	{`{"turns":[{"steps":[{"repeat":{"count":1,"byte":1}}]}]}`, `repeat: unknown member "byte"`, false},
	{`{"turns":[{"steps":[{"meta":{"id":"x"}}]}]}`, `meta: unknown member "id"`, false},
	{`{"turns":[{"steps":[{"meta":{"usage":{"x":1}}}]}]}`, `meta: usage: unknown member "x"`, false},
	{`{"turns":[{"steps":[{"error":{"kind":"odd"}}]}]}`, `error: kind "odd" is unknown`, false},
	{`{"turns":[{"steps":[{"error":{"times":-1}}]}]}`, "must not be negative", false},
	{`{"turns":[{"steps":[{"error":{"msg":"x"}}]}]}`, `error: unknown member "msg"`, false},
	{`{"turns":[{"steps":[{"hang":"yes"}]}]}`, "/turns/0/steps/0/hang", false},
}

func TestBadScripts(t *testing.T) {
	for _, tt := range badScripts {
		_, err := scripted.Parse([]byte(tt.script))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.script, err, tt.want)
		}
	}
}

// What was parsed is written as it was read.
func TestScriptRoundTrip(t *testing.T) {
	for _, script := range []string{
		`{"$schema":"s","comment":"c","model":{"name":"n","reasoning":false},"usage":"estimate","chunkSize":1,"delayMs":2,"onEnd":"loop","turns":[{"steps":[]}]}`,
		`{"turns":[{"match":"/a/","turn":"1-3","afterTool":"*","result":"b","toolFailed":false,"hasTool":"ls","steps":[],"endTurn":true,"usage":{"input":1,"cacheWrite1h":2,"reasoning":3,"costTotal":0.5}}]}`,
		`{"turns":[{"turn":2,"steps":[{"text":"a"},{"thinking":["a","b"],"signature":"s"},{"hang":true},{"delayMs":3}]},{"retry":true,"steps":[{"toolCall":{"name":"a","arguments":{"z":1,"a":2}}},{"error":{"status":500,"times":1}}]}]}`,
		`{"turns":[{"turn":"2-","steps":[{"text":"a","open":true},{"end":0,"final":""}],"verbatim":true}]}`,
	} {
		s, err := scripted.Parse([]byte(script))
		if err != nil {
			t.Errorf("%s: %v", script, err)
			continue
		}
		got, err := jsonx.Marshal(s)
		if err != nil {
			t.Errorf("%s: %v", script, err)
		}
		if diff := cmp.Diff(script, string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestNewPattern(t *testing.T) {
	for _, text := range []string{"plain", "/usr/bin/", "a.b"} {
		raw, err := jsonx.Marshal(&scripted.Turn{Match: scripted.NewPattern(text), Steps: []*scripted.Step{{Text: &scripted.Pieces{"yes"}}}})
		if err != nil {
			t.Fatal(err)
		}
		c := newChat(t, `{"turns":[`+string(raw)+`,{"steps":[{"text":"no"}]}]}`)
		if got := c.user("x " + text + " y").text(); got != "yes" {
			t.Errorf("%q does not find itself: %s gives %q", text, raw, got)
		}
		if got := c.user("axb usr").text(); got != "no" {
			t.Errorf("%q finds other text", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range badScripts {
		f.Add(tt.script)
	}
	f.Add(three)
	f.Add("\ufeff// c\n{\"turns\":[{\"steps\":[{\"toolCall\":{\"name\":\"x\",\"arguments\":{\"a\":\"{{user}}\"}}},]}]}")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scripted.Parse([]byte(text))
		if err != nil {
			return
		}
		// What a script becomes when it is written must be a script again.
		raw, err := jsonx.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scripted.Parse(raw); err != nil {
			t.Errorf("%s became %s: %v", text, raw, err)
		}
	})
}
