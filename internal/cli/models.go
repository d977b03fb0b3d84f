package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
)

// listModels prints the available models that match the search as a table, those of
// extensions among them.
func (a *app) listModels() int {
	ext, err := a.newExtensions(nil, nil)
	if err != nil {
		return failed(a.std.err, err)
	}
	defer ext.close(a.limits.leave)
	stdout := a.std.out
	search := strings.ToLower(strings.TrimSpace(a.flags.listModels))
	var found []*llm.Model
	for _, m := range a.models.Available() {
		if strings.Contains(strings.ToLower(m.Ref()+" "+m.Name), search) {
			found = append(found, m)
		}
	}
	for _, fault := range a.fileFaults() {
		a.warn(fault)
	}
	if a.flags.json {
		return a.modelLines(found)
	}
	if len(found) == 0 {
		if search != "" {
			return written(fmt.Fprintf(stdout, "No models matching %q\n", search))
		}
		return written(fmt.Fprintln(stdout, model.NoModels))
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "provider\tmodel\tcontext\tmax-out\tthinking\timages")
	for _, m := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Provider, m.ID, tokens(m.ContextWindow), tokens(m.MaxTokens), yesNo(m.Reasoning), yesNo(m.AcceptsImages()))
	}
	return written(0, w.Flush())
}

// modelLines prints models as get_available_models has them, a line each.
func (a *app) modelLines(list []*llm.Model) int {
	for _, m := range list {
		line, err := jsonx.Marshal(m)
		if err != nil {
			return failed(a.std.err, fmt.Errorf("encoding model %s: %w", m.Ref(), err))
		}
		if _, err := a.std.out.Write(append(line, '\n')); err != nil {
			return exitClientGone
		}
	}
	return exitOK
}

// tokens shortens a number of tokens: 200K, 1M.
func tokens(n int64) string {
	switch {
	case n >= 1_000_000:
		return short(float64(n)/1e6) + "M"
	case n >= 1000:
		return short(float64(n)/1e3) + "K"
	}
	return strconv.FormatInt(n, 10)
}

func short(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
