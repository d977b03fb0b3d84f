// Package scripted is the provider that answers model calls from a script: text,
// thinking, tool calls, errors and delays, in a format for people (docs/scripted.md).
// It needs no key and no network; an embedded script is the program's demo.
//
// It owns the format, the choice of the turn that answers a call, and the templates
// with which an answer quotes the conversation. It must not know tools, sessions or
// any wire format: all it sees is the request. A Provider may be used concurrently; a
// Script is immutable, except while it is being recorded (Script.Add).
package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Script is a parsed script: the turns that answer model calls, and defaults for
// them. The format is docs/scripted.md. A parsed Script is immutable and may be
// shared.
type Script struct {
	Schema    string     `json:"$schema,omitzero"`
	Comment   string     `json:"comment,omitzero"`
	Model     *ModelSpec `json:"model,omitzero"`
	Usage     *Usage     `json:"usage,omitzero"`
	ChunkSize int        `json:"chunkSize,omitzero"` // characters a delta, 0 = a whole piece
	DelayMs   int        `json:"delayMs,omitzero"`   // before each delta
	OnEnd     string     `json:"onEnd,omitzero"`
	Turns     []*Turn    `json:"turns"`
	Unknown   jsonx.Raw  `json:",embed"`

	rules   []*place // turns with a condition, in order
	ordered []*place // the others
	last    *place
}

// place is a turn with the retries that follow it.
type place struct{ turns []*Turn }

// What follows the last of the turns that go in order (Script.OnEnd).
const (
	EndError  = "error"  // a model call beyond it fails; the default
	EndRepeat = "repeat" // the last one answers again
	EndLoop   = "loop"   // the first one comes again
)

// ModelSpec is what a script says of the model it plays; zero members keep the
// defaults of Provider.Model.
type ModelSpec struct {
	Name          string    `json:"name,omitzero"`
	ContextWindow int64     `json:"contextWindow,omitzero"` // tokens
	MaxTokens     int64     `json:"maxTokens,omitzero"`
	Reasoning     *bool     `json:"reasoning,omitzero"`
	Images        *bool     `json:"images,omitzero"`
	Unknown       jsonx.Raw `json:",embed"`
}

// Turn is the answer to one model call: conditions that choose it, its steps, and
// how it ends.
type Turn struct {
	Comment string `json:"comment,omitzero"`

	Match      *Pattern  `json:"match,omitzero"`      // the last user text
	Turn       *Span     `json:"turn,omitzero"`       // the call's number in its run, from 0
	AfterTool  string    `json:"afterTool,omitzero"`  // a result that came since the last answer; "*" is any
	Result     *Pattern  `json:"result,omitzero"`     // the text of such a result
	ToolFailed *bool     `json:"toolFailed,omitzero"` // whether such a result is an error
	HasTool    string    `json:"hasTool,omitzero"`    // a tool that the request offers
	Retry      bool      `json:"retry,omitzero"`      // stands in for the turn before, once that failed
	Steps      []*Step   `json:"steps"`
	Verbatim   bool      `json:"verbatim,omitzero"` // no templates, no events of its own accord
	Unknown    jsonx.Raw `json:",embed"`

	StopReason    llm.StopReason `json:"stopReason,omitzero"`
	RawStopReason string         `json:"rawStopReason,omitzero"`
	EndTurn       *bool          `json:"endTurn,omitzero"`
	Usage         *Usage         `json:"usage,omitzero"`
	ResponseID    string         `json:"responseId,omitzero"`
	ResponseModel string         `json:"responseModel,omitzero"`
	ProviderLevel string         `json:"providerLevel,omitzero"`
}

// Step is one thing that happens in a turn: exactly one of the first group is set,
// or DelayMs alone. The others shape it.
type Step struct {
	Thinking *Pieces   `json:"thinking,omitzero"`
	Text     *Pieces   `json:"text,omitzero"`
	ToolCall *ToolCall `json:"toolCall,omitzero"`
	Repeat   *Repeat   `json:"repeat,omitzero"`
	Meta     *Meta     `json:"meta,omitzero"`
	Error    *Error    `json:"error,omitzero"`
	Hang     bool      `json:"hang,omitzero"`
	End      *int      `json:"end,omitzero"` // ends an open block

	DelayMs        int       `json:"delayMs,omitzero"`
	ChunkSize      int       `json:"chunkSize,omitzero"`
	Signature      string    `json:"signature,omitzero"`
	StartSignature string    `json:"startSignature,omitzero"`
	Redacted       bool      `json:"redacted,omitzero"`
	Final          *string   `json:"final,omitzero"` // the block's whole text as its end states it
	Open           bool      `json:"open,omitzero"`  // the block does not end with the step
	Block          *int      `json:"block,omitzero"` // the open block that the step continues
	Unknown        jsonx.Raw `json:",embed"`

	pieces []template // of Text and Thinking, of ToolCall's arguments
}

// ToolCall is a call of a tool. Of Arguments (any JSON, templates in its strings)
// and RawArguments (text as it is, which may be no JSON) at most one is set. An
// Optional call is left out when the request does not offer the tool.
type ToolCall struct {
	Name         string    `json:"name,omitzero"`
	ID           string    `json:"id,omitzero"`
	Arguments    jsonx.Raw `json:"arguments,omitzero"`
	RawArguments *Pieces   `json:"rawArguments,omitzero"`
	Optional     bool      `json:"optional,omitzero"`
	EndName      string    `json:"endName,omitzero"` // the name as the block's end states it
	Unknown      jsonx.Raw `json:",embed"`
}

// Repeat is a block of Count deltas, each Text or Bytes letters long.
type Repeat struct {
	Count    int       `json:"count"`
	Bytes    int       `json:"bytes,omitzero"`
	Text     string    `json:"text,omitzero"`
	Thinking bool      `json:"thinking,omitzero"`
	Unknown  jsonx.Raw `json:",embed"`
}

// Meta is what a provider says of its response in mid-stream.
type Meta struct {
	ResponseID    string    `json:"responseId,omitzero"`
	ResponseModel string    `json:"responseModel,omitzero"`
	ProviderLevel string    `json:"providerLevel,omitzero"`
	EndTurn       *bool     `json:"endTurn,omitzero"`
	Usage         *Usage    `json:"usage,omitzero"`
	Unknown       jsonx.Raw `json:",embed"`
}

// Error fails the call, for the first Times attempts of the turn when Times is not
// 0. Kind defaults to what Status usually means.
type Error struct {
	Kind         llm.ErrorKind `json:"kind,omitzero"`
	Status       int           `json:"status,omitzero"`
	Code         string        `json:"code,omitzero"`
	Message      string        `json:"message,omitzero"`
	Body         string        `json:"body,omitzero"`
	RetryAfterMs int64         `json:"retryAfterMs,omitzero"`
	Times        int           `json:"times,omitzero"`
	Unknown      jsonx.Raw     `json:",embed"`
}

// Pieces is a text, or the deltas that it is sent in: a JSON string, or an array of
// strings.
type Pieces []string

// UnmarshalJSONFrom decodes a string or an array of strings.
func (p *Pieces) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if dec.PeekKind() == '"' {
		*p = Pieces{""}
		return jsonx.UnmarshalDecode(dec, &(*p)[0])
	}
	return jsonx.UnmarshalDecode(dec, (*[]string)(p))
}

// MarshalJSONTo writes a single piece as a string.
func (p *Pieces) MarshalJSONTo(enc *jsonx.Encoder) error {
	if len(*p) == 1 {
		return jsonx.MarshalEncode(enc, (*p)[0])
	}
	return jsonx.MarshalEncode(enc, []string(*p))
}

// Span is a range of numbers, both ends included; Max < 0 is open. In JSON it is a
// number or a string "2-5" or "2-".
type Span struct{ Min, Max int }

// UnmarshalJSONFrom decodes a number or a string.
func (s *Span) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if dec.PeekKind() != '"' {
		if err := jsonx.UnmarshalDecode(dec, &s.Min); err != nil {
			return err
		}
		s.Max = s.Min
		return s.check()
	}
	var text string
	if err := jsonx.UnmarshalDecode(dec, &text); err != nil {
		return err
	}
	from, to, ok := strings.Cut(text, "-")
	var err error
	if s.Min, err = strconv.Atoi(from); err != nil || !ok {
		return fmt.Errorf(`%q is no range: want "2-5" or "2-"`, text)
	}
	if s.Max = -1; to != "" {
		if s.Max, err = strconv.Atoi(to); err != nil || s.Max < s.Min {
			return fmt.Errorf(`%q is no range: want "2-5" or "2-"`, text)
		}
	}
	return s.check()
}

func (s *Span) check() error {
	if s.Min < 0 {
		return fmt.Errorf("%d is negative", s.Min)
	}
	return nil
}

// MarshalJSONTo writes the form that was read.
func (s *Span) MarshalJSONTo(enc *jsonx.Encoder) error {
	switch {
	case s.Max == s.Min:
		return jsonx.MarshalEncode(enc, s.Min)
	case s.Max < 0:
		return jsonx.MarshalEncode(enc, strconv.Itoa(s.Min)+"-")
	}
	return jsonx.MarshalEncode(enc, strconv.Itoa(s.Min)+"-"+strconv.Itoa(s.Max))
}

func (s *Span) holds(n int) bool { return n >= s.Min && (s.Max < 0 || n <= s.Max) }

// Pattern finds text: a substring, or a regular expression (Go syntax) between
// slashes.
type Pattern struct {
	text string
	re   *regexp.Regexp
}

// NewPattern returns the pattern that finds text literally.
func NewPattern(text string) *Pattern {
	if isRegexp(text) {
		text = "/" + regexp.QuoteMeta(text) + "/"
		return &Pattern{text: text, re: regexp.MustCompile(text[1 : len(text)-1])}
	}
	return &Pattern{text: text}
}

func isRegexp(s string) bool { return len(s) >= 2 && s[0] == '/' && s[len(s)-1] == '/' }

// UnmarshalText compiles a pattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	p.text = string(text)
	if !isRegexp(p.text) {
		return nil
	}
	var err error
	if p.re, err = regexp.Compile(p.text[1 : len(p.text)-1]); err != nil {
		return fmt.Errorf("pattern %s: %w", p.text, err)
	}
	return nil
}

// MarshalText returns the pattern as it was written.
func (p *Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

func (p *Pattern) find(s string) bool {
	if p.re != nil {
		return p.re.MatchString(s)
	}
	return strings.Contains(s, p.text)
}

// Usage is the tokens of a call, or, when Estimate is set (in JSON the string
// "estimate"), a guess from the lengths of the request and the answer. CostTotal is
// a total in US dollars that the provider states itself.
type Usage struct {
	Estimate     bool      `json:"-"`
	Input        int64     `json:"input,omitzero"`
	Output       int64     `json:"output,omitzero"`
	CacheRead    int64     `json:"cacheRead,omitzero"`
	CacheWrite   int64     `json:"cacheWrite,omitzero"`
	CacheWrite1h *int64    `json:"cacheWrite1h,omitzero"`
	Reasoning    *int64    `json:"reasoning,omitzero"`
	CostTotal    *float64  `json:"costTotal,omitzero"`
	Unknown      jsonx.Raw `json:",embed"`
}

const estimateWord = "estimate"

// UnmarshalJSONFrom decodes an object or the word "estimate".
func (u *Usage) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if dec.PeekKind() == '"' {
		var word string
		if err := jsonx.UnmarshalDecode(dec, &word); err != nil {
			return err
		}
		if u.Estimate = word == estimateWord; !u.Estimate {
			return fmt.Errorf("usage is an object or %q, not %q", estimateWord, word)
		}
		return nil
	}
	type plain Usage
	return jsonx.UnmarshalDecode(dec, (*plain)(u))
}

// MarshalJSONTo writes the form that was read.
func (u *Usage) MarshalJSONTo(enc *jsonx.Encoder) error {
	if u.Estimate {
		return jsonx.MarshalEncode(enc, estimateWord)
	}
	type plain Usage
	return jsonx.MarshalEncode(enc, (*plain)(u))
}

// UsageOf returns a provider's usage in the form of a script; nil for nil.
func UsageOf(u *llm.Usage) *Usage {
	if u == nil {
		return nil
	}
	s := &Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWrite1h: u.CacheWrite1h, Reasoning: u.Reasoning,
	}
	if u.Cost.TotalFromProvider != nil && *u.Cost.TotalFromProvider {
		s.CostTotal = &u.Cost.Total
	}
	return s
}

// usage returns u as a provider reports it.
func (u *Usage) usage() *llm.Usage {
	out := &llm.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWrite1h: u.CacheWrite1h, Reasoning: u.Reasoning,
		TotalTokens: u.Input + u.Output + u.CacheRead + u.CacheWrite,
	}
	if u.CostTotal != nil {
		own := true
		out.Cost = llm.Cost{Total: *u.CostTotal, TotalFromProvider: &own}
	}
	return out
}
