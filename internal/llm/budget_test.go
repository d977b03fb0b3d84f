package llm

import (
	"strings"
	"testing"
)

func TestAnswerBudget(t *testing.T) {
	text := func(chars int) []Message {
		return []Message{&UserMessage{Content: Content{NewText(strings.Repeat("é", chars))}}}
	}
	for name, c := range map[string]struct {
		window, max, ask int64
		msgs             []Message
		want             int64
	}{
		"the model's cap":            {200000, 16384, 0, text(10), 16384},
		"the request's cap":          {200000, 16384, 100, text(10), 100},
		"a model without a cap":      {200000, 0, 0, text(10), 16384},
		"no more than the model's":   {200000, 16384, 99999, text(10), 16384},
		"no known window":            {0, 16384, 0, text(1000000), 16384},
		"proportional margin":        {200000, 200000, 0, text(350000), 200000 - 100000 - 15000},
		"fixed margin when tight":    {120000, 200000, 0, text(350000), 120000 - 100000 - 4096},
		"capped when tight":          {145000, 200000, 0, text(350000), 32768},
		"never below one":            {1000, 500, 0, text(350000), 1},
		"the provider's own count":   {200000, 200000, 0, append([]Message{&AssistantMessage{StopReason: StopEnd, Usage: Usage{Input: 60000, CacheRead: 30000, Output: 10000}}}, text(35)...), 200000 - 100010 - 15002},
		"failed answers don't count": {200000, 200000, 0, append([]Message{&AssistantMessage{StopReason: StopError, Usage: Usage{Input: 60000}}}, text(35)...), 200000 - 10 - 4096},
		"older than its prefix":      {200000, 200000, 0, []Message{&UserMessage{Timestamp: 9}, &AssistantMessage{Timestamp: 5, StopReason: StopEnd, Usage: Usage{Input: 60000}}}, 200000 - 4096},
	} {
		t.Run(name, func(t *testing.T) {
			req := &Request{Model: &Model{ContextWindow: c.window, MaxTokens: c.max}, MaxTokens: c.ask, Messages: c.msgs}
			if got := AnswerBudget(req); got != c.want {
				t.Errorf("AnswerBudget = %d, want %d (input %d)", got, c.want, EstimateInput(req))
			}
		})
	}
}

func TestEstimateInputCountsEverything(t *testing.T) {
	req := &Request{
		Model:  &Model{},
		System: strings.Repeat("s", 35),
		Tools:  []ToolSpec{{Name: "abc", Description: strings.Repeat("d", 30), Parameters: []byte("{}")}},
		Messages: []Message{
			&UserMessage{Content: Content{NewImage("", "image/png")}},
			&AssistantMessage{Content: Content{&Thinking{Thinking: strings.Repeat("t", 31)}, &ToolCall{Name: "ab", Arguments: []byte("{}")}}},
			&ToolResultMessage{Content: Content{NewText(strings.Repeat("r", 36))}},
		},
	}
	if got, want := EstimateInput(req), int64(10+10+1372+10+11); got != want {
		t.Errorf("EstimateInput = %d, want %d", got, want)
	}
}
