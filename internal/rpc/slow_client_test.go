package rpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isotope-agent/isotope/internal/output"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
)

// bigModel makes get_available_models answer with 3 MB.
func bigModel() string {
	return `{"providers":{"fake":{"baseUrl":"http://fake.test","api":"openai-completions","apiKey":"k","models":[{"id":"one","name":"` +
		strings.Repeat("x", 3<<20) + `"}]}}}`
}

// A client that does not read its answers holds ordinary commands back, but not an
// interrupt behind them; when it reads again everything is there, in order.
func TestInterruptsOvertakeAClientThatDoesNotRead(t *testing.T) {
	archive := "\n-- models.json --\n" + bigModel() + repeats
	inBubble(t, archive, nil, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"hi"}`)
		c.await("agent_settled", "")
		c.send(`{"id":"b","type":"bash","command":"echo begun; sleep 1000"}`)
		c.await("bash_execution_update", "begun")
		goOn := c.out.stopReading()
		const n = 23 // more than output.ReadBudget
		want := []string{}
		for i := range n {
			id := fmt.Sprintf("m%d", i)
			want = append(want, id)
			c.send(fmt.Sprintf(`{"id":%q,"type":"get_available_models"}`, id))
			synctest.Wait() // let the answer be made
		}
		c.send(`{"id":"k","type":"abort_bash"}`)
		time.Sleep(time.Second)
		if got := c.bed.shortEntries(c.bed.read(c.bed.stores[0].Path())); !strings.Contains(got, "cancelled") {
			t.Errorf("the command was not cancelled:\n%s", got)
		}
		goOn()
		c.await("response", `"k"`)
		synctest.Wait()
		var got []string
		total := 0
		for line := range strings.Lines(c.out.String()) {
			if id, _, ok := strings.Cut(strings.TrimPrefix(line, `{"id":"`), `","type":"response","command":"get_available_models"`); ok {
				got = append(got, id)
				total += len(line)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("answers: %v", got)
		}
		if total < output.ReadBudget {
			t.Errorf("the answers have only %d bytes: the client was never held back", total)
		}
	})
}

// The engine comes to its end also when the client does not read: Close returns in
// time, and once the output is free again the run is persisted and told as settled.
func TestCloseWhenTheClientDoesNotRead(t *testing.T) {
	inBubble(t, `
-- provider --
{"turns":[{"steps":[{"repeat":{"count":4000,"bytes":4000}},{"hang":true}]}]}
`, nil, func(c *talk) {
		goOn := c.out.stopReading()
		c.send(`{"id":"p","type":"prompt","message":"flood"}`)
		time.Sleep(time.Second) // the run waits for room now
		c.feed.Close()
		if err := <-c.served; err != nil {
			t.Error(err)
		}
		c.ended = true
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		defer cancel()
		before := time.Now()
		if err := c.server.eng.Close(ctx); err == nil {
			t.Error("Close says that all is settled")
		}
		if d := time.Since(before); d != 5*time.Second {
			t.Errorf("Close took %v", d)
		}
		goOn()
		c.server.stop(c.t) // Close again: it ends now
		if got := c.bed.shortEntries(c.bed.read(c.bed.stores[0].Path())); !strings.Contains(got, "message assistant aborted") {
			t.Errorf("the aborted answer is not stored:\n%.300s", got)
		}
		schematest.Lines(c.t, c.bed.dialect, c.out.String())
		if out := c.out.String(); !strings.HasSuffix(out, "{\"type\":\"agent_settled\",\"aborted\":true}\n") {
			t.Error("the run was not told as settled")
		}
	})
}
