package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/tool"
)

// bashPrinter is a runner that prints the pieces of stdout, every so often.
func bashPrinter(exit proc.Exit, every time.Duration, pieces ...string) proc.Runner {
	return proc.RunnerFunc(func(ctx context.Context, _ proc.Cmd, out func(proc.Chunk)) (proc.Exit, error) {
		for _, p := range pieces {
			out(proc.Chunk{Data: []byte(p)})
			if every > 0 {
				time.Sleep(every)
			}
		}
		return exit, nil
	})
}

// bashHanging is a runner that prints once and goes on until it is cancelled.
func bashHanging(exit proc.Exit, output string) proc.Runner {
	return proc.RunnerFunc(func(ctx context.Context, _ proc.Cmd, out func(proc.Chunk)) (proc.Exit, error) {
		if output != "" {
			out(proc.Chunk{Data: []byte(output)})
		}
		<-ctx.Done()
		return exit, context.Cause(ctx)
	})
}

func bashSpill(t testing.TB) func() proc.Spill {
	s := proc.NewSpill("test", "s1")
	s.TempDir = t.TempDir()
	return func() proc.Spill { return s }
}

// bashCall runs one call as the loop does and returns the result, the updates and the
// error's text.
func bashCall(ctx context.Context, cfg BashConfig, args string) (tool.Result, []tool.Result, error) {
	bash := NewBash(cfg)
	opening, _ := bash.(tool.Opener).Opening()
	updates := []tool.Result{opening}
	res, err := bash.Run(ctx, tool.Call{ID: "c1", Args: jsonx.Raw(args)}, func(r tool.Result) { updates = append(updates, r) })
	return res, updates, err
}

func bashJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func bashSeq(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func TestBashResult(t *testing.T) {
	for _, c := range []struct {
		name   string
		runner proc.Runner
		want   string
	}{
		{
			"output", bashPrinter(proc.Exit{}, 0, "out\n"),
			`{"content":[{"type":"text","text":"out\n"}],"structuredContent":{"output":"out\n","truncated":false,"exit_code":0,"wall_time_seconds":0}}`,
		},
		{
			"nothing", bashPrinter(proc.Exit{}, 0),
			`{"content":[{"type":"text","text":"(no output)"}],"structuredContent":{"output":"","truncated":false,"exit_code":0,"wall_time_seconds":0}}`,
		},
		{
			"report 113: nothing but white space", bashPrinter(proc.Exit{}, 0, "\r\n"),
			`{"content":[{"type":"text","text":"(no output)"}],"structuredContent":{"output":"\r\n","truncated":false,"exit_code":0,"wall_time_seconds":0}}`,
		},
		{
			"exit code", bashPrinter(proc.Exit{Code: 2}, 0, "out\n"),
			`{"content":[{"type":"text","text":"out\n\n\nCommand exited with code 2"}],"structuredContent":{"output":"out\n","truncated":false,"exit_code":2,"wall_time_seconds":0},"isError":true}`,
		},
		{
			"exit code, nothing", bashPrinter(proc.Exit{Code: 5}, 0),
			`{"content":[{"type":"text","text":"(no output)\n\nCommand exited with code 5"}],"structuredContent":{"output":"","truncated":false,"exit_code":5,"wall_time_seconds":0},"isError":true}`,
		},
		{
			"report 120: a signal is no success", bashPrinter(proc.Exit{Code: 139}, 0),
			`{"content":[{"type":"text","text":"(no output)\n\nCommand exited with code 139"}],"structuredContent":{"output":"","truncated":false,"exit_code":139,"wall_time_seconds":0},"isError":true}`,
		},
		{
			"escape sequences and carriage returns stay", bashPrinter(proc.Exit{}, 0, "\x1b[31mred\x1b[0m a\rb"),
			`{"content":[{"type":"text","text":"\u001b[31mred\u001b[0m a\rb"}],"structuredContent":{"output":"\u001b[31mred\u001b[0m a\rb","truncated":false,"exit_code":0,"wall_time_seconds":0}}`,
		},
		{
			"report 127: a character in two pieces, and half of one", bashPrinter(proc.Exit{}, 0, "\xf0\x9f", "\x98\x80\xf0\x9f"),
			`{"content":[{"type":"text","text":"` + "\U0001F600\uFFFD" + `"}],"structuredContent":{"output":"` + "\U0001F600\uFFFD" + `","truncated":false,"exit_code":0,"wall_time_seconds":0}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				res, _, err := bashCall(t.Context(), BashConfig{Runner: c.runner}, `{"command":"x"}`)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, bashJSON(t, res)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestBashTruncatedResult(t *testing.T) {
	ys := strings.Repeat("y", 300000)
	row := strings.Repeat("0", 100) + "\n"
	for _, c := range []struct {
		name, in, content, notice, details string
		nowhere                            bool
	}{
		{
			"report 124: by lines", bashSeq(1, 5000), strings.TrimSuffix(bashSeq(3001, 5000), "\n"),
			"\n\n[Showing lines 3001-5000 of 5000. Full output: PATH]",
			`"truncated":true,"truncatedBy":"lines","totalLines":5000,"totalBytes":23893,"outputLines":2000,"outputBytes":9999,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":2000,"maxBytes":51200},"fullOutputPath":"PATH"}`, false,
		},
		{
			"by bytes", strings.Repeat(row, 600), strings.TrimSuffix(strings.Repeat(row, 506), "\n"),
			"\n\n[Showing lines 95-600 of 600 (50.0KB limit). Full output: PATH]",
			`"truncated":true,"truncatedBy":"bytes","totalLines":600,"totalBytes":60600,"outputLines":506,"outputBytes":51105,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":2000,"maxBytes":51200},"fullOutputPath":"PATH"}`, false,
		},
		{
			"report 140: the end of a long last line", "start\n" + ys, ys[:51200],
			"\n\n[Showing last 50.0KB of line 2 (line is 293.0KB). Full output: PATH]",
			`"truncated":true,"truncatedBy":"bytes","totalLines":2,"totalBytes":300006,"outputLines":1,"outputBytes":51200,"lastLinePartial":true,"firstLineExceedsLimit":false,"maxLines":2000,"maxBytes":51200},"fullOutputPath":"PATH"}`, false,
		},
		{
			"cannot be written", bashSeq(1, 2001), strings.TrimSuffix(bashSeq(2, 2001), "\n"),
			"\n\n[Showing lines 2-2001 of 2001]",
			`"truncated":true,"truncatedBy":"lines","totalLines":2001,"totalBytes":8898,"outputLines":2000,"outputBytes":8895,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":2000,"maxBytes":51200},"fullOutputPath":null}`, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := BashConfig{Runner: bashPrinter(proc.Exit{}, 0, c.in[:len(c.in)/2], c.in[len(c.in)/2:])}
			if !c.nowhere {
				cfg.Spill = bashSpill(t)
			}
			res, updates, err := bashCall(t.Context(), cfg, `{"command":"x"}`)
			if err != nil {
				t.Fatal(err)
			}
			path := ""
			if p := res.Details.(bashDetails).FullOutputPath; p != nil {
				path = *p
				if b, err := os.ReadFile(path); err != nil || string(b) != c.in {
					t.Errorf("the file has %d bytes of %d, %v", len(b), len(c.in), err)
				}
			}
			fill := func(s string) string { return strings.ReplaceAll(s, "PATH", path) }
			if diff := cmp.Diff(fill(c.content+c.notice), res.Content.PlainText("")); diff != "" {
				t.Error(diff)
			}
			details := bashJSON(t, res.Details)
			want := `{"truncation":{"content":` + string(jsonx.String(c.content)) + "," + fill(c.details)
			if diff := cmp.Diff(want, details); diff != "" {
				t.Error(diff)
			}
			last := updates[len(updates)-1]
			if got := last.Content.PlainText(""); got != c.content || bashJSON(t, last.Details) != details {
				t.Errorf("the last update shows %d bytes", len(got))
			}
			if data := res.StructuredContent.(bashStructured); !c.nowhere && (data.Output != c.in || data.Truncated) {
				t.Errorf("structured content of %d bytes", len(data.Output))
			}
		})
	}
}

func TestBashStructuredContentIsBounded(t *testing.T) {
	in := strings.Repeat("0123456789abcde\n", 1<<17) // 2 MiB
	res, _, err := bashCall(t.Context(), BashConfig{Runner: bashPrinter(proc.Exit{}, 0, in), Spill: bashSpill(t)}, `{"command":"x"}`)
	if err != nil {
		t.Fatal(err)
	}
	data := res.StructuredContent.(bashStructured)
	want := in[:1<<19] + "\n\n[... 1048576 bytes omitted ...]\n\n" + in[:1<<19]
	if !data.Truncated || data.Output != want || data.FullOutputPath != *res.Details.(bashDetails).FullOutputPath {
		t.Errorf("truncated %v, %d bytes, path %q", data.Truncated, len(data.Output), data.FullOutputPath)
	}
}

func TestBashUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type seen struct {
			At   time.Duration
			JSON string
		}
		start := time.Now()
		var got []seen
		runner := bashPrinter(proc.Exit{}, 30*time.Millisecond, "1\n", "2\n", "3\n", "4\n", "5\n", "6\n")
		res, err := NewBash(BashConfig{Runner: runner}).Run(t.Context(), tool.Call{Args: jsonx.Raw(`{"command":"x"}`)}, func(r tool.Result) {
			got = append(got, seen{time.Since(start), bashJSON(t, r)})
		})
		if err != nil {
			t.Fatal(err)
		}
		update := func(text string) string {
			return `{"content":[{"type":"text","text":"` + text + `"}],"details":{"truncation":null,"fullOutputPath":null}}`
		}
		ms := time.Millisecond
		want := []seen{{0, update(`1\n`)}, {100 * ms, update(`1\n2\n3\n4\n`)}, {180 * ms, update(`1\n2\n3\n4\n5\n6\n`)}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if data := res.StructuredContent.(bashStructured); data.WallTimeSeconds != 0.2 {
			t.Errorf("wall time %v", data.WallTimeSeconds)
		}
	})
}

// A client that takes updates slowly holds the command back and sees the whole end.
func TestBashSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last string
		runner := bashPrinter(proc.Exit{}, 30*time.Millisecond, "1\n", "2\n", "3\n", "4\n", "5\n", "6\n", "7\n", "8\n")
		_, err := NewBash(BashConfig{Runner: runner}).Run(t.Context(), tool.Call{Args: jsonx.Raw(`{"command":"x"}`)}, func(r tool.Result) {
			time.Sleep(time.Second)
			last = r.Content.PlainText("")
		})
		if err != nil || last != bashSeq(1, 8) {
			t.Errorf("%q, %v", last, err)
		}
	})
}

func TestBashTimeoutAndAbort(t *testing.T) {
	stop := errors.New("stopped by the user")
	for _, c := range []struct {
		name   string
		runner proc.Runner
		args   string
		abort  time.Duration
		want   string
		after  time.Duration
	}{
		{"timeout", bashHanging(proc.Exit{Code: 137}, ""), `{"command":"x","timeout":1}`, 0, "Command timed out after 1 seconds", time.Second},
		{"timeout with output", bashHanging(proc.Exit{Code: 137}, "x\n"), `{"command":"x","timeout":0.5}`, 0, "x\n\n\nCommand timed out after 0.5 seconds", 500 * time.Millisecond},
		{"timeout as text", bashHanging(proc.Exit{Code: 137}, ""), `{"command":"x","timeout":"5"}`, 0, "Command timed out after 5 seconds", 5 * time.Second},
		{
			"report 118: the shell had ended", bashHanging(proc.Exit{Code: 3, Exited: true, After: 120 * time.Millisecond}, "x\n"), `{"command":"x","timeout":2}`, 0,
			"x\n\n\nCommand timed out after 2 seconds. The shell itself had exited with code 3 after 0.1 seconds; what it left in the background kept writing output until then.", 2 * time.Second,
		},
		{"abort", bashHanging(proc.Exit{Code: 137}, ""), `{"command":"x"}`, time.Second, "Command aborted", time.Second},
		{"abort with output", bashHanging(proc.Exit{Code: 137}, "so far"), `{"command":"x","timeout":null}`, time.Second, "so far\n\nCommand aborted", time.Second},
		{"abort before the timeout", bashHanging(proc.Exit{Code: 137}, ""), `{"command":"x","timeout":3}`, time.Second, "Command aborted", time.Second},
		{"abort keeps the notice", bashHanging(proc.Exit{}, bashSeq(1, 2001)), `{"command":"x"}`, time.Second, bashSeq(2, 2001) + "\n[Showing lines 2-2001 of 2001]\n\nCommand aborted", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.abort > 0 {
					time.AfterFunc(c.abort, func() { cancel(stop) })
				}
				start := time.Now()
				_, updates, err := bashCall(ctx, BashConfig{Runner: c.runner}, c.args)
				if err == nil {
					t.Fatal("no error")
				}
				if diff := cmp.Diff(c.want, err.Error()); diff != "" {
					t.Error(diff)
				}
				if errors.Is(err, stop) != (c.abort > 0) {
					t.Errorf("the cause of the context is lost or wrong: %v", errors.Unwrap(err))
				}
				if d := time.Since(start); d != c.after {
					t.Errorf("took %v, want %v", d, c.after)
				}
				if len(updates) == 0 || len(updates[0].Content) != 0 {
					t.Errorf("updates %v", updates)
				}
			})
		})
	}
}

// Report 121: a timeout that makes no sense is refused, and nothing runs.
func TestBashInvalidTimeout(t *testing.T) {
	runner := proc.RunnerFunc(func(context.Context, proc.Cmd, func(proc.Chunk)) (proc.Exit, error) {
		t.Error("the command was run")
		return proc.Exit{}, nil
	})
	const invalid, large = "Invalid timeout: must be a finite number of seconds", "Invalid timeout: maximum is 2147483.647 seconds"
	for timeout, want := range map[string]string{
		"0": invalid, "-1": invalid, "-0.5": invalid, "1e999": invalid, "-1e999": invalid, `"soon"`: invalid, "true": invalid, `"NaN"`: invalid,
		"1e12": large, "2147483.648": large,
	} {
		_, updates, err := bashCall(t.Context(), BashConfig{Runner: runner}, `{"command":"echo","timeout":`+timeout+`}`)
		if err == nil || err.Error() != want || len(updates) != 1 {
			t.Errorf("timeout %s: error %v, want %s", timeout, err, want)
		}
	}
	if d, err := bashTimeout(jsonx.Raw("2147483.647")); err != nil || d != 2147483647*time.Millisecond {
		t.Errorf("the largest timeout: %v, %v", d, err)
	}
}

func TestBashSpec(t *testing.T) {
	b := NewBash(BashConfig{EnvPrefix: "PI"})
	spec := b.Spec()
	if spec.Name != "bash" || spec.Description == "" || strings.TrimSpace(spec.Description) != spec.Description || !jsonx.Valid(spec.Parameters) {
		t.Errorf("spec %+v", spec)
	}
	p := b.(tool.Prompted)
	if p.Snippet() == "" || len(p.Guidelines()) != 1 || !strings.Contains(p.Guidelines()[0], "PI_*") {
		t.Errorf("%q, %q", p.Snippet(), p.Guidelines())
	}
	if g := NewBash(BashConfig{}).(tool.Prompted).Guidelines(); len(g) != 0 {
		t.Errorf("guidelines %q", g)
	}
}

// The remaining tests run real commands.

func realBash(t testing.TB) BashConfig {
	if runtime.GOOS == "windows" {
		t.Skip("needs a Unix shell")
	}
	runner := proc.New()
	t.Cleanup(func() { runner.Close() })
	return BashConfig{Cwd: t.TempDir(), Runner: runner, Spill: bashSpill(t)}
}

func TestBashRunsCommands(t *testing.T) {
	t.Setenv("PI_SESSION_ID", "stale")
	t.Setenv("BASH_TEST_OWN", "kept")
	cfg := realBash(t)
	cfg.Shell.Prefix = "PFX=1"
	cfg.BinDir = "/agent/bin"
	cfg.Env = func() []string { return []string{"AI_AGENT=pi", "PI_SESSION_ID=now"} }
	for _, c := range []struct{ name, command, want string }{
		{"directory", "pwd", cfg.Cwd + "\n"},
		{"prefix", "echo $PFX", "1\n"},
		{"report 128: environment", `echo $AI_AGENT $PI_SESSION_ID $BASH_TEST_OWN ${PATH%%:*}; env | grep -ci 'api.*key' || true`, "pi now kept /agent/bin\n0\n"},
		{"report 125: standard input is empty", "cat; echo done", "done\n"},
		{"report 118: a background process", "sleep 60 >/dev/null 2>&1 & kill -9 $!; sleep 60 & echo x; (sleep 0.3; kill -9 $!) >/dev/null 2>&1 &", "x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, _, err := bashCall(t.Context(), cfg, `{"command":`+string(jsonx.String(c.command))+`}`)
			if err != nil || res.Content.PlainText("") != c.want {
				t.Errorf("%q, %v, want %q", res.Content.PlainText(""), err, c.want)
			}
		})
	}
}

func TestBashCannotRun(t *testing.T) {
	cfg := realBash(t)
	cfg.Shell.Path = "/nonexistent/sh"
	_, updates, err := bashCall(t.Context(), cfg, `{"command":"echo hi"}`)
	if err == nil || err.Error() != "Custom shell path not found: /nonexistent/sh" || len(updates) != 1 {
		t.Errorf("%d updates, error %v", len(updates), err)
	}
	cfg.Shell.Path, cfg.Cwd = "", cfg.Cwd+"/gone"
	_, _, err = bashCall(t.Context(), cfg, `{"command":"echo hi"}`)
	if err == nil || err.Error() != "Working directory does not exist: "+cfg.Cwd+"\nCannot execute bash commands." {
		t.Errorf("error %v", err)
	}
}

// Report 4: nothing is run that was not asked for.
func TestBashWithoutCommand(t *testing.T) {
	var ran []string
	runner := proc.RunnerFunc(func(_ context.Context, c proc.Cmd, _ func(proc.Chunk)) (proc.Exit, error) {
		ran = append(ran, c.Command)
		return proc.Exit{}, nil
	})
	if _, _, err := bashCall(t.Context(), BashConfig{Runner: runner}, `{"command":5}`); err == nil {
		t.Error("a number was taken for a command")
	}
	if _, _, err := bashCall(t.Context(), BashConfig{Runner: runner}, `{}`); err == nil || !strings.Contains(err.Error(), "command") {
		t.Errorf("error %v", err)
	}
	if len(ran) != 0 {
		t.Errorf("ran %q", ran)
	}
}

// BenchmarkBashTrue is one call of the tool with a command that does nothing.
func BenchmarkBashTrue(b *testing.B) {
	t := NewBash(realBash(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Run(b.Context(), tool.Call{Args: jsonx.Raw(`{"command":"true"}`)}, func(tool.Result) {}); err != nil {
			b.Fatal(err)
		}
	}
}
