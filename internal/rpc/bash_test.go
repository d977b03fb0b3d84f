package rpc_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A direct command belongs to the process: whatever takes the session's place, it goes on,
// is answered once, and is recorded once, in the session in which it began (dialects.md
// row "bash over a session replacement"; atomic-facts.md 1.3).
func TestBashOutlivesEveryReplacement(t *testing.T) {
	for name, replace := range map[string]string{
		"new_session":    ``,
		"switch_session": `,"sessionPath":"$WORK/proj/other.jsonl"`,
		"import_session": `,"inputPath":"$WORK/proj/other.jsonl"`,
		"fork":           `,"entryId":"00000003"`,
		"clone":          ``,
		"reload":         ``,
		"navigate_tree":  `,"targetId":"00000003"`,
	} {
		for _, memory := range []bool{false, true} {
			if memory && (name == "fork" || name == "clone") {
				continue // there is no file to copy
			}
			t.Run(fmt.Sprintf("%s memory=%v", name, memory), func(t *testing.T) {
				inBubble(t, tableScript, func(b *testbed) { b.memory = memory }, func(c *talk) {
					c.hi()
					c.send(`{"id":"b","type":"bash","command":"echo begun; sleep 60; echo done"}`)
					c.await("bash_execution_update", "begun")
					params := strings.ReplaceAll(replace, "$WORK", filepath.ToSlash(c.bed.work))
					c.send(fmt.Sprintf(`{"id":"r","type":%q%s}`, name, params))
					c.await("response", `"id":"r"`)
					if r := c.response("r"); !strings.Contains(r, `"success":true`) {
						t.Fatal(r)
					}
					c.await("bash_execution_update", "done")
					time.Sleep(time.Minute)
					if r := c.response("b"); !strings.Contains(r, `"output":"begun\ndone\n","exitCode":0`) {
						t.Errorf("the command: %s", r)
					}
					bashRecords(t, c, !memory)
				})
			})
		}
	}
}

// bashRecords checks that the one bash command is recorded in the first session only, once
// if that has a file.
func bashRecords(t *testing.T, c *talk, file bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.bed.work, "*", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	first := c.bed.stores[0].Path()
	for _, path := range files {
		want := 0
		if path == first && file {
			want = 1
		}
		if n := strings.Count(c.bed.read(path), `"role":"bashExecution"`); n != want {
			t.Errorf("%d records in %s, want %d", n, filepath.Base(path), want)
		}
	}
	if file && len(files) == 0 {
		t.Error("there is no session file")
	}
}

// At the end of input every direct command is cancelled and answered, and recorded once.
func TestBashIsDrainedAtTheEnd(t *testing.T) {
	inBubble(t, tableScript, nil, func(c *talk) {
		c.hi()
		for i := range 5 {
			c.send(fmt.Sprintf(`{"id":"b%d","type":"bash","command":"echo begun %d; sleep 6000"}`, i, i))
			c.await("bash_execution_update", fmt.Sprint("begun ", i))
		}
		c.end()
		for i := range 5 {
			if r := c.response(fmt.Sprint("b", i)); !strings.Contains(r, `"cancelled":true`) {
				t.Errorf("the command: %s", r)
			}
		}
		if n := strings.Count(c.bed.read(c.bed.stores[0].Path()), `"role":"bashExecution"`); n != 5 {
			t.Errorf("%d records, want 5", n)
		}
	})
}
