package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonc"
)

// maxCount is the largest whole number that JSON's numbers hold exactly.
const maxCount = 1 << 53

// value is a setting that was looked up. node is nil when it is unset.
type value struct {
	*key
	def   any    // the key's default, or that of the name it stands for
	shown string // its name in warnings, with the members that "*" stands for
	node  *node
}

// look finds a setting by its name in the table of keys. members are what "*" in the
// name stands for. Settings that only the user may set are not looked for in projects.
func (s *Settings) look(name string, members ...string) value {
	k, path, shown := find(name), strings.Split(name, "."), name
	if len(members) > 0 {
		for i, p := range path {
			if p == any1 && len(members) > 0 {
				path[i], members = members[0], members[1:]
			}
		}
		shown = strings.Join(path, ".")
	}
	return value{k, k.def, shown, s.find(k.user, path)}
}

// orOld returns the value, or that of its old name when it is unset and the old one is
// not.
func (s *Settings) orOld(name, old string) value {
	v := s.look(name)
	if v.node == nil {
		if o := s.look(old); o.node != nil {
			o.def = v.def
			return o
		}
	}
	return v
}

// text returns a string, "" when unset.
func (s *Settings) text(name string) string {
	v := s.look(name)
	if v.node == nil {
		return ""
	}
	if v.node.value.Kind != jsonc.String {
		s.warn(v.node, v.shown, "must be a string, not "+v.node.value.Kind.String(), "none")
		return ""
	}
	return v.node.value.Text
}

// path returns a string with a leading ~ replaced.
func (s *Settings) path(name string) string {
	p := strings.TrimSpace(s.text(name))
	if p == "~" {
		return s.opt.Home
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && s.opt.Home != "" {
		return filepath.Join(s.opt.Home, rest)
	}
	return p
}

func (s *Settings) flag(name string) bool { return s.flagOf(s.look(name)) }

func (s *Settings) flagOf(v value) bool {
	def, _ := v.def.(bool)
	if v.node == nil {
		return def
	}
	if v.node.value.Kind != jsonc.Bool {
		s.warn(v.node, v.shown, "must be true or false, not "+v.node.value.Kind.String(), strconv.FormatBool(def))
		return def
	}
	return v.node.value.Text == "true"
}

// choice returns one of the key's words, its default when unset or none of them, "" for
// none.
func (s *Settings) choice(v value) string {
	def, _ := v.def.(string)
	if v.node == nil {
		return def
	}
	if v.node.value.Kind == jsonc.String && slices.Contains(v.words, v.node.value.Text) {
		return v.node.value.Text
	}
	what := v.node.value.Kind.String()
	if v.node.value.Kind == jsonc.String {
		what = fmt.Sprintf("%.40q", v.node.value.Text)
	}
	using := def
	if using == "" {
		using = "none"
	}
	s.warn(v.node, v.shown, "must be "+either(v.words)+", not "+what, using)
	return def
}

func either(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// count returns a whole number of 0 or more, the key's default when unset or no such
// number.
func (s *Settings) count(name string, members ...string) int64 {
	v := s.look(name, members...)
	def, _ := v.def.(int64)
	return s.countOf(v, def)
}

func (s *Settings) countOf(v value, def int64) int64 {
	if v.node == nil {
		return def
	}
	if n, ok := whole(v.node); ok {
		return n
	}
	s.warn(v.node, v.shown, notWhole, strconv.FormatInt(def, 10))
	return def
}

const notWhole = "must be a whole number of 0 or more"

// whole returns a whole number of 0 or more.
func whole(n *node) (int64, bool) {
	if n == nil {
		return 0, false
	}
	f, ok := number(n)
	if !ok || f < 0 || f > maxCount || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

func number(n *node) (float64, bool) {
	if n.value.Kind != jsonc.Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.value.Text, 64)
	return f, err == nil
}

// timeout returns a time: milliseconds as a number or a text of one, a duration such
// as "30s", or "disabled", which is 0 as 0 is.
func (s *Settings) timeout(name string) time.Duration {
	v := s.look(name)
	ms, _ := v.def.(int64)
	return s.timeoutOf(v, time.Duration(ms)*time.Millisecond)
}

func (s *Settings) timeoutOf(v value, def time.Duration) time.Duration {
	if v.node == nil {
		return def
	}
	f, ok := number(v.node)
	if v.node.value.Kind == jsonc.String {
		text := strings.TrimSpace(v.node.value.Text)
		if strings.EqualFold(text, "disabled") {
			return 0
		}
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return d
		}
		n, err := strconv.ParseFloat(text, 64)
		f, ok = n, err == nil
	}
	const most = float64(1<<63-1) / 1e6
	if ok && f >= 0 && f < most {
		return time.Duration(f) * time.Millisecond
	}
	s.warn(v.node, v.shown, `must be milliseconds, a time such as "30s", or "disabled"`, def.String())
	return def
}

// texts returns a list of strings; elements of other types are left out.
func (s *Settings) texts(name string) []string {
	v := s.look(name)
	return s.textsOf(v.node, v.shown)
}

func (s *Settings) textsOf(n *node, name string) []string {
	if n == nil {
		return nil
	}
	if n.value.Kind != jsonc.Array {
		s.warn(n, name, "must be an array of strings, not "+n.value.Kind.String(), "none")
		return nil
	}
	out := make([]string, 0, len(n.value.Elems))
	for i, e := range n.value.Elems {
		if e.Kind != jsonc.String {
			s.warn(&node{value: e, from: n.from}, fmt.Sprintf("%s[%d]", name, i), "must be a string, not "+e.Kind.String(), "the rest")
			continue
		}
		out = append(out, e.Text)
	}
	return out
}
