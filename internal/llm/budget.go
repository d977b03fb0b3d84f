package llm

import "unicode/utf8"

// Parts of the estimate of a request's size and of the room left for its answer
// (pi-facts.md section 7).
const (
	imageChars = 4800 // what a picture counts
	// marginTokens and, for large inputs, 15 % are kept free because providers count
	// more tokens than an estimate does.
	marginTokens = 4096
	// The proportional margin holds only while it leaves this much for the answer;
	// below it the fixed margin counts and the answer is capped at it.
	roomyAnswer = 32768
	// defaultAnswer is the cap of a model that states none.
	defaultAnswer = 16384
)

// AnswerBudget returns the cap on the tokens of req's answer: req.MaxTokens, else the
// model's own cap, and no more than the context window has room for beside the
// estimated input. It is at least 1.
func AnswerBudget(req *Request) int64 {
	most := req.Model.MaxTokens
	if most <= 0 {
		most = defaultAnswer
	}
	if req.MaxTokens > 0 {
		most = min(most, req.MaxTokens)
	}
	return FitAnswer(req, most)
}

// Budget returns the tokens that a level may spend on thinking where a provider wants a
// number; a level of another name counts as high.
func (l ThinkingLevel) Budget() int64 {
	switch l {
	case ThinkingMinimal:
		return 1024
	case ThinkingLow:
		return 2048
	case ThinkingMedium:
		return 8192
	}
	return 16384
}

// FitAnswer returns want, or less when the context window has no room for it.
func FitAnswer(req *Request, want int64) int64 {
	window := req.Model.ContextWindow
	if window <= 0 {
		return max(1, want)
	}
	input := EstimateInput(req)
	room := window - input - max(marginTokens, (input*15+99)/100)
	if room < roomyAnswer {
		room = min(roomyAnswer, window-input-marginTokens)
	}
	return min(want, max(1, room))
}

// EstimateInput estimates the input tokens of a request: what the provider counted for
// the last complete answer, and 3.5 characters a token for what follows it; without
// such an answer, all text is estimated.
func EstimateInput(req *Request) int64 {
	if last, usage := countedPrefix(req.Messages); last >= 0 {
		tokens := usage.Input + usage.Output + usage.CacheRead + usage.CacheWrite
		for _, m := range req.Messages[last+1:] {
			tokens += charTokens(messageChars(m))
		}
		return tokens
	}
	tokens := charTokens(length(req.System))
	var tools int64
	for _, t := range req.Tools {
		tools += length(t.Name) + length(t.Description) + int64(len(t.Parameters))
	}
	tokens += charTokens(tools)
	for _, m := range req.Messages {
		tokens += charTokens(messageChars(m))
	}
	return tokens
}

// countedPrefix returns the index and usage of the last answer whose usage describes
// the messages before it, -1 when there is none. One that is older than a message
// before it (a summary that was put there later) does not.
func countedPrefix(msgs []Message) (int, Usage) {
	at, newest := -1, int64(-1<<63)
	var usage Usage
	for i, m := range msgs {
		ts := int64(0)
		switch m := m.(type) {
		case *UserMessage:
			ts = m.Timestamp
		case *ToolResultMessage:
			ts = m.Timestamp
		case *AssistantMessage:
			ts = m.Timestamp
			u := m.Usage
			if ts >= newest && !m.Failed() && u.Input+u.Output+u.CacheRead+u.CacheWrite > 0 {
				at, usage = i, u
			}
		}
		newest = max(newest, ts)
	}
	return at, usage
}

func messageChars(m Message) int64 {
	var content Content
	switch m := m.(type) {
	case *UserMessage:
		content = m.Content
	case *AssistantMessage:
		content = m.Content
	case *ToolResultMessage:
		content = m.Content
	}
	var n int64
	for _, b := range content {
		switch b := b.(type) {
		case *Text:
			n += length(b.Text)
		case *Thinking:
			n += length(b.Thinking)
		case *ToolCall:
			n += length(b.Name) + int64(len(b.Arguments))
		case *Image:
			n += imageChars
		}
	}
	return n
}

func length(s string) int64 { return int64(utf8.RuneCountInString(s)) }

// charTokens is n/3.5, rounded up.
func charTokens(n int64) int64 { return (2*n + 6) / 7 }
