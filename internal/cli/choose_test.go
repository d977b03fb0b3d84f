package cli

import (
	"strings"
	"testing"
	"time"
)

// --resume lists the sessions of this folder, the newest first, and opens the one that is
// chosen; a wrong number is asked for again.
func TestResume(t *testing.T) {
	world(t)
	for _, text := range []string{"the first question", "the \x1b[31msecond\nquestion"} {
		if got := callWith(t, stdio{}, quick(), "-p", "--model", "scripted/demo", text); got.code != 0 {
			t.Fatal(got.stderr)
		}
	}
	terminal := func(typed string) stdio {
		return stdio{in: strings.NewReader(typed), inTerm: true, errTerm: true}
	}
	got := callWith(t, terminal("7\n2\n"), quick(), "--mode", "json", "--model", "scripted/demo", "--resume", "go on")
	if got.code != 0 || !strings.Contains(got.out, "the first question") && !strings.Contains(got.out, `"go on"`) {
		t.Fatalf("exit code %d: %s%s", got.code, got.out, got.stderr)
	}
	for _, want := range []string{"  1  just now  the [31msecond question\n", "  2  just now  the first question\n", "That is no number from 1 to 2.\n"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("no %q in\n%s", want, got.stderr)
		}
	}
	// What was continued is the newest now.
	got = callWith(t, terminal("\n"), quick(), "-p", "-r", "go on")
	if got.code != 1 || !strings.Contains(got.stderr, "  1  just now  the first question\n") || !strings.HasSuffix(got.stderr, "Error: No session was chosen\n") {
		t.Errorf("exit code %d, stderr\n%s", got.code, got.stderr)
	}
	if got = callWith(t, stdio{}, quick(), "-p", "-r", "go on"); got.code != 1 || got.stderr != "Error: "+textResume+"\n" {
		t.Errorf("without a terminal: exit code %d, stderr %s", got.code, got.stderr)
	}
	t.Chdir(t.TempDir())
	if got = callWith(t, terminal("1\n"), quick(), "-p", "-r", "go on"); got.code != 1 || !strings.Contains(got.stderr, textNoneToOpen) {
		t.Errorf("in a new folder: exit code %d, stderr %s", got.code, got.stderr)
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "just now", -time.Hour: "just now", time.Minute: "1 min", 90 * time.Minute: "1 h", 47 * time.Hour: "47 h", 50 * time.Hour: "2 days",
	} {
		if got := age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
