//go:build unix

package proc

// newNativeText: programs write UTF-8, or what the user set up.
func newNativeText() *nativeText { return nil }
