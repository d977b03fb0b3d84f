package proc

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// child is a started command in a job object: the job ends with its last handle,
// so that nothing survives this process.
type child struct {
	pid     int
	p       *os.Process
	job     windows.Handle
	exited  chan struct{}
	release chan struct{}
	reaped  chan struct{}
	status  Exit
	started time.Time

	mu   sync.Mutex
	gone bool
}

func start(argv []string, dir string, env []string, stdout, stderr *os.File, _ func(int)) (*child, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	job, err := newJob()
	if err != nil {
		return nil, err
	}
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir:   dir,
		Env:   env,
		Files: []*os.File{null, stdout, stderr},
		Sys:   &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true},
	})
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	// What the shell starts before this line is outside of the job: a moment too
	// short for it to have read its command.
	assign(job, p.Pid)
	return &child{
		pid: p.Pid, p: p, job: job, started: time.Now(),
		exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{}),
	}, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	if err := limitJob(job, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func limitJob(job windows.Handle, flags uint32) error {
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: flags},
	}
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return err
}

func (c *child) watch() {
	state, err := c.p.Wait()
	c.status.After = time.Since(c.started)
	c.status.Code = -1
	if err == nil {
		c.status.Code = state.ExitCode()
	}
	close(c.exited)
	<-c.release
	c.mu.Lock()
	c.gone = true
	letGo(c.job)
	c.mu.Unlock()
	close(c.reaped)
}

func (c *child) reap() Exit {
	close(c.release)
	<-c.reaped
	return c.status
}

func (c *child) abandon() { close(c.release) }

func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		_ = windows.TerminateJobObject(c.job, 1)
	}
}
