// Package picture owns what happens to pictures before a model sees them: their type
// is found out, those of other types are converted, those that are too large shrunk.
//
// It must not know files, tools or prompts. Functions may be called concurrently; one
// that decodes takes up to some hundred megabytes for a large picture.
package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/isotope-agent/isotope/internal/llm"
)

// The limits of a picture in a request (pi-facts.md section 7).
const (
	MaxSide   = 2000              // pixels
	MaxBase64 = 4*1<<20 + 1<<20/2 // bytes of base64, exclusive: 4.5 MiB
	maxPixels = 150_000_000       // of a picture that is decoded at all
)

// Notes that tell a model what happened to a picture.
const (
	NoteTooLarge      = "[Image omitted: could not be resized below the inline image size limit.]"
	NoteUnconvertible = "[Image omitted: could not be converted to a supported inline image format.]"
	noteConverted     = "[Image converted from %s to %s.]"
	noteShrunk        = "[Image: original %dx%d, displayed at %dx%d. Multiply coordinates by %.2f to map to original image.]"
)

// Options of Process. The zero value shrinks.
type Options struct {
	KeepSize bool // send pictures as large as they are
}

// Processed is a picture as it is sent. Notes belong beside it, in order.
type Processed struct {
	Data     []byte
	MimeType string
	Notes    []string
}

// Error says that a picture cannot be sent; its text is a note for the model.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// Process makes a picture fit for a request. mimeType is what it is said to be; what
// it is counts. A picture that needs nothing keeps its bytes. The error is an Error.
func Process(data []byte, mimeType string, opt Options) (Processed, error) {
	declared := baseType(mimeType)
	actual := Sniff(data)
	out := Processed{Data: data, MimeType: actual}
	switch {
	case !inline(declared):
		if actual == "" {
			return out, Error(NoteUnconvertible)
		}
		if !inline(actual) {
			if err := out.convert(actual); err != nil {
				return out, err
			}
		}
		if strings.HasPrefix(declared, "image/") {
			out.Notes = append(out.Notes, fmt.Sprintf(noteConverted, declared, out.MimeType))
		}
	case actual == "":
		return out, Error(NoteTooLarge)
	case !inline(actual):
		if err := out.convert(actual); err != nil {
			return out, err
		}
		out.Notes = append(out.Notes, fmt.Sprintf(noteConverted, actual, out.MimeType))
	}
	if opt.KeepSize {
		return out, nil
	}
	return out.fit()
}

// Normalize makes a picture of a prompt fit for a request. It returns img itself when
// nothing is to be done, nil when the picture cannot be sent; note, when not empty,
// belongs behind the prompt's text (pi-facts.md section 7).
func Normalize(img *llm.Image, opt Options) (fit *llm.Image, note string) {
	data, err := decodeBase64(img.Data)
	if err != nil {
		return nil, NoteTooLarge
	}
	p, err := Process(data, img.MimeType, opt)
	if err != nil {
		return nil, err.Error()
	}
	note = strings.Join(p.Notes, "\n")
	standard := len(img.Data) == base64.StdEncoding.EncodedLen(len(data)) && !strings.ContainsAny(img.Data, "-_")
	if standard && &p.Data[0] == &data[0] {
		if p.MimeType == img.MimeType {
			return img, note
		}
		return llm.NewImage(img.Data, p.MimeType), note
	}
	return llm.NewImage(base64.StdEncoding.EncodeToString(p.Data), p.MimeType), note
}

// decodeBase64 accepts both alphabets, with padding or without.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "-_") {
		s = strings.NewReplacer("-", "+", "_", "/").Replace(s)
	}
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(s), "="))
}

func baseType(mimeType string) string {
	base, _, _ := strings.Cut(mimeType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	if base == "image/jpg" {
		return JPEG
	}
	return base
}

func inline(mimeType string) bool {
	return mimeType == PNG || mimeType == JPEG || mimeType == GIF || mimeType == WebP
}

// convert re-encodes a picture as PNG.
func (p *Processed) convert(from string) error {
	img, err := decode(p.Data, from)
	if err != nil {
		return Error(NoteUnconvertible)
	}
	data, err := encodePNG(img)
	if err != nil {
		return Error(NoteUnconvertible)
	}
	p.Data, p.MimeType = data, PNG
	return nil
}

// fit shrinks the picture below the limits when it is above them.
func (p *Processed) fit() (Processed, error) {
	config, err := decodeConfig(p.Data, p.MimeType)
	if err != nil || p.MimeType == PNG && !completePNG(p.Data) {
		return *p, Error(NoteTooLarge)
	}
	if config.Width <= MaxSide && config.Height <= MaxSide && base64.StdEncoding.EncodedLen(len(p.Data)) < MaxBase64 {
		return *p, nil
	}
	img, err := decode(p.Data, p.MimeType)
	if err != nil {
		return *p, Error(NoteTooLarge)
	}
	return p.shrink(img)
}

// shrink scales the picture down and encodes it in the way that takes the least
// bytes, with less and less quality and size until it fits.
func (p *Processed) shrink(img image.Image) (Processed, error) {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	nw, nh := target(w, h)
	for {
		scaled := scale(img, nw, nh)
		if data, mimeType := smallest(scaled); data != nil {
			notes := append(p.Notes, fmt.Sprintf(noteShrunk, w, h, nw, nh, float64(w)/float64(nw)))
			return Processed{Data: data, MimeType: mimeType, Notes: notes}, nil
		}
		if nw == 1 && nh == 1 {
			return *p, Error(NoteTooLarge)
		}
		nw, nh = max(1, nw*3/4), max(1, nh*3/4)
		img = scaled
	}
}

// target returns the size within MaxSide that keeps the proportions.
func target(w, h int) (int, int) {
	if w > MaxSide {
		h, w = max(1, (h*MaxSide+w/2)/w), MaxSide
	}
	if h > MaxSide {
		w, h = max(1, (w*MaxSide+h/2)/h), MaxSide
	}
	return w, h
}

// scale returns img in another size. The scaler has fast ways for a few types only.
func scale(img image.Image, w, h int) *image.RGBA {
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	b := img.Bounds()
	if b.Dx() == w && b.Dy() == h {
		draw.Draw(dst, dst.Bounds(), img, b.Min, draw.Src)
		return dst
	}
	switch img.(type) {
	case *image.Gray, *image.NRGBA, *image.RGBA, *image.YCbCr:
	default:
		flat := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
		draw.Draw(flat, flat.Bounds(), img, b.Min, draw.Src)
		img, b = flat, flat.Bounds()
	}
	draw.CatmullRom.Scale(dst, dst.Bounds(), img, b, draw.Src, nil)
	return dst
}

// smallest returns the smaller of a PNG and a good JPEG, a worse JPEG when neither
// fits, nil when none does. Pictures that one can see through stay PNG if they can.
func smallest(img *image.RGBA) ([]byte, string) {
	fits := func(data []byte, err error) bool {
		return err == nil && base64.StdEncoding.EncodedLen(len(data)) < MaxBase64
	}
	asPNG, errPNG := encodePNG(img)
	fitsPNG := fits(asPNG, errPNG)
	if fitsPNG && !img.Opaque() {
		return asPNG, PNG
	}
	for _, quality := range []int{80, 85, 70, 55, 40} {
		asJPEG, err := encodeJPEG(img, quality)
		if fitsPNG && (err != nil || len(asPNG) <= len(asJPEG)) {
			return asPNG, PNG
		}
		if fits(asJPEG, err) {
			return asJPEG, JPEG
		}
	}
	return nil, ""
}

func encodePNG(img image.Image) ([]byte, error) {
	var buf bytes.Buffer
	err := png.Encode(&buf, img)
	return buf.Bytes(), err
}

func encodeJPEG(img *image.RGBA, quality int) ([]byte, error) {
	var src image.Image = img
	if !img.Opaque() { // JPEG knows no transparency: white is what a page would show
		flat := image.NewRGBA(img.Bounds())
		draw.Draw(flat, flat.Bounds(), image.White, image.Point{}, draw.Src)
		draw.Draw(flat, flat.Bounds(), img, img.Bounds().Min, draw.Over)
		src = flat
	}
	var buf bytes.Buffer
	err := jpeg.Encode(&buf, src, &jpeg.Options{Quality: quality})
	return buf.Bytes(), err
}

// decodeConfig returns the size of a picture as it is to be seen.
func decodeConfig(data []byte, mimeType string) (image.Config, error) {
	r := bytes.NewReader(data)
	var c image.Config
	var err error
	switch mimeType {
	case PNG:
		c, err = png.DecodeConfig(r)
	case JPEG:
		c, err = jpeg.DecodeConfig(r)
	case GIF:
		c, err = gif.DecodeConfig(r)
	case WebP:
		c, err = webp.DecodeConfig(r)
	case BMP:
		c, err = bmp.DecodeConfig(r)
	default:
		c, err = tiff.DecodeConfig(r)
	}
	if err == nil && (c.Width <= 0 || c.Height <= 0) {
		err = image.ErrFormat
	}
	return c, err
}

// decode decodes a picture, the first one of several, the right way up.
func decode(data []byte, mimeType string) (img image.Image, err error) {
	defer func() {
		if p := recover(); p != nil { // a decoder met what its author had not thought of
			img, err = nil, fmt.Errorf("decoding the picture: %v", p)
		}
	}()
	c, err := decodeConfig(data, mimeType)
	if err != nil {
		return nil, err
	}
	if c.Width > maxPixels/c.Height {
		return nil, fmt.Errorf("%d by %d pixels are too many", c.Width, c.Height)
	}
	r := bytes.NewReader(data)
	switch mimeType {
	case PNG:
		img, err = png.Decode(r)
	case JPEG:
		img, err = jpeg.Decode(r)
	case GIF:
		img, err = gif.Decode(r)
	case WebP:
		img, err = webp.Decode(r)
	case BMP:
		img, err = bmp.Decode(r)
	default:
		img, err = tiff.Decode(r)
	}
	if err != nil {
		return nil, err
	}
	return orient(img, orientation(data)), nil
}
