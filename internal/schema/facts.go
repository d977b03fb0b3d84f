package schema

import (
	"reflect"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/rpc"
	"github.com/isotope-agent/isotope/internal/tool"
)

// facts are what reflection cannot see. Fields are named TYPE.member.
type facts struct {
	types    map[reflect.Type]*jsonx.Object              // that encode themselves
	words    map[reflect.Type][]string                   // values of named strings
	unions   map[reflect.Type][]any                      // what stands in an interface
	fields   map[string]func(g *generator) *jsonx.Object // what stands in a field
	required map[string]bool                             // whether a member must be there
	never    map[string]bool                             // pointers that are never null
}

func knownFacts(d dialect.Dialect) facts {
	return facts{
		types: map[reflect.Type]*jsonx.Object{
			reflect.TypeFor[jsonx.Str]():          typed("string"),
			reflect.TypeFor[proc.FilePath]():      typed("string", "null"),
			reflect.TypeFor[*proc.FilePath]():     typed("string", "null"),
			reflect.TypeFor[llm.UnknownMessage](): unknown("role", "A message of another program, as it stands in the file."),
			reflect.TypeFor[llm.UnknownBlock]():   unknown("type", "A block of another program, as it stands in the file."),
		},
		words: map[reflect.Type][]string{
			reflect.TypeFor[llm.StopReason](): words(
				llm.StopPending, llm.StopEnd, llm.StopLength, llm.StopToolUse, llm.StopError, llm.StopAborted),
			reflect.TypeFor[llm.ThinkingLevel]():     words(llm.ThinkingLevels()...),
			reflect.TypeFor[engine.QueueMode]():      words(engine.QueueAll, engine.QueueOne),
			reflect.TypeFor[event.NotifyType]():      words(event.NotifyInfo, event.NotifyWarning, event.NotifyError),
			reflect.TypeFor[event.WidgetPlacement](): words(event.AboveEditor, event.BelowEditor),
			reflect.TypeFor[engine.Disposition]():    words(engine.Started, engine.Queued, engine.Handled),
			reflect.TypeFor[auth.Source](): words(auth.SourceRuntime, auth.SourceStored, auth.SourceModelsKey,
				auth.SourceModelsCmd, auth.SourceEnvironment, auth.SourceNone),
		},
		unions: map[reflect.Type][]any{
			reflect.TypeFor[llm.Message](): {
				llm.UserMessage{},
				llm.AssistantMessage{},
				llm.ToolResultMessage{},
				llm.BashExecutionMessage{},
				llm.CustomMessage{},
				llm.BranchSummaryMessage{},
				llm.CompactionSummaryMessage{},
				llm.UnknownMessage{},
			},
			reflect.TypeFor[llm.Block]():    {llm.Text{}, llm.Thinking{}, llm.ToolCall{}, llm.Image{}, llm.UnknownBlock{}},
			reflect.TypeFor[event.Update](): {event.Delta{}, event.BlockStart{}, event.TextEnd{}, event.ToolCallEnd{}},
			reflect.TypeFor[event.SnapshotUpdate](): {
				event.DeltaSnapshot{}, event.BlockStartSnapshot{}, event.TextEndSnapshot{}, event.ToolCallEndSnapshot{},
			},
			compacted(): {compact.SummaryResult{}, compact.VerbatimResult{}},
		},
		fields:   knownFields(),
		required: map[string]bool{"CompactionEnd.result": d.NullCompactionResult},
		never: map[string]bool{
			"MessageUpdate.usage": true, "ModelChanged.model": true, "Cycled.model": true, "Scoped.model": true, "ToolCallEnd.toolCall": true,
			"MessageSnapshot.message": true, "MessageSnapshot.usage": true, "DeltaSnapshot.partial": true, "BlockStartSnapshot.partial": true,
			"TextEndSnapshot.partial": true, "ToolCallEndSnapshot.partial": true,
		},
	}
}

func knownFields() map[string]func(g *generator) *jsonx.Object {
	is := func(list ...string) func(*generator) *jsonx.Object {
		return func(*generator) *jsonx.Object { return enum(list) }
	}
	object := func(*generator) *jsonx.Object { return typed("object") }
	result := func(g *generator) *jsonx.Object { return g.of(tool.Result{}) }
	// Other programs write a text as such.
	textOrBlocks := func(g *generator) *jsonx.Object { return anyOf(typed("string"), g.typ(reflect.TypeFor[llm.Content]())) }
	reason := is(event.ReasonManual, event.ReasonThreshold, event.ReasonOverflow)
	return map[string]func(g *generator) *jsonx.Object{
		"UserMessage.content":               textOrBlocks,
		"CustomMessage.content":             textOrBlocks,
		"Delta.type":                        is(words(event.TypeTextDelta, event.TypeThinkingDelta, event.TypeToolCallDelta)...),
		"BlockStart.type":                   is(words(event.TypeTextStart, event.TypeThinkingStart, event.TypeToolCallStart)...),
		"TextEnd.type":                      is(words(event.TypeTextEnd, event.TypeThinkingEnd)...),
		"ToolCallEnd.type":                  is(string(event.TypeToolCallEnd)),
		"ToolCall.arguments":                object,
		"ToolExecutionUpdate.partialResult": result,
		"ToolExecutionEnd.result":           result,
		"BashExecutionUpdate.channel":       is("stdout", "stderr"),
		"CompactionStart.reason":            reason,
		"CompactionEnd.reason":              reason,
		"CompactionEnd.result":              compactionResult,
		"ModelChanged.source":               is("set", "cycle", "restore", "fallback"),
		"EntryAppended.entry":               object,
		"Model.compat":                      object,
		"Model.inputLimits":                 object,
		"Model.promptCache":                 object,
		"Model.samplingParams":              object,
		"Entry.type":                        func(*generator) *jsonx.Object { return typed("string") },
	}
}

// compactionResult is what the strategy that ran made of it; null where the dialect says
// so instead of leaving it out.
func compactionResult(g *generator) *jsonx.Object {
	if g.dialect.NullCompactionResult {
		return anyOf(g.typ(compacted()), null())
	}
	return g.typ(compacted())
}

func compacted() reflect.Type { return reflect.TypeFor[rpc.Compacted]() }

// unknown describes what other programs wrote, by its discriminator.
func unknown(discriminator, doc string) *jsonx.Object {
	o := newObject(doc)
	s := typed("string")
	not := &jsonx.Object{}
	if discriminator == "role" {
		not.Set("enum", []string{
			llm.RoleUser, llm.RoleAssistant, llm.RoleToolResult, llm.RoleBashExecution, llm.RoleCustom, llm.RoleBranchSummary, llm.RoleCompactionSummary,
		})
	} else {
		not.Set("enum", []string{"text", "thinking", "toolCall", "image"})
	}
	s.Set("not", not)
	o.member(discriminator, s, true)
	return o.open()
}

func words[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
