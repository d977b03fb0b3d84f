package cli

import (
	"context"
	"slices"

	"github.com/isotope-agent/isotope/internal/trust"
)

// decideTrust decides whether the own resources of the project in dir count.
func (a *app) decideTrust(dir string) trust.Decision {
	flag := trust.Undecided
	switch {
	case a.flags.approve:
		flag = trust.Approve
	case a.flags.noApprove:
		flag = trust.Refuse
	}
	return trust.Decide(context.Background(), trust.Options{
		Dirs: a.dirs, Cwd: dir, ProjectDirs: a.dialect.ProjectDirs(dir), Home: a.home,
		Flag: flag, Default: a.settings.DefaultProjectTrust(),
	})
}

// tellTrust tells what is wrong with the files of trust, some more, and which resources
// of the project are left out.
func (a *app) tellTrust(more ...string) {
	d := a.at().trust
	for _, text := range append(append(slices.Clone(d.Warnings), more...), d.Notice()) {
		if text != "" {
			a.warn(text)
		}
	}
}
