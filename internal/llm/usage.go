package llm

// Usage counts the tokens of one model call. Input excludes cached tokens;
// Output includes reasoning; TotalTokens is the sum of the four parts.
type Usage struct {
	Input        int64  `json:"input"`
	Output       int64  `json:"output"`
	CacheRead    int64  `json:"cacheRead"`
	CacheWrite   int64  `json:"cacheWrite"`
	CacheWrite1h *int64 `json:"cacheWrite1h,omitzero"`
	Reasoning    *int64 `json:"reasoning,omitzero"`
	TotalTokens  int64  `json:"totalTokens"`
	Cost         Cost   `json:"cost"`
}

// Cost is in US dollars. TotalFromProvider says that the provider reported
// Total itself; it is present once a usage was priced.
type Cost struct {
	Input             float64 `json:"input"`
	Output            float64 `json:"output"`
	CacheRead         float64 `json:"cacheRead"`
	CacheWrite        float64 `json:"cacheWrite"`
	Total             float64 `json:"total"`
	TotalFromProvider *bool   `json:"totalFromProvider,omitzero"`
}

// longWrite is what a token costs that is written to a cache of an hour, in tokens of
// input.
const longWrite = 2

// Price returns u with TotalTokens and Cost computed from a price list. A total that
// the provider reported (TotalFromProvider true) is kept.
func (u Usage) Price(prices ModelCost) Usage {
	u.TotalTokens = u.Input + u.Output + u.CacheRead + u.CacheWrite
	fromProvider := u.Cost.TotalFromProvider != nil && *u.Cost.TotalFromProvider
	total := u.Cost.Total
	rate := prices.at(u.Input + u.CacheRead + u.CacheWrite)
	var hour int64
	if u.CacheWrite1h != nil {
		hour = *u.CacheWrite1h
	}
	u.Cost = Cost{
		Input:             rate.Input / 1e6 * float64(u.Input),
		Output:            rate.Output / 1e6 * float64(u.Output),
		CacheRead:         rate.CacheRead / 1e6 * float64(u.CacheRead),
		CacheWrite:        (rate.CacheWrite*float64(u.CacheWrite-hour) + rate.Input*longWrite*float64(hour)) / 1e6,
		TotalFromProvider: &fromProvider,
	}
	u.Cost.Total = u.Cost.Input + u.Cost.Output + u.Cost.CacheRead + u.Cost.CacheWrite
	if fromProvider {
		u.Cost.Total = total
	}
	return u
}

// Add returns the sum of two usages; optional parts are present when either has them.
func (u Usage) Add(v Usage) Usage {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.CacheWrite1h = addOptional(u.CacheWrite1h, v.CacheWrite1h)
	u.Reasoning = addOptional(u.Reasoning, v.Reasoning)
	u.TotalTokens += v.TotalTokens
	u.Cost.Input += v.Cost.Input
	u.Cost.Output += v.Cost.Output
	u.Cost.CacheRead += v.Cost.CacheRead
	u.Cost.CacheWrite += v.Cost.CacheWrite
	u.Cost.Total += v.Cost.Total
	return u
}

func addOptional(a, b *int64) *int64 {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	sum := *a + *b
	return &sum
}
