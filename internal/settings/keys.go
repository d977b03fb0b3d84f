package settings

import (
	"sync"

	"github.com/isotope-agent/isotope/internal/llm"
)

// kind is the type of a setting's value.
type kind uint8

// The kinds.
const (
	kindText       kind = iota + 1
	kindFlag            // true or false
	kindChoice          // one of words
	kindCount           // a whole number of 0 or more
	kindNumber          // any number; negative ones count as 0
	kindRatio           // between 0 and 1, without the ends
	kindTimeout         // milliseconds, "30s", "disabled"
	kindTexts           // a list of strings
	kindPackages        // a list of strings and of objects with a source
	kindSkills          // a list of strings, or the old object
	kindExtensions      // a list of strings, or an object with that list and the isolation
	kindObject          // members of its own, in rows that follow
	kindMap             // members of any name, in a row with "*"
)

// Where extensions run: in the engine's process or in one of their own.
const (
	IsolationNone    = "none"
	IsolationProcess = "process"
)

const isolationDoc = "Where extensions run: in the engine's process, or in one of their own, which may crash alone."

// any1 stands in a name for a member of any name.
const any1 = "*"

// key is one setting: what the getters, the warnings and the JSON Schema know of it.
type key struct {
	name  string // the members on the way, joined with dots
	kind  kind
	def   any      // bool, string or int64 (milliseconds for times); nil for none
	words []string // of a choice; of a map: the names its members may have
	user  bool     // a project cannot set it
	old   bool     // an old name, still read
	doc   string
}

// find returns the key of that name. A name that is not in the table gives a key
// without a default (a test looks for such names).
func find(name string) *key {
	if k, ok := index()[name]; ok {
		return k
	}
	return &key{name: name}
}

var index = sync.OnceValue(func() map[string]*key {
	all := keys()
	out := make(map[string]*key, len(all))
	for i := range all {
		out[all[i].name] = &all[i]
	}
	return out
})

// keys returns the table of all settings that mean something here, an object before
// its members.
func keys() []key {
	levels := []string{}
	for _, l := range llm.ThinkingLevels() {
		levels = append(levels, string(l))
	}
	modes := []string{ModeAll, ModeOneByOne}
	return []key{
		{name: "defaultProvider", kind: kindText, doc: "Provider of the model to start with."},
		{name: "defaultModel", kind: kindText, doc: "Id of the model to start with."},
		{name: "defaultThinkingLevel", kind: kindChoice, words: levels, doc: "Thinking level to start with. The model's own limits apply; without this setting it is medium."},
		{name: "modelThinkingLevels", kind: kindMap, doc: `Thinking levels to start with by model, "provider/id".`},
		{name: "modelThinkingLevels.*", kind: kindChoice, words: levels, doc: "Thinking level of this model."},
		{name: "thinkingBudgets", kind: kindMap, words: levels, doc: "Tokens to think with by level, for models that think by budget."},
		{name: "thinkingBudgets.*", kind: kindCount, doc: "Tokens to think with at this level; 0 is the built-in number."},
		{name: "enabledModels", kind: kindTexts, doc: "Patterns of the models to choose from and to cycle through, as for --models."},
		{name: "fallbackModels", kind: kindTexts, doc: `Models to go on with, in this order, when a model fails for good: "provider/id" or "provider/id:level".`},
		{name: "defaultContextWindow", kind: kindCount, doc: "Context window to use, in tokens; 0 is the model's own."},
		{name: "defaultContextWindows", kind: kindMap, doc: `Context windows to use by model, "provider/id".`},
		{name: "defaultContextWindows.*", kind: kindCount, doc: "Context window to use with this model, in tokens."},
		{name: "steeringMode", kind: kindChoice, words: modes, def: ModeOneByOne, doc: "How queued steering messages are delivered: all together, or one after each turn."},
		{name: "followUpMode", kind: kindChoice, words: modes, def: ModeOneByOne, doc: "How queued follow-up messages are delivered: all together, or one by one."},
		{name: "defaultTools", kind: kindTexts, doc: "Tools to start with. Names replace the built-in choice; +name adds one to it and -name takes one out. An empty list leaves out all built-in tools."},
		{name: "compaction", kind: kindObject, doc: "How a conversation that has grown too long is made shorter."},
		{name: "compaction.enabled", kind: kindFlag, def: true, doc: "Compact before the context window is full."},
		{name: "compaction.reserveTokens", kind: kindCount, def: int64(16384), doc: "Compaction starts when fewer tokens than this are free."},
		{name: "compaction.keepRecentTokens", kind: kindCount, def: int64(20000), doc: "Tokens at the end that a summary leaves as they are."},
		{name: "compaction.modelOverrides", kind: kindMap, doc: `Numbers of tokens by model, "provider/id".`},
		{name: "compaction.modelOverrides.*", kind: kindObject, doc: "Numbers of tokens for this model."},
		{name: "compaction.modelOverrides.*.reserveTokens", kind: kindCount, doc: "Replaces compaction.reserveTokens."},
		{name: "compaction.modelOverrides.*.keepRecentTokens", kind: kindCount, doc: "Replaces compaction.keepRecentTokens."},
		{name: "compaction.strategy", kind: kindChoice, words: []string{"verbatim-lines", "summary"}, doc: "Keep chosen lines word for word, or write a summary. Without this setting it depends on the name the program runs under."},
		{name: "compaction.compression_ratio", kind: kindRatio, def: 0.5, doc: "Part of the lines that verbatim-lines keeps."},
		{name: "compaction.preserve_recent", kind: kindNumber, def: int64(2), doc: "Messages at the end that verbatim-lines leaves as they are."},
		{name: "compaction.query", kind: kindText, doc: "What verbatim-lines keeps lines for; without it, the last request."},
		{name: "compactionModel", kind: kindText, doc: `Model to compact with, "provider/id"; without it, the current one.`},
		{name: "branchSummary", kind: kindObject, doc: "Summaries of branches of the conversation that are left."},
		{name: "branchSummary.reserveTokens", kind: kindCount, def: int64(16384), doc: "Tokens kept free for the prompt and the summary."},
		{name: "branchSummary.skipPrompt", kind: kindFlag, def: false, doc: "Do not ask whether a branch is to be summarised: leave it without a summary."},
		{name: "retry", kind: kindObject, doc: "What happens when a request to a provider fails for the moment."},
		{name: "retry.enabled", kind: kindFlag, def: true, doc: "Try again by itself."},
		{name: "retry.maxRetries", kind: kindCount, def: int64(3), doc: "How often."},
		{name: "retry.baseDelayMs", kind: kindCount, def: int64(2000), doc: "Delay before the first retry, in milliseconds; it doubles each time."},
		{name: "retry.maxAgentDelayMs", kind: kindCount, def: int64(60000), doc: "Longest delay of that kind, in milliseconds; 0 for no limit."},
		{name: "retry.maxDelayMs", kind: kindCount, old: true, doc: "Replaced by retry.provider.maxRetryDelayMs."},
		{name: "retry.provider", kind: kindObject, doc: "Limits of single requests."},
		{name: "retry.provider.timeoutMs", kind: kindTimeout, doc: "How long a provider may take to begin its answer; without it, httpIdleTimeoutMs."},
		{name: "retry.provider.maxRetries", kind: kindCount, def: int64(0), doc: "Retries of a request that nobody sees, before the visible ones."},
		{name: "retry.provider.maxRetryDelayMs", kind: kindCount, def: int64(60000), doc: "Longest delay a server may ask for, in milliseconds; when it asks for more, the request fails. 0 for no limit."},
		{name: "transport", kind: kindChoice, words: []string{"auto", "sse", "websocket", "websocket-cached"}, def: "auto", doc: "How to talk to providers that offer several ways."},
		{name: "httpProxy", kind: kindText, user: true, doc: "Proxy for all requests."},
		{name: "httpIdleTimeoutMs", kind: kindTimeout, def: int64(300000), doc: "How long a provider may be silent."},
		{name: "websocketConnectTimeoutMs", kind: kindTimeout, def: int64(15000), doc: "How long a WebSocket connection may take."},
		{name: "streamDeadlineMs", kind: kindTimeout, def: int64(0), doc: "How long one answer may take in all."},
		{name: "shellPath", kind: kindText, doc: "Shell to run commands in; ~ is the home directory."},
		{name: "shellCommandPrefix", kind: kindText, doc: "Text to put before every command."},
		{name: "sessionDir", kind: kindText, doc: "Folder of sessions; ~ is the home directory, a relative path starts at the working folder."},
		{name: "images", kind: kindObject, doc: "Pictures that are sent to models."},
		{name: "images.autoResize", kind: kindFlag, def: true, doc: "Make large pictures smaller."},
		{name: "images.blockImages", kind: kindFlag, def: false, doc: "Send no pictures."},
		{name: Packages, kind: kindPackages, doc: "Packages with extensions, skills and prompts. The project's are added to the user's."},
		{name: Extensions, kind: kindExtensions, doc: "Extension files and folders. !pattern and -path leave some out, +path brings one back. The project's are added to the user's. As an object: the list under paths, and where extensions run under isolation."},
		{name: "extensions.paths", kind: kindTexts, doc: "The list."},
		{name: "extensions.isolation", kind: kindChoice, words: []string{IsolationNone, IsolationProcess}, def: IsolationNone, user: true, doc: isolationDoc},
		{name: Skills, kind: kindSkills, doc: "Skill files and folders, with the same patterns."},
		{name: "skills.enableSkillCommands", kind: kindFlag, old: true, doc: "Replaced by enableSkillCommands."},
		{name: "skills.customDirectories", kind: kindTexts, old: true, doc: "Replaced by skills as a list."},
		{name: Prompts, kind: kindTexts, doc: "Prompt templates and folders of them, with the same patterns."},
		{name: "enableSkillCommands", kind: kindFlag, def: true, doc: "Offer every skill as the command /skill:name."},
		{name: "defaultProjectTrust", kind: kindChoice, words: []string{"ask", "always", "never"}, def: "ask", user: true, doc: "Whether a project's own settings, extensions, skills and prompts count when nothing was decided. Where nobody can be asked, ask counts as never."},
		{name: "deviceId", kind: kindText, user: true, doc: "Id of this installation, a UUID. It is made when a login needs one."},
		{name: "queueMode", kind: kindChoice, words: modes, old: true, doc: "Replaced by steeringMode."},
		{name: "websockets", kind: kindFlag, old: true, doc: "Replaced by transport."},
	}
}
