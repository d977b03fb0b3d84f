package rpc_test

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Whatever bytes a client sends: each line gets one response, answers to dialogs get none,
// the records are in order and of the schema, and the end comes.
func FuzzLines(f *testing.F) {
	for name, row := range tableRows() {
		line := `{"id":"` + name + `","type":"` + name + `"`
		if row.valid != "" {
			line += "," + row.valid
		}
		f.Add([]byte(line + "}\n" + `{"type":"prompt","message":"tool"}` + "\n" + line + "}"))
	}
	for _, s := range []string{
		"", "\r", "{", "null\n[]\n7\n\"x\"", "\xff\xfe{}", `{"id":{"a":[1]},"type":"get_state"}` + "\r\n\r\n",
		`{"type":"extension_ui_response","id":"x"}` + "\n" + `{"type":"extension_ui_response","id":1}`,
		"\xef\xbb\xbf" + `{"type":"abort"}` + "\n" + `{"type":"prompt","message":"long"}` + "\n" + `{"type":"abort"}`,
		`{"type":"prompt","message":"\ud800","streamingBehavior":"steer","images":[{"type":"image","data":"","mimeType":"x"}]}`,
		`{"id":"a","id":"b","type":"bash","type":"get_state","command":"sleep 1e9"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 2000 || strings.Contains(string(in), "_session") { // no file of the machine is opened
			t.Skip()
		}
		inBubble(t, repeats, nil, func(c *talk) {
			want := 0
			for line := range strings.SplitSeq(string(in), "\n") {
				if !dialogAnswer(line) {
					want++
				}
			}
			c.send(string(in))
			if got := strings.Count("\n"+c.end(), `"type":"response","command":"`); got != want {
				t.Errorf("%d responses, want %d:\n%s", got, want, c.out.String())
			}
		})
	})
}

// dialogAnswer reports whether a line is an answer to a dialog, which gets no response.
func dialogAnswer(line string) bool {
	var r struct {
		Type string    `json:"type"`
		ID   jsonx.Raw `json:"id"`
	}
	return jsonx.Unmarshal([]byte(line), &r) == nil && r.Type == "extension_ui_response" && r.ID.Kind() == '"'
}
