package proc

import (
	"bytes"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// Field report 129: output of native Windows programs, in the console's code page or in
// UTF-16, is read as what it is, however it arrives.
func TestOutputOfNativeWindowsPrograms(t *testing.T) {
	utf16 := func(o unicode.Endianness, b unicode.BOMPolicy) encoding.Encoding { return unicode.UTF16(o, b) }
	for name, c := range map[string]struct {
		page    encoding.Encoding
		written encoding.Encoding
		text    string
	}{
		"GBK":                   {simplifiedchinese.GBK, simplifiedchinese.GBK, "已复制 3 个文件\n"},
		"GBK, but UTF-8":        {simplifiedchinese.GBK, encoding.Nop, "目录: 文件 3 个\n😀\n"},
		"code page 850":         {charmap.CodePage850, charmap.CodePage850, "Données: é à ü\n"},
		"UTF-16 with a mark":    {simplifiedchinese.GBK, utf16(unicode.LittleEndian, unicode.UseBOM), "分发 Ubuntu 😀\n"},
		"UTF-16, big, mark":     {nil, utf16(unicode.BigEndian, unicode.UseBOM), "分发 Ubuntu\n"},
		"UTF-16 without a mark": {nil, utf16(unicode.LittleEndian, unicode.IgnoreBOM), "Windows 子系统 😀\n"},
		"plain":                 {simplifiedchinese.GBK, encoding.Nop, "ok\n"},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := c.written.NewEncoder().Bytes([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			// The head decides what the channel is and comes in one piece.
			for cut := min(4, len(raw)); cut <= len(raw); cut++ {
				d := new(nativeText)
				if c.page != nil {
					d.page = c.page.NewDecoder().Transformer
				}
				var got bytes.Buffer
				got.Write(d.decode(bytes.Clone(raw[:cut]), false))
				got.Write(d.decode(bytes.Clone(raw[cut:]), false))
				got.Write(d.decode(nil, true))
				if got.String() != c.text {
					t.Fatalf("cut at %d: got %q, want %q", cut, got.String(), c.text)
				}
			}
		})
	}
}

// Elsewhere nothing is decoded: what no UTF-8 is becomes U+FFFD, as in the other programs.
func TestOutputPassesWhereThereAreNoCodePages(t *testing.T) {
	var d *nativeText
	if got := d.decode([]byte("\xff\xfea\x00"), false); string(got) != "\xff\xfea\x00" {
		t.Fatalf("got %q", got)
	}
}
