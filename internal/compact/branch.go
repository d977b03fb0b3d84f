package compact

import (
	"context"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// defaultWindow is assumed for a model without a context window.
const defaultWindow = 128000

// noBranchContent is the summary of a branch in which nothing was said.
const noBranchContent = "No content to summarize"

// A BranchRequest asks for the summary of a branch that the user leaves.
type BranchRequest struct {
	Entries       []session.SpanEntry // what is left behind, oldest first (session.View.Leaving)
	Model         *llm.Model
	Thinking      llm.ThinkingLevel // already clamped to the model
	Window        int64             // active context budget in tokens; 0 means that of the model
	ReserveTokens int64             // kept free for instructions and answer
	Instructions  string            // what the user wants to know; "" for nothing in particular
	// ReplacePrompt sends Instructions instead of the own instructions.
	ReplacePrompt bool
}

// SummarizeBranch lets the model write the summary of a branch, ready to be stored
// but for FromID. A branch in which nothing was said gets a fixed text, without a
// model. Errors are those of Plan.Run (atomic-facts.md 6.13).
func SummarizeBranch(ctx context.Context, r *BranchRequest, complete Completer) (*session.BranchSummary, error) {
	msgs, files := r.collect()
	details, err := jsonx.Marshal(files)
	if err != nil {
		return nil, err
	}
	if len(msgs) == 0 {
		return &session.BranchSummary{Summary: noBranchContent, Details: details}, nil
	}
	c := &caller{complete: complete}
	w := &writer{caller: c, model: r.Model, thinking: r.Thinking, window: r.window(), label: "Branch summarization"}
	text, err := w.write(ctx, summaryGrammar().sections(msgs), r.prompt)
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	return &session.BranchSummary{Summary: branchPreface + text + files.section(), Details: details, Usage: c.used()}, nil
}

func (r *BranchRequest) window() int64 {
	switch {
	case r.Window > 0:
		return r.Window
	case r.Model.ContextWindow > 0:
		return r.Model.ContextWindow
	}
	return defaultWindow
}

func (r *BranchRequest) prompt(record string) string {
	task := branchPrompt
	switch {
	case r.ReplacePrompt && r.Instructions != "":
		task = r.Instructions
	default:
		task += focus(r.Instructions)
	}
	return "<conversation>\n" + record + "\n</conversation>\n\n" + task
}

// collect returns the newest messages that fit, and the files of all of them and of
// every summary in the branch. Tool results are left out: their calls are there.
func (r *BranchRequest) collect() ([]llm.Message, Files) {
	set := newFileSet()
	for i := range r.Entries {
		if r.Entries[i].Type == session.TypeBranchSummary {
			set.carry(&r.Entries[i])
		}
	}
	budget := r.window() - r.ReserveTokens
	seen := seenBy(r.Entries)
	var msgs []llm.Message
	var tokens int64
	for i, e := range slices.Backward(r.Entries) {
		summary := e.Type == session.TypeCompaction || e.Type == session.TypeBranchSummary
		if _, result := e.Message.(*llm.ToolResultMessage); result || e.Message == nil || !seen[i] && !summary {
			continue
		}
		n := MessageTokens(e.Message)
		if over := budget > 0 && tokens+n > budget; over {
			if summary && 10*tokens < 9*budget { // it stands for much that is not there
				msgs = append(msgs, e.Message)
			}
			break
		}
		set.add(e.Message)
		msgs = append(msgs, e.Message)
		tokens += n
	}
	slices.Reverse(msgs)
	return msgs, set.files()
}
