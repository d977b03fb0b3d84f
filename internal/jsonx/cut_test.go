package jsonx

import "testing"

func TestClosed(t *testing.T) {
	for text, want := range map[string]string{
		``:                                `{}`,
		`{`:                               `{}`,
		`[1`:                              `{}`,
		`x`:                               `{}`,
		`{"a`:                             `{}`,
		`{"a"`:                            `{}`,
		`{"a":`:                           `{}`,
		`{"a":"`:                          `{"a":""}`,
		`{"a":"b\`:                        `{"a":"b"}`,
		`{"a":"b\n\u00`:                   `{"a":"b\n"}`,
		"{\"a\":\"b\xc3":                  `{"a":"b"}`,
		`{"a":"b","c`:                     `{"a":"b"}`,
		`{"a":12`:                         `{}`,
		`{"a":12,`:                        `{"a":12}`,
		`{"a":tru`:                        `{}`,
		`{"a":true,"b":{"c":[1, {"d":"e`:  `{"a":true,"b":{"c":[1, {"d":"e"}]}}`,
		`{"a":["b","c`:                    `{"a":["b","c"]}`,
		`{"a":["b",`:                      `{"a":["b"]}`,
		`{"a":"b"}`:                       `{"a":"b"}`,
		`{"a":"b"}}`:                      `{"a":"b"}`,
		`{"a" "b`:                         `{}`,
		`{"a":{"x":1},"b":{"y":[]},"c":[`: `{"a":{"x":1},"b":{"y":[]},"c":[]}`,
	} {
		if got := string(Closed([]byte(text))); got != want {
			t.Errorf("Closed(%q) = %s, want %s", text, got, want)
		}
	}
}

// Whatever is cut wherever, the result is an object.
func FuzzClosed(f *testing.F) {
	f.Add([]byte(`{"path":"a\u00e9","edits":[{"old":"x","new":"y"}],"n":-1.5e3,"t":null}`), uint16(9))
	f.Add([]byte("{\"a\":\"\xff\""), uint16(7))
	f.Fuzz(func(t *testing.T, text []byte, at uint16) {
		cut := text[:min(len(text), int(at))]
		if raw := Closed(cut); raw.Kind() != '{' || !Valid(raw) {
			t.Errorf("Closed(%q) = %s", cut, raw)
		}
	})
}
