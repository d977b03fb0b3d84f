//go:build unix

package js

import (
	"io/fs"
	"syscall"
)

// systemStat adds what only the system's own record says.
func systemStat(fi fs.FileInfo, out map[string]any) {
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		out["ino"], out["dev"], out["nlink"], out["uid"], out["gid"], out["mode"] = s.Ino, s.Dev, s.Nlink, s.Uid, s.Gid, uint32(s.Mode)
	}
}
