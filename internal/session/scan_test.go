package session

import (
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestScanLineHead(t *testing.T) {
	tests := map[string]struct {
		line                      string
		typ, id, parent, ts, role string
		dirty                     bool
	}{
		"usual":            {line: `{"type":"message","id":"a","parentId":"b","timestamp":"T","message":{"role":"user","content":[]}}`, typ: "message", id: "a", parent: "b", ts: "T", role: "user"},
		"null parent":      {line: `{"type":"x","id":"a","parentId":null,"timestamp":"T"}`, typ: "x", id: "a", ts: "T"},
		"base keys last":   {line: `{"type":"custom","customType":"c","data":{"id":"no"},"id":"a","parentId":"b","timestamp":"T"}`, typ: "custom", id: "a", parent: "b", ts: "T"},
		"white space":      {line: " { \"type\" :\t\"x\" , \"id\" : \"a\" } ", typ: "x", id: "a"},
		"escaped name":     {line: `{"\u0074ype":"x","id":"\u0061"}`, typ: "x", id: "a"},
		"last one counts":  {line: `{"id":"a","id":"b"}`, id: "b"},
		"role not first":   {line: `{"type":"message","message":{"content":"role","role":"user"}}`, typ: "message", role: "user"},
		"numbers as ids":   {line: `{"type":5,"id":6,"parentId":7}`},
		"invalid UTF-8":    {line: "{\"id\":\"a\",\"x\":\"\xff\"}", id: "a", dirty: true},
		"not ASCII":        {line: `{"id":"ä","x":"日本語 and more text"}`, id: "ä"},
		"carriage return":  {line: "{\"id\":\"a\",\r\"x\":1}", id: "a", dirty: true},
		"escaped quotes":   {line: `{"x":"\\\"\\","id":"a"}`, id: "a"},
		"quote at byte 8":  {line: `{"x":"1234567\"890123456","id":"a"}`, id: "a"},
		"high bytes quote": {line: `{"x":"ää\"ää\\ääää","id":"a"}`, id: "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h, ok := scanLine([]byte(tt.line))
			if !ok {
				t.Fatal("not accepted")
			}
			got := [5]string{string(h.typ), string(h.id), string(h.parent), string(h.ts), string(h.role)}
			if want := [5]string{tt.typ, tt.id, tt.parent, tt.ts, tt.role}; got != want || h.dirty != tt.dirty {
				t.Fatalf("got %q dirty %v, want %q dirty %v", got, h.dirty, want, tt.dirty)
			}
		})
	}
}

func TestScanLineRefuses(t *testing.T) {
	for _, line := range []string{
		``, ` `, `{`, `}`, `[]`, `5`, `"x"`, `null`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1}x`, `{"a":1}{"b":2}`, `{'a':1}`,
		`{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":-}`, `{"a":+1}`, `{"a":tru}`, `{"a":NaN}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":"\u12`,
		"{\"a\":\"\n\"}", "{\"a\":\"12345678\x01\"}", `{"a":"`, `{"a":"\`, `{"a":[1,]}`, `{"a":[1 2]}`, "\xef\xbb\xbf{}", `{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		`{"type":"message","message":{"text":"torn in the mid`, `{"text":"torn{"type":"message","id":"glued"}`,
	} {
		if _, ok := scanLine([]byte(line)); ok {
			t.Errorf("accepted %.60q", line)
		}
	}
}

// FuzzScanLine holds the scanner against the JSON library.
func FuzzScanLine(f *testing.F) {
	for _, s := range []string{`{"type":"message","id":"a","message":{"role":"user"}}`, `{"a":[1,-2.5e+3,true,false,null,{"b":"\u00e4\\\""}]}`, "{\"a\":\"\xff\r\"}", ` {} `, `[1]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		h, ok := scanLine(line)
		want := jsonx.Valid(line) && strings.HasPrefix(strings.TrimLeft(string(line), " \t\r\n"), "{")
		if ok != want {
			t.Fatalf("scanner says %v, library says %v", ok, want)
		}
		if !ok {
			return
		}
		var v struct {
			ID       jsonx.Raw `json:"id"`
			ParentID jsonx.Raw `json:"parentId"`
		}
		if err := jsonx.Unmarshal(line, &v); err != nil {
			return
		}
		if len(v.ID) > 0 && v.ID[0] == '"' && !h.dirty && string(text(v.ID)) != string(h.id) {
			t.Fatalf("id %q, want %s", h.id, v.ID)
		}
		if c := clean(line); !jsonx.Valid(c) {
			t.Fatalf("cleaned line is no JSON: %q", c)
		}
		for name, value := range members(line) {
			if !jsonx.Valid(name) || !jsonx.Valid(value) {
				t.Fatalf("member %q: %q", name, value)
			}
		}
		if out := replaceMember(line, "parentId", []byte(`"p"`)); !jsonx.Valid(out) || string(text(member(out, "parentId"))) != "p" {
			t.Fatalf("replaced: %q", out)
		}
	})
}

func TestParseTime(t *testing.T) {
	for _, s := range []string{"1970-01-01T00:00:00.000Z", "2024-02-29T23:59:59.999Z", "2023-12-31T00:00:00.001Z", "2000-03-01T12:00:00.000Z", "1969-12-31T23:59:59.999Z", "2026-11-30T22:00:39.043Z"} {
		ms, canonical := parseTime([]byte(s))
		want, err := time.Parse(time.RFC3339Nano, s)
		if err != nil || ms != want.UnixMilli() || !canonical || formatTime(ms) != s {
			t.Errorf("%s: %d %v %s", s, ms, canonical, formatTime(ms))
		}
	}
	if ms, canonical := parseTime([]byte("2024-01-01T01:00:00+01:00")); ms != 1704067200000 || canonical {
		t.Errorf("zone: %d %v", ms, canonical)
	}
	for _, s := range []string{"", "yesterday", "2024-13-01T00:00:00.000Z", "2024-02-30T00:00:00.000Z"} {
		if ms, canonical := parseTime([]byte(s)); ms != 0 || canonical {
			t.Errorf("%q: %d %v", s, ms, canonical)
		}
	}
}

func TestMembersOfOddValues(t *testing.T) {
	obj := []byte(`{"a":"x","n":{"a":[1,{"b":"}"}]},"e":"\"]}","a":"last"}`)
	if got := string(member(obj, "a")); got != `"last"` {
		t.Errorf("a: %s", got)
	}
	if got := string(member(member(obj, "n"), "a")); got != `[1,{"b":"}"}]` {
		t.Errorf("n.a: %s", got)
	}
	if got := string(text(member(obj, "e"))); got != `"]}` {
		t.Errorf("e: %s", got)
	}
	if member(obj, "missing") != nil || member([]byte(`5`), "a") != nil || member(nil, "a") != nil {
		t.Error("found what is not there")
	}
	if got := string(replaceMember([]byte(`{}`), "a", []byte("1"))); got != `{"a":1}` {
		t.Errorf("added to nothing: %s", got)
	}
	if got := string(replaceMember([]byte(`{"a":1,"b":2,"a":3}`), "a", []byte("9"))); got != `{"a":9,"b":2,"a":9}` {
		t.Errorf("replaced: %s", got)
	}
}
