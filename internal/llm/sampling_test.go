package llm_test

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

func TestSampling(t *testing.T) {
	tests := []struct {
		name, all, byLevel string
		level              llm.ThinkingLevel
		want               string // the body, or a part of the error
	}{
		{"none", ``, ``, llm.ThinkingHigh, `{"model":"m","top_p":1}`},
		{"for all", `{"top_p":0.5,"seed":1}`, ``, llm.ThinkingHigh, `{"model":"m","top_p":0.5,"seed":1}`},
		{"a level wins", `{"top_p":0.5}`, `{"high":{"top_p":0.1},"off":{"top_p":0}}`, llm.ThinkingHigh, `{"model":"m","top_p":0.1}`},
		{"no level is off", `{"top_p":0.5}`, `{"off":{"top_p":0}}`, "", `{"model":"m","top_p":0}`},
		{"another level", ``, `{"off":{"top_p":0}}`, llm.ThinkingLow, `{"model":"m","top_p":1}`},
		{"no object", `5`, ``, "", "samplingParams of p/m"},
		{"no map", ``, `[]`, "", "samplingParamsByThinkingLevel of p/m"},
		{"no object for the level", ``, `{"off":7}`, "", "samplingParamsByThinkingLevel of p/m: off"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &llm.Model{ID: "m", Provider: "p", SamplingParams: jsonx.Raw(tt.all), SamplingByLevel: jsonx.Raw(tt.byLevel)}
			var body jsonx.Object
			body.Set("model", m.ID)
			body.Set("top_p", 1)
			if err := m.Sampling(tt.level, &body); err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %q, want %q", err, tt.want)
				}
				return
			}
			got, err := jsonx.Marshal(&body)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
