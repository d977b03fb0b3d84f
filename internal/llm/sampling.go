package llm

import (
	"fmt"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Sampling sets the model's sampling parameters for a thinking level in a request
// body: those for all levels, then those for this one. They win over members that the
// body has already (models.json, samplingParams and samplingParamsByThinkingLevel).
func (m *Model) Sampling(level ThinkingLevel, body *jsonx.Object) error {
	if err := body.Merge(m.SamplingParams); err != nil {
		return fmt.Errorf("samplingParams of %s: %w", m.Ref(), err)
	}
	if len(m.SamplingByLevel) == 0 {
		return nil
	}
	var byLevel map[ThinkingLevel]jsonx.Raw
	if err := jsonx.Unmarshal(m.SamplingByLevel, &byLevel); err != nil {
		return fmt.Errorf("samplingParamsByThinkingLevel of %s: %w", m.Ref(), err)
	}
	if level == "" {
		level = ThinkingOff
	}
	if err := body.Merge(byLevel[level]); err != nil {
		return fmt.Errorf("samplingParamsByThinkingLevel of %s: %s: %w", m.Ref(), level, err)
	}
	return nil
}
