package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelection(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	want := func(w Selection) {
		t.Helper()
		got, err := s.View().Selection()
		if diff := cmp.Diff(w, got); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
	}
	want(Selection{})
	add(t, s, ModelChange{"p", "m"})
	add(t, s, ThinkingLevelChange{"high"})
	want(Selection{Model: &ModelRef{"p", "m"}, Thinking: "high"})
	u := add(t, s, user("x"))
	add(t, s, assistant("y"))
	add(t, s, ContextWindowChange{900})
	want(Selection{Model: &ModelRef{"prov", "mod"}, Thinking: "high", ContextWindow: 900, HasMessages: true})
	if err := s.SetLeaf(u); err != nil {
		t.Fatal(err)
	}
	want(Selection{Model: &ModelRef{"p", "m"}, Thinking: "high", HasMessages: true})
}
