package prompt

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// ParseArgs splits the text after a template's name into arguments, as a shell would:
// at white space, with '…' and "…" around arguments that have some. A quote opens
// only at the start of an argument, so that apostrophes are plain; a backslash before
// the closing quote keeps it; a quote that is never closed is plain.
func ParseArgs(text string) []string {
	args := []string{}
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return args
		}
		var arg string
		arg, text = nextArg(text)
		args = append(args, arg)
	}
}

// nextArg takes one argument off the text, which does not start with white space.
func nextArg(text string) (arg, rest string) {
	head := ""
	if q := text[0]; q == '"' || q == '\'' {
		if inner, after, ok := quoted(text[1:], q); ok {
			head, text = inner, after
		}
	}
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return head + text, ""
	}
	return head + text[:end], text[end:]
}

// quoted reads up to the closing quote.
func quoted(text string, quote byte) (inner, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && text[i+1] == quote:
			i++
			b.WriteByte(quote)
		case c == quote:
			return b.String(), text[i+1:], true
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// placeholder matches what Substitute replaces: ${N:-default} and the like,
// ${@:N:L}, and $N, $@, $ARGUMENTS.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(\d+|ARGUMENTS|@):-([^}]*)\}|\$\{@:(\d+)(?::(\d+))?\}|\$(ARGUMENTS|@|\d+)`)
})

// Substitute puts arguments into a template: $1, $2 …, $@ and $ARGUMENTS for all,
// ${1:-default} and ${@:-default} when there is none or it is empty, ${@:N} for those
// from the Nth on, ${@:N:L} for L of them. What is put in is not looked at again.
func Substitute(template string, args []string) string {
	all := strings.Join(args, " ")
	var b strings.Builder
	last := 0
	for _, m := range placeholder().FindAllStringSubmatchIndex(template, -1) {
		part := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return template[m[2*n]:m[2*n+1]]
		}
		b.WriteString(template[last:m[0]])
		last = m[1]
		switch {
		case part(1) != "":
			if v := argument(args, all, part(1)); v != "" {
				b.WriteString(v)
			} else {
				b.WriteString(part(2))
			}
		case part(3) != "":
			b.WriteString(strings.Join(slice(args, part(3), part(4)), " "))
		default:
			b.WriteString(argument(args, all, part(5)))
		}
	}
	b.WriteString(template[last:])
	return b.String()
}

func argument(args []string, all, name string) string {
	if name == "@" || name == "ARGUMENTS" {
		return all
	}
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 || n > len(args) {
		return ""
	}
	return args[n-1]
}

// slice returns length arguments from the startth on, counted from 1; 0 is taken as 1.
func slice(args []string, start, length string) []string {
	from, err := strconv.Atoi(start)
	if err != nil || from > len(args) {
		return nil
	}
	args = args[max(from-1, 0):]
	if length == "" {
		return args
	}
	if n, err := strconv.Atoi(length); err == nil && n < len(args) {
		args = args[:n]
	}
	return args
}

// cutName splits "/name args" after the slash; ok is false when there is no name.
func cutName(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		return rest, "", rest != ""
	}
	_, n := utf8.DecodeRuneInString(rest[end:])
	return rest[:end], rest[end+n:], end > 0
}
