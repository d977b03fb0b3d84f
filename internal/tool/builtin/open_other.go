//go:build !unix

package builtin

import "io/fs"

// openNonblock is of no use where files never wait.
const openNonblock = 0

// mustStay reports whether a file has to keep its identity; it cannot be told here.
func mustStay(fs.FileInfo) bool { return false }
