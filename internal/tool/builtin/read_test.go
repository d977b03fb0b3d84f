package builtin

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/bmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

func rows(format string, from, to int) string {
	var sb strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&sb, format, i)
	}
	return sb.String()
}

func TestRead(t *testing.T) {
	f := newFolder(t)
	f.write("a.txt", rows("line %d\n", 1, 10))
	f.write("big.txt", rows("row %d\n", 1, 5000))
	f.write("exact.txt", rows("row %d\n", 1, 2000))
	f.write("wide.txt", rows(strings.Repeat("x", 95)+"%04d\n", 1, 1000))
	f.write("long.txt", strings.Repeat("z", 60000)+"\nshort\n")
	f.write("second.txt", "short\n"+strings.Repeat("ä", 30000)+"\n")
	f.write("crlf.txt", "one\r\ntwo\r\n")
	f.write("empty.txt", "")
	f.write("raw.txt", "a\xff\xe2\x82b\n")
	f.write("dir/x", "")
	truncated := func(content, by string, total, size, shown, bytes int, first bool) string {
		b, err := jsonx.Marshal(readDetails{Truncation: &Truncation{content, true, &by, total, size, shown, bytes, false, first, 2000, 51200}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	head := strings.TrimSuffix(rows("row %d\n", 1, 2000), "\n")
	wide := strings.TrimSuffix(rows(strings.Repeat("x", 95)+"%04d\n", 1, 512), "\n")
	for _, tt := range []struct{ args, text, details string }{
		{`{"path":"a.txt"}`, rows("line %d\n", 1, 10), ""},
		{`{"path":"a.txt","offset":3,"limit":2}`, "line 3\nline 4\n\n[7 more lines in file. Use offset=5 to continue.]", ""},
		{`{"path":"a.txt","offset":10}`, "line 10\n", ""},
		{`{"path":"a.txt","offset":11}`, "", ""},
		{`{"path":"a.txt","offset":0,"limit":100}`, rows("line %d\n", 1, 10), ""},
		{`{"path":"a.txt","limit":10}`, "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\n\n[1 more lines in file. Use offset=11 to continue.]", ""},
		{`{"path":"a.txt","limit":0}`, "\n\n[11 more lines in file. Use offset=1 to continue.]", ""},
		{`{"path":"a.txt","offset":"2","limit":"1"}`, "line 2\n\n[9 more lines in file. Use offset=3 to continue.]", ""},
		{`{"path":"big.txt"}`, head + "\n\n[Showing lines 1-2000 of 5001. Use offset=2001 to continue.]", truncated(head, "lines", 5000, 43893, 2000, 16892, false)},
		{`{"path":"big.txt","offset":4990,"limit":3000}`, rows("row %d\n", 4990, 5000), ""},
		{`{"path":"exact.txt"}`, rows("row %d\n", 1, 2000), ""},
		{`{"path":"wide.txt"}`, wide + "\n\n[Showing lines 1-512 of 1001 (50.0KB limit). Use offset=513 to continue.]", truncated(wide, "bytes", 1000, 100000, 512, 51199, false)},
		{`{"path":"long.txt"}`, "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' long.txt | head -c 51200]", truncated("", "bytes", 2, 60007, 0, 0, true)},
		{`{"path":"long.txt","limit":1}`, "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' long.txt | head -c 51200]", truncated("", "bytes", 1, 60000, 0, 0, true)},
		{`{"path":"second.txt"}`, "short\n\n[Showing lines 1-1 of 3 (50.0KB limit). Use offset=2 to continue.]", truncated("short", "bytes", 2, 60007, 1, 5, false)},
		{`{"path":"second.txt","offset":2}`, "[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' second.txt | head -c 51200]", truncated("", "bytes", 1, 60001, 0, 0, true)},
		{`{"path":"crlf.txt"}`, "one\r\ntwo\r\n", ""},
		{`{"path":"empty.txt"}`, "", ""},
		{`{"path":"raw.txt"}`, "a\ufffd\ufffdb\n", ""},
		{`{"path":"@a.txt","limit":1}`, "line 1\n\n[10 more lines in file. Use offset=2 to continue.]", ""},
		{`{"path":"$PWD/crlf.txt","offset":2}`, "two\r\n", ""},
	} {
		f.want("read", tt.args, tt.text, tt.details)
	}
	for _, tt := range []struct{ args, text string }{
		{`{"path":"a.txt","offset":12}`, "Offset 12 is beyond end of file (11 lines total)"},
		{`{"path":"empty.txt","offset":2}`, "Offset 2 is beyond end of file (1 lines total)"},
		{`{"path":"none"}`, "ENOENT: no such file or directory, access '$PWD/none'"},
		{`{"path":"a.txt/x"}`, "ENOTDIR: not a directory, access '$PWD/a.txt/x'"},
		{`{"path":"dir"}`, "EISDIR: illegal operation on a directory, read"},
		{`{}`, "Validation failed for tool \"read\":\n  - path: missing\n\nReceived arguments:\n{}"},
	} {
		f.fails("read", tt.args, filepath.FromSlash(tt.text))
	}
	f.fails("read", `{"path":"~/x"}`, "ENOENT: no such file or directory, access '"+filepath.Join(f.cfg.Home, "x")+"'")
	res, err := f.call("read", `{"path":"a.txt","limit":1}`)
	if err != nil || res.StructuredContent != "line 1\n\n[10 more lines in file. Use offset=2 to continue.]" {
		t.Errorf("structured content %v, %v", res.StructuredContent, err)
	}
}

func TestReadUnreadable(t *testing.T) {
	notOnWindows(t)
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	f := newFolder(t)
	f.write("a", "x")
	if err := os.Chmod(f.path("a"), 0); err != nil {
		t.Fatal(err)
	}
	f.fails("read", `{"path":"a"}`, "EACCES: permission denied, access '$PWD/a'")
}

func TestReadFewLinesOfAHugeFile(t *testing.T) {
	f := newFolder(t)
	f.write("huge", "")
	file, err := os.OpenFile(f.path("huge"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const hole = 1 << 27
	if _, err := file.WriteAt([]byte("\n"+rows("%d\n", 1, 9)), hole); err != nil {
		t.Skip(err)
	}
	n := allocated(func() {
		f.want("read", `{"path":"huge","offset":3,"limit":5}`, "2\n3\n4\n5\n6\n\n[4 more lines in file. Use offset=8 to continue.]", "")
		f.want("read", `{"path":"huge","limit":1}`, "[Line 1 is 128.0MB, exceeds 50.0KB limit. Use bash: sed -n '1p' huge | head -c 51200]",
			`{"truncation":{"content":"","truncated":true,"truncatedBy":"bytes","totalLines":1,"totalBytes":134217728,"outputLines":0,"outputBytes":0,"lastLinePartial":false,"firstLineExceedsLimit":true,"maxLines":2000,"maxBytes":51200}}`)
	})
	if n > 2<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

// Field report 53: a pipe that nobody writes to does not block for ever, and the call
// can be aborted.
func TestReadOfAPipeIsAborted(t *testing.T) {
	f := newFolder(t)
	makeFIFO(t, f.path("pipe"))
	cause := errors.New("stopped by the user")
	for _, delay := range []time.Duration{0, 30 * time.Millisecond} {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := NewRead(f.cfg).Run(ctx, tool.Call{Args: jsonx.Raw(`{"path":"pipe"}`)}, nil)
			done <- err
		}()
		time.Sleep(delay)
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) {
			t.Errorf("after %v: %v", delay, err)
		}
	}
}

func TestReadOfAPipe(t *testing.T) {
	f := newFolder(t)
	makeFIFO(t, f.path("pipe"))
	go func() {
		w, err := os.OpenFile(f.path("pipe"), os.O_WRONLY, 0)
		if err != nil {
			return
		}
		fmt.Fprint(w, rows("row %d\n", 1, 20))
		time.Sleep(20 * time.Millisecond)
		fmt.Fprint(w, "end")
		w.Close()
	}()
	f.want("read", `{"path":"pipe","offset":20}`, "row 20\nend", "")
}

func TestReadOfADevice(t *testing.T) {
	notOnWindows(t)
	f := newFolder(t)
	f.want("read", `{"path":"/dev/null"}`, "", "")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	var err error
	n := allocated(func() {
		_, err = NewRead(f.cfg).Run(ctx, tool.Call{Args: jsonx.Raw(`{"path":"/dev/zero"}`)}, nil)
	})
	if !errors.Is(err, context.DeadlineExceeded) || n > 4<<20 {
		t.Errorf("%v, %d bytes allocated", err, n)
	}
}

func TestReadPictures(t *testing.T) {
	f := newFolder(t)
	picture := func(w, h int, encode func(*bytes.Buffer, image.Image) error) string {
		var buf bytes.Buffer
		if err := encode(&buf, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		return buf.String()
	}
	asPNG := func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }
	asBMP := func(b *bytes.Buffer, m image.Image) error { return bmp.Encode(b, m) }
	small := picture(3, 2, asPNG)
	f.write("a.png", small)
	f.write("no-extension", small)
	f.write("a.bmp", picture(3, 2, asBMP))
	f.write("large.png", picture(2500, 10, asPNG))
	f.write("cut.png", small[:len(small)-15])
	data := base64.StdEncoding.EncodeToString([]byte(small))
	for _, name := range []string{"a.png", "no-extension"} {
		res, err := f.call("read", `{"path":"`+name+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		want := tool.Result{
			Content:           llm.Content{llm.NewText("Read image file [image/png]"), llm.NewImage(data, "image/png")},
			StructuredContent: readPicture{"image", data, "image/png", "Read image file [image/png]"},
		}
		if diff := cmp.Diff(want, res); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	f.want("read", `{"path":"a.bmp"}`, "Read image file [image/png]\n[Image converted from image/bmp to image/png.]", "")
	f.want("read", `{"path":"large.png"}`, "Read image file [image/png]\n[Image: original 2500x10, displayed at 2000x8. Multiply coordinates by 1.25 to map to original image.]", "")
	f.want("read", `{"path":"cut.png"}`, "Read image file [image/png]\n[Image omitted: could not be resized below the inline image size limit.]", "")

	f.cfg.KeepImageSize = func() bool { return true }
	f.want("read", `{"path":"large.png"}`, "Read image file [image/png]", "")
	model := &llm.Model{ID: "blind", Input: []string{"text"}}
	f.cfg.Model = func() *llm.Model { return model }
	f.want("read", `{"path":"a.png"}`, "Read image file [image/png]", `{"imageUnsupportedByModel":"blind"}`)
	model.Input = append(model.Input, "image")
	f.want("read", `{"path":"a.png"}`, "Read image file [image/png]", "")
}

// FuzzSelector compares with the plain way: all lines in memory.
func FuzzSelector(f *testing.F) {
	f.Add("a\nb\n\nc", 1, 2, 3)
	f.Add("\xe2\x82\nx\xf0\x9f\x98\x80", 0, 9, 1)
	f.Add(strings.Repeat("y\n", 3000), 500, 2500, 100)
	f.Fuzz(func(t *testing.T, text string, start, limit, step int) {
		if start < 0 || limit < 0 || step <= 0 {
			return
		}
		s := newSelector(start)
		s.limit(limit)
		for b := []byte(text); len(b) > 0; {
			n := min(step, len(b))
			s.add(b[:n])
			b = b[n:]
		}
		lines, got := s.finish()
		all := strings.Split(text, "\n")
		if lines != len(all) {
			t.Fatalf("%d lines, want %d", lines, len(all))
		}
		if start >= len(all) {
			return
		}
		picked := strings.Join(all[start:min(len(all), s.end)], "\n")
		want := truncateHead(validText([]byte(picked)), maxLines)
		if got.FirstLineExceedsLimit {
			if size := len(validText([]byte(all[start]))); s.firstBytes != size {
				t.Errorf("first line of %d bytes, want %d", s.firstBytes, size)
			}
		}
		if !want.Truncated {
			want.TotalLines, want.TotalBytes = got.TotalLines, got.TotalBytes // not shown
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTruncateHead(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
		by    string
		first bool
	}{
		{"a\nb\n", 2, "a\nb\n", "", false},
		{"a\nb\nc", 2, "a\nb", "lines", false},
		{strings.Repeat("x", maxBytes), 1, strings.Repeat("x", maxBytes), "", false},
		{strings.Repeat("x", maxBytes) + "\n", 1, strings.Repeat("x", maxBytes), "lines", false},
		{strings.Repeat("ä", maxBytes/2) + "ä", 1, "", "bytes", true},
		{"a\n" + strings.Repeat("x", maxBytes), 9, "a", "bytes", false},
		{"", 1, "", "", false},
	} {
		got := truncateHead(tt.text, tt.limit)
		by := ""
		if got.TruncatedBy != nil {
			by = *got.TruncatedBy
		}
		if got.Content != tt.want || by != tt.by || got.FirstLineExceedsLimit != tt.first || got.OutputBytes != len(tt.want) {
			t.Errorf("%.20q: %.30q by %q, first %v", tt.text, got.Content, by, got.FirstLineExceedsLimit)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int]string{0: "0B", 1023: "1023B", 1024: "1.0KB", 1280: "1.3KB", 51200: "50.0KB", 60000: "58.6KB", 1 << 20: "1.0MB", 1<<20 + 1<<18: "1.3MB"} {
		if got := formatSize(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestCutLine(t *testing.T) {
	for _, tt := range []struct{ unit, want string }{
		{"x", strings.Repeat("x", 500)},
		{"ä", strings.Repeat("ä", 500)},
		{"😀", strings.Repeat("😀", 250)},
	} {
		if got, cut := cutLine(strings.Repeat(tt.unit, 501)); got != tt.want || !cut {
			t.Errorf("%s: %d bytes, cut %v", tt.unit, len(got), cut)
		}
		if _, cut := cutLine(tt.want); cut {
			t.Errorf("%s: cut although it fits", tt.unit)
		}
	}
	if got, _ := cutLine("x" + strings.Repeat("😀", 250)); got != "x"+strings.Repeat("😀", 249) {
		t.Errorf("half a character: %d bytes", len(got))
	}
}
