package tool

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// value is a JSON value as a tree that keeps the order of its members. Scalars stay
// raw, so a file's worth of text in a string costs one copy.
type value struct {
	kind    byte // 'n' null, 't' true, 'f' false, '0' number, '"' string, '{', '['
	raw     jsonx.Raw
	members []member
	items   []*value
}

type member struct {
	name string
	val  *value
}

func parseValue(raw []byte) (*value, error) {
	v := new(value)
	if err := jsonx.Unmarshal(raw, v); err != nil {
		return nil, err
	}
	return v, nil
}

// UnmarshalJSONFrom decodes any JSON value. Of two members with one name the later
// value wins, in the place of the earlier, as in JavaScript.
func (v *value) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	v.kind = byte(dec.PeekKind())
	switch v.kind {
	case '{':
		return v.decodeObject(dec)
	case '[':
		if _, err := dec.ReadToken(); err != nil {
			return err
		}
		for dec.PeekKind() != ']' {
			item := new(value)
			if err := item.UnmarshalJSONFrom(dec); err != nil {
				return err
			}
			v.items = append(v.items, item)
		}
		_, err := dec.ReadToken()
		return err
	}
	raw, err := dec.ReadValue()
	v.raw = raw.Clone()
	return err
}

func (v *value) decodeObject(dec *jsonx.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	places := make(map[string]int)
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key, val := name.String(), new(value)
		if err := val.UnmarshalJSONFrom(dec); err != nil {
			return err
		}
		if i, dup := places[key]; dup {
			v.members[i].val = val
			continue
		}
		places[key] = len(v.members)
		v.members = append(v.members, member{key, val})
	}
	_, err := dec.ReadToken()
	return err
}

// append writes the value in compact form.
func (v *value) append(dst []byte) []byte {
	switch v.kind {
	case '{':
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, jsonx.String(m.name)...)
			dst = append(dst, ':')
			dst = m.val.append(dst)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, v.raw...)
}

func (v *value) get(name string) *value {
	if v == nil {
		return nil
	}
	for i := range v.members {
		if v.members[i].name == name {
			return v.members[i].val
		}
	}
	return nil
}

func (v *value) set(name string, val *value) {
	for i := range v.members {
		if v.members[i].name == name {
			v.members[i].val = val
			return
		}
	}
	v.members = append(v.members, member{name, val})
}

func (v *value) remove(name string) {
	kept := v.members[:0:0]
	for _, m := range v.members {
		if m.name != name {
			kept = append(kept, m)
		}
	}
	v.members = kept
}

// clone copies the tree; scalars are shared, they never change in place.
func (v *value) clone() *value {
	c := *v
	c.members = make([]member, len(v.members))
	for i, m := range v.members {
		c.members[i] = member{m.name, m.val.clone()}
	}
	c.items = make([]*value, len(v.items))
	for i, item := range v.items {
		c.items[i] = item.clone()
	}
	return &c
}

// text returns a string's text, "" for anything else.
func (v *value) text() string {
	if v == nil || v.kind != '"' {
		return ""
	}
	var s string
	if jsonx.Unmarshal(v.raw, &s) != nil {
		return ""
	}
	return s
}

// number returns a number's value as JavaScript would have it.
func (v *value) number() (float64, bool) {
	if v == nil || v.kind != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	return f, err == nil || !math.IsNaN(f)
}

func (v *value) isInteger() bool {
	f, ok := v.number()
	return ok && f == math.Trunc(f) && !math.IsInf(f, 0)
}

func stringValue(s string) *value { return &value{kind: '"', raw: jsonx.String(s)} }

func numberValue(f float64) *value { return &value{kind: '0', raw: jsonx.Raw(formatNumber(f))} }

func boolValue(b bool) *value {
	if b {
		return &value{kind: 't', raw: jsonx.Raw("true")}
	}
	return &value{kind: 'f', raw: jsonx.Raw("false")}
}

// formatNumber writes a number as JavaScript does.
func formatNumber(f float64) string {
	b, err := jsonx.Marshal(f)
	if err != nil { // infinite: the text of the number was out of range
		return "0"
	}
	return string(b)
}

// equal compares two values: numbers by value, members in any order.
func (v *value) equal(o *value) bool {
	if v.kind != o.kind {
		return false
	}
	switch v.kind {
	case '"':
		return v.text() == o.text()
	case '0':
		a, _ := v.number()
		b, _ := o.number()
		return a == b
	case '[':
		if len(v.items) != len(o.items) {
			return false
		}
		for i := range v.items {
			if !v.items[i].equal(o.items[i]) {
				return false
			}
		}
	case '{':
		if len(v.members) != len(o.members) {
			return false
		}
		for _, m := range v.members {
			other := o.get(m.name)
			if other == nil || !m.val.equal(other) {
				return false
			}
		}
	}
	return true
}

// canonical returns a text that equal values share.
func (v *value) canonical() string {
	c := v.clone()
	c.canonicalize()
	return string(c.append(nil))
}

func (v *value) canonicalize() {
	switch v.kind {
	case '0':
		f, _ := v.number()
		v.raw = jsonx.Raw(formatNumber(f))
	case '"':
		v.raw = jsonx.String(v.text())
	}
	slices.SortFunc(v.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for _, m := range v.members {
		m.val.canonicalize()
	}
	for _, item := range v.items {
		item.canonicalize()
	}
}

// typeName names the value's type as error texts do.
func (v *value) typeName() string {
	switch v.kind {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	}
	if v.isInteger() {
		return "integer"
	}
	return "number"
}

// is reports whether the value is of a JSON Schema type.
func (v *value) is(typ string) bool {
	switch typ {
	case "number":
		return v.kind == '0'
	case "integer":
		return v.isInteger()
	}
	return v.typeName() == typ
}

func (v *value) length() int { return utf8.RuneCountInString(v.text()) }

// numberOf reads a string as JavaScript's Number does, except that blank text is no
// number and words for numbers (Infinity) are none.
func numberOf(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 2 && s[0] == '0' && strings.ContainsRune("xXoObB", rune(s[1])) {
		n, err := strconv.ParseUint(s, 0, 64)
		return float64(n), err == nil && !strings.Contains(s, "_")
	}
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
