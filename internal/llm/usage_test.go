package llm

import (
	"math"
	"testing"
)

func TestPrice(t *testing.T) {
	// Dollars for a million tokens; the tiers are in no order, as files may have them.
	prices := ModelCost{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, Tiers: []CostTier{
		{InputTokensAbove: 500_000, Input: 12, Output: 45, CacheRead: 1.2, CacheWrite: 15},
		{InputTokensAbove: 200_000, Input: 6, Output: 22.5, CacheRead: 0.6, CacheWrite: 7.5},
	}}
	count := func(n int64) *int64 { return &n }
	for _, tt := range []struct {
		name                           string
		u                              Usage
		prices                         ModelCost
		input, output, cached, written float64
	}{
		{"nothing", Usage{}, prices, 0, 0, 0, 0},
		{"one of each", Usage{Input: 1e6 / 8, Output: 1e6, CacheRead: 10_000, CacheWrite: 20_000}, prices, 0.375, 15, 0.003, 0.075},
		{"reasoning is part of the output", Usage{Output: 1e6, Reasoning: count(5e5)}, prices, 0, 15, 0, 0},
		{"at the first tier's threshold", Usage{Input: 200_000, Output: 1000}, prices, 0.6, 0.015, 0, 0},
		{"one above it", Usage{Input: 200_001, Output: 1000}, prices, 1.200006, 0.0225, 0, 0},
		{"what is cached counts as input", Usage{Input: 1, CacheRead: 150_000, CacheWrite: 50_000}, prices, 6e-6, 0, 0.09, 0.375},
		{"output does not", Usage{Input: 200_000, Output: 300_000}, prices, 0.6, 4.5, 0, 0},
		{"at the second tier's threshold", Usage{Input: 500_000}, prices, 3, 0, 0, 0},
		{"one above it", Usage{Input: 500_001}, prices, 6.000012, 0, 0, 0},
		{"a cache of five minutes", Usage{CacheWrite: 1000, CacheWrite1h: count(0)}, prices, 0, 0, 0, 0.00375},
		{"a cache of an hour costs twice the input", Usage{CacheWrite: 1000, CacheWrite1h: count(1000)}, prices, 0, 0, 0, 0.006},
		{"some of each", Usage{CacheWrite: 1000, CacheWrite1h: count(400)}, prices, 0, 0, 0, 0.00465},
		{"an hour in the first tier", Usage{Input: 200_000, CacheWrite: 1000, CacheWrite1h: count(1000)}, prices, 1.2, 0, 0, 0.012},
		{"half of all prices", Usage{Input: 1000, Output: 1000, CacheRead: 1000, CacheWrite: 1000}, prices.Times(0.5), 0.0015, 0.0075, 0.00015, 0.001875},
		{"half of a tier's", Usage{Input: 300_000}, prices.Times(0.5), 0.9, 0, 0, 0},
		{"a model without prices", Usage{Input: 1000, Output: 1000, CacheRead: 1000, CacheWrite: 1000}, ModelCost{}, 0, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.u.Price(tt.prices)
			if want := tt.u.Input + tt.u.Output + tt.u.CacheRead + tt.u.CacheWrite; got.TotalTokens != want {
				t.Errorf("%d tokens in all, want %d", got.TotalTokens, want)
			}
			total := tt.input + tt.output + tt.cached + tt.written
			for what, pair := range map[string][2]float64{
				"input": {got.Cost.Input, tt.input}, "output": {got.Cost.Output, tt.output}, "cacheRead": {got.Cost.CacheRead, tt.cached},
				"cacheWrite": {got.Cost.CacheWrite, tt.written}, "total": {got.Cost.Total, total},
			} {
				if math.Abs(pair[0]-pair[1]) > 1e-12 {
					t.Errorf("%s costs %v, want %v", what, pair[0], pair[1])
				}
			}
			if got.Cost.TotalFromProvider == nil || *got.Cost.TotalFromProvider {
				t.Error("the total is said to be the provider's")
			}
		})
	}
}

// A total that the provider reported is what was charged; the parts are still ours.
func TestPriceKeepsTheProvidersTotal(t *testing.T) {
	yes := true
	u := Usage{Input: 1000, Cost: Cost{Total: 0.5, TotalFromProvider: &yes}}.Price(ModelCost{Input: 3})
	if u.Cost.Total != 0.5 || u.Cost.Input != 0.003 || !*u.Cost.TotalFromProvider {
		t.Errorf("got %+v", u.Cost)
	}
}
