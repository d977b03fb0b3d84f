package engine

import "errors"

// errNoCompaction answers compact until a strategy is there.
var errNoCompaction = errors.New("compact is not available yet: no compaction strategy is built in")

// Compact shortens the context. No strategy is built in yet, and it says so.
func (e *Engine) Compact(reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) { return struct{}{}, errNoCompaction })
}

// compacting reports whether a compaction is under way.
func (e *Engine) compacting() bool { return false }

// abortCompaction cancels a compaction that is under way.
func (e *Engine) abortCompaction() {}

// SetAutoCompaction says whether the context is compacted without being asked, and
// writes it to the settings.
func (e *Engine) SetAutoCompaction(on bool, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) {
		e.autoCompact = on
		return struct{}{}, e.saveSetting(on, "compaction", "enabled")
	})
}
