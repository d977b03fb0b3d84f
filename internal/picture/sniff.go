package picture

import (
	"bytes"
	"encoding/binary"
)

// The types that models take, and those that are converted for them.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
	BMP  = "image/bmp"
	TIFF = "image/tiff"
)

// SniffLen is how much of a file Sniff needs to see.
const SniffLen = 64

// Sniff returns the type of the picture that begins with head, "" when it is none.
func Sniff(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		if len(head) > 3 && head[3] == 0xf7 { // JPEG-LS, which nobody reads
			return ""
		}
		return JPEG
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")) && len(head) >= 16 && string(head[12:16]) == "IHDR":
		return PNG
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return GIF
	case bytes.HasPrefix(head, []byte("RIFF")) && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return WebP
	case bytes.HasPrefix(head, []byte("II*\x00")), bytes.HasPrefix(head, []byte("MM\x00*")):
		return TIFF
	case isBMP(head):
		return BMP
	}
	return ""
}

// isBMP looks at more than the two letters, which texts begin with too.
func isBMP(b []byte) bool {
	if len(b) < 30 || b[0] != 'B' || b[1] != 'M' {
		return false
	}
	le := binary.LittleEndian
	size, pixels, header := le.Uint32(b[2:]), le.Uint32(b[10:]), le.Uint32(b[14:])
	if size != 0 && (size < 26 || pixels >= size) || uint64(pixels) < uint64(header)+14 {
		return false
	}
	planes, bits := le.Uint16(b[26:]), le.Uint16(b[28:])
	if header == 12 {
		planes, bits = le.Uint16(b[22:]), le.Uint16(b[24:])
	} else if header < 40 || header > 124 {
		return false
	}
	return planes == 1 && (bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32)
}

// completePNG reports whether the chunks of a PNG reach its end. A cut file decodes
// in some places and is refused in others.
func completePNG(b []byte) bool {
	const signature, overhead = 8, 12
	for at := signature; at+overhead <= len(b); {
		n := uint64(binary.BigEndian.Uint32(b[at:]))
		if string(b[at+4:at+8]) == "IEND" {
			return true
		}
		next := uint64(at) + overhead + n
		if next > uint64(len(b)) {
			return false
		}
		at = int(next)
	}
	return false
}

// orientation returns the orientation, from 1 to 8, that the EXIF part of a JPEG or
// WebP picture asks for.
func orientation(b []byte) int {
	switch Sniff(b) {
	case JPEG:
		for at := 2; at+4 <= len(b) && b[at] == 0xff; {
			marker, n := b[at+1], int(binary.BigEndian.Uint16(b[at+2:]))
			if marker == 0xff {
				at++
				continue
			}
			if marker == 0xda { // the picture itself begins
				return 1
			}
			end := min(at+2+n, len(b))
			if marker == 0xe1 && at+4 <= end && bytes.HasPrefix(b[at+4:end], []byte("Exif\x00\x00")) {
				return tiffOrientation(b[at+10 : end])
			}
			at += 2 + n
		}
	case WebP:
		for at := 12; at+8 <= len(b); {
			n := uint64(binary.LittleEndian.Uint32(b[at+4:]))
			start, end := at+8, min(uint64(at)+8+n, uint64(len(b)))
			if string(b[at:at+4]) == "EXIF" {
				return tiffOrientation(bytes.TrimPrefix(b[start:end], []byte("Exif\x00\x00")))
			}
			if next := uint64(start) + n + n%2; next < uint64(len(b)) {
				at = int(next)
			} else {
				break
			}
		}
	}
	return 1
}

// tiffOrientation reads tag 0x0112 of the first directory.
func tiffOrientation(b []byte) int {
	const tag, entrySize = 0x0112, 12
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if b[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(b[4:]))
	if at+2 > uint64(len(b)) {
		return 1
	}
	n := int(order.Uint16(b[at:]))
	for e := at + 2; n > 0 && e+entrySize <= uint64(len(b)); n-- {
		if order.Uint16(b[e:]) == tag {
			if v := int(order.Uint16(b[e+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
		e += entrySize
	}
	return 1
}
