package google

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// chunk is one element of an answer. None of its fields has a type that a server's
// oddity could fail to decode into.
type chunk struct {
	Candidates list[candidate]  `json:"candidates"`
	Feedback   object[feedback] `json:"promptFeedback"`
	Usage      object[usage]    `json:"usageMetadata"`
	ID         lax              `json:"responseId"`
	Model      lax              `json:"modelVersion"`
	Error      jsonx.Raw        `json:"error"`
}

type feedback struct {
	Reason jsonx.Raw `json:"blockReason"`
}

type candidate struct {
	Index   number        `json:"index"`
	Content object[parts] `json:"content"`
	Finish  jsonx.Raw     `json:"finishReason"`
}

type parts struct {
	Parts list[wirePart] `json:"parts"`
}

// wirePart is a part of an answer; parts of the server's own tools have none of these.
type wirePart struct {
	Text      optional         `json:"text"`
	Thought   flag             `json:"thought"`
	Signature lax              `json:"thoughtSignature"`
	Call      object[wireCall] `json:"functionCall"`
}

// wireCall is a call, or a piece of one whose arguments are streamed.
type wireCall struct {
	ID        lax              `json:"id"`
	Name      lax              `json:"name"`
	Args      jsonx.Raw        `json:"args"`
	Partial   list[partialArg] `json:"partialArgs"`
	Continues flag             `json:"willContinue"`
}

type usage struct {
	Prompt     number `json:"promptTokenCount"`
	Cached     number `json:"cachedContentTokenCount"`
	Candidates number `json:"candidatesTokenCount"`
	Thoughts   number `json:"thoughtsTokenCount"`
}

// tokens returns the counts, nil when there are none.
func (u *usage) tokens() *llm.Usage {
	if !u.Prompt.set && !u.Candidates.set && !u.Thoughts.set {
		return nil
	}
	reasoning := u.Thoughts.value
	return &llm.Usage{
		Input: max(0, u.Prompt.value-u.Cached.value), Output: u.Candidates.value + reasoning,
		CacheRead: u.Cached.value, Reasoning: &reasoning,
	}
}

// object is an object; other values count as not there.
type object[T any] struct {
	v   T
	set bool
}

// UnmarshalJSONFrom reads an object.
func (o *object[T]) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	var zero T
	o.v, o.set = zero, false
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	o.set = true
	return jsonx.UnmarshalDecode(dec, &o.v)
}

// list is the objects of an array; other values count as not there.
type list[T any] []T

// UnmarshalJSONFrom reads an array.
func (l *list[T]) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	*l = (*l)[:0]
	return jsonx.EachObject(dec, func() error {
		var v T
		if err := jsonx.UnmarshalDecode(dec, &v); err != nil {
			return err
		}
		*l = append(*l, v)
		return nil
	})
}

// lax is a string; other values are "".
type lax string

// UnmarshalJSONFrom reads a string.
func (l *lax) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	var o optional
	err := o.UnmarshalJSONFrom(dec)
	*l = lax(o.value)
	return err
}

// optional is a string, and whether it was there.
type optional struct {
	value string
	set   bool
}

// UnmarshalJSONFrom reads a string.
func (o *optional) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	*o = optional{}
	if dec.PeekKind() != '"' {
		return dec.SkipValue()
	}
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*o = optional{t.String(), true}
	return nil
}

// flag is true only where true stands.
type flag bool

// UnmarshalJSONFrom reads a boolean.
func (f *flag) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	*f = dec.PeekKind() == 't'
	return dec.SkipValue()
}

// number is a whole number, and whether it was there.
type number struct {
	value int64
	set   bool
}

// UnmarshalJSONFrom reads a number; one that is negative or beyond the range counts as
// not there.
func (n *number) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	*n = number{}
	if dec.PeekKind() != '0' {
		return dec.SkipValue()
	}
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if v, err := t.Float(); err == nil && v >= 0 && v < 1e15 {
		*n = number{int64(v), true}
	}
	return nil
}
