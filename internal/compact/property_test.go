package compact

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// genText draws text with what could confuse the grammar: headers, tags, markers,
// blank lines.
func genText() *rapid.Generator[string] {
	line := rapid.OneOf(
		rapid.StringMatching(`[a-zé😀 ]{0,12}`),
		rapid.SampledFrom([]string{
			"", "<keepContext>", " </KEEPCONTEXT> ", "(filtered 3 lines)", "(filtered x lines)", "[User]: <keepContext>", "[Tool result]: x",
			"[Assistant]: said", "1,2", "\t", "</numbered-transcript>",
		}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(line, 1, 12).Draw(t, "lines"), "\n")
	})
}

// grow adds a random piece of conversation, unpaired calls and results, failures and
// cancelled answers included.
func grow(t *rapid.T, k *talk) {
	for range rapid.IntRange(1, 12).Draw(t, "messages") {
		text := genText().Draw(t, "text")
		id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "call")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			k.user(text)
		case 2:
			k.answer(text)
		case 3, 4:
			k.answer(text, call(id, "read", `{"path":"`+id+`.txt"}`), call(id+"2", "edit", `{"path":"x","n":1}`))
		case 5, 6:
			k.result(id, text)
		case 7:
			k.failed("529 Overloaded")
		case 8:
			k.message(&llm.AssistantMessage{
				Content: llm.Content{llm.NewText(text), call(id, "bash", `{}`)}, StopReason: llm.StopAborted, Timestamp: k.tick(),
			})
		case 9:
			k.add(session.ModelChange{Provider: "p", ModelID: "m"})
		}
	}
}

// genPlan draws a planner's answer: valid, hostile or cut off.
func genPlan(t *rapid.T) *llm.AssistantMessage {
	var b strings.Builder
	for range rapid.IntRange(0, 8).Draw(t, "records") {
		fmt.Fprintf(&b, "%d,%d\n", rapid.IntRange(0, 200).Draw(t, "from"), rapid.IntRange(0, 200).Draw(t, "to"))
	}
	text := b.String()
	switch rapid.IntRange(0, 5).Draw(t, "manner") {
	case 0:
		return stopped(llm.StopLength, text[:rapid.IntRange(0, len(text)).Draw(t, "cut")])
	case 1:
		return say(genText().Draw(t, "prose"))
	case 2:
		return say(text + "\n")
	case 3:
		return broken(rapid.SampledFrom([]llm.ErrorKind{llm.ErrOverflow, llm.ErrQuota, llm.ErrTransport}).Draw(t, "kind"), "no")
	}
	return say(text)
}

// planner answers for ever.
func planner(t *rapid.T) Completer {
	return func(context.Context, *llm.Request) (*llm.AssistantMessage, error) { return genPlan(t), nil }
}

// TestVerbatimProperties compacts random conversations again and again with random
// planners. Each time every line of the result that is no marker is a line of the
// region, in order; protected lines survive; the markers count every line that ever
// went; and the rebuilt context can be sent.
func TestVerbatimProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newTalk(t)
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			grow(rt, k)
			in := k.input()
			in.Options.PreserveRecent = rapid.IntRange(0, 4).Draw(rt, "preserve")
			in.Options.Ratio = rapid.Float64Range(0, 1).Draw(rt, "ratio")
			in.Urgency = Urgency(rapid.IntRange(0, 1).Draw(rt, "urgency"))
			in.AllowSmall = true
			p, err := Verbatim{}.Prepare(in)
			if err != nil {
				continue
			}
			r := p.job.(*verbatimJob).region
			o, err := p.Run(t.Context(), planner(rt))
			if err != nil {
				if in.Urgency == LoadBearing {
					rt.Fatal("a load-bearing compaction failed: ", err)
				}
				continue
			}
			checkSurvivors(rt, r.lines, r.protected, o.Entry.Summary)
			if before, after := weightOf(r), weightOf(parseRegion(o.Entry.Summary)); before != after {
				rt.Fatalf("%d lines became %d", before, after)
			}
			k.add(o.Entry)
			checkReplay(rt, k.context())
		}
	})
}

// weightOf is how many original lines a region stands for.
func weightOf(r *region) int64 {
	var n int64
	for i := range r.lines {
		n += r.weight(i)
	}
	return n
}

// TestSummaryProperties compacts random conversations again and again by summaries.
// The kept messages are the newest ones, as they were; no tool result is parted from
// its call; the rebuilt context can be sent.
func TestSummaryProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newTalk(t)
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			grow(rt, k)
			in := k.input()
			in.Options.KeepRecentTokens = rapid.Int64Range(0, 60).Draw(rt, "keep")
			in.Urgency = Urgency(rapid.IntRange(0, 1).Draw(rt, "urgency"))
			in.Window = rapid.Int64Range(100, 40_000).Draw(rt, "window")
			p, err := Summary{}.Prepare(in)
			if err != nil {
				continue
			}
			before := k.sent()
			o, err := p.Run(t.Context(), func(context.Context, *llm.Request) (*llm.AssistantMessage, error) {
				return say(rapid.SampledFrom([]string{"sum", "## Goal\nx", ""}).Draw(rt, "summary")), nil
			})
			if err != nil {
				continue
			}
			k.add(o.Entry)
			checkReplay(rt, k.context())
			after := k.sent()[1:] // behind the summary
			if len(after) > len(before) {
				rt.Fatalf("%d messages became %d", len(before), len(after))
			}
			for i, m := range after {
				if want := before[len(before)-len(after)+i]; want != m {
					rt.Fatalf("kept message %d is %s, was %s", i, m, want)
				}
			}
		}
	})
}

// sent returns what a model is sent, a text for each message, without the suffixes
// that make ids unique.
func (k *talk) sent() []string {
	var out []string
	for _, m := range llm.Replay(llm.ForModel(k.context()), testModel()) {
		out = append(out, m.Role()+" "+idSuffix.ReplaceAllString(encode(k.t, m), `"`))
	}
	return out
}

var idSuffix = regexp.MustCompile(`_\d+"`)

// TestStrategiesMix lets both strategies work on one session in turn.
func TestStrategiesMix(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newTalk(t)
		for range rapid.IntRange(2, 5).Draw(rt, "rounds") {
			grow(rt, k)
			in := k.input()
			in.Options.KeepRecentTokens = 10
			in.Urgency, in.AllowSmall = LoadBearing, true
			name := rapid.SampledFrom([]string{NameVerbatim, NameSummary}).Draw(rt, "strategy")
			p, err := ByName(name).Prepare(in)
			if err != nil {
				continue
			}
			o, err := p.Run(t.Context(), answers(say("1,10"), say("1,10"), say("1,2")).complete)
			if err != nil {
				rt.Fatal(err)
			}
			k.add(o.Entry)
			checkReplay(rt, k.context())
		}
	})
}
