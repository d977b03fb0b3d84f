package proc

import (
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnviron(t *testing.T) {
	const sep = string(os.PathListSeparator)
	inherited := []string{
		"PATH=/usr/bin" + sep + "/bin", "HOME=/home/u", "OPENAI_API_KEY=users-own", "PI_CODING_AGENT_DIR=/d", "EMPTY=",
		"PI_SESSION_ID=stale", "ATOMIC_MODEL=stale", "ISOTOPE_REASONING_LEVEL=stale", "PI_PROVIDER=stale", "PI_SESSION_FILE=stale",
		"MY_MODEL=mine",
	}
	kept := []string{"HOME=/home/u", "OPENAI_API_KEY=users-own", "PI_CODING_AGENT_DIR=/d", "EMPTY="}
	for _, c := range []struct {
		name string
		env  Env
		want []string
	}{
		{"nothing added", Env{}, append(append([]string{inherited[0]}, kept...), "MY_MODEL=mine")},
		{
			"added",
			Env{BinDir: "/agent/bin", Set: []string{"AI_AGENT=x", "PI_SESSION_ID=now", "AI_AGENT=pi", "MY_MODEL=theirs"}},
			append(append([]string{"PATH=/agent/bin" + sep + "/usr/bin" + sep + "/bin"}, kept...), "PI_SESSION_ID=now", "AI_AGENT=pi", "MY_MODEL=theirs"),
		},
		{"in PATH already", Env{BinDir: "/bin"}, append(append([]string{inherited[0]}, kept...), "MY_MODEL=mine")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.env.Environ(inherited)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := (Env{BinDir: "/b"}).Environ(nil); !cmp.Equal(got, []string{"PATH=/b"}) {
		t.Errorf("without PATH: %q", got)
	}
	if runtime.GOOS == "windows" {
		if got := (Env{BinDir: `C:\b`}).Environ([]string{`Path=C:\w`}); !cmp.Equal(got, []string{`Path=C:\b;C:\w`}) {
			t.Errorf("case of PATH: %q", got)
		}
	}
}
