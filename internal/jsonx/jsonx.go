// Package jsonx is the one JSON policy of the program: how values are encoded
// and decoded, how raw values are carried, and how lines are read.
//
// It owns the dependency on go-json-experiment; no other package imports it.
// The policy is that of JavaScript's JSON: invalid UTF-8 becomes U+FFFD,
// duplicate names are accepted and the last one wins, names are matched
// case-sensitively, nil slices are "[]", and neither HTML nor U+2028 is escaped.
//
// All functions may be called concurrently.
package jsonx

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Raw is an undecoded JSON value. It keeps key order and unknown members.
type Raw = jsontext.Value

// Encoder and Decoder are the streaming forms that types with their own
// encoding implement (MarshalJSONTo, UnmarshalJSONFrom).
type (
	Encoder = jsontext.Encoder
	Decoder = jsontext.Decoder
)

var policy = json.JoinOptions(
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.PreserveRawStrings(true),
	json.Deterministic(true),
)

// Marshal returns the compact encoding of v.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, policy) }

// Write writes the compact encoding of v to w.
func Write(w io.Writer, v any) error { return json.MarshalWrite(w, v, policy) }

// Append appends the compact encoding of v to dst and returns the extended slice.
func Append(dst []byte, v any) ([]byte, error) {
	w := (*sliceWriter)(&dst)
	err := json.MarshalWrite(w, v, policy)
	return dst, err
}

// MarshalIndent returns v encoded with two spaces of indentation, as
// JSON.stringify(v, null, 2) does.
func MarshalIndent(v any) ([]byte, error) {
	b, err := json.Marshal(v, policy)
	if err != nil {
		return nil, err
	}
	return Indent(b), nil
}

// Indent returns raw re-indented with two spaces, key order kept; text that is
// no JSON is returned as it is.
func Indent(raw []byte) []byte {
	v := Raw(bytes.Clone(raw))
	if err := v.Format(jsontext.WithIndent("  "), jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(false), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)); err != nil {
		return raw
	}
	return v
}

// Unmarshal decodes data into v. The error names the offset and, where it is
// known, the JSON pointer of the fault.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v, policy) }

// MarshalEncode encodes v into an encoder that a MarshalJSONTo method was given.
func MarshalEncode(enc *Encoder, v any) error { return json.MarshalEncode(enc, v, policy) }

// UnmarshalDecode decodes the next value of a decoder that an UnmarshalJSONFrom
// method was given.
func UnmarshalDecode(dec *Decoder, v any) error { return json.UnmarshalDecode(dec, v, policy) }

// EachObject calls each for the objects of the array that a decoder stands before; it must
// decode one value. Other elements are skipped, as is a value that is no array.
func EachObject(dec *Decoder, each func() error) error {
	if dec.PeekKind() != '[' {
		return dec.SkipValue()
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != ']' {
		take := each
		if dec.PeekKind() != '{' {
			take = dec.SkipValue
		}
		if err := take(); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

// Valid reports whether data is exactly one JSON value under the policy.
func Valid(data []byte) bool {
	return Raw(data).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// String returns s as a JSON string.
func String(s string) Raw { return AppendString(nil, s) }

// AppendString appends s as a JSON string to dst and returns the extended slice.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // an error is invalid UTF-8 only, which is replaced all the same
	return dst
}

// Compact returns raw without insignificant white space, key order kept.
func Compact(raw []byte) (Raw, error) {
	v := Raw(bytes.Clone(raw))
	err := v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	return v, err
}

type sliceWriter []byte

func (w *sliceWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
