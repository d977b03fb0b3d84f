package cli

import (
	"context"

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

// projectDirs are the project's own directories, none without trust.
func (a *app) projectDirs() []string {
	if !a.at().trust.Trusted {
		return nil
	}
	return a.dialect.ProjectDirs(a.at().cwd)
}
