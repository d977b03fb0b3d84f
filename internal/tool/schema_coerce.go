package tool

import (
	"math"
	"strings"
)

// coerce turns a loosely typed value into the one that the schema most likely meant,
// in place, and returns it (or its replacement). Models write "5" for 5, null for an
// optional member they leave out, JSON text for a list, one item for a list of one.
// What cannot be coerced stays, for the check to report.
func (c *checker) coerce(v *value, s *schema) *value {
	if s == nil {
		return v
	}
	c.steps++
	c.deep++
	defer func() { c.deep-- }()
	if c.steps > maxCheckSteps+c.extra || c.deep > maxCheckDepth {
		return v
	}
	switch {
	case s.ref != "":
		v = c.coerce(v, s.target)
	case s.constant != nil:
		return toLiteral(v, s.constant)
	case s.enum != nil:
		return toEnum(v, s.enum)
	}
	v = c.coerceUnion(v, s, s.anyOf)
	v = c.coerceUnion(v, s, s.oneOf)
	for _, sub := range s.allOf {
		v = c.coerce(v, sub)
	}
	if !v.isOneOf(s.types) {
		for _, typ := range s.types {
			if next := c.toType(v, typ, s); next != v {
				v = next
				break
			}
		}
	}
	switch v.kind {
	case '{':
		c.coerceObject(v, s)
	case '[':
		for i, item := range v.items {
			v.items[i] = c.coerce(item, s.item(i))
		}
	}
	return v
}

// coerceUnion leaves a value that some alternative takes, else takes the first
// alternative whose coercion fits the whole schema.
func (c *checker) coerceUnion(v *value, s *schema, alternatives []*schema) *value {
	for _, alt := range alternatives {
		if c.fits(v, alt) {
			return v
		}
	}
	for _, alt := range alternatives {
		if trial := c.coerce(v.clone(), alt); c.fits(trial, alt) {
			return trial
		}
	}
	return v
}

func (c *checker) coerceObject(v *value, s *schema) {
	c.dropOptionalNulls(v, s)
	c.gatherItem(v, s)
	for i, m := range v.members {
		sub := s.prop(m.name)
		for _, p := range s.patterns {
			if sub == nil && p.re.MatchString(m.name) {
				sub = p.s
			}
		}
		if sub == nil {
			sub = s.extra
		}
		v.members[i].val = c.coerce(m.val, sub)
	}
}

// dropOptionalNulls removes members that are null, need not be there, and may not be
// null.
func (c *checker) dropOptionalNulls(v *value, s *schema) {
	for _, p := range s.props {
		if val := v.get(p.name); val != nil && val.kind == 'n' && !s.requires(p.name) && !c.fits(val, p.s) {
			v.remove(p.name)
		}
	}
}

// gatherItem accepts the only item of a required list spelled at the top: the list is
// missing, and every member that its items require is here, undeclared
// (field-reports.md 130).
func (c *checker) gatherItem(v *value, s *schema) {
	for _, name := range s.required {
		list := s.prop(name)
		if list == nil || v.get(name) != nil || list.items == nil || len(list.items.required) == 0 {
			continue
		}
		item := &value{kind: '{'}
		for _, need := range list.items.required {
			if val := v.get(need); val != nil && s.prop(need) == nil {
				item.set(need, val)
			}
		}
		if len(item.members) != len(list.items.required) {
			continue
		}
		for _, m := range item.members {
			v.remove(m.name)
		}
		v.set(name, &value{kind: '[', items: []*value{item}})
	}
}

// toType converts a value of another type; the same value means that it cannot be.
func (c *checker) toType(v *value, typ string, s *schema) *value {
	switch typ {
	case "string":
		return toString(v)
	case "number":
		return toNumber(v)
	case "integer":
		if f, ok := toNumber(v).number(); ok && !math.IsInf(f, 0) {
			return numberValue(math.Trunc(f))
		}
	case "boolean":
		return toBool(v)
	case "null":
		if text := v.text(); v.kind == 'f' || v.kind == '"' && (text == "" || text == "null") {
			return &value{kind: 'n', raw: []byte("null")}
		}
	case "object":
		if parsed := parsedText(v, '{'); parsed != nil {
			return parsed
		}
	case "array":
		return c.toArray(v, s)
	}
	return v
}

// toArray reads JSON text of a list, or makes a list of one value that fits its items.
func (c *checker) toArray(v *value, s *schema) *value {
	if parsed := parsedText(v, '['); parsed != nil {
		return parsed
	}
	if v.kind == 'n' || len(s.prefix) > 0 || s.items == nil {
		return v
	}
	item := v
	if parsed := parsedText(v, '{'); parsed != nil {
		item = parsed
	}
	if item = c.coerce(item.clone(), s.items); c.fits(item, s.items) {
		return &value{kind: '[', items: []*value{item}}
	}
	return v
}

// parsedText returns the value of that kind which a string holds as JSON text.
func parsedText(v *value, kind byte) *value {
	text := strings.TrimSpace(v.text())
	if text == "" || text[0] != kind {
		return nil
	}
	parsed, err := parseValue([]byte(text))
	if err != nil {
		return nil
	}
	return parsed
}

func toString(v *value) *value {
	switch v.kind {
	case 't', 'f':
		return stringValue(string(v.raw))
	case '0':
		if f, _ := v.number(); !math.IsInf(f, 0) {
			return stringValue(formatNumber(f))
		}
	}
	return v
}

func toNumber(v *value) *value {
	switch v.kind {
	case 't':
		return numberValue(1)
	case 'f':
		return numberValue(0)
	case '"':
		if f, ok := numberOf(v.text()); ok {
			return numberValue(f)
		}
	}
	return v
}

func toBool(v *value) *value {
	switch v.kind {
	case '0':
		if f, _ := v.number(); f == 0 || f == 1 {
			return boolValue(f == 1)
		}
	case '"':
		switch strings.ToLower(v.text()) {
		case "true", "1":
			return boolValue(true)
		case "false", "0":
			return boolValue(false)
		}
	}
	return v
}

// toLiteral returns the literal when v is another spelling of it.
func toLiteral(v, literal *value) *value {
	if v.equal(literal) {
		return v
	}
	converted := v
	switch literal.kind {
	case '"':
		converted = toString(v)
	case '0':
		converted = toNumber(v)
	case 't', 'f':
		converted = toBool(v)
	}
	if converted.equal(literal) {
		return converted
	}
	return v
}

func toEnum(v *value, members []*value) *value {
	if contains(members, v) {
		return v
	}
	for _, m := range members {
		if next := toLiteral(v, m); next != v {
			return next
		}
	}
	return v
}
