package cli

import "runtime/debug"

// version is set by the release build (-X).
var version = ""

// Version returns the version of the program: that of the release, else that of the
// module, else "dev".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
