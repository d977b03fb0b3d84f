package tool

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// fault is one place where a value does not fit its schema.
type fault struct {
	path    []string // empty: the value itself
	message string
}

// checker compares values with schemas. It is used for one call, by one goroutine.
type checker struct {
	path   []string
	faults []fault
	// steps counts visited schema nodes: the recursive schemas of strangers must not
	// run for ever. extra is what large arguments get on top of maxCheckSteps.
	steps, extra int
	deep         int
}

const (
	maxCheckSteps = 1 << 17
	maxCheckDepth = 500
	textTooDeep   = "too complex to check"
)

// check returns the faults of v, in the order of the schema.
func (c *checker) check(v *value, s *schema) []fault {
	saved := c.faults
	c.faults = nil
	c.walk(v, s)
	found := c.faults
	c.faults = saved
	return found
}

func (c *checker) fits(v *value, s *schema) bool { return len(c.check(v, s)) == 0 }

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fault{append([]string(nil), c.path...), fmt.Sprintf(format, args...)})
}

func (c *checker) faultAt(name, format string, args ...any) {
	c.path = append(c.path, name)
	c.fault(format, args...)
	c.path = c.path[:len(c.path)-1]
}

func (c *checker) walkAt(name string, v *value, s *schema) {
	c.path = append(c.path, name)
	c.walk(v, s)
	c.path = c.path[:len(c.path)-1]
}

func (c *checker) walk(v *value, s *schema) {
	if s == nil {
		return
	}
	c.steps++
	c.deep++
	defer func() { c.deep-- }()
	switch {
	case c.steps > maxCheckSteps+c.extra || c.deep > maxCheckDepth:
		c.fault(textTooDeep)
		return
	case s.never:
		c.fault("no value is allowed here")
		return
	}
	if len(s.types) > 0 && !v.isOneOf(s.types) {
		c.fault("expected %s, got %s", strings.Join(s.types, " or "), v.typeName())
		return
	}
	if s.enum != nil && !contains(s.enum, v) {
		c.fault("expected one of %s", listValues(s.enum))
	}
	if s.constant != nil && !s.constant.equal(v) {
		c.fault("expected %s", s.constant.append(nil))
	}
	switch v.kind {
	case '"':
		c.walkString(v, s)
	case '0':
		c.walkNumber(v, s)
	case '{':
		c.walkObject(v, s)
	case '[':
		c.walkArray(v, s)
	}
	for _, sub := range s.allOf {
		c.walk(v, sub)
	}
	c.walkUnion(v, s.anyOf, false)
	c.walkUnion(v, s.oneOf, true)
	if s.not != nil && c.fits(v, s.not) {
		c.fault("must not match the schema in not")
	}
	if s.ref != "" {
		if s.target == nil {
			c.fault("unresolved reference %s", s.ref)
		}
		c.walk(v, s.target)
	}
}

func (v *value) isOneOf(types []string) bool {
	for _, t := range types {
		if v.is(t) {
			return true
		}
	}
	return false
}

func (c *checker) walkString(v *value, s *schema) {
	if s.minLength != nil || s.maxLength != nil {
		n := float64(v.length())
		if s.minLength != nil && n < *s.minLength {
			c.fault("expected at least %s characters", formatNumber(*s.minLength))
		}
		if s.maxLength != nil && n > *s.maxLength {
			c.fault("expected at most %s characters", formatNumber(*s.maxLength))
		}
	}
	if s.patternRE != nil && !s.patternRE.MatchString(v.text()) {
		c.fault("expected to match %s", s.pattern)
	}
}

func (c *checker) walkNumber(v *value, s *schema) {
	f, _ := v.number()
	if s.minimum != nil && f < *s.minimum {
		c.fault("expected >= %s", formatNumber(*s.minimum))
	}
	if s.maximum != nil && f > *s.maximum {
		c.fault("expected <= %s", formatNumber(*s.maximum))
	}
	if s.above != nil && f <= *s.above {
		c.fault("expected > %s", formatNumber(*s.above))
	}
	if s.below != nil && f >= *s.below {
		c.fault("expected < %s", formatNumber(*s.below))
	}
	if s.multipleOf != nil && *s.multipleOf > 0 && !isMultiple(f, *s.multipleOf) {
		c.fault("expected a multiple of %s", formatNumber(*s.multipleOf))
	}
}

// isMultiple allows for the rounding of decimal fractions.
func isMultiple(f, of float64) bool {
	q := f / of
	return math.Abs(q-math.Round(q)) <= 1e-9*math.Max(1, math.Abs(q))
}

func (c *checker) walkObject(v *value, s *schema) {
	for _, name := range s.required {
		if v.get(name) == nil {
			c.faultAt(name, "missing")
		}
	}
	for _, p := range s.props {
		if val := v.get(p.name); val != nil {
			c.walkAt(p.name, val, p.s)
		}
	}
	if s.extra != nil || len(s.patterns) > 0 {
		for _, m := range v.members {
			c.walkExtra(m, s)
		}
	}
	n := float64(len(v.members))
	if s.minProps != nil && n < *s.minProps {
		c.fault("expected at least %s properties", formatNumber(*s.minProps))
	}
	if s.maxProps != nil && n > *s.maxProps {
		c.fault("expected at most %s properties", formatNumber(*s.maxProps))
	}
}

// walkExtra checks a member against the patterns, and against additionalProperties
// when nothing else names it.
func (c *checker) walkExtra(m member, s *schema) {
	known := s.prop(m.name) != nil
	for _, p := range s.patterns {
		if p.re.MatchString(m.name) {
			known = true
			c.walkAt(m.name, m.val, p.s)
		}
	}
	switch {
	case known || s.extra == nil:
	case s.extra.never:
		c.faultAt(m.name, "unknown field")
	default:
		c.walkAt(m.name, m.val, s.extra)
	}
}

func (c *checker) walkArray(v *value, s *schema) {
	for i, item := range v.items {
		c.walkAt(strconv.Itoa(i), item, s.item(i))
	}
	n := float64(len(v.items))
	if s.minItems != nil && n < *s.minItems {
		c.fault("expected at least %s items", formatNumber(*s.minItems))
	}
	if s.maxItems != nil && n > *s.maxItems {
		c.fault("expected at most %s items", formatNumber(*s.maxItems))
	}
	if s.unique {
		seen := make(map[string]bool, len(v.items))
		for _, item := range v.items {
			seen[item.canonical()] = true
		}
		if len(seen) < len(v.items) {
			c.fault("expected unique items")
		}
	}
}

func (s *schema) item(i int) *schema {
	if i < len(s.prefix) {
		return s.prefix[i]
	}
	return s.items
}

// walkUnion reports the faults of one alternative: of a tagged union the one that the
// tag selects, else the one that knows most of the value's members, else the one
// whose first fault is deepest.
func (c *checker) walkUnion(v *value, alternatives []*schema, exactlyOne bool) {
	if len(alternatives) == 0 {
		return
	}
	fitting := 0
	for _, alt := range alternatives {
		if c.fits(v, alt) {
			fitting++
		}
	}
	switch {
	case fitting == 1 || fitting > 1 && !exactlyOne:
		return
	case fitting > 1:
		c.fault("matches more than one alternative")
		return
	}
	if name, tags := tagOf(alternatives); name != "" && v.kind == '{' {
		tag := v.get(name)
		for i, t := range tags {
			if tag != nil && t.equal(tag) {
				c.walk(v, alternatives[i])
				return
			}
		}
		c.faultAt(name, "expected one of %s", listValues(tags))
		return
	}
	c.faults = append(c.faults, c.bestAlternative(v, alternatives)...)
}

func (c *checker) bestAlternative(v *value, alternatives []*schema) []fault {
	var best []fault
	bestKnown := -1
	for _, alt := range alternatives {
		faults := c.check(v, alt)
		known := 0
		for _, m := range v.members {
			if alt.resolved().prop(m.name) != nil {
				known++
			}
		}
		if known > bestKnown || known == bestKnown && len(faults[0].path) > len(best[0].path) {
			best, bestKnown = faults, known
		}
	}
	return best
}

func (s *schema) resolved() *schema {
	for range maxCheckDepth {
		if s.target == nil {
			return s
		}
		s = s.target
	}
	return s
}

// tagOf returns the member that tells alternatives apart by a constant of its own in
// each, and these constants.
func tagOf(alternatives []*schema) (string, []*value) {
	for _, p := range alternatives[0].resolved().props {
		var tags []*value
		for _, alt := range alternatives {
			s := alt.resolved().prop(p.name)
			if s == nil || s.constant == nil || contains(tags, s.constant) || s.constant.kind == '{' || s.constant.kind == '[' {
				break
			}
			tags = append(tags, s.constant)
		}
		if len(tags) == len(alternatives) {
			return p.name, tags
		}
	}
	return "", nil
}

func contains(values []*value, v *value) bool {
	for _, other := range values {
		if other.equal(v) {
			return true
		}
	}
	return false
}

// listValues writes the values as JSON, of a long list only the beginning.
func listValues(values []*value) string {
	const listed = 20
	list := value{kind: '[', items: values}
	if len(values) <= listed {
		return string(list.append(nil))
	}
	list.items = values[:listed]
	text := string(list.append(nil))
	return fmt.Sprintf("%s, ... and %d more]", strings.TrimSuffix(text, "]"), len(values)-listed)
}
