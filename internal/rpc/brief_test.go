package rpc_test

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// record is any record or entry, as far as its short form shows it.
type record struct {
	Type       string       `json:"type"`
	Message    shortMessage `json:"message"`
	ToolCallID string       `json:"toolCallId"`
	ToolName   string       `json:"toolName"`
	Args       jsonx.Raw    `json:"args"`
	Result     shortMessage `json:"result"`
	Partial    shortMessage `json:"partialResult"`
	IsError    bool         `json:"isError"`
	Results    []jsonx.Raw  `json:"toolResults"`
	Messages   []jsonx.Raw  `json:"messages"`
	WillRetry  bool         `json:"willRetry"`
	Model      jsonx.Raw    `json:"model"` // an object, or the id in a usage entry
	Update     shortUpdate  `json:"assistantMessageEvent"`
	Provider   string       `json:"provider"`
	ModelID    string       `json:"modelId"`
	Level      string       `json:"thinkingLevel"`
	Name       jsonx.Str    `json:"name"`
	FirstKept  string       `json:"firstKeptEntryId"`
	Kind       string       `json:"kind"`
	Note       string       `json:"note"`
	Parent     string       `json:"parentSession"`
}

type shortModel struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

type shortUpdate struct {
	Type  string `json:"type"`
	Delta string `json:"delta"`
}

type shortMessage struct {
	Role         string       `json:"role"`
	Content      []shortBlock `json:"content"`
	StopReason   string       `json:"stopReason"`
	ErrorMessage string       `json:"errorMessage"`
	IsError      bool         `json:"isError"`
	Command      string       `json:"command"`
	Output       string       `json:"output"`
	ExitCode     *int         `json:"exitCode"`
	Cancelled    bool         `json:"cancelled"`
}

type shortBlock struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Thinking  string    `json:"thinking"`
	Name      string    `json:"name"`
	Arguments jsonx.Raw `json:"arguments"`
	MimeType  string    `json:"mimeType"`
}

// short returns a record in its short form when the conversation asks for it:
// responses as they are, of a model only its name, events in words, message_update not
// at all.
func (b *testbed) short(line string) string {
	if !b.brief {
		return line
	}
	var r record
	if err := jsonx.Unmarshal([]byte(line), &r); err != nil {
		b.t.Errorf("no JSON: %v: %s", err, line)
		return line
	}
	switch r.Type {
	case "message_update":
		return ""
	case "message_start":
		return r.Type + " " + r.Message.Role + "\n"
	case "message_end":
		return r.Type + " " + r.Message.String() + "\n"
	case "tool_execution_start":
		return fmt.Sprintf("%s %s %s %s\n", r.Type, r.ToolCallID, r.ToolName, r.Args)
	case "tool_execution_update":
		return fmt.Sprintf("%s %s %s\n", r.Type, r.ToolCallID, r.Partial.text())
	case "tool_execution_end":
		return fmt.Sprintf("%s %s error=%v %s\n", r.Type, r.ToolCallID, r.IsError, r.Result.text())
	case "turn_end":
		return fmt.Sprintf("%s results=%d\n", r.Type, len(r.Results))
	case "agent_end":
		return fmt.Sprintf("%s messages=%d willRetry=%v\n", r.Type, len(r.Messages), r.WillRetry)
	case "model_changed":
		var m shortModel
		if err := jsonx.Unmarshal(r.Model, &m); err != nil {
			b.t.Errorf("no model: %v: %s", err, line)
		}
		return fmt.Sprintf("%s %s/%s\n", r.Type, m.Provider, m.ID)
	}
	return line
}

// shortEntries is short for a session file.
func (b *testbed) shortEntries(file string) string {
	if !b.brief {
		return file
	}
	var out strings.Builder
	for line := range strings.Lines(file) {
		var r record
		if err := jsonx.Unmarshal([]byte(line), &r); err != nil {
			b.t.Errorf("no JSON: %v: %s", err, line)
		}
		out.WriteString(r.Type)
		switch r.Type {
		case "message":
			out.WriteString(" " + r.Message.String())
		case "model_change":
			out.WriteString(" " + r.Provider + "/" + r.ModelID)
		case "thinking_level_change":
			out.WriteString(" " + r.Level)
		case "session_info":
			out.WriteString(" " + string(r.Name))
		case "compaction", "usage":
			out.WriteString(strings.TrimSuffix(" "+r.FirstKept+r.Kind+" "+r.Note, " "))
		case "session":
			if r.Parent != "" {
				out.WriteString(" parent " + r.Parent)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (m shortMessage) String() string {
	words := []string{m.Role}
	if m.StopReason != "" {
		words = append(words, m.StopReason)
	}
	if m.ErrorMessage != "" {
		words = append(words, "("+m.ErrorMessage+")")
	}
	if m.IsError {
		words = append(words, "error")
	}
	if m.Role == "bashExecution" {
		words = append(words, fmt.Sprintf("%q", m.Command), fmt.Sprintf("%q", m.Output))
		if m.ExitCode != nil {
			words = append(words, fmt.Sprint("exit=", *m.ExitCode))
		}
		if m.Cancelled {
			words = append(words, "cancelled")
		}
		return strings.Join(words, " ")
	}
	return strings.Join(append(words, m.text()), " ")
}

// text shows the content: texts quoted, calls with their arguments, pictures by type.
func (m shortMessage) text() string {
	words := []string{}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			words = append(words, fmt.Sprintf("%q", b.Text))
		case "thinking":
			words = append(words, fmt.Sprintf("thinking %q", b.Thinking))
		case "toolCall":
			words = append(words, b.Name+string(b.Arguments))
		default:
			words = append(words, b.Type+":"+b.MimeType)
		}
	}
	return "[" + strings.Join(words, " ") + "]"
}
