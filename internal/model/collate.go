package model

import (
	"cmp"
	"strings"
)

// signs are the characters that sort before digits and letters, in their order.
const signs = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"

// collate compares ids as people sort words: signs before digits before letters, and
// capitals only where all else is equal. The same ids are taken as by programs that leave
// this to the language of the user.
func collate(a, b string) int {
	as, bs := []rune(a), []rune(b)
	capitals := 0
	for i := range min(len(as), len(bs)) {
		if c := cmp.Compare(weight(as[i]), weight(bs[i])); c != 0 {
			return c
		}
		if capitals == 0 {
			capitals = cmp.Compare(bs[i], as[i]) // capitals have the smaller code
		}
	}
	return cmp.Or(cmp.Compare(len(as), len(bs)), capitals)
}

func weight(r rune) int {
	if i := strings.IndexRune(signs, r); i >= 0 {
		return i - len(signs)
	}
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return int(r)
}
