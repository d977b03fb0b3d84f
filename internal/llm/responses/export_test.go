package responses

// NewFlags returns what compat flags are decoded into.
func NewFlags() any { return new(compat) }
