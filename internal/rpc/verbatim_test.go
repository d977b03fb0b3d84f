package rpc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

// lined has enough lines to delete some of; its planner answers %PLAN%.
const lined = `
-- settings.json --
{"defaultProvider":"fake","defaultModel":"one","compaction":{"reserveTokens":10000,"preserve_recent":1},"fallbackModels":["fake/nosuch","fake/one","fake/two","fake/two"]}
-- models.json --
{"providers":{"fake":{"baseUrl":"http://fake.test","api":"openai-completions","apiKey":"k","models":[{"id":"one","contextWindow":40000,"maxTokens":4000},{"id":"two","contextWindow":40000,"maxTokens":4000}]}}}
-- provider --
{"onEnd":"repeat","turns":[{"match":"numbered-transcript","steps":[{"text":"%PLAN%"}]},{"steps":[{"delayMs":10},{"text":"ok"}],"usage":{"input":600,"output":10}}]}
-- args --
dialect atomic
`

// lines24 sends a prompt of many lines and waits for its end.
func (c *talk) lines24() {
	c.t.Helper()
	c.send(`{"type":"prompt","message":"` + strings.Repeat(`another line\n`, 24) + `"}`)
	c.await("agent_settled", "")
}

// Each model plans once: one that is not there, or was asked before, is passed over
// (atomic-facts 6.9).
func TestPlannersAreAskedOnce(t *testing.T) {
	var asked []string
	inBubble(t, strings.ReplaceAll(lined, "%PLAN%", "no records at all"), func(b *testbed) {
		b.requests = func(r *llm.Request) {
			if len(r.Tools) == 0 {
				asked = append(asked, r.Model.ID)
			}
		}
	}, func(c *talk) {
		c.lines24()
		c.send(`{"id":"c","type":"compact"}`)
		c.await("response", `"c"`)
		c.mustContain(`"success":false`, "Compaction range planning returned malformed output")
	})
	if !slices.Equal(asked, []string{"one", "two"}) {
		t.Errorf("asked for a plan: %v", asked)
	}
}

// The file of the session is copied before anything is taken away from its context; the
// newest three copies are kept (atomic-facts 6.10).
func TestBackupsOfCompactions(t *testing.T) {
	var path string
	inBubble(t, strings.ReplaceAll(lined, "%PLAN%", `3,4\n`), func(*testbed) {}, func(c *talk) {
		for i := range 5 {
			c.lines24()
			id := `"c` + strconv.Itoa(i) + `"`
			c.send(`{"id":` + id + `,"type":"compact"}`)
			c.await("response", id)
			c.mustContain(`{"id":`+id, `"success":true`, `"backupPath":"`)
		}
		path = c.bed.stores[0].Path()
		left, err := filepath.Glob(path + ".*.compact.bak")
		if err != nil || len(left) != 3 {
			t.Fatalf("%d copies are kept, %v: %v", len(left), err, left)
		}
		slices.Sort(left)
		newest, err := os.ReadFile(left[2])
		if err != nil || strings.Count(string(newest), `"type":"compaction"`) != 4 {
			t.Errorf("the newest copy holds %d compactions, %v; want the 4 before", strings.Count(string(newest), `"type":"compaction"`), err)
		}
	})
}
