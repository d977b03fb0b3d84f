package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"github.com/isotope-agent/isotope/internal/llm"
)

// A picture of one white point.
const onePixelWebP = "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA="

// quadrants has red, green, blue and white quarters.
func quadrants(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	colors := []color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 255, 255}}
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, colors[2*(2*y/h)+2*x/w])
		}
	}
	return img
}

func noise(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func encoded(tb testing.TB, mimeType string, img image.Image) []byte {
	tb.Helper()
	var buf bytes.Buffer
	var err error
	switch mimeType {
	case PNG:
		err = png.Encode(&buf, img)
	case JPEG:
		err = jpeg.Encode(&buf, img, &jpeg.Options{Quality: 95})
	case GIF:
		err = gif.Encode(&buf, img, nil)
	case BMP:
		err = bmp.Encode(&buf, img)
	case TIFF:
		err = tiff.Encode(&buf, img, nil)
	case WebP:
		data, err := base64.StdEncoding.DecodeString(onePixelWebP)
		if err != nil {
			tb.Fatal(err)
		}
		return data
	}
	if err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func TestSniff(t *testing.T) {
	for _, mimeType := range []string{PNG, JPEG, GIF, WebP, BMP, TIFF} {
		data := encoded(t, mimeType, quadrants(8, 8))
		if got := Sniff(data[:min(len(data), SniffLen)]); got != mimeType {
			t.Errorf("%s taken for %q", mimeType, got)
		}
	}
	for _, text := range []string{"", "BM is not always a picture, it may be a text about one", "GIF8", "\x89PNG\r\n\x1a\n", "RIFF....WAVE", "\xff\xd8\xff\xf7"} {
		if got := Sniff([]byte(text)); got != "" {
			t.Errorf("%q taken for %s", text, got)
		}
	}
}

func TestProcessKeepsWhatFits(t *testing.T) {
	for _, mimeType := range []string{PNG, JPEG, GIF, WebP} {
		data := encoded(t, mimeType, quadrants(40, 30))
		p, err := Process(data, mimeType, Options{})
		if err != nil {
			t.Fatalf("%s: %v", mimeType, err)
		}
		if &p.Data[0] != &data[0] || p.MimeType != mimeType || p.Notes != nil {
			t.Errorf("%s: changed to %s, notes %q", mimeType, p.MimeType, p.Notes)
		}
	}
}

func TestProcessConverts(t *testing.T) {
	for _, tt := range []struct {
		actual, declared, want string
		note                   string
	}{
		{BMP, BMP, PNG, "[Image converted from image/bmp to image/png.]"},
		{TIFF, "image/tiff; x=y", PNG, "[Image converted from image/tiff to image/png.]"},
		{TIFF, PNG, PNG, "[Image converted from image/tiff to image/png.]"},
		{PNG, TIFF, PNG, "[Image converted from image/tiff to image/png.]"},
		{JPEG, PNG, JPEG, ""},
		{JPEG, "image/jpg", JPEG, ""},
		{PNG, "", PNG, ""},
	} {
		p, err := Process(encoded(t, tt.actual, quadrants(8, 6)), tt.declared, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.MimeType != tt.want || Sniff(p.Data) != tt.want || strings.Join(p.Notes, "|") != tt.note {
			t.Errorf("%s as %s: %s (%s), notes %q", tt.actual, tt.declared, p.MimeType, Sniff(p.Data), p.Notes)
		}
		img, err := decode(p.Data, p.MimeType)
		if err != nil || img.Bounds().Dx() != 8 {
			t.Errorf("%s as %s: %v", tt.actual, tt.declared, err)
		}
	}
}

func TestProcessRefuses(t *testing.T) {
	whole := encoded(t, PNG, quadrants(64, 64))
	for _, tt := range []struct {
		name, declared string
		data           []byte
		want           string
	}{
		{"text as PNG", PNG, []byte("not a picture"), NoteTooLarge},
		{"text as TIFF", TIFF, []byte("not a picture"), NoteUnconvertible},
		{"nothing", PNG, nil, NoteTooLarge},
		{"a cut PNG", PNG, whole[:len(whole)-20], NoteTooLarge},
		{"a cut BMP", BMP, encoded(t, BMP, quadrants(64, 64))[:200], NoteUnconvertible},
		{"too many points", PNG, hugePNG(100_000, 100_000), NoteTooLarge},
	} {
		if _, err := Process(tt.data, tt.declared, Options{}); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// hugePNG claims a size that it does not have.
func hugePNG(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	b = binary.BigEndian.AppendUint32(b, w)
	b = binary.BigEndian.AppendUint32(b, h)
	b = append(b, 8, 2, 0, 0, 0)
	crc := crc32.ChecksumIEEE(b[12:])
	b = binary.BigEndian.AppendUint32(b, crc)
	return append(b, "\x00\x00\x00\x00IEND\xaeB`\x82"...)
}

func TestProcessShrinks(t *testing.T) {
	for _, tt := range []struct {
		mimeType     string
		w, h, nw, nh int
	}{
		{PNG, 2400, 600, 2000, 500},
		{JPEG, 500, 2500, 400, 2000},
		{GIF, 2001, 10, 2000, 10},
		{PNG, 20000, 2, 2000, 1},
	} {
		p, err := Process(encoded(t, tt.mimeType, quadrants(tt.w, tt.h)), tt.mimeType, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := decodeConfig(p.Data, p.MimeType)
		want := fmt.Sprintf("[Image: original %dx%d, displayed at %dx%d. Multiply coordinates by %.2f to map to original image.]", tt.w, tt.h, tt.nw, tt.nh, float64(tt.w)/float64(tt.nw))
		if err != nil || c.Width != tt.nw || c.Height != tt.nh || len(p.Notes) != 1 || p.Notes[0] != want {
			t.Errorf("%d x %d: %d x %d, notes %q, %v", tt.w, tt.h, c.Width, c.Height, p.Notes, err)
		}
	}
	data := encoded(t, PNG, quadrants(2100, 50))
	if p, err := Process(data, PNG, Options{KeepSize: true}); err != nil || &p.Data[0] != &data[0] || p.Notes != nil {
		t.Errorf("shrunk although the size is to be kept: %v", err)
	}
}

func TestProcessFitsNoiseIntoTheLimit(t *testing.T) {
	data := encoded(t, PNG, noise(1100, 1100)) // 3.6 MB that do not compress
	p, err := Process(data, PNG, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := base64.StdEncoding.EncodedLen(len(p.Data)); n >= MaxBase64 || p.MimeType != JPEG || len(p.Notes) != 1 {
		t.Errorf("%s of %d bytes, notes %q", p.MimeType, n, p.Notes)
	}
}

func TestProcessKeepsTransparency(t *testing.T) {
	img := quadrants(2100, 40)
	for i := 3; i < len(img.Pix); i += 8 {
		img.Pix[i] = 10
	}
	p, err := Process(encoded(t, PNG, img), PNG, Options{})
	if err != nil || p.MimeType != PNG {
		t.Errorf("%s, %v", p.MimeType, err)
	}
}

// withOrientation puts an EXIF part in front of a JPEG.
func withOrientation(jpg []byte, o uint16, order binary.AppendByteOrder) []byte {
	mark := "MM\x00*"
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		mark = "II*\x00"
	}
	exif := append([]byte("Exif\x00\x00"), mark...)
	exif = order.AppendUint32(exif, 8)
	exif = order.AppendUint16(exif, 2)
	for _, tag := range []uint16{0x0100, 0x0112} {
		exif = order.AppendUint16(exif, tag)
		exif = order.AppendUint16(exif, 3)
		exif = order.AppendUint32(exif, 1)
		exif = order.AppendUint16(exif, o)
		exif = order.AppendUint16(exif, 0)
	}
	out := append([]byte{0xff, 0xd8, 0xff, 0xe1}, binary.BigEndian.AppendUint16(nil, uint16(len(exif)+2))...)
	return append(append(out, exif...), jpg[2:]...)
}

func TestOrientation(t *testing.T) {
	// The quarters, row by row, as they are to be seen.
	seen := map[uint16]string{1: "RG BW", 2: "GR WB", 3: "WB GR", 4: "BW RG", 5: "RB GW", 6: "BR WG", 7: "WG BR", 8: "GW RB"}
	for o, want := range seen {
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			data := withOrientation(encoded(t, JPEG, quadrants(64, 32)), o, order)
			if got := orientation(data); got != int(o) {
				t.Fatalf("orientation %d read as %d", o, got)
			}
			img, err := decode(data, JPEG)
			if err != nil {
				t.Fatal(err)
			}
			if got := quarters(img); got != want {
				t.Errorf("%d: %s, want %s", o, got, want)
			}
		}
	}
	if p, err := Process(withOrientation(encoded(t, JPEG, quadrants(2400, 240)), 6, binary.BigEndian), JPEG, Options{}); err != nil || !strings.Contains(p.Notes[0], "original 240x2400, displayed at 200x2000") {
		t.Errorf("%v, %v", p.Notes, err)
	}
}

func quarters(img image.Image) string {
	b := img.Bounds()
	name := func(x, y int) string {
		r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
		switch {
		case r > 0x8000 && g > 0x8000:
			return "W"
		case r > 0x8000:
			return "R"
		case g > 0x8000:
			return "G"
		case bl > 0x8000:
			return "B"
		}
		return "?"
	}
	w, h := b.Dx(), b.Dy()
	return name(w/4, h/4) + name(3*w/4, h/4) + " " + name(w/4, 3*h/4) + name(3*w/4, 3*h/4)
}

func TestNormalize(t *testing.T) {
	data := encoded(t, PNG, quadrants(5, 5))
	text := base64.StdEncoding.EncodeToString(data)
	same := llm.NewImage(text, PNG)
	if got, note := Normalize(same, Options{}); got != same || note != "" {
		t.Errorf("changed: %v, %q", got, note)
	}
	for _, tt := range []struct {
		name, data, mimeType string
		want                 *llm.Image
		note                 string
	}{
		{"no base64", "not-base64!!", PNG, nil, NoteTooLarge},
		{"another type", text, TIFF, llm.NewImage(text, PNG), "[Image converted from image/tiff to image/png.]"},
		{"a wrong type", text, JPEG, llm.NewImage(text, PNG), ""},
		{"no picture", base64.StdEncoding.EncodeToString([]byte("hello")), PNG, nil, NoteTooLarge},
		{"empty", "", PNG, nil, NoteTooLarge},
		{"without padding", strings.TrimRight(text, "="), PNG, llm.NewImage(text, PNG), ""},
	} {
		got, note := Normalize(llm.NewImage(tt.data, tt.mimeType), Options{})
		if diff := cmp.Diff(tt.want, got); diff != "" || note != tt.note {
			t.Errorf("%s: note %q %s", tt.name, note, diff)
		}
	}
	large, note := Normalize(llm.NewImage(base64.StdEncoding.EncodeToString(encoded(t, BMP, quadrants(2500, 10))), BMP), Options{})
	if want := "[Image converted from image/bmp to image/png.]\n[Image: original 2500x10, displayed at 2000x8. Multiply coordinates by 1.25 to map to original image.]"; large == nil || note != want {
		t.Errorf("note %q", note)
	}
}

func FuzzProcess(f *testing.F) {
	for _, mimeType := range []string{PNG, JPEG, GIF, WebP, BMP, TIFF} {
		f.Add(encoded(f, mimeType, quadrants(4, 4)), mimeType)
	}
	f.Add(withOrientation(encoded(f, JPEG, quadrants(4, 4)), 6, binary.LittleEndian), JPEG)
	f.Fuzz(func(t *testing.T, data []byte, mimeType string) {
		orientation(data)
		if c, err := decodeConfig(data, Sniff(data)); err == nil && c.Width > 1<<20/max(c.Height, 1) {
			return // slow, not wrong
		}
		p, err := Process(data, mimeType, Options{})
		if err == nil && (!inline(p.MimeType) || Sniff(p.Data) != p.MimeType) {
			t.Errorf("%s of %q", p.MimeType, p.Data)
		}
	})
}

func BenchmarkShrink(b *testing.B) {
	data := encoded(b, JPEG, quadrants(4000, 3000))
	for b.Loop() {
		if _, err := Process(data, JPEG, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
