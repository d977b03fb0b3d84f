package compact

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestPlannerRequest(t *testing.T) {
	r := parseRegion("[User]: fix the test\n<keepContext>\nnever touch main\n</keepContext>\n\n[Assistant]: on it\n\n[Tool result]: " + lines("ok", 6))
	p := &Parameters{CompressionRatio: 0.5, PreserveRecent: 2, Query: "fix the test\nand 100% of it"}
	golden(t, "planner-request.txt", requestTextOf(plannerRequest(r, 0, p, Candidate{testModel(), llm.ThinkingHigh})))
	golden(t, "planner-request-trimmed.txt", requestTextOf(plannerRequest(r, 6, p, Candidate{testModel(), llm.ThinkingOff})))
}

func TestKeepTarget(t *testing.T) {
	for _, test := range []struct {
		total, protected int
		ratio            float64
		want             int
	}{{100, 0, 0.5, 50}, {101, 0, 0.5, 51}, {99, 0, 0.25, 25}, {100, 60, 0.5, 60}, {1, 0, 0.4, 0}, {0, 0, 0.5, 0}} {
		if got := keepTarget(test.total, test.protected, test.ratio); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

func BenchmarkPlannerRequest(b *testing.B) {
	r := parseRegion(strings.Repeat("a line of the transcript, not too long\n", 50_000))
	p := &Parameters{CompressionRatio: 0.5, Query: "q"}
	b.ReportAllocs()
	for b.Loop() {
		plannerRequest(r, 0, p, Candidate{testModel(), llm.ThinkingOff})
	}
}
