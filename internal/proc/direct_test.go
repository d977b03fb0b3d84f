package proc

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// printer is a runner that prints the pieces, each "out:" or "err:" and text.
func printer(exit Exit, err error, pieces ...string) Runner {
	return RunnerFunc(func(_ context.Context, _ Cmd, out func(Chunk)) (Exit, error) {
		for _, p := range pieces {
			ch := Stdout
			if strings.HasPrefix(p, "err:") {
				ch = Stderr
			}
			out(Chunk{Channel: ch, Data: []byte(p[len("out:"):])})
		}
		return exit, err
	})
}

func TestDirectResult(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	long := "out:" + seq(1, 2001)
	tail := strings.TrimSuffix(seq(2, 2001), "\n")
	quoted := strings.ReplaceAll(tail, "\n", `\n`)
	good := testSpill(t)
	for _, c := range []struct {
		name   string
		ctx    context.Context
		runner Runner
		spill  Spill
		json   string // PATH stands for the spill file
		deltas []string
	}{
		{"plain", t.Context(), printer(Exit{}, nil, "out:a\n", "err:b\n"), good, `{"output":"a\nb\n","exitCode":0,"cancelled":false,"truncated":false}`, []string{"stdout a\n", "stderr b\n"}},
		{"exit code", t.Context(), printer(Exit{Code: 7}, nil), good, `{"output":"","exitCode":7,"cancelled":false,"truncated":false}`, nil},
		{"cancelled keeps the output", ended, printer(Exit{Code: 137}, context.Canceled, "out:started\n"), good, `{"output":"started\n","cancelled":true,"truncated":false}`, []string{"stdout started\n"}},
		{"runner closed", t.Context(), printer(Exit{}, ErrClosed, "out:x"), good, `{"output":"x","cancelled":true,"truncated":false}`, []string{"stdout x"}},
		{"truncated", t.Context(), printer(Exit{}, nil, long), good, `{"output":"` + quoted + `","exitCode":0,"cancelled":false,"truncated":true,"fullOutputPath":"PATH"}`, []string{"stdout " + long[4:]}},
		{"truncated, not written", t.Context(), printer(Exit{}, nil, long), Spill{}, `{"output":"` + quoted + `","exitCode":0,"cancelled":false,"truncated":true,"fullOutputPath":null}`, []string{"stdout " + long[4:]}},
		{
			"report 127: a character split over chunks, the channels mixed", t.Context(),
			printer(Exit{}, nil, "out:\xf0\x9f", "err:\xe2", "out:\x98\x80", "err:\x82\xac"), good,
			`{"output":"` + "\U0001F600\u20ac" + `","exitCode":0,"cancelled":false,"truncated":false}`,
			[]string{"stdout \U0001F600", "stderr \u20ac"},
		},
		{"half a character at the end", t.Context(), printer(Exit{}, nil, "out:a\xf0\x9f"), good, `{"output":"a` + "\uFFFD" + `","exitCode":0,"cancelled":false,"truncated":false}`, []string{"stdout a", "stdout \uFFFD"}},
		{"no empty deltas", t.Context(), printer(Exit{}, nil, "out:\r\x1b[0m", "out:x"), good, `{"output":"x","exitCode":0,"cancelled":false,"truncated":false}`, []string{"stdout x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var deltas []string
			res, err := Direct(c.ctx, c.runner, Cmd{}, c.spill, func(ch, text string) { deltas = append(deltas, ch+" "+text) })
			if err != nil {
				t.Fatal(err)
			}
			got, err := jsonx.Marshal(&res)
			if err != nil {
				t.Fatal(err)
			}
			want := c.json
			if p := res.Path(); p != nil {
				want = strings.Replace(want, "PATH", *p, 1)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.deltas, deltas); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDirectCannotRun(t *testing.T) {
	broken := errors.New("no shell here")
	res, err := Direct(t.Context(), printer(Exit{}, broken), Cmd{}, Spill{}, func(string, string) {})
	if !errors.Is(err, broken) || res.Output != "" {
		t.Errorf("result %+v, error %v", res, err)
	}
}
