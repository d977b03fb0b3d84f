package rpc

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts of parameter faults: they name the field and what it must be.
const (
	textMissing = "%s is missing: it must be %s"
	textWrong   = "%s must be %s, not %s"
	textEmpty   = "%s must be a non-empty string"
)

// Kind is the form of a parameter.
type Kind string

// The kinds of parameters.
const (
	KindString      Kind = "string"
	KindText        Kind = "text" // a string that is not empty
	KindName        Kind = "name" // a string that is kept as it was sent, halves of pairs included
	KindBool        Kind = "boolean"
	KindWord        Kind = "word"        // one of Words
	KindTokens      Kind = "tokens"      // a number of tokens, also as a string
	KindMillis      Kind = "millis"      // milliseconds
	KindID          Kind = "id"          // any JSON value: the id of a command
	KindObject      Kind = "object"      // with Fields, or of any form
	KindImages      Kind = "images"      // an array of images
	KindAttachments Kind = "attachments" // an array of attachments
)

// Param is one parameter of a command. One that is not required may be missing or null,
// with NoNull only missing.
type Param struct {
	Name     string
	Kind     Kind
	Required bool
	NoNull   bool
	Words    []string
	Fields   []Param // of an object; nil: any
	What     string  // what it must be, for people; "" for what its kind says
	Doc      string
}

// what says what a parameter must be.
func (p *Param) what() string {
	if p.What != "" {
		return p.What
	}
	switch p.Kind {
	case KindBool:
		return "true or false"
	case KindWord:
		return choices(p.Words)
	case KindTokens:
		return "a number of tokens, greater than 0"
	case KindMillis:
		return "a number of milliseconds, 0 or more"
	case KindObject:
		return "an object"
	case KindImages:
		return whatImages
	case KindAttachments:
		return "an array of attachments"
	}
	return "a string"
}

// check decodes the parameters of a command, in the order of its row. The error is that
// of the first that is not what it must be.
func (r *request) check(params []Param) error {
	values, err := decodeParams("", params, r.params)
	r.values = values
	return err
}

func decodeParams(prefix string, params []Param, given map[string]jsonx.Raw) (map[string]any, error) {
	values := make(map[string]any, len(params))
	for i := range params {
		p := &params[i]
		raw, ok := given[p.Name]
		name := prefix + p.Name
		switch {
		case !ok && p.Required:
			return nil, fmt.Errorf(textMissing, name, p.what())
		case !ok, raw.Kind() == 'n' && !p.Required && !p.NoNull:
			continue
		}
		v, err := p.decode(name, raw)
		if err != nil {
			return nil, err
		}
		values[p.Name] = v
	}
	return values, nil
}

// decode returns the value of a parameter that was given.
func (p *Param) decode(name string, raw jsonx.Raw) (any, error) {
	wrong := fmt.Errorf(textWrong, name, p.what(), kind(raw))
	switch p.Kind {
	case KindName:
		s, err := jsonx.DecodeStr(raw)
		if err != nil {
			return nil, wrong
		}
		return s, nil
	case KindString, KindText, KindWord:
		return p.decodeString(name, raw, wrong)
	case KindBool:
		if k := raw.Kind(); k != 't' && k != 'f' {
			return nil, wrong
		}
		return raw.Kind() == 't', nil
	case KindTokens, KindMillis:
		n, ok := wholeNumber(raw, p.Kind == KindTokens)
		if !ok || n == 0 && p.Kind == KindTokens {
			return nil, fmt.Errorf(textWrong, name, p.what(), shown(raw))
		}
		return n, nil
	case KindObject:
		var members map[string]jsonx.Raw
		if raw.Kind() != '{' || jsonx.Unmarshal(raw, &members) != nil {
			return nil, wrong
		}
		if p.Fields == nil {
			return raw, nil
		}
		return decodeParams(name+".", p.Fields, members)
	case KindImages:
		return decodeImages(name, raw, wrong)
	case KindAttachments:
		return decodeAttachments(name, raw, wrong)
	}
	return raw, nil
}

func (p *Param) decodeString(name string, raw jsonx.Raw, wrong error) (any, error) {
	var s string
	switch {
	case raw.Kind() != '"' || jsonx.Unmarshal(raw, &s) != nil:
		return nil, wrong
	case p.Kind == KindText && s == "" && p.What != "":
		return nil, fmt.Errorf(textWrong, name, p.What, string(raw))
	case p.Kind == KindText && s == "":
		return nil, fmt.Errorf(textEmpty, name)
	case p.Kind == KindWord && !slices.Contains(p.Words, s):
		return nil, fmt.Errorf(textWrong, name, p.what(), fmt.Sprintf("%q", s))
	}
	return s, nil
}

// wholeNumber reads a number without a fraction, up to 2^53, in a string too when
// quoted.
func wholeNumber(raw jsonx.Raw, quoted bool) (int64, bool) {
	text := string(raw)
	if raw.Kind() == '"' && quoted {
		s, err := jsonx.DecodeStr(raw)
		if err != nil {
			return 0, false
		}
		text = strings.TrimSpace(string(s))
	} else if raw.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f < 0 || f > 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// shown is a value for an error: short ones as they are.
func shown(raw jsonx.Raw) string {
	if k := raw.Kind(); (k == '0' || k == '"') && len(raw) <= 40 {
		return string(raw)
	}
	return kind(raw)
}

// kind says in a client author's words what a value is.
func kind(raw jsonx.Raw) string {
	switch raw.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "this string"
	case '0':
		return "a number"
	case '{':
		return "this object"
	case '[':
		return "this array"
	}
	return "this value"
}

// str returns a checked string, "" when it was not given.
func (r *request) str(name string) string { return valueOf[string](r.values, name) }

// flag returns a checked boolean, false when it was not given.
func (r *request) flag(name string) bool { return valueOf[bool](r.values, name) }

// raw returns a checked value of any form, nil when it was not given.
func (r *request) raw(name string) jsonx.Raw { return valueOf[jsonx.Raw](r.values, name) }

// number returns a checked whole number, 0 when it was not given.
func (r *request) number(name string) int64 { return valueOf[int64](r.values, name) }

// given reports whether a parameter was given, and was not null where that counts as
// missing.
func (r *request) given(name string) bool {
	_, ok := r.values[name]
	return ok
}

func valueOf[T any](values map[string]any, name string) T {
	v, _ := values[name].(T)
	return v
}

func choices(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return quoted[0]
}

const whatImages = `an array of {"type":"image","data":"<base64>","mimeType":"image/…"}`

// ImageParam is one of the images of a prompt.
type ImageParam struct {
	Type     string  `json:"type"`
	Data     *string `json:"data"`
	MimeType string  `json:"mimeType"`
}

func decodeImages(name string, raw jsonx.Raw, wrong error) (any, error) {
	var list []ImageParam
	if raw.Kind() != '[' || jsonx.Unmarshal(raw, &list) != nil {
		return nil, wrong
	}
	var out []*llm.Image
	for i, img := range list {
		if img.Type != "image" || img.Data == nil || img.MimeType == "" {
			return nil, fmt.Errorf("%s[%d] must be {\"type\":\"image\",\"data\":\"<base64>\",\"mimeType\":\"image/…\"}", name, i)
		}
		out = append(out, llm.NewImage(*img.Data, img.MimeType))
	}
	return out, nil
}
