package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
)

// listModels prints the available models that match the search as a table.
func (a *app) listModels(stdout io.Writer) int {
	search := strings.ToLower(strings.TrimSpace(a.flags.listModels))
	var found []*llm.Model
	for _, m := range a.models.Available() {
		if strings.Contains(strings.ToLower(m.Ref()+" "+m.Name), search) {
			found = append(found, m)
		}
	}
	for _, d := range a.models.Diagnostics() {
		a.warn(d.Message)
	}
	if len(found) == 0 {
		if search != "" {
			fmt.Fprintf(stdout, "No models matching %q\n", search)
		} else {
			fmt.Fprintln(stdout, model.NoModels)
		}
		return exitOK
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "provider\tmodel\tcontext\tmax-out\tthinking\timages")
	for _, m := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Provider, m.ID, tokens(m.ContextWindow), tokens(m.MaxTokens), yesNo(m.Reasoning), yesNo(m.AcceptsImages()))
	}
	if err := w.Flush(); err != nil {
		return exitClientGone
	}
	return exitOK
}

// tokens shortens a number of tokens: 200K, 1M.
func tokens(n int64) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
	case n >= 1000:
		return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + "K"
	}
	return strconv.FormatInt(n, 10)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
