package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/llm"
)

// The queue modes.
const (
	ModeAll      = "all"
	ModeOneByOne = "one-at-a-time"
)

// DefaultProvider is the provider to start with, "" when unset.
func (s *Settings) DefaultProvider() string { return s.text("defaultProvider") }

// DefaultModel is the id of the model to start with, "" when unset.
func (s *Settings) DefaultModel() string { return s.text("defaultModel") }

// DefaultThinking is the level to start with, "" when unset.
func (s *Settings) DefaultThinking() llm.ThinkingLevel {
	return llm.ThinkingLevel(s.choice(s.look("defaultThinkingLevel")))
}

// ModelThinking is the level of one model, "" when unset.
func (s *Settings) ModelThinking(provider, id string) llm.ThinkingLevel {
	return llm.ThinkingLevel(s.choice(s.look("modelThinkingLevels.*", provider+"/"+id)))
}

// EnabledModels are the patterns of the model scope, nil when unset.
func (s *Settings) EnabledModels() []string { return s.texts("enabledModels") }

// FallbackModels are the models to go on with when one fails for good.
func (s *Settings) FallbackModels() []string { return s.texts("fallbackModels") }

// DefaultContextWindow is the context window to start a model with, in tokens; 0 when
// unset.
func (s *Settings) DefaultContextWindow(provider, id string) int64 {
	general := s.count("defaultContextWindow")
	return s.countOf(s.look("defaultContextWindows.*", provider+"/"+id), general)
}

// SteeringMode is ModeAll or ModeOneByOne.
func (s *Settings) SteeringMode() string {
	return s.choice(s.orOld("steeringMode", "queueMode"))
}

// FollowUpMode is ModeAll or ModeOneByOne.
func (s *Settings) FollowUpMode() string {
	return s.choice(s.look("followUpMode"))
}

// ThinkingBudgets are the tokens to think with by level; unset levels are absent.
func (s *Settings) ThinkingBudgets() map[llm.ThinkingLevel]int64 {
	out := map[llm.ThinkingLevel]int64{}
	for _, l := range llm.ThinkingLevels() {
		if n := s.count("thinkingBudgets.*", string(l)); n > 0 {
			out[l] = n
		}
	}
	return out
}

// Compaction are the settings of compaction. Token numbers are those for the model.
type Compaction struct {
	Enabled          bool
	ReserveTokens    int64
	KeepRecentTokens int64
	Strategy         string  // "verbatim-lines", "summary", or "" for the dialect's
	Ratio            float64 // of lines to keep (verbatim-lines), between 0 and 1
	PreserveRecent   int64   // turns kept whole (verbatim-lines)
	Query            string  // what to keep lines for (verbatim-lines), "" for the last request
	Model            string  // provider/id of the model to compact with, "" for the current one
}

// Compaction returns the settings of compaction for a model: its own override, else
// the general setting, else the default, each value by itself.
func (s *Settings) Compaction(provider, id string) Compaction {
	tokens := func(field string) int64 {
		general := s.count("compaction." + field)
		return s.countOf(s.look("compaction.modelOverrides.*."+field, provider+"/"+id), general)
	}
	return Compaction{
		Enabled:          s.flag("compaction.enabled"),
		ReserveTokens:    tokens("reserveTokens"),
		KeepRecentTokens: tokens("keepRecentTokens"),
		Strategy:         s.choice(s.look("compaction.strategy")),
		Ratio:            s.ratio(),
		PreserveRecent:   s.preserve(),
		Query:            strings.TrimSpace(s.text("compaction.query")),
		Model:            s.text("compactionModel"),
	}
}

func (s *Settings) ratio() float64 {
	v := s.look("compaction.compression_ratio")
	def, _ := v.def.(float64)
	if v.node == nil {
		return def
	}
	if f, ok := number(v.node); ok && f > 0 && f < 1 {
		return f
	}
	s.warn(v.node, v.shown, "must be a number between 0 and 1", strconv.FormatFloat(def, 'g', -1, 64))
	return def
}

// preserve rounds down and takes negative numbers as 0.
func (s *Settings) preserve() int64 {
	v := s.look("compaction.preserve_recent")
	def, _ := v.def.(int64)
	if v.node == nil {
		return def
	}
	if f, ok := number(v.node); ok && f < maxCount {
		return int64(max(f, 0))
	}
	s.warn(v.node, v.shown, "must be a number", strconv.FormatInt(def, 10))
	return def
}

// BranchSummary are the settings of summaries of branches that are left.
type BranchSummary struct {
	ReserveTokens int64
	SkipPrompt    bool
}

// BranchSummary returns the settings of branch summaries.
func (s *Settings) BranchSummary() BranchSummary {
	return BranchSummary{s.count("branchSummary.reserveTokens"), s.flag("branchSummary.skipPrompt")}
}

// Retry are the settings of retries. Times of 0 mean no limit.
type Retry struct {
	Enabled       bool
	MaxRetries    int
	BaseDelay     time.Duration
	MaxAgentDelay time.Duration // cap of the back-off

	ProviderTimeout    time.Duration // of a request; HTTPIdleTimeout when unset
	ProviderMaxRetries int
	MaxRetryDelay      time.Duration // cap of what a server asks for
}

// Retry returns the settings of retries.
func (s *Settings) Retry() Retry {
	ms := func(n int64) time.Duration { return time.Duration(min(n, 1<<40)) * time.Millisecond }
	serverCap := s.orOld("retry.provider.maxRetryDelayMs", "retry.maxDelayMs")
	most, _ := serverCap.def.(int64)
	return Retry{
		Enabled:            s.flag("retry.enabled"),
		MaxRetries:         int(min(s.count("retry.maxRetries"), 1<<20)),
		BaseDelay:          ms(s.count("retry.baseDelayMs")),
		MaxAgentDelay:      ms(s.count("retry.maxAgentDelayMs")),
		ProviderTimeout:    s.timeoutOf(s.look("retry.provider.timeoutMs"), s.HTTPIdleTimeout()),
		ProviderMaxRetries: int(min(s.count("retry.provider.maxRetries"), 1<<20)),
		MaxRetryDelay:      ms(s.countOf(serverCap, most)),
	}
}

// HTTPIdleTimeout is how long a provider may be silent; 0 for ever.
func (s *Settings) HTTPIdleTimeout() time.Duration {
	return s.timeout("httpIdleTimeoutMs")
}

// WebsocketConnectTimeout is how long a WebSocket connection may take; 0 for ever.
func (s *Settings) WebsocketConnectTimeout() time.Duration {
	return s.timeout("websocketConnectTimeoutMs")
}

// StreamDeadline is how long one answer may take in all; 0, the default, for ever.
func (s *Settings) StreamDeadline() time.Duration {
	return s.timeout("streamDeadlineMs")
}

// HTTPProxy is the proxy for all requests, "" when unset. Projects cannot set it.
func (s *Settings) HTTPProxy() string {
	return strings.TrimSpace(s.text("httpProxy"))
}

// Transport is auto, sse, websocket or websocket-cached.
func (s *Settings) Transport() string {
	v := s.look("transport")
	if old := s.look("websockets"); v.node == nil && old.node != nil {
		old.def = true // what is no truth value is warned of, and counts for nothing
		switch on := s.flagOf(old); {
		case old.node.value.Kind != jsonc.Bool:
		case on:
			return "websocket"
		default:
			return "sse"
		}
	}
	return s.choice(v)
}

// ShellPath is the shell to run commands in, "" for the system's.
func (s *Settings) ShellPath() string { return s.path("shellPath") }

// ShellCommandPrefix is put before every command, "" for nothing.
func (s *Settings) ShellCommandPrefix() string { return s.text("shellCommandPrefix") }

// SessionDir is the directory of sessions, "" for the default. A relative one starts
// at the working directory.
func (s *Settings) SessionDir() string { return s.path("sessionDir") }

// Images are the settings of pictures.
type Images struct {
	AutoResize bool // shrink large ones before they are sent
	Block      bool // send none
}

// Images returns the settings of pictures.
func (s *Settings) Images() Images {
	return Images{s.flag("images.autoResize"), s.flag("images.blockImages")}
}

// EnableSkillCommands reports whether skills are commands.
func (s *Settings) EnableSkillCommands() bool {
	return s.flagOf(s.orOld("enableSkillCommands", "skills.enableSkillCommands"))
}

// ExtensionIsolation says where extensions run: IsolationNone or IsolationProcess. A
// list in a stronger file of the user leaves what a weaker one says of it.
func (s *Settings) ExtensionIsolation() string {
	v := s.look("extensions.isolation")
	for _, l := range slices.Backward(s.snapshot()) {
		if word := l.doc.Root.Get(Extensions).Get("isolation"); word != nil && !l.project && word.Kind != jsonc.Null {
			v.node = &node{value: word, from: l}
			break
		}
	}
	return s.choice(v)
}

// DefaultProjectTrust is ask, always or never. Projects cannot set it.
func (s *Settings) DefaultProjectTrust() string {
	return s.choice(s.look("defaultProjectTrust"))
}

// DeviceID is the id of this installation, a UUID that providers know it by; "" when
// there is none yet. Projects cannot set it.
func (s *Settings) DeviceID() string { return strings.TrimSpace(s.text("deviceId")) }

// checkAll asks for every value that does not depend on a model, so that its faults
// are known.
func (s *Settings) checkAll() {
	s.DefaultProvider()
	s.DefaultModel()
	s.DefaultThinking()
	s.EnabledModels()
	s.FallbackModels()
	s.DefaultContextWindow("", "")
	s.SteeringMode()
	s.FollowUpMode()
	s.ThinkingBudgets()
	s.Compaction("", "")
	s.BranchSummary()
	s.Retry()
	s.WebsocketConnectTimeout()
	s.StreamDeadline()
	s.HTTPProxy()
	s.Transport()
	s.ShellPath()
	s.ShellCommandPrefix()
	s.SessionDir()
	s.Images()
	s.EnableSkillCommands()
	s.DefaultProjectTrust()
	s.ExtensionIsolation()
	s.DeviceID()
	s.DefaultTools(nil)
	for _, kind := range []string{Extensions, Skills, Prompts, Packages} {
		s.Resources(kind)
	}
	for _, k := range keys() {
		if k.kind != kindObject && k.kind != kindMap {
			continue
		}
		v := s.look(k.name)
		switch {
		case v.node == nil:
		case v.node.value.Kind != jsonc.Object:
			s.warn(v.node, v.shown, "must be an object, not "+v.node.value.Kind.String(), "none")
		case k.kind == kindMap:
			s.checkMembers(k.name, slices.Sorted(maps.Keys(v.node.members)))
		}
	}
}

// checkMembers checks the members of a map, for which no model has asked yet.
func (s *Settings) checkMembers(name string, members []string) {
	for _, k := range keys() {
		if !strings.HasPrefix(k.name, name+"."+any1) {
			continue
		}
		for _, m := range members {
			switch v := s.look(k.name, m); k.kind {
			case kindChoice:
				s.choice(v)
			case kindCount:
				if _, ok := whole(v.node); v.node != nil && !ok {
					s.warn(v.node, v.shown, notWhole, "the default")
				}
			case kindObject:
				if v.node != nil && v.node.value.Kind != jsonc.Object {
					s.warn(v.node, v.shown, "must be an object, not "+v.node.value.Kind.String(), "none")
				}
			}
		}
	}
}
