package wire

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestEndpoint(t *testing.T) {
	t.Setenv("WIRE_TEST_A", "process")
	t.Setenv("WIRE_TEST_B", "process")
	env := map[string]string{"WIRE_TEST_A": "credential"}
	for in, want := range map[string]string{
		"https://x":       "https://x/v1/y",
		"https://x/":      "https://x/v1/y",
		" https://x/z// ": "https://x/z/v1/y",
		"https://x/{WIRE_TEST_A}/{WIRE_TEST_B}/z": "https://x/credential/process/z/v1/y",
		"https://x/{WIRE_TEST_NONE}/z":            "https://x/{WIRE_TEST_NONE}/z/v1/y",
		"https://x/{open":                         "https://x/{open/v1/y",
	} {
		if got := Endpoint(&llm.Request{Model: &llm.Model{BaseURL: in}, Env: env}, "/v1/y"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A variable that an address needs and that is not set is named; nothing is sent.
func TestAddressWithoutItsVariable(t *testing.T) {
	url := Endpoint(&llm.Request{Model: &llm.Model{BaseURL: "https://x/{WIRE_TEST_NONE}/z"}}, "/y")
	_, err := New(Options{}).Post(t.Context(), Request{URL: url})
	if err == nil || err.Error() != "WIRE_TEST_NONE is not set, and the provider's address needs it: set it, or store it with: isotope auth login" {
		t.Errorf("got %v", err)
	}
}
