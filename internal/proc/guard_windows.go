package proc

import "golang.org/x/sys/windows"

// guard has nothing to do for this package's own children: job objects end with their
// last handle.
type guard struct{}

func (*guard) ready()     {}
func (*guard) add(int)    {}
func (*guard) remove(int) {}
func (*guard) close()     {}

// adopt puts a process into a job object of its own. One that cannot be put there is
// left alone.
func (*guard) adopt(pid int) (release func()) {
	job, err := newJob()
	if err != nil {
		return func() {}
	}
	assign(job, pid)
	return func() { letGo(job) }
}

// assign puts a process into a job, and with it what it starts from now on.
func assign(job windows.Handle, pid int) {
	if h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid)); err == nil {
		_ = windows.AssignProcessToJobObject(job, h)
		windows.CloseHandle(h)
	}
}

// letGo closes a job; what still runs in it goes on.
func letGo(job windows.Handle) {
	_ = limitJob(job, 0)
	windows.CloseHandle(job)
}
