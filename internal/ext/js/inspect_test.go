package js

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Values look as they do in Node: layout, columns, quotes, classes, circles, limits.
func TestInspect(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("testdata", "inspect", "values.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "inspect", "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got map[string]string
	if err := jsonx.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if err := jsonx.Unmarshal([]byte(newTestbed(t, Config{}).result(string(src))), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || len(want) < 20 {
		t.Errorf("%d values, want %d", len(got), len(want))
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s\n--- here\n%s\n--- Node\n%s", name, got[name], w)
		}
	}
}
