//go:build !linux && !darwin

package compact

// cloneFile fails: no clone is tried on this system.
func cloneFile(_, _ string) error { return errNoClone }
