package rpc

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Texts of parameter faults: they name the field and what it must be.
const (
	textMissing = "%s is missing: it must be %s"
	textWrong   = "%s must be %s, not %s"
)

// raw returns a parameter; ok is false when it is missing. A null is a value.
func (r *request) raw(name string) (v jsonx.Raw, ok bool) {
	v, ok = r.params[name]
	return v, ok
}

// param decodes a parameter that must be there.
func param[T any](r *request, name, what string) (v T, err error) {
	raw, ok := r.raw(name)
	if !ok {
		return v, fmt.Errorf(textMissing, name, what)
	}
	return v, decode(raw, name, what, &v)
}

// optional decodes a parameter that may be missing; null counts as missing.
func optional[T any](r *request, name, what string) (v T, given bool, err error) {
	raw, ok := r.raw(name)
	if !ok || raw.Kind() == 'n' {
		return v, false, nil
	}
	return v, true, decode(raw, name, what, &v)
}

func decode(raw jsonx.Raw, name, what string, v any) error {
	// A null decodes into the zero value of anything; it is none of them here.
	if raw.Kind() == 'n' || jsonx.Unmarshal(raw, v) != nil {
		return fmt.Errorf(textWrong, name, what, kind(raw))
	}
	return nil
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

func (r *request) str(name string) (string, error) {
	raw, ok := r.raw(name)
	if ok && raw.Kind() != '"' {
		return "", fmt.Errorf(textWrong, name, "a string", kind(raw))
	}
	return param[string](r, name, "a string")
}

// text is str for one that must not be empty.
func (r *request) text(name string) (string, error) {
	s, err := r.str(name)
	if err == nil && s == "" {
		err = fmt.Errorf("%s must be a non-empty string", name)
	}
	return s, err
}

func (r *request) optStr(name string) (string, error) {
	s, _, err := optional[string](r, name, "a string")
	return s, err
}

func (r *request) boolean(name string) (bool, error) {
	return param[bool](r, name, "true or false")
}

func (r *request) optBool(name string) (bool, error) {
	b, _, err := optional[bool](r, name, "true or false")
	return b, err
}

// oneOf decodes a parameter that must be one of a few words.
func oneOf[T ~string](r *request, name string, words ...T) (T, error) {
	what := choices(words)
	s, err := param[T](r, name, what)
	if err != nil {
		return "", err
	}
	return s, among(s, name, what, words)
}

// optOneOf is oneOf for a parameter that may be missing.
func optOneOf[T ~string](r *request, name string, words ...T) (T, error) {
	what := choices(words)
	s, given, err := optional[T](r, name, what)
	if err != nil || !given {
		return "", err
	}
	return s, among(s, name, what, words)
}

func among[T ~string](s T, name, what string, words []T) error {
	for _, w := range words {
		if s == w {
			return nil
		}
	}
	return fmt.Errorf(textWrong, name, what, fmt.Sprintf("%q", string(s)))
}

func choices[T ~string](words []T) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", string(w))
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return quoted[0]
}
