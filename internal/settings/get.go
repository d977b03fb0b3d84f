package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/llm"
)

// The queue modes.
const (
	ModeAll       = "all"
	ModeOneByOne  = "one-at-a-time"
	defaultIdle   = 300 * time.Second
	defaultSocket = 15 * time.Second
)

func dotted(path []string) string { return strings.Join(path, ".") }

// text returns a string, "" when unset.
func (s *Settings) text(path ...string) string { return s.textOf(s.get(path...), dotted(path)) }

func (s *Settings) textOf(n *node, name string) string {
	if n == nil {
		return ""
	}
	if n.value.Kind != jsonc.String {
		s.warn(n, name, "must be a string, not "+n.value.Kind.String(), "none")
		return ""
	}
	return n.value.Text
}

// path returns a string with a leading ~ replaced.
func (s *Settings) path(path ...string) string {
	p := strings.TrimSpace(s.text(path...))
	if p == "~" {
		return s.opt.Home
	}
	if rest, ok := strings.CutPrefix(p, "~/"); ok && s.opt.Home != "" {
		return filepath.Join(s.opt.Home, rest)
	}
	return p
}

func (s *Settings) flag(def bool, path ...string) bool {
	n := s.get(path...)
	if n == nil {
		return def
	}
	if n.value.Kind != jsonc.Bool {
		s.warn(n, dotted(path), "must be true or false, not "+n.value.Kind.String(), strconv.FormatBool(def))
		return def
	}
	return n.value.Text == "true"
}

// choice returns one of the words, def when unset or none of them. A def of "" stands
// for none.
func (s *Settings) choice(n *node, name, def string, words ...string) string {
	if n == nil {
		return def
	}
	if n.value.Kind == jsonc.String && slices.Contains(words, n.value.Text) {
		return n.value.Text
	}
	what := n.value.Kind.String()
	if n.value.Kind == jsonc.String {
		what = fmt.Sprintf("%.40q", n.value.Text)
	}
	using := def
	if using == "" {
		using = "none"
	}
	s.warn(n, name, "must be "+either(words)+", not "+what, using)
	return def
}

func either(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	if last < 1 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// count returns a whole number of 0 or more, def when unset or no such number.
func (s *Settings) count(def int64, path ...string) int64 {
	return s.countOf(s.get(path...), dotted(path), def)
}

func (s *Settings) countOf(n *node, name string, def int64) int64 {
	if n == nil {
		return def
	}
	if f, ok := number(n); ok && f >= 0 && f <= 1<<53 && f == float64(int64(f)) {
		return int64(f)
	}
	s.warn(n, name, "must be a whole number of 0 or more", strconv.FormatInt(def, 10))
	return def
}

func number(n *node) (float64, bool) {
	if n.value.Kind != jsonc.Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.value.Text, 64)
	return f, err == nil
}

// timeout returns a time: milliseconds as a number or a text of one, a duration such
// as "30s", or "disabled", which is 0 as 0 is.
func (s *Settings) timeout(n *node, name string, def time.Duration) time.Duration {
	if n == nil {
		return def
	}
	f, ok := number(n)
	if n.value.Kind == jsonc.String {
		text := strings.TrimSpace(n.value.Text)
		if strings.EqualFold(text, "disabled") {
			return 0
		}
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return d
		}
		v, err := strconv.ParseFloat(text, 64)
		f, ok = v, err == nil
	}
	const most = float64(1<<63-1) / 1e6
	if ok && f >= 0 && f < most {
		return time.Duration(f) * time.Millisecond
	}
	s.warn(n, name, `must be milliseconds, a time such as "30s", or "disabled"`, def.String())
	return def
}

// texts returns a list of strings; elements of other types are left out.
func (s *Settings) texts(path ...string) []string { return s.textsOf(s.get(path...), dotted(path)) }

func (s *Settings) textsOf(n *node, name string) []string {
	if n == nil {
		return nil
	}
	if n.value.Kind != jsonc.Array {
		s.warn(n, name, "must be an array of strings, not "+n.value.Kind.String(), "none")
		return nil
	}
	out := make([]string, 0, len(n.value.Elems))
	for i, e := range n.value.Elems {
		if e.Kind != jsonc.String {
			s.warn(&node{value: e, from: n.from}, fmt.Sprintf("%s[%d]", name, i), "must be a string, not "+e.Kind.String(), "the rest")
			continue
		}
		out = append(out, e.Text)
	}
	return out
}

func (s *Settings) level(path ...string) llm.ThinkingLevel {
	words := []string{}
	for _, l := range llm.ThinkingLevels() {
		words = append(words, string(l))
	}
	return llm.ThinkingLevel(s.choice(s.get(path...), dotted(path), "", words...))
}

// DefaultProvider is the provider to start with, "" when unset.
func (s *Settings) DefaultProvider() string { return s.text("defaultProvider") }

// DefaultModel is the id of the model to start with, "" when unset.
func (s *Settings) DefaultModel() string { return s.text("defaultModel") }

// DefaultThinking is the level to start with, "" when unset.
func (s *Settings) DefaultThinking() llm.ThinkingLevel { return s.level("defaultThinkingLevel") }

// ModelThinking is the level of one model, "" when unset.
func (s *Settings) ModelThinking(provider, id string) llm.ThinkingLevel {
	return s.level("modelThinkingLevels", provider+"/"+id)
}

// EnabledModels are the patterns of the model scope, nil when unset.
func (s *Settings) EnabledModels() []string { return s.texts("enabledModels") }

// FallbackModels are the models to go on with when one fails for good.
func (s *Settings) FallbackModels() []string { return s.texts("fallbackModels") }

// DefaultContextWindow is the context window to start a model with, in tokens; 0 when
// unset.
func (s *Settings) DefaultContextWindow(provider, id string) int64 {
	general := s.count(0, "defaultContextWindow")
	return s.count(general, "defaultContextWindows", provider+"/"+id)
}

// SteeringMode is ModeAll or ModeOneByOne.
func (s *Settings) SteeringMode() string {
	n, name := s.get("steeringMode"), "steeringMode"
	if n == nil { // its old name
		n, name = s.get("queueMode"), "queueMode"
	}
	return s.choice(n, name, ModeOneByOne, ModeAll, ModeOneByOne)
}

// FollowUpMode is ModeAll or ModeOneByOne.
func (s *Settings) FollowUpMode() string {
	return s.choice(s.get("followUpMode"), "followUpMode", ModeOneByOne, ModeAll, ModeOneByOne)
}

// ThinkingBudgets are the tokens to think with by level; unset levels are absent.
func (s *Settings) ThinkingBudgets() map[llm.ThinkingLevel]int64 {
	out := map[llm.ThinkingLevel]int64{}
	for _, l := range llm.ThinkingLevels() {
		if n := s.get("thinkingBudgets", string(l)); n != nil {
			if v := s.countOf(n, "thinkingBudgets."+string(l), 0); v > 0 {
				out[l] = v
			}
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
	tokens := func(field string, def int64) int64 {
		def = s.count(def, "compaction", field)
		return s.count(def, "compaction", "modelOverrides", provider+"/"+id, field)
	}
	return Compaction{
		Enabled:          s.flag(true, "compaction", "enabled"),
		ReserveTokens:    tokens("reserveTokens", 16384),
		KeepRecentTokens: tokens("keepRecentTokens", 20000),
		Strategy:         s.choice(s.get("compaction", "strategy"), "compaction.strategy", "", "verbatim-lines", "summary"),
		Ratio:            s.ratio(),
		PreserveRecent:   s.preserve(),
		Query:            strings.TrimSpace(s.text("compaction", "query")),
		Model:            s.text("compactionModel"),
	}
}

func (s *Settings) ratio() float64 {
	const def = 0.5
	n := s.get("compaction", "compression_ratio")
	if n == nil {
		return def
	}
	if f, ok := number(n); ok && f > 0 && f < 1 {
		return f
	}
	s.warn(n, "compaction.compression_ratio", "must be a number between 0 and 1", "0.5")
	return def
}

// preserve rounds down and takes negative numbers as 0.
func (s *Settings) preserve() int64 {
	const def = 2
	n := s.get("compaction", "preserve_recent")
	if n == nil {
		return def
	}
	if f, ok := number(n); ok && f < 1<<53 {
		return int64(max(f, 0))
	}
	s.warn(n, "compaction.preserve_recent", "must be a number", "2")
	return def
}

// BranchSummary are the settings of summaries of branches that are left.
type BranchSummary struct {
	ReserveTokens int64
	SkipPrompt    bool
}

// BranchSummary returns the settings of branch summaries.
func (s *Settings) BranchSummary() BranchSummary {
	return BranchSummary{s.count(16384, "branchSummary", "reserveTokens"), s.flag(false, "branchSummary", "skipPrompt")}
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
	ms := func(def int64, path ...string) time.Duration {
		return time.Duration(min(s.count(def, path...), 1<<40)) * time.Millisecond
	}
	serverCap := []string{"retry", "provider", "maxRetryDelayMs"}
	if s.get(serverCap...) == nil && s.get("retry", "maxDelayMs") != nil {
		serverCap = []string{"retry", "maxDelayMs"} // its old name
	}
	return Retry{
		Enabled:            s.flag(true, "retry", "enabled"),
		MaxRetries:         int(min(s.count(3, "retry", "maxRetries"), 1<<20)),
		BaseDelay:          ms(2000, "retry", "baseDelayMs"),
		MaxAgentDelay:      ms(60000, "retry", "maxAgentDelayMs"),
		ProviderTimeout:    s.timeout(s.get("retry", "provider", "timeoutMs"), "retry.provider.timeoutMs", s.HTTPIdleTimeout()),
		ProviderMaxRetries: int(min(s.count(0, "retry", "provider", "maxRetries"), 1<<20)),
		MaxRetryDelay:      ms(60000, serverCap...),
	}
}

// HTTPIdleTimeout is how long a provider may be silent; 0 for ever.
func (s *Settings) HTTPIdleTimeout() time.Duration {
	return s.timeout(s.get("httpIdleTimeoutMs"), "httpIdleTimeoutMs", defaultIdle)
}

// WebsocketConnectTimeout is how long a WebSocket connection may take; 0 for ever.
func (s *Settings) WebsocketConnectTimeout() time.Duration {
	return s.timeout(s.get("websocketConnectTimeoutMs"), "websocketConnectTimeoutMs", defaultSocket)
}

// StreamDeadline is how long one answer may take in all; 0, the default, for ever.
func (s *Settings) StreamDeadline() time.Duration {
	return s.timeout(s.get("streamDeadlineMs"), "streamDeadlineMs", 0)
}

// HTTPProxy is the proxy for all requests, "" when unset. Projects cannot set it.
func (s *Settings) HTTPProxy() string {
	return strings.TrimSpace(s.textOf(s.getUser("httpProxy"), "httpProxy"))
}

// Transport is auto, sse, websocket or websocket-cached.
func (s *Settings) Transport() string {
	return s.choice(s.get("transport"), "transport", "auto", "auto", "sse", "websocket", "websocket-cached")
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
	return Images{s.flag(true, "images", "autoResize"), s.flag(false, "images", "blockImages")}
}

// EnableSkillCommands reports whether skills are commands.
func (s *Settings) EnableSkillCommands() bool {
	if n := s.get("enableSkillCommands"); n == nil && s.get("skills", "enableSkillCommands") != nil {
		return s.flag(true, "skills", "enableSkillCommands") // its old place
	}
	return s.flag(true, "enableSkillCommands")
}

// DefaultProjectTrust is ask, always or never. Projects cannot set it.
func (s *Settings) DefaultProjectTrust() string {
	return s.choice(s.getUser("defaultProjectTrust"), "defaultProjectTrust", "ask", "ask", "always", "never")
}

// checkAll asks for every value that does not depend on a model, so that its faults
// are known.
func (s *Settings) checkAll() {
	s.DefaultProvider()
	s.DefaultModel()
	s.DefaultThinking()
	s.EnabledModels()
	s.FallbackModels()
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
	s.DefaultTools(nil)
	for _, kind := range []string{Extensions, Skills, Prompts, Packages} {
		s.Resources(kind)
	}
	for _, path := range [][]string{
		{"modelThinkingLevels"},
		{"defaultContextWindows"},
		{"compaction"},
		{"compaction", "modelOverrides"},
		{"retry"},
		{"retry", "provider"},
		{"images"},
		{"branchSummary"},
		{"thinkingBudgets"},
	} {
		n := s.get(path...)
		if n != nil && n.value.Kind != jsonc.Object {
			s.warn(n, dotted(path), "must be an object, not "+n.value.Kind.String(), "none")
		}
	}
}
