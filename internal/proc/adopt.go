package proc

// Adopt puts a process that somebody else started under this runner's guard: should
// this program be killed, the process is killed with its group, whose leader it must be
// (on Windows: with what it starts from now on). The caller still waits for the process
// and calls release, once, when it has ended; what it left in the background then goes
// on. Close does not end it.
func (l *Local) Adopt(pid int) (release func()) { return l.guard.adopt(pid) }
