package settings

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/llm"
)

// open returns Settings over texts: project, user, and the layer below the user's.
func open(project, user, below string) *Settings {
	texts := map[string]string{"p/settings.json": project, "u/settings.json": user, "b/settings.json": below}
	return Open(Options{
		Project: []string{"p/settings.json"}, User: []string{"u/settings.json", "b/settings.json"}, Trusted: true, Home: "/home/u",
		ReadFile: func(path string) ([]byte, error) {
			if texts[path] == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(texts[path]), nil
		},
	})
}

func TestOpenReadsNothing(t *testing.T) {
	reads := 0
	s := Open(Options{User: []string{"a"}, ReadFile: func(string) ([]byte, error) { reads++; return nil, fs.ErrNotExist }})
	if reads != 0 {
		t.Fatal("Open read a file")
	}
	s.DefaultModel()
	s.Retry()
	if reads != 1 {
		t.Errorf("%d reads, want 1", reads)
	}
}

func TestDefaults(t *testing.T) {
	s := open("", "", "")
	got := []any{
		s.DefaultProvider(), s.DefaultModel(), s.DefaultThinking(), s.ModelThinking("p", "m"), s.EnabledModels(), s.SteeringMode(), s.FollowUpMode(),
		s.Compaction("p", "m"), s.BranchSummary(), s.Retry(), s.HTTPIdleTimeout(), s.WebsocketConnectTimeout(), s.StreamDeadline(), s.Transport(),
		s.ShellPath(), s.SessionDir(), s.Images(), s.EnableSkillCommands(), s.DefaultProjectTrust(), s.DefaultContextWindow("p", "m"),
		s.DefaultTools([]string{"read"}), len(s.Resources(Extensions)), len(s.ThinkingBudgets()), s.HTTPProxy(), len(s.FallbackModels()),
	}
	want := []any{
		"", "", llm.ThinkingLevel(""), llm.ThinkingLevel(""), []string(nil), "one-at-a-time", "one-at-a-time",
		Compaction{Enabled: true, ReserveTokens: 16384, KeepRecentTokens: 20000, Ratio: 0.5, PreserveRecent: 2},
		BranchSummary{ReserveTokens: 16384},
		Retry{true, 3, 2 * time.Second, time.Minute, 5 * time.Minute, 0, time.Minute},
		5 * time.Minute, 15 * time.Second, time.Duration(0), "auto",
		"", "",
		Images{AutoResize: true},
		true, "ask", int64(0),
		[]string{"read"},
		0, 0, "", 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings without files: %v", w)
	}
}

func TestLayers(t *testing.T) {
	s := open(
		`{"defaultModel":"project","retry":{"maxRetries":7},"enabledModels":["c"],"httpProxy":"http://project","defaultProjectTrust":"always"}`,
		`{"defaultModel":"user","defaultProvider":"user","retry":{"maxRetries":5,"baseDelayMs":10},"enabledModels":["a","b"],"steeringMode":null}`,
		`{"defaultProvider":"below","retry":{"enabled":false,"baseDelayMs":20},"steeringMode":"all","httpProxy":"http://below"}`,
	)
	r := s.Retry()
	got := []any{s.DefaultModel(), s.DefaultProvider(), r.MaxRetries, r.BaseDelay, r.Enabled, s.EnabledModels(), s.SteeringMode(), s.HTTPProxy(), s.DefaultProjectTrust()}
	want := []any{"project", "user", 7, 10 * time.Millisecond, false, []string{"c"}, "one-at-a-time", "http://below", "ask"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s.SetProject(nil, false)
	if s.DefaultModel() != "user" || s.Retry().MaxRetries != 5 {
		t.Error("an untrusted project's settings count")
	}
}

func TestValues(t *testing.T) {
	s := open("", `{
	  "modelThinkingLevels": {"p/a/b": "high"},
	  "compaction": {"enabled": false, "strategy": "summary", "compression_ratio": 0.25, "preserve_recent": 3.7, "query": " q ", "keepRecentTokens": 1,
	    "modelOverrides": {"p/m": {"keepRecentTokens": 2}}},
	  "compactionModel": "p/c",
	  "retry": {"provider": {"timeoutMs": 1500, "maxRetries": 2, "maxRetryDelayMs": 0}},
	  "httpIdleTimeoutMs": "30s", "streamDeadlineMs": "2000", "websocketConnectTimeoutMs": "disabled",
	  "shellPath": "~/bin/sh", "sessionDir": "~", "shellCommandPrefix": " x ",
	  "images": {"autoResize": false, "blockImages": true},
	  "thinkingBudgets": {"low": 100, "high": 5000},
	  "defaultContextWindow": 5, "defaultContextWindows": {"p/m": 7},
	}`, "")
	got := []any{
		s.ModelThinking("p", "a/b"), s.Compaction("p", "m"), s.Compaction("p", "x").KeepRecentTokens, s.Retry().ProviderTimeout, s.Retry().ProviderMaxRetries, s.Retry().MaxRetryDelay,
		s.HTTPIdleTimeout(), s.StreamDeadline(), s.WebsocketConnectTimeout(), filepath.ToSlash(s.ShellPath()), s.SessionDir(), s.ShellCommandPrefix(), s.Images(),
		s.ThinkingBudgets(), s.DefaultContextWindow("p", "m"), s.DefaultContextWindow("p", "x"),
	}
	want := []any{
		llm.ThinkingHigh,
		Compaction{false, 16384, 2, "summary", 0.25, 3, "q", "p/c"},
		int64(1), 1500 * time.Millisecond, 2, time.Duration(0),
		30 * time.Second, 2 * time.Second, time.Duration(0), "/home/u/bin/sh", "/home/u", " x ",
		Images{false, true},
		map[llm.ThinkingLevel]int64{"low": 100, "high": 5000},
		int64(7), int64(5),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Error(w)
	}
}

func TestOldNames(t *testing.T) {
	s := open("", `{"queueMode":"all","retry":{"maxDelayMs":5},"skills":{"enableSkillCommands":false,"customDirectories":["s"]}}`, "")
	if s.SteeringMode() != "all" || s.Retry().MaxRetryDelay != 5*time.Millisecond || s.EnableSkillCommands() {
		t.Error("an old name does not count")
	}
	want := []Resource{{Entries: []string{"s"}, BaseDir: "u"}}
	if diff := cmp.Diff(want, s.Resources(Skills)); diff != "" {
		t.Error(diff)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Error(w)
	}
}

func TestWarnings(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"defaultProvider": 5}`, `u/settings.json:1:21: defaultProvider must be a string, not a number; using none`},
		{`{"defaultThinkingLevel": "huge"}`, `u/settings.json:1:26: defaultThinkingLevel must be "off", "minimal", "low", "medium", "high", "xhigh" or "max", not "huge"; using none`},
		{"{\n \"steeringMode\": true}", `u/settings.json:2:18: steeringMode must be "all" or "one-at-a-time", not a boolean; using one-at-a-time`},
		{`{"retry": {"maxRetries": -1}}`, `u/settings.json:1:26: retry.maxRetries must be a whole number of 0 or more; using 3`},
		{`{"retry": {"maxRetries": 1.5}}`, `u/settings.json:1:26: retry.maxRetries must be a whole number of 0 or more; using 3`},
		{`{"retry": {"enabled": "yes"}}`, `u/settings.json:1:23: retry.enabled must be true or false, not a string; using true`},
		{`{"httpIdleTimeoutMs": "soon"}`, `u/settings.json:1:23: httpIdleTimeoutMs must be milliseconds, a time such as "30s", or "disabled"; using 5m0s`},
		{`{"httpIdleTimeoutMs": 1e300}`, `u/settings.json:1:23: httpIdleTimeoutMs must be milliseconds, a time such as "30s", or "disabled"; using 5m0s`},
		{`{"enabledModels": "x"}`, `u/settings.json:1:19: enabledModels must be an array of strings, not a string; using none`},
		{`{"enabledModels": ["a", 1]}`, `u/settings.json:1:25: enabledModels[1] must be a string, not a number; using the rest`},
		{`{"compaction": {"compression_ratio": 1}}`, `u/settings.json:1:38: compaction.compression_ratio must be a number between 0 and 1; using 0.5`},
		{`{"compaction": {"preserve_recent": "x"}}`, `u/settings.json:1:36: compaction.preserve_recent must be a number; using 2`},
		{`{"compaction": {"strategy": "magic"}}`, `u/settings.json:1:29: compaction.strategy must be "verbatim-lines" or "summary", not "magic"; using none`},
		{`{"retry": 5}`, `u/settings.json:1:11: retry must be an object, not a number; using none`},
		{`{"modelThinkingLevels": []}`, `u/settings.json:1:25: modelThinkingLevels must be an object, not an array; using none`},
		{`{"a": 1,}}`, `u/settings.json:1:10: settings are ignored: unexpected '}' after the end of the value`},
		{"{\n  \"a\": x\n}", `u/settings.json:2:8: settings are ignored: unexpected 'x' where a value is due`},
		{`[1]`, `u/settings.json:1:1: settings are ignored: the file must hold an object, not an array`},
	}
	for _, tt := range tests {
		s := open("", tt.in, "")
		if diff := cmp.Diff([]string{tt.want}, s.Warnings()); diff != "" {
			t.Errorf("%s: %s", tt.in, diff)
		}
		if again := s.Warnings(); len(again) != 1 {
			t.Errorf("%s: asked again: %v", tt.in, again)
		}
	}
}

func TestUnreadable(t *testing.T) {
	s := Open(Options{User: []string{"f"}, ReadFile: func(string) ([]byte, error) {
		return nil, &fs.PathError{Op: "open", Path: "f", Err: errors.New("permission denied")}
	}})
	if diff := cmp.Diff([]string{"f: settings could not be read: permission denied"}, s.Warnings()); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultTools(t *testing.T) {
	builtin := []string{"read", "bash"}
	tests := []struct{ name, project, user, want string }{
		{"unset", "", "", "read bash"},
		{"replaced", "", `["grep"]`, "grep"},
		{"none", "", `[]`, ""},
		{"changed", "", `["+grep","-bash"]`, "read grep"},
		{"plain and changes", "", `["ls","+grep","-ls"]`, "grep"},
		{"project changes the user's", `["+find"]`, `["grep"]`, "grep find"},
		{"project changes the changed", `["-grep"]`, `["+grep","+ls"]`, "read bash ls"},
		{"project replaces", `["write"]`, `["+grep"]`, "write"},
		{"project empties", `[]`, `["grep"]`, ""},
		{"malformed", "", `"grep"`, "read bash"},
	}
	for _, tt := range tests {
		wrap := func(list string) string {
			if list == "" {
				return ""
			}
			return `{"defaultTools":` + list + `}`
		}
		got := open(wrap(tt.project), wrap(tt.user), "").DefaultTools(builtin)
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, got, tt.want)
		}
	}
	if strings.Join(builtin, " ") != "read bash" {
		t.Error("the default was changed")
	}
}

func TestCheckToolList(t *testing.T) {
	tests := []struct {
		list []string
		want string
	}{
		{[]string{"read", "web_*"}, ""},
		{[]string{"+read", "-bash"}, ""},
		{[]string{"read", "-bash"}, "tool names cannot be mixed with +name or -name entries"},
		{[]string{"+web_*"}, "+name and -name entries take exact tool names, not patterns: +web_*"},
	}
	for _, tt := range tests {
		got := ""
		if err := CheckToolList(tt.list); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.list, got, tt.want)
		}
	}
}

func TestResources(t *testing.T) {
	s := open(`{"extensions":["./a.ts"]}`, `{"extensions":["~/b.ts","!c"],"packages":["npm:x",{"source":"git:y","skills":[]}]}`, `{"extensions":["d"]}`)
	want := []Resource{{[]string{"./a.ts"}, "p", true}, {[]string{"~/b.ts", "!c"}, "u", false}, {[]string{"d"}, "b", false}}
	if diff := cmp.Diff(want, s.Resources(Extensions)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Resource{{[]string{"npm:x", "git:y"}, "u", false}}, s.Resources(Packages)); diff != "" {
		t.Error(diff)
	}
}

func TestExtensionIsolation(t *testing.T) {
	for _, tt := range []struct{ project, user, below, want string }{
		{"", "", "", IsolationNone},
		{"", `{"extensions":{"isolation":"process"}}`, "", IsolationProcess},
		{"", `{"extensions":["a"]}`, `{"extensions":{"isolation":"process","paths":["b"]}}`, IsolationProcess},
		{"", `{"extensions":{"isolation":"none"}}`, `{"extensions":{"isolation":"process"}}`, IsolationNone},
		{`{"extensions":{"isolation":"process"}}`, "", "", IsolationNone},
		{`{"extensions":{"isolation":"none"}}`, `{"extensions":{"isolation":"process"}}`, "", IsolationProcess},
		{"", `{"extensions":{"isolation":"thread"}}`, "", IsolationNone},
	} {
		if got := open(tt.project, tt.user, tt.below).ExtensionIsolation(); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	s := open("", `{"extensions":{"isolation":"process","paths":["x.ts"]}}`, "")
	if got := s.Resources(Extensions); len(got) != 1 || len(got[0].Entries) != 1 || got[0].Entries[0] != "x.ts" {
		t.Errorf("%+v", got)
	}
}

// files returns Settings over real files, the user's with the given text.
func files(t *testing.T, text string) (*Settings, string) {
	t.Helper()
	dir := t.TempDir()
	user := filepath.Join(dir, "agent", "settings.json")
	if text != "" {
		if err := os.MkdirAll(filepath.Dir(user), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(user, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Open(Options{User: []string{user, filepath.Join(dir, "below.json")}}), user
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSet(t *testing.T) {
	s, path := files(t, "{\n  // queue\n  \"steeringMode\": \"all\", /* mine */\n  \"unknown\": [1,2],\n}\n")
	if s.SteeringMode() != "all" {
		t.Fatal("not read")
	}
	for _, set := range []struct {
		value any
		path  string
	}{{"one-at-a-time", "steeringMode"}, {false, "retry.enabled"}, {[]string{"a", "b"}, "enabledModels"}, {5, "retry.maxRetries"}} {
		if err := s.Set(t.Context(), set.value, strings.Split(set.path, ".")...); err != nil {
			t.Fatal(err)
		}
	}
	want := "{\n  // queue\n  \"steeringMode\": \"one-at-a-time\", /* mine */\n  \"unknown\": [1,2],\n  \"retry\": {\n    \"enabled\": false,\n    \"maxRetries\": 5\n  },\n  \"enabledModels\": [\n    \"a\",\n    \"b\"\n  ]\n}\n"
	if diff := cmp.Diff(want, content(t, path)); diff != "" {
		t.Error(diff)
	}
	if s.SteeringMode() != "one-at-a-time" || s.Retry().MaxRetries != 5 || s.Retry().Enabled {
		t.Error("what was set does not count")
	}
	if err := s.Delete(t.Context(), "retry", "maxRetries"); err != nil || s.Retry().MaxRetries != 3 {
		t.Errorf("Delete: %v, %d", err, s.Retry().MaxRetries)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSetMakesTheFile(t *testing.T) {
	s, path := files(t, "")
	if err := s.Set(t.Context(), "x", "defaultModel"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "{\n  \"defaultModel\": \"x\"\n}\n" {
		t.Errorf("%q", got)
	}
}

func TestSetTakesOverWhatOthersWrote(t *testing.T) {
	s, path := files(t, `{"defaultModel":"a"}`)
	s.DefaultModel()
	if err := os.WriteFile(path, []byte(`{"defaultModel":"b","theme":"dark"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Set(t.Context(), "all", "followUpMode"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != `{"defaultModel":"b","theme":"dark", "followUpMode": "all"}` || s.DefaultModel() != "b" {
		t.Errorf("%s, %s", got, s.DefaultModel())
	}
}

func TestBrokenFilesAreNeverWritten(t *testing.T) {
	for _, text := range []string{"{\"a\": 1\n\"b\": 2}", `[1]`} {
		s, path := files(t, text)
		if s.DefaultModel() != "" {
			t.Error("a value out of a broken file")
		}
		err := s.Set(t.Context(), true, "retry", "enabled")
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), path+":") {
			t.Errorf("%v", err)
		}
		if got := content(t, path); got != text {
			t.Errorf("changed to %q", got)
		}
	}
}

func TestReloadKeepsTheLastGoodState(t *testing.T) {
	s, path := files(t, `{"defaultModel":"good","retry":{"enabled":1}}`)
	if s.DefaultModel() != "good" || len(s.Warnings()) != 1 {
		t.Fatal("not read")
	}
	if err := os.WriteFile(path, []byte(`{"defaultModel":`), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Reload()
	if s.DefaultModel() != "good" {
		t.Error("the last good state is gone")
	}
	if w := s.Warnings(); len(w) != 2 || !strings.HasPrefix(w[0], path+":1:17: settings are ignored") {
		t.Errorf("%v", w)
	}
	if err := os.WriteFile(path, []byte(`{"defaultModel":"new"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Reload()
	if s.DefaultModel() != "new" || len(s.Warnings()) != 0 {
		t.Errorf("%s, %v", s.DefaultModel(), s.Warnings())
	}
}

func TestSetWaitsForTheLock(t *testing.T) {
	s, path := files(t, `{}`)
	if err := os.Mkdir(path+".lock", 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Set(ctx, 1, "a"); err == nil {
		t.Error("written while another program held the lock")
	}
	if content(t, path) != `{}` {
		t.Error("the file was changed")
	}
}

func TestConcurrentUse(t *testing.T) {
	s, path := files(t, `{}`)
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b", "c"} {
		wg.Go(func() {
			if err := s.Set(t.Context(), map[string]int{"x": 1}, key, "y"); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { s.Retry(); s.Warnings(); s.DefaultTools(nil) })
	}
	wg.Wait()
	doc, err := jsonc.Parse([]byte(content(t, path)))
	if err != nil || len(doc.Root.Members) != 3 {
		t.Errorf("%v: %s", err, content(t, path))
	}
}

func FuzzSettings(f *testing.F) {
	f.Add(`{"retry":{"enabled":false}}`, `{"retry":{"maxRetries":1e9,"provider":{"timeoutMs":"x"}},"skills":{}}`)
	f.Add(`{"compaction":[],"defaultTools":["+x",1]}`, `// nothing`)
	f.Fuzz(func(t *testing.T, project, user string) {
		s := open(project, user, "")
		s.Warnings()
		if r := s.Retry(); r.MaxRetries < 0 || r.BaseDelay < 0 || r.MaxRetryDelay < 0 || r.ProviderTimeout < 0 {
			t.Errorf("%+v", r)
		}
		if c := s.Compaction("p", "m"); c.Ratio <= 0 || c.Ratio >= 1 || c.ReserveTokens < 0 || c.PreserveRecent < 0 {
			t.Errorf("%+v", c)
		}
	})
}
