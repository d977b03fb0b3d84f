package js

import (
	"strings"
	"testing"
)

func TestStart(t *testing.T) {
	tb := newTestbed(t, Config{})
	if got := tb.result(`const x: number = 2; globalThis.out = { sum: x + 1, s: "ä€😀\ud800" };`); got != `{"sum":3,"s":"ä€😀\ud800"}` {
		t.Errorf("out is %s", got)
	}
}

func TestErrorPosition(t *testing.T) {
	tb := newTestbed(t, Config{})
	err := tb.load("interface A { x: number }\n\nfunction inner(a: A): never {\n  throw new TypeError('no: ' + a.x);\n}\nawait null;\ninner({ x: 1 });\n")
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("error is %T %v", err, err)
	}
	if e.Name != "TypeError" || e.Message != "no: 1" || !strings.Contains(e.Stack, "ext.ts:4:") || !strings.Contains(e.Stack, "ext.ts:7:") {
		t.Errorf("got %s", e.Full())
	}
}
