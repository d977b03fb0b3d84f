package builtin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
)

func TestWrite(t *testing.T) {
	f := newFolder(t)
	for _, text := range []string{"hello\n", "", "a\r\nb\ufeff\x00"} {
		b, err := jsonx.Marshal(writeArgs{"new/dir/w.txt", text})
		if err != nil {
			t.Fatal(err)
		}
		f.want("write", string(b), "Successfully wrote to new/dir/w.txt", "")
		if got := f.read("new/dir/w.txt"); got != text {
			t.Errorf("file is %q, want %q", got, text)
		}
	}
	f.want("write", `{"path":"~/at home","content":5}`, "Successfully wrote to ~/at home", "")
	if b, err := os.ReadFile(f.cfg.Home + "/at home"); err != nil || string(b) != "5" {
		t.Errorf("%q, %v", b, err)
	}
	f.fails("write", `{"path":"new","content":"x"}`, "EISDIR: illegal operation on a directory, open '$PWD/new'")
	f.fails("write", `{"path":"new/dir/w.txt/x","content":"x"}`, "EEXIST: file already exists, mkdir '$PWD/new/dir/w.txt'")
	f.fails("write", `{"path":"new/dir/w.txt/x/y","content":"x"}`, "ENOTDIR: not a directory, mkdir '$PWD/new/dir/w.txt/x'")
	f.fails("write", `{"path":"w2.txt"}`, "Validation failed for tool \"write\":\n  - content: missing\n\nReceived arguments:\n{\n  \"path\": \"w2.txt\"\n}")
}

func TestWriteThroughLinks(t *testing.T) {
	notOnWindows(t)
	f := newFolder(t)
	if err := os.Symlink("target", f.path("link")); err != nil {
		t.Fatal(err)
	}
	f.want("write", `{"path":"link","content":"new"}`, "Successfully wrote to link", "")
	if st, err := os.Lstat(f.path("link")); err != nil || st.Mode()&fs.ModeSymlink == 0 || f.read("target") != "new" {
		t.Errorf("the link to nothing: %v", err)
	}
	f.want("write", `{"path":"/dev/null","content":"x"}`, "Successfully wrote to /dev/null", "")
	if st, err := os.Stat("/dev/null"); err != nil || st.Mode().IsRegular() {
		t.Error("the device was replaced")
	}
}

func TestWriteKeepsTheModeAndObeysTheUmask(t *testing.T) {
	notOnWindows(t)
	f := newFolder(t)
	f.want("write", `{"path":"new","content":""}`, "Successfully wrote to new", "")
	if st, err := os.Stat(f.path("new")); err != nil || st.Mode().Perm()&0o002 != 0 && st.Mode().Perm() != 0o666 || st.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := os.Chmod(f.path("new"), 0o640); err != nil {
		t.Fatal(err)
	}
	f.want("write", `{"path":"new","content":"x"}`, "Successfully wrote to new", "")
	if st, err := os.Stat(f.path("new")); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestWriteInADirectoryWithoutPermission(t *testing.T) {
	notOnWindows(t)
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	f := newFolder(t)
	f.write("d/a", "old")
	if err := os.Chmod(f.path("d"), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(f.path("d"), 0o755)
	f.want("write", `{"path":"d/a","content":"new"}`, "Successfully wrote to d/a", "")
	if f.read("d/a") != "new" {
		t.Error("not written in place")
	}
	f.fails("write", `{"path":"d/b","content":"new"}`, "EACCES: permission denied, open '$PWD/d/b'")
}

func TestReplaceFailsWhole(t *testing.T) {
	f := newFolder(t)
	f.write("a", "old")
	cause := errors.New("source broke")
	for _, name := range []string{"a", "new"} {
		err := replaceFile(t.Context(), f.path(name), func(w io.Writer) error {
			if _, err := io.WriteString(w, "half"); err != nil {
				return err
			}
			return cause
		})
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := NewWrite(f.cfg).Run(ctx, tool.Call{Args: jsonx.Raw(`{"path":"a","content":"x"}`)}, nil); !errors.Is(err, cause) {
		t.Errorf("aborted: %v", err)
	}
	if f.read("a") != "old" || exists(f.path("new")) {
		t.Error("a failing write left something")
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestResolve(t *testing.T) {
	f := newFolder(t)
	f.write("plain file", "")
	f.write("@scope/x", "")
	f.write("odd\u00a0name", "")
	f.write("Screenshot at 9.41\u202fAM.png", "")
	f.write("cafe\u0301", "")
	f.write("L\u2019image", "")
	f.write("d\u2019e\u0301t\u0301.txt", "")
	for path, want := range map[string]string{
		"@plain file":                  "plain file",
		"plain\u00a0file":              "plain file",
		"plain\u3000file":              "plain file",
		"./x/../plain file":            "plain file",
		"@scope/x":                     "@scope/x",
		"odd\u00a0name":                "odd\u00a0name",
		"Screenshot at 9.41 AM.png":    "Screenshot at 9.41\u202fAM.png",
		"caf\u00e9":                    "cafe\u0301",
		"L'image":                      "L\u2019image",
		"d'\u00e9t\u0301.txt":          "d\u2019e\u0301t\u0301.txt",
		"none\u00a0such":               "none such",
		"@none":                        "none",
		"file://" + f.path("a%20b"):    "a b",
		strings.Repeat("../", 50) + "": "",
	} {
		got := f.cfg.resolveRead(path)
		if want == "" {
			want = "/"
		} else {
			want = f.path(want)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	if got := f.cfg.resolve("~"); got != f.cfg.Home {
		t.Errorf("~: %s", got)
	}
	none := Config{Cwd: f.dir}
	if got := none.resolve("~/x"); got != f.path("~/x") {
		t.Errorf("~ without a home: %s", got)
	}
}

// Field report 134: paths as the shells of Windows write them.
func TestShellPath(t *testing.T) {
	for path, want := range map[string]string{
		"/c/Users/x":  `C:\Users\x`,
		"/mnt/d/x":    `D:\x`,
		"/cygdrive/c": `C:\`,
		"/usr/bin":    "/usr/bin",
		"/mnt/data":   "/mnt/data",
		"relative/c":  "relative/c",
		"/":           "/",
		`C:\x`:        `C:\x`,
		"/1/x":        "/1/x",
	} {
		if got := shellPath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
