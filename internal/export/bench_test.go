package export

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

const long = 200_000

// BenchmarkHTML200k is the size at which the reference takes 10.6 s.
func BenchmarkHTML200k(b *testing.B) {
	path := longSession(b, long)
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	for name, write := range map[string]func(b *testing.B) error{
		"discard": func(b *testing.B) error { return HTML(io.Discard, openView(b, path), Options{}) },
		"file": func(b *testing.B) error {
			return HTMLFile(filepath.Join(b.TempDir(), "o.html"), openView(b, path), Options{})
		},
		"jsonl": func(b *testing.B) error { return JSONL(io.Discard, openView(b, path)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(st.Size())
			b.ReportAllocs()
			for b.Loop() {
				if err := write(b); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
