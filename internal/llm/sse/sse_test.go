package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// collect returns the events as "name|data", "!" before those that were cut.
func collect(t testing.TB, r io.Reader) ([]string, error) {
	t.Helper()
	var out []string
	for e, err := range Events(r) {
		if err != nil {
			return out, err
		}
		cut := ""
		if e.Cut {
			cut = "!"
		}
		out = append(out, cut+e.Name+"|"+string(e.Data))
	}
	return out, nil
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 5*firstSize)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"empty":                   {"", nil},
		"one":                     {"data: a\n\n", []string{"|a"}},
		"no space":                {"data:a\n\n", []string{"|a"}},
		"only one space goes":     {"data:  a\n\n", []string{"| a"}},
		"name":                    {"event: foo\ndata: a\n\n", []string{"foo|a"}},
		"name is not kept":        {"event: foo\ndata: a\n\ndata: b\n\n", []string{"foo|a", "|b"}},
		"name without data":       {"event: foo\n\ndata: b\n\n", []string{"|b"}},
		"several data lines":      {"data: a\ndata\ndata: b\n\n", []string{"|a\n\nb"}},
		"empty data":              {"data:\n\n", []string{"|"}},
		"comments":                {": hi\n\n:\ndata: a\n: there\n\n", []string{"|a"}},
		"id and retry":            {"id: 1\nretry: 5\ndata: a\n\n", []string{"|a"}},
		"unknown field":           {"foo: 1\nfoo\ndata: a\n\n", []string{"|a"}},
		"blank lines":             {"\n\n\ndata: a\n\n\n\n", []string{"|a"}},
		"CRLF":                    {"event: e\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []string{"e|a\nb", "|c"}},
		"CR":                      {"event: e\rdata: a\rdata: b\r\rdata: c\r\r", []string{"e|a\nb", "|c"}},
		"mixed":                   {"data: a\r\r\ndata: b\n\rdata: c\r\n\n", []string{"|a", "|b", "|c"}},
		"BOM":                     {"\xef\xbb\xbfdata: a\n\n", []string{"|a"}},
		"half a BOM":              {"\xef\xbbdata: a\n\n", nil},
		"only a BOM":              {"\xef\xbb\xbf", nil},
		"BOM in mid-stream":       {"data: a\n\n\xef\xbb\xbfdata: b\n\n", []string{"|a"}},
		"last event unterminated": {"data: a\n\ndata: b\n", []string{"|a", "!|b"}},
		"last line unterminated":  {"data: a\n\ndata: b", []string{"|a", "!|b"}},
		"ends in a CR":            {"data: a\r\n\r", []string{"|a"}},
		"error field":             {"error: {\"code\":500}\n\n", []string{"error|{\"code\":500}"}},
		"colon in data":           {"data: a: b\n\n", []string{"|a: b"}},
		"multi-byte":              {"data: é✓🙂\n\n", []string{"|é✓🙂"}},
		"long line":               {"data: " + long + "\n\ndata: b\n\n", []string{"|" + long, "|b"}},
		"long line without LF":    {"data: " + long + "\r\rdata: b\r\r", []string{"|" + long, "|b"}},
		"NUL and control":         {"data: \x00\x01\v\f\n\n", []string{"|\x00\x01\v\f"}},
	} {
		t.Run(name, func(t *testing.T) {
			for way, r := range map[string]io.Reader{
				"whole":         strings.NewReader(c.in),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(c.in)),
				"data with EOF": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := collect(t, r)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

// Field report 110: however a stream with every kind of line end is cut in two, its
// events are the same.
func TestEventsCutAnywhere(t *testing.T) {
	const in = "\xef\xbb\xbfevent: a\r\ndata: 1\r\n\r\n: c\rdata: 2\rdata: 3\r\rdata: é\n\n\r\ndata: x"
	want, err := collect(t, strings.NewReader(in))
	if err != nil || len(want) != 4 {
		t.Fatalf("whole: %q, %v", want, err)
	}
	for i := range len(in) {
		got, err := collect(t, io.MultiReader(strings.NewReader(in[:i]), strings.NewReader(in[i:])))
		if err != nil {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", i, diff)
		}
	}
}

// An event is delivered when its blank line is there, whatever the line ends: the
// reader must not wait for the byte after it.
func TestEventsDoNotWaitForTheNextByte(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		t.Run(fmt.Sprintf("%q", end), func(t *testing.T) {
			waited := errors.New("asked for more than was needed")
			in := "data: a" + end + end
			if end == "\r\n" {
				in = in[:len(in)-1] // the CR ends the line
			}
			for e, err := range Events(io.MultiReader(strings.NewReader(in), iotest.ErrReader(waited))) {
				if err != nil {
					t.Fatal(err)
				}
				if string(e.Data) != "a" {
					t.Fatalf("got %q", e.Data)
				}
				return
			}
		})
	}
}

func TestEventsReadError(t *testing.T) {
	fault := errors.New("connection reset")
	got, err := collect(t, io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(fault)))
	if !errors.Is(err, fault) {
		t.Errorf("error %v, want %v", err, fault)
	}
	if diff := cmp.Diff([]string{"|a"}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := collect(t, stuck{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that returns nothing: %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// The work and the allocations of a long stream of small events are those of its
// bytes: nothing is allocated for an event.
func TestEventsAllocations(t *testing.T) {
	in := bytes.Repeat([]byte("event: content_block_delta\ndata: {\"text\":\"hello\"}\n\n"), 20000)
	allocs := testing.AllocsPerRun(3, func() {
		n := 0
		for range Events(bytes.NewReader(in)) {
			n++
		}
		if n != 20000 {
			t.Fatalf("%d events", n)
		}
	})
	if allocs > 100 {
		t.Errorf("%v allocations for 20,000 events", allocs)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: 1\r\n\r\n: c\rdata: 2\r\rdata: 3\n\n"), 7)
	f.Add([]byte("\xef\xbb\xbfdata: x"), 2)
	f.Add([]byte("error: 1\n\ndata\n\n"), 3)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		whole, err := collect(t, bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		bytewise, err := collect(t, iotest.OneByteReader(bytes.NewReader(in)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Errorf("byte by byte (-whole +bytewise):\n%s", diff)
		}
		if at < 0 || at > len(in) {
			return
		}
		halves, err := collect(t, io.MultiReader(bytes.NewReader(in[:at]), bytes.NewReader(in[at:])))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, halves); diff != "" {
			t.Errorf("cut at %d (-whole +halves):\n%s", at, diff)
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		b.Run(fmt.Sprintf("%q", end), func(b *testing.B) {
			in := []byte(strings.Repeat("event: delta"+end+"data: {\"text\":\"hello\"}"+end+end, 20000))
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				for range Events(bytes.NewReader(in)) {
				}
			}
		})
	}
}
