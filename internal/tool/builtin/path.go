package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"
)

// resolve returns the absolute path that a model means: ~ is the home directory, an
// "@" in front marks a mention, spaces that only look like one are spaces. A file that
// really has such a name is found all the same.
func (c *Config) resolve(path string) string {
	plain := strings.Map(plainSpace, path)
	meant := c.absolute(strings.TrimPrefix(plain, "@"))
	if meant == c.absolute(path) || exists(meant) {
		return meant
	}
	for _, other := range []string{plain, strings.TrimPrefix(path, "@"), path} {
		if abs := c.absolute(other); exists(abs) {
			return abs
		}
	}
	return meant
}

// resolveRead is resolve for files that must exist: it also tries how macOS spells the
// names of screenshots and of decomposed characters.
func (c *Config) resolveRead(path string) string {
	abs := c.resolve(path)
	if exists(abs) {
		return abs
	}
	curly := func(s string) string { return strings.ReplaceAll(s, "'", "\u2019") }
	for _, other := range []string{
		screenshotTime().ReplaceAllString(abs, "\u202f$1."), norm.NFD.String(abs), norm.NFC.String(abs), curly(abs), curly(norm.NFD.String(abs)),
	} {
		if other != abs && exists(other) {
			return other
		}
	}
	return abs
}

func screenshotTime() *regexp.Regexp { return regexp.MustCompile(`(?i) (AM|PM)\.`) }

func (c *Config) absolute(path string) string {
	if runtime.GOOS == "windows" {
		path = shellPath(path)
	}
	switch {
	case c.Home != "" && path == "~":
		return c.Home
	case c.Home != "" && (strings.HasPrefix(path, "~/") || runtime.GOOS == "windows" && strings.HasPrefix(path, `~\`)):
		return filepath.Join(c.Home, path[2:])
	case strings.HasPrefix(path, "file://"):
		if u, err := url.Parse(path); err == nil && (u.Host == "" || u.Host == "localhost") {
			path = u.Path
		}
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.Cwd, path)
}

// shellPath turns the drive paths of Git Bash, Cygwin and WSL into those of Windows.
func shellPath(path string) string {
	rest := path
	for _, prefix := range []string{"/mnt/", "/cygdrive/", "/"} {
		if after, ok := strings.CutPrefix(path, prefix); ok {
			rest = after
			break
		}
	}
	if rest == path || strings.Contains(path, `\`) || rest == "" || len(rest) > 1 && rest[1] != '/' {
		return path
	}
	if c := rest[0] | 0x20; c < 'a' || c > 'z' {
		return path
	}
	return strings.ToUpper(rest[:1]) + `:\` + strings.ReplaceAll(strings.TrimPrefix(rest[1:], "/"), "/", `\`)
}

func plainSpace(r rune) rune {
	switch {
	case r == 0xa0, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return ' '
	}
	return r
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// realPath names a file for Config.Files: two paths of one file have one name. The
// file need not exist.
func realPath(path string) string {
	real := followLinks(path)
	if dir, err := filepath.EvalSymlinks(filepath.Dir(real)); err == nil {
		real = filepath.Join(dir, filepath.Base(real))
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		real = strings.ToLower(norm.NFC.String(real))
	}
	return real
}

// followLinks returns the path behind symbolic links, also behind one that leads to
// nothing.
func followLinks(path string) string {
	const most = 40
	for range most {
		target, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}

// systemError is one error of the system in the words of Node, which models and
// clients know.
type systemError struct {
	err  error
	code string
	text string
}

// systemErrors returns the table of known errors; the first that fits counts.
func systemErrors() []systemError {
	return []systemError{
		{syscall.EISDIR, "EISDIR", "illegal operation on a directory"},
		{syscall.ENOTDIR, "ENOTDIR", "not a directory"},
		{syscall.ELOOP, "ELOOP", "too many symbolic links encountered"},
		{syscall.ENAMETOOLONG, "ENAMETOOLONG", "name too long"},
		{syscall.ENOSPC, "ENOSPC", "no space left on device"},
		{syscall.EROFS, "EROFS", "read-only file system"},
		{syscall.EPERM, "EPERM", "operation not permitted"},
		{syscall.EBUSY, "EBUSY", "resource busy or locked"},
		{syscall.EMFILE, "EMFILE", "too many open files"},
		{syscall.ENXIO, "ENXIO", "no such device or address"},
		{syscall.EIO, "EIO", "i/o error"},
		{syscall.EINVAL, "EINVAL", "invalid argument"},
		{fs.ErrNotExist, "ENOENT", "no such file or directory"},
		{fs.ErrExist, "EEXIST", "file already exists"},
		{fs.ErrPermission, "EACCES", "permission denied"},
	}
}

// errorCode returns the code of an error of the system, "" when it has none.
func errorCode(err error) (code, text string) {
	for _, e := range systemErrors() {
		if errors.Is(err, e.err) {
			return e.code, e.text
		}
	}
	return "", ""
}

// fileError says that an operation on a file failed; path may be "". Unwrap gives the
// cause.
func fileError(err error, operation, path string) error {
	code, text := errorCode(err)
	if code == "" {
		return err
	}
	if path != "" {
		operation += " '" + path + "'"
	}
	return &shownError{fmt.Sprintf("%s: %s, %s", code, text, operation), err}
}

// shownError has a text for models and the error behind it.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }
func (e *shownError) Unwrap() error { return e.err }
