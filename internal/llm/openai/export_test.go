package openai

// NewFlags returns what compat flags are decoded into.
func NewFlags() any { return new(flags) }
