package mistral

import (
	"hash/fnv"
	"strconv"
)

// idLength is the only length of a tool call id that the servers accept, in letters
// and digits.
const idLength = 9

// callIDs gives tool calls of any provider ids in the servers' form, each its own, and
// their results the same. Not safe for concurrent use.
type callIDs struct {
	wire  map[string]string // id -> form
	taken map[string]bool   // forms
}

// of returns the form of an id.
func (c *callIDs) of(id string) string {
	if w, ok := c.wire[id]; ok {
		return w
	}
	if c.wire == nil {
		c.wire, c.taken = map[string]string{}, map[string]bool{}
	}
	w := id
	for attempt := 0; !wellFormed(w) || c.taken[w]; attempt++ {
		w = derived(id, attempt)
	}
	c.wire[id], c.taken[w] = w, true
	return w
}

func wellFormed(id string) bool {
	if len(id) != idLength {
		return false
	}
	for _, r := range []byte(id) {
		if r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' {
			return false
		}
	}
	return true
}

// derived returns nine letters and digits that follow from an id.
func derived(id string, attempt int) string {
	h := fnv.New64a()
	h.Write([]byte(id + ":" + strconv.Itoa(attempt))) //nolint:errcheck // never fails
	// 36^9 is less than 2^48, so the sum has digits enough; zeros fill what is missing.
	digits := strconv.FormatUint(h.Sum64(), 36)
	for len(digits) < idLength {
		digits += "0"
	}
	return digits[len(digits)-idLength:]
}
